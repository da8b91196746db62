//! Applies the rules to one call, and explains the decision.

use converse_canister::Digest;
use serde_json::{Map, Value};

use super::{Permission, Rule};
use crate::plan::Effects;

/// The call that rules are applied to.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// `ensemble.invoker`.
    pub tool: &'a str,
    pub effects: Effects,
    /// Already checked against the tool's schema, with defaults filled in.
    pub arguments: &'a Map<String, Value>,
    /// A person can be asked in this run.
    pub interactive: bool,
    /// Digest of the tool's definition, if known.
    pub definition: Option<Digest>,
    /// Digest of the ensemble's connection and configuration, if known.
    pub connection: Option<Digest>,
    /// The ensemble belongs to the working directory or was typed; see [`Binding::is_local`](super::Binding).
    pub local: bool,
    /// The tool's own permission, used if no rule matches. `Deny` always holds.
    pub own: Permission,
    pub own_source: &'a str,
    /// False for tools of an untrusted project.
    pub trusted: bool,
    /// The directory that relative paths start from, if known.
    pub workspace: Option<&'a str>,
    /// The user's home directory, if known: the value of `~/` and `$HOME/`.
    pub home: Option<&'a str>,
}

/// A decision and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub permission: Permission,
    /// `pattern (source)`, or the tool's own source.
    pub rule: String,
    /// The reason given in the rule.
    pub reason: Option<String>,
    /// False if the tool's own permission applies.
    pub by_rule: bool,
}

impl Judgement {
    /// Returns the rule and its reason.
    pub fn because(&self) -> String {
        match &self.reason {
            Some(reason) => format!("{}: {reason}", self.rule),
            None => self.rule.clone(),
        }
    }
}

/// A decision, and the effect of every rule that names the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub judgement: Judgement,
    /// In the order of the rules.
    pub rules: Vec<ExplainedRule>,
}

/// A rule that names the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRule {
    /// Index in the list of rules.
    pub index: usize,
    pub effect: RuleEffect,
}

/// The effect of a rule on a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleEffect {
    Decides,
    /// Gives the same permission as the deciding rule.
    Agrees,
    /// Applies, but a stricter rule decides.
    Overruled,
    /// Takes these labels out of the question that a flow of data asks.
    Opens(Vec<String>),
    /// Does not apply, for these reasons.
    NotApplicable(Vec<String>),
}

/// Returns the decision about one call.
pub fn judge(rules: &[Rule], subject: Subject<'_>) -> Judgement {
    let counting = rules.iter().filter(|rule| rule.applies(subject));
    // Among equally strict rules, the first one.
    let strictest = counting.reduce(|best, rule| if rule.permission > best.permission { rule } else { best });
    judgement(strictest, &subject)
}

/// Returns the decision of the strictest rule that denies or asks, or `None` if no such rule applies.
pub fn restriction(rules: &[Rule], subject: Subject<'_>) -> Option<Judgement> {
    let restricting =
        rules.iter().filter(|rule| rule.permission > Permission::Allow && rule.applies(subject));
    let strictest =
        restricting.reduce(|best, rule| if rule.permission > best.permission { rule } else { best });
    strictest.map(|rule| judgement(Some(rule), &subject))
}

fn judgement(strictest: Option<&Rule>, subject: &Subject<'_>) -> Judgement {
    match strictest {
        Some(rule) if subject.own != Permission::Deny || rule.permission == Permission::Deny => Judgement {
            permission: rule.permission,
            rule: rule.shown(),
            reason: rule.reason.clone(),
            by_rule: true,
        },
        _ => Judgement {
            permission: subject.own,
            rule: subject.own_source.to_owned(),
            reason: None,
            by_rule: false,
        },
    }
}

/// Returns the same decision as [`judge`], with the effect of every rule that names the tool.
pub fn explain(rules: &[Rule], subject: Subject<'_>) -> Explanation {
    let judgement = judge(rules, subject);
    let mut decided = !judgement.by_rule;
    let named = rules.iter().enumerate().filter(|(_, rule)| rule.matches(subject.tool));
    let explained = named.map(|(index, rule)| {
        let misses = rule.misses(&subject);
        let effect = if !misses.is_empty() {
            RuleEffect::NotApplicable(misses)
        } else if rule.permission < judgement.permission {
            RuleEffect::Overruled
        } else if std::mem::replace(&mut decided, true) {
            RuleEffect::Agrees
        } else {
            RuleEffect::Decides
        };
        ExplainedRule { index, effect }
    });
    let explained = explained.collect();
    Explanation { judgement, rules: explained }
}
