//! The one pure matcher of permissions. Flags, settings, kept answers and descriptors all become [`Rule`]s.
//!
//! Deny beats ask beats allow, in whatever order and from whatever scope the rules come; adding a deny never allows
//! more. A tool of a project nobody has trusted is allowed by the flags of this run only: its name is its author's
//! choice, and a rule that the user wrote for another tool of that name must not let it in. What no rule speaks of falls
//! to the tool's own permission (its descriptor's, or the default by effects).
//!
//! Where a value can be read in several ways, doubt is on the side of caution ([`Doubt`]): a rule that denies or asks
//! fits if any reading does, one that allows only if every reading does.

mod address;
mod example;
mod glob;
mod idle;
mod judge;
mod place;
mod predicate;
mod reading;
mod vary;

use converse_canister::{Digest, canonical};
use serde_json::{Map, Value};

use crate::escape::quoted;
use crate::plan::{Effects, Scope};
use crate::source::Span;

pub(crate) use example::Example;
pub use glob::BadPattern;
pub(crate) use glob::{ValueGlob, names};
pub use idle::idle_rules;
pub use judge::{Bearing, Explanation, Heard, Judgement, Subject, explain, judge};
pub(crate) use place::Place;
pub(crate) use predicate::{Expression, Predicate, Test};
pub(crate) use reading::Origins;
pub use vary::{Vary, Varying};

use glob::ToolPattern;

/// What may become of an invocation, mildest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    Allow,
    Ask,
    Deny,
}

impl Permission {
    /// The word for it in settings and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    fn doubt(self) -> Doubt {
        if self == Self::Allow { Doubt::Misses } else { Doubt::Fits }
    }
}

/// What doubt about a value counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// One reading that fits is enough, and a value of the wrong type fits: rules that deny or ask.
    Fits,
    /// Every reading must fit: rules that allow.
    Misses,
}

/// One rule: invocations of these tools, under these conditions, get the permission.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The patterns as written, joined by a comma.
    pub pattern: String,
    pub permission: Permission,
    /// Who says so, for `explain` and the audit: `--allow`, `config.toml:12` …
    pub source: String,
    /// Why, in the words of whoever wrote it.
    pub reason: Option<String>,
    /// Only tools with one of these.
    pub effects: Option<Vec<Effects>>,
    /// Only when somebody can be asked, or only when nobody can.
    pub interactive: Option<bool>,
    pub(crate) conditions: Conditions,
    pub(crate) binding: Option<Binding>,
    /// Where it stands, if it was read from a file.
    pub(crate) place: Option<Span>,
    /// Typed for this run, not kept in a file.
    pub(crate) this_run: bool,
    pub(crate) tools: Vec<ToolPattern>,
}

/// What a rule wants of the arguments.
#[derive(Debug, Clone, Default)]
pub(crate) enum Conditions {
    #[default]
    None,
    /// All of them.
    All(Vec<Predicate>),
    /// Just these and no others.
    Exactly(Map<String, Value>),
    /// Just these and no others, beside texts that may vary.
    Like { fixed: Map<String, Value>, varying: Varying },
}

/// The very tool that somebody saw when they said "always".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Of the tool's definition: the rule holds only while the tool is what it was.
    pub definition: Digest,
    /// Of how its ensemble is reached and configured: the rule holds only while what runs is what ran.
    pub connection: Digest,
    /// Of an ensemble of the directory converse runs in, or of one that was typed; else of the user's or a shipped one.
    pub local: bool,
}

impl Binding {
    /// Does a scope belong to a directory rather than to the user?
    pub fn is_local(scope: Scope) -> bool {
        matches!(scope, Scope::Project | Scope::Explicit)
    }
}

impl Rule {
    /// It holds whatever the arguments are.
    pub fn is_unconditional(&self) -> bool {
        matches!(self.conditions, Conditions::None)
    }

    /// Those that it holds for alone, if it was given for just these.
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.conditions {
            Conditions::Exactly(arguments) => Some(arguments),
            Conditions::None | Conditions::All(_) | Conditions::Like { .. } => None,
        }
    }

    /// Which arguments may vary, and what all the others must be, if it was given so.
    pub fn varying(&self) -> Option<(&Varying, &Map<String, Value>)> {
        match &self.conditions {
            Conditions::Like { fixed, varying } => Some((varying, fixed)),
            Conditions::None | Conditions::All(_) | Conditions::Exactly(_) => None,
        }
    }

    /// Does it hold only while the tool is the one that somebody saw?
    pub fn is_bound(&self) -> bool {
        self.binding.is_some()
    }

    /// Was it typed for this run, rather than kept in a file?
    pub fn is_for_this_run(&self) -> bool {
        self.this_run
    }

    /// A pattern is a glob over `ensemble.invoker`: `*` and `?` match any characters. Without a dot it means the
    /// whole ensemble (`weather` = `weather.*`).
    pub fn new(
        pattern: impl Into<String>,
        permission: Permission,
        source: impl Into<String>,
    ) -> Result<Self, BadPattern> {
        let pattern = pattern.into();
        let tools = vec![ToolPattern::new(&pattern)?];
        Ok(Self::of(pattern, tools, permission, source.into()))
    }

    /// For any of several patterns.
    pub(crate) fn any_of(
        patterns: &[String],
        permission: Permission,
        source: String,
    ) -> Result<Self, BadPattern> {
        let tools = patterns.iter().map(|pattern| ToolPattern::new(pattern)).collect::<Result<_, _>>()?;
        Ok(Self::of(patterns.join(", "), tools, permission, source))
    }

    /// For one tool, whose name is no pattern whatever is in it.
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
        }
    }

    /// The rule as a flag: the user typed it, here and now.
    #[must_use]
    pub fn for_this_run(self) -> Self {
        Self { this_run: true, ..self }
    }

    /// Only for just these arguments, defaults filled in.
    #[must_use]
    pub fn with_arguments(self, arguments: Map<String, Value>) -> Self {
        Self { conditions: Conditions::Exactly(arguments), ..self }
    }

    /// Only for texts that vary as said, beside just these arguments and no others. For rules that allow.
    #[must_use]
    pub fn with_varying(self, fixed: Map<String, Value>, varying: Varying) -> Self {
        Self { conditions: Conditions::Like { fixed, varying }, ..self }
    }

    #[must_use]
    pub fn bound_to(self, binding: Binding) -> Self {
        Self { binding: Some(binding), ..self }
    }

    /// Does it name the tool? It may still want more.
    pub fn matches(&self, tool: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.matches(tool))
    }

    /// The same, by a pattern with this part of the name written out in it: `e.*` names everything and spells nothing.
    pub fn spells(&self, tool: &str, part: &str) -> bool {
        self.tools.iter().any(|pattern| pattern.whole.contains(part) && pattern.matches(tool))
    }

    /// `pattern (source)`.
    pub fn shown(&self) -> String {
        format!("{} ({})", self.pattern, self.source)
    }

    /// Why it does not count for a subject whose tool it names; nothing if it does.
    fn misses(&self, subject: &Subject<'_>) -> Vec<String> {
        let mut misses = Vec::new();
        let mut miss = |when: bool, why: &str| {
            if when {
                misses.push(why.to_owned());
            }
        };
        miss(
            self.permission == Permission::Allow && !subject.trusted && !self.this_run,
            "the project is not trusted: only flags of the run allow its tools",
        );
        if let Some(effects) = &self.effects {
            let own = subject.effects.as_str();
            miss(!effects.contains(&subject.effects), &format!("the effects of the tool are `{own}`"));
        }
        match self.interactive {
            Some(true) => miss(!subject.interactive, "it is for runs in which somebody can be asked"),
            Some(false) => miss(subject.interactive, "it is for runs in which nobody can be asked"),
            None => {}
        }
        if let Some(binding) = self.binding {
            let known = subject.definition.is_some();
            miss(!known, "it is for one definition of the tool, which is known only once it is connected");
            miss(
                known && subject.definition != Some(binding.definition),
                "it is for the tool as it was then: its definition has changed",
            );
            miss(
                subject.connection.is_some_and(|connection| connection != binding.connection),
                "it is for the tool as it was then: what its ensemble runs or is given has changed",
            );
            miss(subject.connection.is_none(), "it is for one way to reach its ensemble, which is not known");
            miss(binding.local != subject.local, "it is for a tool of another ensemble of this name");
        }
        let origins = Origins { workspace: subject.workspace, home: subject.home };
        misses.extend(self.unmet(subject.arguments, origins));
        misses
    }

    /// What of its conditions the arguments do not meet.
    fn unmet(&self, arguments: &Map<String, Value>, origins: Origins<'_>) -> Vec<String> {
        let doubt = self.permission.doubt();
        match &self.conditions {
            Conditions::None => Vec::new(),
            Conditions::All(predicates) => {
                predicates.iter().filter_map(|predicate| predicate.miss(arguments, doubt, origins)).collect()
            }
            Conditions::Exactly(wanted) => {
                let other = !same(wanted, arguments);
                other.then(|| "it is for other arguments".to_owned()).into_iter().collect()
            }
            Conditions::Like { fixed, varying } => unlike(fixed, varying, arguments, origins),
        }
    }
}

fn same(wanted: &Map<String, Value>, given: &Map<String, Value>) -> bool {
    let text = |object: &Map<String, Value>| canonical(&Value::Object(object.clone()));
    text(wanted) == text(given)
}

/// In what the arguments differ from those that vary as said beside fixed ones.
fn unlike(
    fixed: &Map<String, Value>,
    varying: &Varying,
    arguments: &Map<String, Value>,
    origins: Origins<'_>,
) -> Vec<String> {
    let mut rest = arguments.clone();
    let misses = varying.iter().filter_map(|(name, vary)| {
        let shown = quoted(name);
        match rest.remove(name) {
            Some(Value::String(text)) if vary.fits(&text, origins) => None,
            Some(_) => Some(format!("{shown} does not fit {}", vary.shown())),
            None => Some(format!("{shown} is not given")),
        }
    });
    let mut misses: Vec<String> = misses.collect();
    if !same(fixed, &rest) {
        misses.push("the arguments that may not vary are others".to_owned());
    }
    misses
}

#[cfg(test)]
mod tests;
