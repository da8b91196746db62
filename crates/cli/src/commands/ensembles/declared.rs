//! What a project's ensembles declare, in full: what somebody has to see before they trust it.
//!
//! Nothing is cut off and every text of the project stands on one line in quotes, with what is invisible shown: a
//! description must not look like a line of ours. Of headers and variables for a
//! server only the names are shown, and which of the user's variables they would read.

mod outward;

use converse_canister::InvokerName;
use converse_config::{Effects, EnsemblePlan, InvokerKind, InvokerPlan, OnFailure, Policy};
use converse_ensemble::own_permission;
use serde_json::{Value, json};

use crate::render::in_words;
use crate::render::safe::{safe, safe_line};

use super::permission;

pub(super) use outward::Outward;

pub(super) fn json(plan: &EnsemblePlan, outward: &Outward<'_>) -> Value {
    let invoker = |invoker: &InvokerPlan| {
        let mut row = policy_json(plan, &invoker.policy, is_builtin(invoker));
        row["name"] = json!(invoker.name);
        let (kind, what) = outward.kind_json(&invoker.kind);
        row[kind] = what;
        row["description"] = json!(invoker.description);
        row["arguments"] = json!(invoker.arguments);
        row
    };
    let tool = |(name, policy): (&InvokerName, &Policy)| {
        let mut row = policy_json(plan, policy, false);
        row["name"] = json!(name);
        row
    };
    json!({
        "name": plan.name,
        "description": plan.description,
        "file": plan.origin.file,
        "line": plan.origin.line,
        "enabled": plan.enabled,
        "required": plan.required,
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
    terms
}

/// `replaces` is where the ensemble of this name is that would no longer be used.
pub(super) fn text(plan: &EnsemblePlan, replaces: Option<&str>, outward: &Outward<'_>) -> String {
    let mut lines = vec![format!("{}  {}", plain(&place(plan)), plan.name)];
    let mut line = |text: String| lines.push(format!("  {text}"));
    if let Some(file) = replaces {
        line(format!("REPLACES the ensemble `{}` of {}", plan.name, plain(file)));
    }
    line(format!("description: {}", quoted(&plan.description)));
    if !plan.enabled {
        line("not enabled: used only when it is named".to_owned());
    }
    if plan.required {
        line("required: a run ends where it cannot be connected".to_owned());
    }
    if let Some(prefix) = &plan.prefix {
        line(format!("prefix of its tools: {}", quoted(prefix)));
    }
    if !plan.configuration.is_empty() {
        line(format!("configuration: {}", safe(&Value::Object(plan.configuration.clone()).to_string())));
    }
    plan.connection.iter().flat_map(|connection| outward.connection_lines(connection)).for_each(&mut line);
    for invoker in &plan.invokers {
        let policy = policy(plan, &invoker.policy, is_builtin(invoker));
        let what = match &invoker.kind {
            InvokerKind::Builtin(name) => format!("built-in {name}"),
            InvokerKind::Command(_) => "a command".to_owned(),
            InvokerKind::Http(_) => "an HTTP request".to_owned(),
        };
        line(format!("{} = {what}  {policy}", invoker.name));
        outward.kind_lines(&invoker.kind).iter().for_each(|text| line(format!("  {text}")));
        line(format!("  description: {}", quoted(&invoker.description)));
        let arguments = invoker.arguments.as_ref().map(Value::to_string).unwrap_or_default();
        line(format!("  arguments: {}", safe(&arguments)));
    }
    if plan.connection.is_some() {
        for (name, patterns) in [("only", &plan.filter.include), ("without", &plan.filter.exclude)] {
            if !patterns.is_empty() {
                line(format!("{name} the tools {}", safe(&json!(patterns).to_string())));
            }
        }
        line(format!("its tools  {}", policy(plan, &plan.defaults, false)));
        for (name, of_tool) in &plan.tools {
            line(format!("{name}  {}", policy(plan, of_tool, false)));
        }
    }
    lines.join("\n") + "\n"
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
