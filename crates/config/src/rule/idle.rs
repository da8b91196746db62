//! Rules that never decide anything: they name no tool, want of their tools what these never are or take, contradict
//! themselves, or stand in the shadow of a stricter one.

use serde_json::Value;

use super::{Conditions, Permission, Rule, ToolPattern};
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::plan::{EnsemblePlan, InvokerPlan};

/// What is wrong with rules that were read from files, one warning for each at most. `plans` are all the ensembles
/// there are; one with a connection may have any tool that its descriptor lets in.
pub fn idle_rules(rules: &[Rule], plans: &[EnsemblePlan]) -> Vec<Diagnostic> {
    rules.iter().enumerate().filter_map(|(index, rule)| idle(rules, index, rule, plans)).collect()
}

fn idle(rules: &[Rule], index: usize, rule: &Rule, plans: &[EnsemblePlan]) -> Option<Diagnostic> {
    let place = rule.place?;
    let pattern = quoted(&rule.pattern);
    let never = |why: String| Some(Diagnostic::warning(Code::RuleNeverMatches, place, why));
    if !rule.tools.iter().any(|pattern| plans.iter().any(|plan| may_name(pattern, plan))) {
        return never(format!("{pattern} is the name of no tool of any ensemble there is"));
    }
    if let Conditions::All(predicates) = &rule.conditions
        && let Some(why) = predicates.iter().find_map(super::Predicate::contradiction)
    {
        return never(why);
    }
    if let Some(why) = unfit(rule, plans) {
        return never(why);
    }
    let shadow = rules.iter().enumerate().find(|(other, shadow)| *other != index && shades(shadow, rule));
    shadow.map(|(_, shadow)| {
        let (strict, mild) = (shadow.permission.as_str(), rule.permission.as_str());
        let message =
            format!("{pattern} never gets to {mild}: {} says {strict} to all of it", quoted(&shadow.shown()));
        let diagnostic = Diagnostic::warning(Code::RuleShadowed, place, message);
        match shadow.place {
            Some(place) => diagnostic.related(place, "the stricter rule"),
            None => diagnostic,
        }
    })
}

/// Why none of the tools that it names can meet it. Of a server's tools nothing is known here.
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
            format!("{}, and no other tool that it names fits it", why)
        }
        _ => why,
    })
}

/// What it wants that this tool never is or takes.
fn unfit_for(rule: &Rule, invoker: &InvokerPlan) -> Option<String> {
    let own = invoker.policy.effects;
    if rule.effects.as_ref().is_some_and(|wanted| !wanted.contains(&own)) {
        return Some(format!("has the effects `{}`", own.as_str()));
    }
    let Conditions::All(predicates) = &rule.conditions else { return None };
    let arguments = predicates.iter().filter_map(|predicate| predicate.at.argument());
    let strange = |argument: &&str| never_takes(invoker, argument);
    arguments.into_iter().find(strange).map(|argument| format!("takes no argument {}", quoted(argument)))
}

/// By a schema that lists all it takes, and has no other word on it.
fn never_takes(invoker: &InvokerPlan, argument: &str) -> bool {
    let Some(Value::Object(schema)) = &invoker.arguments else { return false };
    let listed = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && !schema.contains_key("patternProperties")
        // Of older drafts what stands beside it counts for nothing.
        && !schema.contains_key("$ref")
        && !listed.is_some_and(|listed| listed.contains_key(argument))
}

/// Is a stricter rule without conditions as wide as the other, or wider?
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

/// A pattern of nothing but plain characters and `*` covers every pattern whose own text it matches: what is special in
/// that one can only have been taken by a `*`.
fn covers(wide: &ToolPattern, narrow: &ToolPattern) -> bool {
    let simple = !wide.whole.contains(['?', '[', ']', '{', '}', '\\', '!']);
    simple && wide.matches(&narrow.whole)
}

fn is_special(c: char) -> bool {
    matches!(c, '*' | '?' | '[' | '{' | '\\')
}

/// Could the pattern be meant for a tool of this ensemble?
fn may_name(pattern: &ToolPattern, plan: &EnsemblePlan) -> bool {
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
        return invoker.is_some_and(|invoker| plan.filter.lets_in(invoker));
    }
    // Named one by one: then these are all there can be.
    let include = &plan.filter.include;
    if !include.is_empty() && include.iter().all(|entry| literal(entry)) {
        return include.iter().any(|invoker| pattern.matches(&name(invoker)) && plan.filter.lets_in(invoker));
    }
    let beginning = pattern.whole.split(is_special).next().unwrap_or_default();
    let own = name("");
    own.starts_with(beginning) || beginning.starts_with(&own)
}

#[cfg(test)]
mod tests;
