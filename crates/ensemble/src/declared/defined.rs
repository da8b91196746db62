//! The definition of an invoker that a descriptor declares, as an object like those of servers.
//!
//! What is written down is in it as it is written, variables by their names; a literal that looks like a secret is there
//! as a digest: a lockfile holds definitions and is read by many.

use converse_canister::Digest;
use converse_config::{
    ArgvPart, BodyPlan, CommandPlan, Effects, InvokerKind, InvokerPlan, JsonTemplate, PartPlan, RequestPlan,
    SandboxLevel, Template,
};
use converse_text::secrets::{known_secret, looks_secret};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::Definition;

pub(super) fn definition(plan: &InvokerPlan, arguments: &Value) -> Definition {
    Definition::of(&json!({
        "name": plan.name,
        "description": plan.description,
        "inputSchema": arguments,
        "kind": kind(plan),
        "effects": effects(plan.policy.effects),
    }))
}

fn kind(plan: &InvokerPlan) -> Value {
    match &plan.kind {
        InvokerKind::Builtin(name) => json!({ "builtin": name }),
        InvokerKind::Command(command) => json!({ "command": of_command(command, plan.policy.sandbox) }),
        InvokerKind::Http(request) => json!({ "http": of_request(request) }),
    }
}

fn of_command(plan: &CommandPlan, sandbox: SandboxLevel) -> Value {
    let environment =
        plan.environment.iter().map(|(name, value)| (name.clone(), text_or_digest(name, &value.to_string())));
    json!({
        "argv": plan.argv.iter().map(word).collect::<Vec<_>>(),
        "environment": environment.collect::<Map<_, _>>(),
        "cwd": plan.cwd,
        "stdin": plan.stdin.as_ref().map(Template::to_string),
        "sandbox": level(sandbox),
        "reads": plan.sandbox_access.reads,
        "writes": plan.sandbox_access.writes,
        "network": plan.sandbox_access.network,
    })
}

fn word(part: &ArgvPart) -> Value {
    match part {
        ArgvPart::One(one) => json!(one.to_string()),
        ArgvPart::Group(parts) => parts.iter().map(Template::to_string).collect(),
    }
}

fn of_request(plan: &RequestPlan) -> Value {
    let headers =
        plan.headers.iter().map(|(name, value)| (name.clone(), text_or_digest(name, &value.to_string())));
    let mut request = json!({
        "method": plan.method,
        "url": plan.url.to_string(),
        "query": entries(&plan.query),
        "headers": headers.collect::<Map<_, _>>(),
        "body": plan.body.as_ref().map(body),
    });
    // Only where they are given: definitions in lockfiles are older than these keys.
    if !plan.styles.is_empty() {
        let styles = plan.styles.iter().map(|(name, style)| (name.clone(), json!(style.as_str())));
        request["styles"] = Value::Object(styles.collect());
    }
    if let Some(pointer) = &plan.result {
        request["result"] = json!(pointer);
    }
    request
}

/// In their order, as a list may hold one name twice.
fn entries(entries: &[(String, Template)]) -> Value {
    entries.iter().map(|(name, value)| json!([name, value.to_string()])).collect()
}

/// Returns a text as the descriptor has it, with the names of variables. A text that looks like a secret becomes a digest,
/// so that a change is still seen.
fn text_or_digest(name: &str, text: &str) -> Value {
    if known_secret(text).is_some() || looks_secret(name, text) {
        return json!({ "sha256": Digest(Sha256::digest(text).into()) });
    }
    json!(text)
}

fn body(body: &BodyPlan) -> Value {
    match body {
        BodyPlan::Text(text) => json!({ "text": text.to_string() }),
        BodyPlan::Form(form) => json!({ "form": entries(form) }),
        BodyPlan::Json(value) => json!({ "json": of_json(value) }),
        BodyPlan::Multipart(parts) => json!({ "multipart": parts.iter().map(part).collect::<Vec<_>>() }),
        BodyPlan::File(path) => json!({ "file": path.to_string() }),
    }
}

fn part(part: &PartPlan) -> Value {
    json!([part.name, part.value.to_string(), part.is_file, part.media_type])
}

fn of_json(value: &JsonTemplate) -> Value {
    match value {
        JsonTemplate::Fixed(value) => value.clone(),
        JsonTemplate::Text(text) => json!(text.to_string()),
        JsonTemplate::Array(entries) => entries.iter().map(of_json).collect(),
        JsonTemplate::Object(entries) => {
            Value::Object(entries.iter().map(|(name, entry)| (name.clone(), of_json(entry))).collect())
        }
    }
}

fn effects(effects: Effects) -> &'static str {
    match effects {
        Effects::None => "none",
        Effects::Read => "read",
        Effects::Write => "write",
        Effects::External => "external",
    }
}

fn level(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::Off => "off",
        SandboxLevel::BestEffort => "best-effort",
        SandboxLevel::Require => "require",
    }
}

#[cfg(test)]
mod tests {
    use converse_config::{Policy, SandboxAccess, Scope, SecretRef, Style};

    use super::*;
    use crate::testing::{plan, template};

    const CANARY: &str = "canary-9f8Qz71LmX20vbT4";

    fn defined(kind: InvokerKind) -> Value {
        let plan = plan(kind, Policy::default(), Scope::User);
        definition(&plan.invokers[0], &json!({ "type": "object" })).value()
    }

    fn command() -> CommandPlan {
        CommandPlan {
            argv: vec![
                ArgvPart::One(template("git")),
                ArgvPart::Group(vec![template("-n"), template("{count}")]),
            ],
            environment: vec![
                ("TOKEN".to_owned(), SecretRef::Environment("MY_TOKEN".to_owned())),
                ("FIXED".to_owned(), SecretRef::Literal("plain".to_owned())),
                ("API_KEY".to_owned(), SecretRef::Literal(CANARY.to_owned())),
            ],
            cwd: Some("sub".into()),
            stdin: Some(template("{text}")),
            sandbox_access: SandboxAccess { reads: vec!["/usr".into()], ..SandboxAccess::default() },
        }
    }

    #[test]
    fn a_command_is_told_in_full_but_for_secrets() {
        let defined = defined(InvokerKind::Command(command().into()));
        let hidden = Digest(Sha256::digest(CANARY).into());
        assert_eq!(
            defined["kind"]["command"],
            json!({
                "argv": ["git", ["-n", "{count}"]],
                "environment": { "TOKEN": "env:MY_TOKEN", "FIXED": "plain", "API_KEY": { "sha256": hidden } },
                "cwd": "sub", "stdin": "{text}", "sandbox": "off",
                "reads": ["/usr"], "writes": [], "network": false,
            })
        );
        assert_eq!((&defined["name"], &defined["effects"]), (&json!("x"), &json!("external")));
        assert!(!defined.to_string().contains("canary"));
    }

    #[test]
    fn a_request_is_told_in_full() {
        let request = RequestPlan {
            method: "POST".to_owned(),
            url: template("https://host/{id}"),
            query: vec![("q".to_owned(), template("{q}"))],
            headers: vec![("authorization".to_owned(), template("Key ${TOKEN} {id}"))],
            body: Some(BodyPlan::Json(JsonTemplate::Object(vec![(
                "a".to_owned(),
                JsonTemplate::Array(vec![JsonTemplate::Text(template("{q}")), JsonTemplate::Fixed(json!(1))]),
            )]))),
            styles: Vec::new(),
            result: None,
        };
        let defined = defined(InvokerKind::Http(request.clone()));
        assert_eq!(
            defined["kind"]["http"],
            json!({
                "method": "POST", "url": "https://host/{id}", "query": [["q", "{q}"]],
                "headers": { "authorization": "Key ${TOKEN} {id}" }, "body": { "json": { "a": ["{q}", 1] } },
            })
        );
        let part = |is_file| PartPlan { name: "p".into(), value: template("{q}"), is_file, media_type: None };
        let more = RequestPlan {
            styles: vec![("q".to_owned(), Style::Repeat)],
            body: Some(BodyPlan::Multipart(vec![part(true)])),
            result: Some("/data".to_owned()),
            ..request
        };
        let defined = self::defined(InvokerKind::Http(more));
        let http = &defined["kind"]["http"];
        let told = (&http["styles"], &http["body"], &http["result"]);
        let body = json!({ "multipart": [["p", "{q}", true, null]] });
        assert_eq!(told, (&json!({ "q": "repeat" }), &body, &json!("/data")));
    }

    #[test]
    fn whatever_is_changed_is_another_digest() {
        let digest = |change: fn(&mut InvokerPlan)| {
            let mut plan = plan(InvokerKind::Command(command().into()), Policy::default(), Scope::User);
            change(&mut plan.invokers[0]);
            definition(&plan.invokers[0], &json!({})).digest()
        };
        let changes: &[fn(&mut InvokerPlan)] = &[
            |_| {},
            |plan| plan.description.push('.'),
            |plan| plan.policy.effects = Effects::Write,
            |plan| plan.policy.sandbox = SandboxLevel::Require,
            |plan| plan.kind = InvokerKind::Builtin("calculator".to_owned()),
            |plan| plan.kind = InvokerKind::Command(CommandPlan { cwd: None, ..command() }.into()),
            |plan| plan.kind = InvokerKind::Command(CommandPlan { stdin: None, ..command() }.into()),
            |plan| plan.kind = InvokerKind::Command(CommandPlan { argv: Vec::new(), ..command() }.into()),
            |plan| {
                plan.kind = InvokerKind::Command(CommandPlan { environment: Vec::new(), ..command() }.into())
            },
            |plan| {
                let sandbox_access = SandboxAccess { network: true, ..command().sandbox_access };
                plan.kind = InvokerKind::Command(CommandPlan { sandbox_access, ..command() }.into());
            },
        ];
        let mut digests: Vec<_> = changes.iter().map(|change| digest(*change)).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), changes.len());
    }
}
