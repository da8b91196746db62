//! What a project's ensembles declare, in full: what somebody has to see before they trust it.
//!
//! Nothing is cut off and every text of the project stands on one line in quotes, with what is invisible shown: a
//! description must not look like a line of ours. What headers and variables are set to is shown as it is written; of the
//! user's own variables only the names.

mod outward;

use converse_canister::{Cost, InvokerName};
use converse_config::{
    Effects, EnsemblePlan, InvokerKind, InvokerPlan, OnFailure, Permission, Policy, TestPlan,
};
use converse_ensemble::own_permission;
use serde_json::{Value, json};

use crate::render::in_words;
use converse_text::{safe, safe_line};

pub use outward::Outward;

/// What it says is of the ensemble, or of one of its invokers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    invoker: Option<String>,
    text: String,
    /// It would start, contact, replace or allow something: it is said once more, before the question.
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

    /// Among the lines of its ensemble, where its invoker is the one above.
    pub fn text(&self) -> String {
        let indent = if self.invoker.is_some() { "    " } else { "  " };
        format!("{indent}{}", self.text)
    }

    /// Alone.
    pub fn alone(&self) -> String {
        match &self.invoker {
            Some(invoker) => format!("  {invoker}: {}", self.text),
            None => format!("  {}", self.text),
        }
    }
}

/// The word for a permission in output.
pub fn permission(permission: Permission) -> &'static str {
    match permission {
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Deny => "deny",
    }
}

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
        "invokers": plan.invokers.iter().map(invoker).collect::<Vec<_>>(),
        "connection": plan.connection.as_ref().map(|connection| outward.connection_json(connection)),
        "tools": plan.tools.iter().map(tool).collect::<Vec<_>>(),
        "include": plan.filter.include,
        "exclude": plan.filter.exclude,
    })
}

fn policy_json(plan: &EnsemblePlan, policy: &Policy, builtin: bool) -> Value {
    let (own, because) = own_permission(policy, builtin, plan.trusted, &place(plan));
    let effects = match policy.effects {
        Effects::None => "none",
        Effects::Read => "read",
        Effects::Write => "write",
        Effects::External => "external",
    };
    json!({ "effects": effects, "permission": permission(own), "because": because, "terms": terms(policy) })
}

/// What else is declared of a tool, where it is not the default: all of it is trusted with the rest.
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
    if let Some(Cost(millionths)) = policy.cost {
        term(true, format!("costs ${}", millionths as f64 / 1e6));
    }
    term(policy.sandbox != default.sandbox, format!("sandbox = {}", policy.sandbox.as_str()));
    terms
}

/// Its heading.
pub fn heading(plan: &EnsemblePlan) -> String {
    format!("{}  {}", plain(&place(plan)), plan.name)
}

/// `replaces` is where the ensemble of this name is that would no longer be used.
pub fn lines(plan: &EnsemblePlan, replaces: Option<&str>, outward: &Outward<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(file) = replaces {
        lines.push(Line::acting(format!("REPLACES the ensemble `{}` of {}", plan.name, plain(file))));
    }
    lines.extend(of_ensemble(plan).into_iter().map(Line::telling));
    lines.extend(plan.connection.iter().flat_map(|connection| outward.connection_lines(connection)));
    lines.extend(outward.whole_line(plan));
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
    let arguments = invoker.arguments.as_ref().map(Value::to_string).unwrap_or_default();
    lines.push(Line::telling(format!("arguments: {}", safe(&arguments))));
    lines.extend(test_lines(&invoker.tests));
    let heading = Line::telling(format!("{} = {what}  {policy}", invoker.name));
    let lines = lines.into_iter().map(|line| line.of(invoker.name.as_str()));
    [heading].into_iter().chain(lines).collect()
}

/// Of tools that are known once it is connected.
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
    let (own, because) = own_permission(policy, builtin, plan.trusted, &place(plan));
    let mut words =
        vec![in_words(policy.effects).to_owned(), format!("{}: {}", permission(own), plain(&because))];
    words.extend(terms(policy));
    format!("[{}]", words.join("; "))
}

fn is_builtin(invoker: &InvokerPlan) -> bool {
    matches!(invoker.kind, InvokerKind::Builtin(_))
}

fn place(plan: &EnsemblePlan) -> String {
    format!("{}:{}", plan.origin.file, plan.origin.line)
}

/// In quotes, on one line: line ends and what is invisible are shown.
fn quoted(text: &str) -> String {
    safe(&format!("{text:?}")).into_owned()
}

/// Names of files and tools, which need no quotes to be read, on one line.
fn plain(text: &str) -> String {
    safe_line(text, usize::MAX)
}

/// What the tests of a tool call it with. They run only when somebody asks for that.
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
