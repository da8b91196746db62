//! The parts of a descriptor other than its tools: the connection and what the server may do. A lockfile stores them,
//! so that a change is visible in review; no tool is held back for it.
//!
//! Values from a variable are stored as the name of the variable, and texts that look like a secret are left out.

use converse_config::{ConnectionPlan, EnsemblePlan, Piece, Policy, SecretRef, TransportPlan};
use converse_text::secrets::{known_secret, looks_secret};
use serde_json::{Value, json};

const HIDDEN: &str = "[looks like a secret and is not written down]";

/// Returns an object without the keys that are not set.
pub fn declared_ensemble(plan: &EnsemblePlan) -> Value {
    // Those of declared tools are in the policies of these already.
    let defaults = plan.connection.as_ref().map(|_| policy(&plan.defaults));
    let discovered = plan.tools.iter().map(|(name, said)| (name.to_string(), policy(said)));
    let declared = plan.invokers.iter().map(|invoker| (invoker.name.to_string(), limits(&invoker.policy)));
    without_empty(json!({
        "prefix": plan.prefix,
        "configuration": discreet("", &Value::Object(plan.configuration.clone())),
        "connection": plan.connection.as_ref().map(of_connection),
        "defaults": defaults,
        "tools": without_empty(Value::Object(discovered.chain(declared).collect())),
    }))
}

fn of_connection(connection: &ConnectionPlan) -> Value {
    without_empty(match &connection.transport {
        TransportPlan::Stdio { command, environment, cwd } => {
            json!({ "command": words(command), "environment": named(environment), "cwd": cwd })
        }
        TransportPlan::Http { url, headers } => json!({ "url": text("", url), "headers": named(headers) }),
    })
}

/// The definition of a declared tool says the rest.
fn limits(policy: &Policy) -> Value {
    without_empty(json!({
        "permission": policy.permission.map(converse_config::Permission::as_str),
        "max_invocations": policy.max_invocations,
        "cost": policy.cost,
    }))
}

fn policy(policy: &Policy) -> Value {
    let mut all = limits(policy);
    all["effects"] = json!(policy.effects.as_str());
    all["sandbox"] = json!(policy.sandbox.as_str());
    all
}

fn named(values: &[(String, SecretRef)]) -> Value {
    Value::Object(values.iter().map(|(name, value)| (name.clone(), json!(text(name, value)))).collect())
}

/// The value of an option follows it, or follows `=`.
fn words(command: &[SecretRef]) -> Vec<String> {
    let mut before = String::new();
    let mut words = Vec::new();
    for word in command {
        let shown = match word {
            SecretRef::Literal(literal) => match literal.split_once('=') {
                Some((option, value)) if looks_secret(option, value) => format!("{option}={HIDDEN}"),
                _ => text(&before, word),
            },
            _ => text(&before, word),
        };
        before = if shown.starts_with('-') { shown.clone() } else { String::new() };
        words.push(shown);
    }
    words
}

fn text(name: &str, value: &SecretRef) -> String {
    match value {
        SecretRef::Literal(text) => hidden(name, text),
        SecretRef::Environment(variable) => format!("env:{variable}"),
        SecretRef::Template(pieces) => pieces.iter().map(piece).collect(),
    }
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => hidden("", text),
        Piece::Variable { name, default: None } => format!("${{{name}}}"),
        Piece::Variable { name, default: Some(text) } => format!("${{{name}:-{}}}", hidden(name, text)),
    }
}

fn hidden(name: &str, text: &str) -> String {
    let is_hidden = known_secret(text).is_some() || looks_secret(name, text);
    if is_hidden { HIDDEN.to_owned() } else { text.to_owned() }
}

fn discreet(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => json!(hidden(name, text)),
        Value::Array(entries) => entries.iter().map(|entry| discreet(name, entry)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (hidden("", name), discreet(name, value))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the object without members that are null or empty objects.
fn without_empty(object: Value) -> Value {
    let Value::Object(members) = object else { return object };
    let is_present =
        |value: &Value| !value.is_null() && value.as_object().is_none_or(|object| !object.is_empty());
    Value::Object(members.into_iter().filter(|(_, value)| is_present(value)).collect())
}

#[cfg(test)]
mod tests {
    use converse_canister::{Cost, InvokerName};
    use converse_config::{InvokerKind, Permission, SandboxLevel, Scope};

    use super::*;
    use crate::testing::plan;

    const KEY: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

    fn literal(text: &str) -> SecretRef {
        SecretRef::Literal(text.to_owned())
    }

    fn server(way: TransportPlan) -> EnsemblePlan {
        let mut plan = plan(InvokerKind::Builtin("x".into()), Policy::default(), Scope::User);
        plan.invokers.clear();
        plan.connection = Some(ConnectionPlan::new(way));
        plan
    }

    #[test]
    fn a_server_is_how_it_is_reached_and_what_may_be_done() {
        let environment = vec![
            ("TOKEN".to_owned(), SecretRef::Environment("MINE".into())),
            ("MODE".to_owned(), literal("fast")),
            ("OTHER".to_owned(), literal(KEY)),
        ];
        let command = [
            "run",
            "--api-key",
            "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
            "--token=Zx81Qw92Er73Ty64Ui55Op46",
            KEY,
            "-v",
        ]
        .map(literal);
        let mut plan = server(TransportPlan::Stdio { command: command.to_vec(), environment, cwd: None });
        plan.prefix = Some("p".into());
        plan.configuration
            .insert("root".into(), json!([{ "password": "9f8e7d6c5b4a39281706f5e4d3c2b1a0" }, 1]));
        plan.defaults = Policy { permission: Some(Permission::Ask), ..Policy::default() };
        let echo = Policy {
            permission: Some(Permission::Allow),
            sandbox: SandboxLevel::Require,
            max_invocations: Some(3),
            cost: Some(Cost(10)),
            ..Policy::default()
        };
        plan.tools.insert(InvokerName::new("echo").unwrap(), echo);
        assert_eq!(
            declared_ensemble(&plan),
            json!({
                "prefix": "p",
                "configuration": { "root": [{ "password": HIDDEN }, 1] },
                "connection": {
                    "command": ["run", "--api-key", HIDDEN, format!("--token={HIDDEN}"), HIDDEN, "-v"],
                    "environment": { "TOKEN": "env:MINE", "MODE": "fast", "OTHER": HIDDEN },
                },
                "defaults": { "permission": "ask", "effects": "external", "sandbox": "off" },
                "tools": { "echo": {
                    "permission": "allow", "max_invocations": 3, "cost": 10, "effects": "external", "sandbox": "require",
                } },
            })
        );
    }

    #[test]
    fn headers_are_named_with_what_they_are_set_from() {
        let bearer = |key: Piece| SecretRef::Template(vec![Piece::Text("Bearer ".into()), key]);
        let variable = |default| Piece::Variable { name: "KEY".into(), default };
        let headers = vec![
            ("Authorization".to_owned(), bearer(variable(None))),
            ("X-Other".to_owned(), bearer(variable(Some(KEY.to_owned())))),
        ];
        let plan = server(TransportPlan::Http { url: literal("https://example.org/mcp"), headers });
        assert_eq!(
            declared_ensemble(&plan)["connection"],
            json!({
                "url": "https://example.org/mcp",
                "headers": { "Authorization": "Bearer ${KEY}", "X-Other": format!("Bearer ${{KEY:-{HIDDEN}}}") },
            })
        );
    }

    #[test]
    fn of_declared_tools_it_is_what_their_definition_does_not_say() {
        let policy = Policy { permission: Some(Permission::Deny), ..Policy::default() };
        let plan = plan(InvokerKind::Builtin("x".into()), policy, Scope::User);
        let name = plan.invokers[0].name.to_string();
        assert_eq!(declared_ensemble(&plan)["tools"], json!({ name: { "permission": "deny" } }));
        let silent = crate::testing::plan(InvokerKind::Builtin("x".into()), Policy::default(), Scope::User);
        assert_eq!(declared_ensemble(&silent), json!({}));
    }
}
