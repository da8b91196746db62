//! Rules that never decide: they match no tool, have conditions that no tool meets, contradict themselves, or are
//! shadowed by a stricter rule.

use serde_json::Value;

use super::{Conditions, Permission, Rule, RuleScope, ToolPattern};
use crate::Code;
use crate::diagnostic::{Diagnostic, quoted};
use crate::plan::{EnsemblePlan, InvokerPlan};

/// Returns at most one warning for each rule that was read from a file. `plans` are all known ensembles; an ensemble with
/// a connection may have any tool that its filter accepts.
pub fn unused_rules(rules: &[Rule], plans: &[EnsemblePlan]) -> Vec<Diagnostic> {
    rules.iter().enumerate().filter_map(|(index, rule)| idle(rules, index, rule, plans)).collect()
}

fn idle(rules: &[Rule], index: usize, rule: &Rule, plans: &[EnsemblePlan]) -> Option<Diagnostic> {
    let place = rule.place.filter(|_| matches!(rule.scope, RuleScope::Calls))?;
    let pattern = quoted(&rule.pattern);
    let never = |why: String| Some(Diagnostic::warning(Code::RuleNeverMatches, place, why));
    if !rule.tools.iter().any(|pattern| plans.iter().any(|plan| may_name(pattern, plan))) {
        return never(format!("{pattern} does not match a tool of any ensemble"));
    }
    if let Conditions::All(predicates) = &rule.conditions
        && let Some(why) = predicates.iter().find_map(super::Predicate::contradiction)
    {
        return never(why);
    }
    if let Some(why) = unfit(rule, plans) {
        return never(why);
    }
    let shadow = rules.iter().enumerate().find(|(other, shadow)| {
        *other != index && matches!(shadow.scope, RuleScope::Calls) && shades(shadow, rule)
    });
    shadow.map(|(_, shadow)| {
        let (strict, mild) = (shadow.permission.as_str(), rule.permission.as_str());
        let message = format!(
            "{pattern} never decides {mild}: the rule {} decides {strict} for all of its tools",
            quoted(&shadow.shown())
        );
        let diagnostic = Diagnostic::warning(Code::RuleShadowed, place, message);
        match shadow.place {
            Some(place) => diagnostic.related(place, "the stricter rule"),
            None => diagnostic,
        }
    })
}

/// Returns why none of the tools that the rule names can meet it. The tools of a server are not known here.
fn unfit(rule: &Rule, plans: &[EnsemblePlan]) -> Option<String> {
    let named = |plan: &&EnsemblePlan| rule.tools.iter().any(|pattern| may_name(pattern, plan));
    let mut why = None;
    for plan in plans.iter().filter(named) {
        if plan.connection.is_some() {
            return None;
        }
        for invoker in &plan.invokers {
            let name = format!("{}.{}", plan.name, invoker.name);
            if !rule.matches(&name) {
                continue;
            }
            let unfit = unfit_for(rule, invoker)?;
            why.get_or_insert_with(|| format!("{} {unfit}", quoted(&name)));
        }
    }
    why.map(|why| match rule.tools.as_slice() {
        [pattern] if pattern.whole.contains(is_special) => {
            format!("{why}, and no other tool that matches the pattern can meet the rule")
        }
        _ => why,
    })
}

/// Returns a condition that this tool never meets.
fn unfit_for(rule: &Rule, invoker: &InvokerPlan) -> Option<String> {
    let own = invoker.policy.effects;
    if rule.effects.as_ref().is_some_and(|wanted| !wanted.contains(&own)) {
        return Some(format!("has the effects `{}`", own.as_str()));
    }
    let Conditions::All(predicates) = &rule.conditions else { return None };
    let arguments = predicates.iter().filter_map(|predicate| predicate.at.argument());
    let strange = |argument: &&str| never_takes(invoker, argument);
    arguments
        .into_iter()
        .find(strange)
        .map(|argument| format!("does not have the argument {}", quoted(argument)))
}

/// Returns whether the schema lists all arguments and does not have this one.
fn never_takes(invoker: &InvokerPlan, argument: &str) -> bool {
    let Some(Value::Object(schema)) = invoker.arguments.as_deref() else { return false };
    let listed = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && !schema.contains_key("patternProperties")
        // In older drafts, `$ref` disables the keys next to it.
        && !schema.contains_key("$ref")
        && !listed.is_some_and(|listed| listed.contains_key(argument))
}

/// Returns whether a stricter rule without conditions covers the other rule.
fn shades(shadow: &Rule, rule: &Rule) -> bool {
    let unconditional = shadow.effects.is_none()
        && shadow.interactive.is_none()
        && shadow.binding.is_none()
        && matches!(shadow.conditions, Conditions::None);
    let covered = |pattern: &ToolPattern| {
        shadow.tools.iter().any(|wide| wide.whole == pattern.whole || covers(wide, pattern))
    };
    unconditional
        && shadow.permission > rule.permission
        && rule.permission < Permission::Deny
        && rule.tools.iter().all(covered)
}

/// Returns whether one pattern covers another. A pattern of plain characters and `*` covers every pattern whose text it
/// matches.
fn covers(wide: &ToolPattern, narrow: &ToolPattern) -> bool {
    let simple = !wide.whole.contains(['?', '[', ']', '{', '}', '\\', '!']);
    simple && wide.matches(&narrow.whole)
}

fn is_special(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | '{' | '\\')
}

/// Returns whether the pattern could match a tool of this ensemble.
pub(crate) fn may_name(pattern: &ToolPattern, plan: &EnsemblePlan) -> bool {
    let name = |invoker: &str| format!("{}.{invoker}", plan.name);
    if plan.invokers.iter().any(|invoker| pattern.matches(&name(invoker.name.as_str()))) {
        return true;
    }
    if plan.connection.is_none() {
        return false;
    }
    let literal = |text: &str| !text.contains(is_special);
    if literal(&pattern.whole) {
        let invoker = pattern.whole.strip_prefix(&name(""));
        return invoker.is_some_and(|invoker| plan.filter.accepts(invoker));
    }
    // If `include` lists names, there are no other tools.
    let include = &plan.filter.include;
    if !include.is_empty() && include.iter().all(|entry| literal(entry)) {
        return include.iter().any(|invoker| pattern.matches(&name(invoker)) && plan.filter.accepts(invoker));
    }
    let beginning = pattern.whole.split(is_special).next().unwrap_or_default();
    let own = name("");
    own.starts_with(beginning) || beginning.starts_with(&own)
}

#[cfg(test)]
mod tests;
