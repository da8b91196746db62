//! What a project's ensembles declare, in full: what somebody has to see before they trust it.
//!
//! Nothing is cut off and every text of the project stands on one line in quotes, with what is invisible shown: a
//! description must not look like a line of ours. Of headers and variables for a
//! server only the names are shown, and which of the user's variables they would read.

use converse_canister::InvokerName;
use converse_config::{
    ConnectionPlan, Effects, EnsemblePlan, InvokerKind, InvokerPlan, OnFailure, Piece, Policy, SecretRef,
};
use converse_ensemble::own_permission;
use serde_json::{Value, json};

use crate::render::in_words;
use crate::render::safe::{safe, safe_line};

use super::permission;

pub(super) fn json(plan: &EnsemblePlan) -> Value {
    let invoker = |invoker: &InvokerPlan| {
        let mut row = policy_json(plan, &invoker.policy, true);
        row["name"] = json!(invoker.name);
        row["builtin"] = json!(builtin(invoker));
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
        "connection": plan.connection.as_ref().map(connection_json),
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

fn connection_json(connection: &ConnectionPlan) -> Value {
    let named = |list: &[(String, SecretRef)]| {
        let entry = |(name, value): &(String, SecretRef)| json!({ "name": name, "reads": reads(value) });
        list.iter().map(entry).collect::<Vec<_>>()
    };
    match connection {
        ConnectionPlan::Stdio { command, environment, cwd } => json!({
            "command": command.iter().map(written).collect::<Vec<_>>(),
            "environment": named(environment),
            "cwd": cwd,
        }),
        ConnectionPlan::Http { url, headers } => json!({ "url": written(url), "headers": named(headers) }),
    }
}

/// `replaces` is where the ensemble of this name is that would no longer be used.
pub(super) fn text(plan: &EnsemblePlan, replaces: Option<&str>) -> String {
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
    plan.connection.iter().flat_map(connection_lines).for_each(&mut line);
    for invoker in &plan.invokers {
        let policy = policy(plan, &invoker.policy, true);
        line(format!("{} = built-in {}  {policy}", invoker.name, builtin(invoker)));
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

fn connection_lines(connection: &ConnectionPlan) -> Vec<String> {
    let named = |what: &str, list: &[(String, SecretRef)]| {
        let line = |(name, value): &(String, SecretRef)| match reads(value).as_slice() {
            [] => format!("{what} {}: written there", quoted(name)),
            names => format!("{what} {}: reads your {}", quoted(name), plain(&names.join(", "))),
        };
        list.iter().map(line).collect::<Vec<_>>()
    };
    match connection {
        ConnectionPlan::Stdio { command, environment, cwd } => {
            let words: Vec<String> = command.iter().map(|word| quoted(&written(word))).collect();
            let mut lines = vec![format!("STARTS {}", words.join(" "))];
            lines.extend(cwd.iter().map(|cwd| format!("in {}", quoted(&cwd.to_string_lossy()))));
            lines.extend(named("with the variable", environment));
            lines
        }
        ConnectionPlan::Http { url, headers } => {
            let mut lines = vec![format!("CONNECTS TO {}", quoted(&written(url)))];
            lines.extend(named("with the header", headers));
            lines
        }
    }
}

fn builtin(invoker: &InvokerPlan) -> &str {
    let InvokerKind::Builtin(name) = &invoker.kind;
    name
}

fn place(plan: &EnsemblePlan) -> String {
    format!("{}:{}", plan.origin.file, plan.origin.line)
}

/// As the descriptor has it: the variables of the user stay names.
fn written(value: &SecretRef) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Variable { name, default: None } => format!("${{{name}}}"),
        Piece::Variable { name, default: Some(default) } => format!("${{{name}:-{default}}}"),
    };
    match value {
        SecretRef::Literal(text) => text.clone(),
        SecretRef::Environment(name) => format!("${{{name}}}"),
        SecretRef::Template(pieces) => pieces.iter().map(piece).collect(),
    }
}

/// The user's variables that a value is made of.
fn reads(value: &SecretRef) -> Vec<&str> {
    match value {
        SecretRef::Literal(_) => Vec::new(),
        SecretRef::Environment(name) => vec![name],
        SecretRef::Template(pieces) => pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Variable { name, .. } => Some(name.as_str()),
                Piece::Text(_) => None,
            })
            .collect(),
    }
}

/// In quotes, on one line: line ends and what is invisible are shown.
fn quoted(text: &str) -> String {
    safe(&format!("{text:?}")).into_owned()
}

/// Names of files and tools, which need no quotes to be read, on one line.
fn plain(text: &str) -> String {
    safe_line(text, usize::MAX)
}
