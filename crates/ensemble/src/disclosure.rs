//! Everything that an ensemble declares, as lines for people and as JSON: what the user sees before trusting a project.
//!
//! Nothing is truncated. Each text of the project is on one line in quotes, with invisible characters escaped, because a
//! description must not look like a line of ours. Values of headers and variables are shown as they are written; of the
//! user's own variables only the names are shown.

mod outward;
mod parts;

use converse_canister::InvokerName;
use converse_config::{
    Effects, EnsemblePlan, InvokerKind, InvokerPlan, OnFailure, Permission, Policy, TestPlan,
};
use converse_text::{safe, safe_line};
use serde_json::{Value, json};

use crate::own_permission;

pub use outward::Outward;

/// A statement about an ensemble or one of its invokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    invoker: Option<String>,
    text: String,
    /// Whether the ensemble would start, contact, replace or allow something. Such lines are repeated before the question.
    pub acts: bool,
}

impl Line {
    fn telling(text: String) -> Self {
        Self { invoker: None, text, acts: false }
    }

    fn acting(text: String) -> Self {
        Self { invoker: None, text, acts: true }
    }

    fn of(self, invoker: &str) -> Self {
        Self { invoker: Some(invoker.to_owned()), ..self }
    }

    /// Returns the text to show among the lines of its ensemble, below its invoker.
    pub fn text(&self) -> String {
        let indent = if self.invoker.is_some() { "    " } else { "  " };
        format!("{indent}{}", self.text)
    }

    /// Returns the text to show by itself, with the name of the invoker.
    pub fn alone(&self) -> String {
        match &self.invoker {
            Some(invoker) => format!("  {invoker}: {}", self.text),
            None => format!("  {}", self.text),
        }
    }
}

/// Describes the effects of a tool for people.
pub fn effects_in_words(effects: Effects) -> &'static str {
    match effects {
        Effects::None => "only computes",
        Effects::Read => "reads",
        Effects::Write => "writes",
        Effects::External => "acts on the outside",
    }
}

/// Returns everything that an ensemble declares.
pub fn json(plan: &EnsemblePlan, outward: &Outward<'_>) -> Value {
    let invoker = |invoker: &InvokerPlan| {
        let mut row = policy_json(plan, &invoker.policy, is_builtin(invoker));
        row["name"] = json!(invoker.name);
        let (kind, what) = outward.kind_json(&invoker.kind);
        row[kind] = what;
        row["description"] = json!(invoker.description);
        row["arguments"] = json!(invoker.arguments);
        row["tests"] = tests_json(&invoker.tests);
        row
    };
    let tool = |(name, policy): (&InvokerName, &Policy)| {
        let mut row = policy_json(plan, policy, false);
        row["name"] = json!(name);
        row["tests"] = tests_json(plan.tests.get(name).map_or(&[], Vec::as_slice));
        row
    };
    json!({
        "name": plan.name,
        "description": plan.description,
        "file": plan.origin.file,
        "line": plan.origin.line,
        "enabled": plan.enabled,
        "required": plan.required,
        "lazy": plan.lazy,
        "prefix": plan.prefix,
        "configuration": plan.configuration,
        "unpinned": outward.unpinned(plan),
        "invokers": plan.invokers.iter().map(invoker).collect::<Vec<_>>(),
        "connection": plan.connection.as_ref().map(|connection| outward.connection_json(connection)),
        "tools": plan.tools.iter().map(tool).collect::<Vec<_>>(),
        "include": plan.filter.include,
        "exclude": plan.filter.exclude,
    })
}

fn policy_json(plan: &EnsemblePlan, policy: &Policy, builtin: bool) -> Value {
    let (own, because) = own_permission(policy, builtin, plan.trusted, &plan.origin.to_string());
    json!({
        "effects": policy.effects.as_str(),
        "permission": own.as_str(),
        "because": because,
        "terms": terms(policy),
    })
}

/// Returns the other keys of a tool that differ from their defaults; they are trusted with the rest.
fn terms(policy: &Policy) -> Vec<String> {
    let default = Policy::default();
    let mut terms = Vec::new();
    let mut term = |differs: bool, text: String| terms.extend(differs.then_some(text));
    term(policy.timeout != default.timeout, format!("timeout = {} s", policy.timeout.as_secs_f64()));
    let idle = policy.idle_timeout;
    term(idle != default.idle_timeout, format!("idle_timeout = {} s", idle.as_secs_f64()));
    term(policy.max_retries != default.max_retries, format!("max_retries = {}", policy.max_retries));
    term(policy.idempotent, "idempotent: it may be run again".to_owned());
    term(!policy.parallel, "never beside others".to_owned());
    term(
        policy.result_limit != default.result_limit,
        format!("result_limit = {} bytes", policy.result_limit),
    );
    term(policy.on_failure == OnFailure::Stop, "a failure ends the turn".to_owned());
    if let Some(most) = policy.max_invocations {
        term(true, format!("at most {most} in a turn"));
    }
    if let Some(cache) = policy.cache {
        term(true, format!("results are kept for {} s", cache.as_secs_f64()));
    }
    if let Some(cost) = policy.cost {
        term(true, format!("costs ${}", cost.dollars()));
    }
    term(policy.sandbox != default.sandbox, format!("sandbox = {}", policy.sandbox.as_str()));
    terms
}

/// Returns the heading above the lines of an ensemble.
pub fn heading(plan: &EnsemblePlan) -> String {
    format!("{}  {}", plain(&plan.origin.to_string()), plan.name)
}

/// Returns everything that an ensemble declares. `replaces` is the file of an ensemble with the same name that would no
/// longer be used.
pub fn lines(plan: &EnsemblePlan, replaces: Option<&str>, outward: &Outward<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(file) = replaces {
        lines.push(Line::acting(format!("REPLACES the ensemble `{}` of {}", plan.name, plain(file))));
    }
    lines.extend(of_ensemble(plan).into_iter().map(Line::telling));
    lines.extend(plan.connection.iter().flat_map(|connection| outward.connection_lines(connection)));
    lines.extend(outward.unpinned_lines(plan));
    lines.extend(outward.configured_lines(plan));
    lines.extend(plan.invokers.iter().flat_map(|invoker| of_invoker(plan, invoker, outward)));
    if plan.connection.is_some() {
        lines.extend(of_discovered(plan));
    }
    lines
}

fn of_ensemble(plan: &EnsemblePlan) -> Vec<String> {
    let mut lines = vec![format!("description: {}", quoted(&plan.description))];
    let mut line = |differs: bool, text: &str| lines.extend(differs.then(|| text.to_owned()));
    line(!plan.enabled, "not enabled: used only when it is named");
    line(plan.required, "required: a run ends where it cannot be connected");
    line(plan.lazy, "lazy: started at the first call of one of its tools");
    lines.extend(plan.prefix.iter().map(|prefix| format!("prefix of its tools: {}", quoted(prefix))));
    if !plan.configuration.is_empty() {
        let configuration = Value::Object(plan.configuration.clone()).to_string();
        lines.push(format!("configuration: {}", safe(&configuration)));
    }
    lines
}

fn of_invoker(plan: &EnsemblePlan, invoker: &InvokerPlan, outward: &Outward<'_>) -> Vec<Line> {
    let what = match &invoker.kind {
        InvokerKind::Builtin(name) => format!("built-in {name}"),
        InvokerKind::Command(_) => "a command".to_owned(),
        InvokerKind::Http(_) => "an HTTP request".to_owned(),
    };
    let policy = policy(plan, &invoker.policy, is_builtin(invoker));
    let mut lines = outward.kind_lines(&invoker.kind);
    lines.extend(allowed(&invoker.policy));
    lines.push(Line::telling(format!("description: {}", quoted(&invoker.description))));
    let arguments = invoker.arguments.as_ref().map(|schema| schema.to_string()).unwrap_or_default();
    lines.push(Line::telling(format!("arguments: {}", safe(&arguments))));
    lines.extend(test_lines(&invoker.tests));
    let heading = Line::telling(format!("{} = {what}  {policy}", invoker.name));
    let lines = lines.into_iter().map(|line| line.of(invoker.name.as_str()));
    [heading].into_iter().chain(lines).collect()
}

/// Returns lines about tools that are known only after connecting.
fn of_discovered(plan: &EnsemblePlan) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, patterns) in [("only", &plan.filter.include), ("without", &plan.filter.exclude)] {
        if !patterns.is_empty() {
            lines.push(Line::telling(format!("{name} the tools {}", safe(&json!(patterns).to_string()))));
        }
    }
    lines.push(Line::telling(format!("its tools  {}", policy(plan, &plan.defaults, false))));
    lines.extend(allowed(&plan.defaults).map(|line| line.of("its tools")));
    for (name, of_tool) in &plan.tools {
        lines.push(Line::telling(format!("{name}  {}", policy(plan, of_tool, false))));
        lines.extend(allowed(of_tool).map(|line| line.of(name.as_str())));
        let tests = plan.tests.get(name).map_or(&[][..], Vec::as_slice);
        lines.extend(test_lines(tests).map(|line| line.of(name.as_str())));
    }
    lines
}

fn allowed(policy: &Policy) -> Option<Line> {
    let allows = policy.permission == Some(Permission::Allow);
    allows.then(|| Line::acting("IS ALLOWED: runs without being asked about".to_owned()))
}

fn policy(plan: &EnsemblePlan, policy: &Policy, builtin: bool) -> String {
    let (own, because) = own_permission(policy, builtin, plan.trusted, &plan.origin.to_string());
    let effects = effects_in_words(policy.effects).to_owned();
    let mut words = vec![effects, format!("{}: {}", own.as_str(), plain(&because))];
    words.extend(terms(policy));
    format!("[{}]", words.join("; "))
}

fn is_builtin(invoker: &InvokerPlan) -> bool {
    matches!(invoker.kind, InvokerKind::Builtin(_))
}

/// Quotes a text on one line, with line ends and invisible characters escaped.
fn quoted(text: &str) -> String {
    safe(&format!("{text:?}")).into_owned()
}

/// Escapes the name of a file or tool, which needs no quotes.
fn plain(text: &str) -> String {
    safe_line(text, usize::MAX)
}

/// Returns the arguments of a tool's tests, which run only on request.
fn tests_json(tests: &[TestPlan]) -> Value {
    tests.iter().map(|test| json!({ "name": test.name, "arguments": test.arguments })).collect()
}

fn test_lines(tests: &[TestPlan]) -> impl Iterator<Item = Line> {
    tests.iter().map(|test| {
        let name = test.name.as_ref().map(|name| quoted(name) + " ").unwrap_or_default();
        let arguments = Value::Object(test.arguments.clone()).to_string();
        Line::telling(format!("test {name}with {}", safe(&arguments)))
    })
}
