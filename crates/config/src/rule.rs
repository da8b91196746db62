//! The permission matcher. It is pure. Flags, settings, stored approvals and descriptors all become [`Rule`]s.
//!
//! Deny beats ask beats allow, in any order and scope; adding a deny never allows more. Tools of an untrusted project are
//! allowed only by flags of the run, because the project chooses their names. If no rule matches, the tool's own
//! permission applies (from its descriptor, or the default for its effects).
//!
//! If a value has several readings, doubt never allows ([`MatchMode`]): a rule that denies or asks matches if any reading
//! matches, and a rule that allows only if every reading does.

mod address;
mod argument_path;
mod argument_pattern;
mod example;
mod flow;
mod glob;
mod judge;
mod predicate;
mod proposed_patterns;
mod reading;
mod unused;

use converse_canister::{Digest, canonical};
use serde_json::{Map, Value};

use crate::diagnostic::quoted;
use crate::plan::{Effects, Scope};
use crate::policy::{PERMISSIONS, word_for};
use crate::source::Span;

pub(crate) use argument_path::ArgumentPath;
pub use argument_pattern::{ArgumentPattern, ArgumentPatterns};
pub(crate) use example::Example;
pub(crate) use flow::RuleScope;
pub use flow::{explain_flow, judge_flow, private_file};
pub use glob::{BadPattern, ToolPattern};
pub(crate) use glob::{ValueGlob, names};
pub use judge::{ExplainedRule, Explanation, Judgement, RuleEffect, Subject, explain, judge, restriction};
pub(crate) use predicate::{Expression, Predicate, Test};
pub use proposed_patterns::proposed_patterns;
pub(crate) use reading::BaseDirs;
pub(crate) use unused::may_name;
pub use unused::unused_rules;

/// The decision about a call, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    Allow,
    Ask,
    Deny,
}

impl Permission {
    /// Returns the name in settings and output.
    pub fn as_str(self) -> &'static str {
        word_for(&PERMISSIONS, self)
    }

    fn match_mode(self) -> MatchMode {
        if self == Self::Allow { MatchMode::Every } else { MatchMode::Any }
    }
}

/// How a value with several readings is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchMode {
    /// One matching reading is enough, and a value of the wrong type matches: for rules that deny or ask.
    Any,
    /// Every reading must match: for rules that allow.
    Every,
}

/// One rule: calls of these tools that meet these conditions get the permission.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The patterns as written, joined by commas.
    pub pattern: String,
    pub permission: Permission,
    /// Where the rule comes from, for `explain` and the audit log: `--allow`, `config.toml:12` …
    pub source: String,
    /// The reason given in the rule.
    pub reason: Option<String>,
    /// Match only tools with one of these effects.
    pub effects: Option<Vec<Effects>>,
    /// Match only runs in which a person can be asked, or only runs in which nobody can.
    pub interactive: Option<bool>,
    pub(crate) conditions: Conditions,
    pub(crate) binding: Option<Binding>,
    /// Position in a file.
    pub(crate) place: Option<Span>,
    /// Typed for this run, not stored in a file.
    pub(crate) this_run: bool,
    pub(crate) tools: Vec<ToolPattern>,
    pub(crate) scope: RuleScope,
}

/// Conditions of a rule on the arguments.
#[derive(Debug, Clone, Default)]
pub(crate) enum Conditions {
    #[default]
    None,
    /// All predicates must match.
    All(Vec<Predicate>),
    /// The arguments must be exactly these.
    Exactly(Map<String, Value>),
    /// Exactly the fixed arguments, and texts that match the patterns.
    Like { fixed: Map<String, Value>, patterns: ArgumentPatterns },
}

/// The exact tool that a person approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Digest of the tool's definition; the rule applies only while it is the same.
    pub definition: Digest,
    /// Digest of the ensemble's connection and configuration; the rule applies only while it is the same.
    pub connection: Digest,
    /// The ensemble belongs to the working directory or was typed; otherwise it is the user's or shipped.
    pub local: bool,
}

impl Binding {
    /// Returns whether ensembles of a scope belong to a directory rather than to the user.
    pub fn is_local(scope: Scope) -> bool {
        matches!(scope, Scope::Project | Scope::Explicit)
    }
}

impl Rule {
    /// Returns whether the rule applies to any arguments.
    pub fn is_unconditional(&self) -> bool {
        matches!(self.conditions, Conditions::None)
    }

    /// Returns the exact arguments of the rule, if it has them.
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.conditions {
            Conditions::Exactly(arguments) => Some(arguments),
            Conditions::None | Conditions::All(_) | Conditions::Like { .. } => None,
        }
    }

    /// Returns the patterns and the fixed arguments of the rule, if it has them.
    pub fn patterns(&self) -> Option<(&ArgumentPatterns, &Map<String, Value>)> {
        match &self.conditions {
            Conditions::Like { fixed, patterns } => Some((patterns, fixed)),
            Conditions::None | Conditions::All(_) | Conditions::Exactly(_) => None,
        }
    }

    /// Returns whether the rule is for one definition of a tool.
    pub fn is_bound(&self) -> bool {
        self.binding.is_some()
    }

    /// Returns whether the rule was typed for this run.
    pub fn is_for_this_run(&self) -> bool {
        self.this_run
    }

    /// Creates a rule from a glob over `ensemble.invoker`, in which `*` and `?` match any characters. Without a dot the
    /// glob is a whole ensemble (`weather` = `weather.*`).
    pub fn new(
        pattern: impl Into<String>,
        permission: Permission,
        source: impl Into<String>,
    ) -> Result<Self, BadPattern> {
        let pattern = pattern.into();
        let tools = vec![ToolPattern::new(&pattern)?];
        Ok(Self::of(pattern, tools, permission, source.into()))
    }

    /// Creates a rule for any of several globs.
    pub(crate) fn any_of(
        patterns: &[String],
        permission: Permission,
        source: String,
    ) -> Result<Self, BadPattern> {
        let tools = patterns.iter().map(|pattern| ToolPattern::new(pattern)).collect::<Result<_, _>>()?;
        Ok(Self::of(patterns.join(", "), tools, permission, source))
    }

    /// Creates a rule for one tool; its name is not a glob.
    pub fn exactly(
        tool: &str,
        permission: Permission,
        source: impl Into<String>,
    ) -> Result<Self, BadPattern> {
        let tools = vec![ToolPattern::literal(tool)?];
        Ok(Self::of(tool.to_owned(), tools, permission, source.into()))
    }

    fn of(pattern: String, tools: Vec<ToolPattern>, permission: Permission, source: String) -> Self {
        Self {
            pattern,
            permission,
            source,
            reason: None,
            effects: None,
            interactive: None,
            conditions: Conditions::None,
            binding: None,
            place: None,
            this_run: false,
            tools,
            scope: RuleScope::Calls,
        }
    }

    /// Marks the rule as typed by the user for this run.
    #[must_use]
    pub fn for_this_run(self) -> Self {
        Self { this_run: true, ..self }
    }

    /// Restricts the rule to exactly these arguments, with defaults filled in.
    #[must_use]
    pub fn with_arguments(self, arguments: Map<String, Value>) -> Self {
        Self { conditions: Conditions::Exactly(arguments), ..self }
    }

    /// Restricts the rule to these arguments and patterns for others. For rules that allow.
    #[must_use]
    pub fn with_patterns(self, fixed: Map<String, Value>, patterns: ArgumentPatterns) -> Self {
        Self { conditions: Conditions::Like { fixed, patterns }, ..self }
    }

    #[must_use]
    pub fn bound_to(self, binding: Binding) -> Self {
        Self { binding: Some(binding), ..self }
    }

    /// Returns whether the rule names the tool. Its conditions may still exclude a call.
    pub fn matches(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.matches(tool))
    }

    /// Returns whether a pattern with this part of the name written out matches: `e.*` matches everything and spells out
    /// nothing.
    pub fn names_explicitly(&self, tool: &str, part: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.whole.contains(part) && pattern.matches(tool))
    }

    /// Returns whether the rule names the tool, and all its conditions are met.
    pub fn applies(&self, subject: Subject<'_>) -> bool {
        self.matches(subject.tool) && self.misses(&subject).is_empty()
    }

    /// Returns whether a condition on this argument has a text that is accepted: a pattern, a prefix or a value.
    pub fn spells_out(&self, argument: &str, accepted: impl Fn(&str) -> bool) -> bool {
        let Conditions::All(predicates) = &self.conditions else { return false };
        let mut about = predicates.iter().filter(|predicate| predicate.at.argument() == Some(argument));
        about.any(|predicate| predicate.tests.iter().flat_map(Test::texts).any(&accepted))
    }

    /// Returns `pattern (source)`.
    pub fn shown(&self) -> String {
        format!("{} ({})", self.pattern, self.source)
    }

    /// Returns why the rule does not apply to a call of a tool that it names; empty if it applies.
    fn misses(&self, subject: &Subject<'_>) -> Vec<String> {
        if let RuleScope::Flows(_) = self.scope {
            return vec!["the rule is about what the conversation has seen".to_owned()];
        }
        let mut misses = Vec::new();
        let mut miss = |when: bool, why: &str| {
            if when {
                misses.push(why.to_owned());
            }
        };
        miss(
            self.permission == Permission::Allow && !subject.trusted && !self.this_run,
            "the project is not trusted: only flags of this run can allow its tools",
        );
        if let Some(effects) = &self.effects {
            let own = subject.effects.as_str();
            miss(!effects.contains(&subject.effects), &format!("the tool has the effects `{own}`"));
        }
        match self.interactive {
            Some(true) => miss(!subject.interactive, "the rule is for runs with a person to ask"),
            Some(false) => miss(subject.interactive, "the rule is for runs without a person to ask"),
            None => {}
        }
        if let Some(binding) = self.binding {
            let known = subject.definition.is_some();
            miss(
                !known,
                "the rule is for one definition of the tool, which is known only when the tool is connected",
            );
            miss(
                known && subject.definition != Some(binding.definition),
                "the definition of the tool has changed since the approval",
            );
            miss(
                subject.connection.is_some_and(|connection| connection != binding.connection),
                "the connection or configuration of the ensemble has changed since the approval",
            );
            miss(
                subject.connection.is_none(),
                "the rule is for one connection of the ensemble, which is not known",
            );
            miss(
                binding.local != subject.local,
                "the rule is for a tool of another ensemble of the same name",
            );
        }
        let base = BaseDirs { workspace: subject.workspace, home: subject.home };
        misses.extend(self.unmet(subject.arguments, base));
        misses
    }

    /// Returns the conditions that the arguments do not meet.
    pub(crate) fn unmet(&self, arguments: &Map<String, Value>, base: BaseDirs<'_>) -> Vec<String> {
        let mode = self.permission.match_mode();
        match &self.conditions {
            Conditions::None => Vec::new(),
            Conditions::All(predicates) => {
                predicates.iter().filter_map(|predicate| predicate.miss(arguments, mode, base)).collect()
            }
            Conditions::Exactly(wanted) => {
                let other = !same(wanted, arguments);
                other.then(|| "the rule is for other arguments".to_owned()).into_iter().collect()
            }
            Conditions::Like { fixed, patterns } => unlike(fixed, patterns, arguments, base),
        }
    }
}

fn same(wanted: &Map<String, Value>, given: &Map<String, Value>) -> bool {
    let text = |object: &Map<String, Value>| canonical(&Value::Object(object.clone()));
    text(wanted) == text(given)
}

/// Returns how the arguments differ from the fixed ones and the patterns.
fn unlike(
    fixed: &Map<String, Value>,
    patterns: &ArgumentPatterns,
    arguments: &Map<String, Value>,
    base: BaseDirs<'_>,
) -> Vec<String> {
    let mut rest = arguments.clone();
    let misses = patterns.iter().filter_map(|(name, vary)| {
        let shown = quoted(name);
        match rest.remove(name) {
            Some(Value::String(text)) if vary.fits(&text, base) => None,
            Some(_) => Some(format!("{shown} does not match {}", vary.shown())),
            None => Some(format!("{shown} is not given")),
        }
    });
    let mut misses: Vec<String> = misses.collect();
    if !same(fixed, &rest) {
        misses.push("the fixed arguments are different".to_owned());
    }
    misses
}

#[cfg(test)]
mod tests;
