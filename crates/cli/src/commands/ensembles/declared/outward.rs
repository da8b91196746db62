//! What would be started or contacted, in full: command lines with the program that they would run, addresses, and by
//! name only what they would be handed.

use std::path::{Path, PathBuf};

use converse_child::find_program;
use converse_config::{
    ArgvPart, BodyPlan, CommandPlan, ConnectionPlan, Environment, InvokerKind, JsonTemplate, Piece,
    RequestPlan, SecretRef, Template, TemplatePiece, Way,
};
use serde_json::{Value, json};

use super::{plain, quoted};
use crate::world::World;

/// Programs are looked for in the world as it is now.
pub(crate) struct Outward<'a> {
    pub(crate) world: &'a World,
}

impl Outward<'_> {
    pub(in super::super) fn connection_json(&self, connection: &ConnectionPlan) -> Value {
        match &connection.way {
            Way::Stdio { command, environment, cwd } => json!({
                "command": command.iter().map(written).collect::<Vec<_>>(),
                "program": self.program_of(command, cwd.as_ref()).ok(),
                "environment": named_json(environment),
                "cwd": cwd,
            }),
            Way::Http { url, headers } => json!({ "url": written(url), "headers": named_json(headers) }),
        }
    }

    pub(in super::super) fn connection_lines(&self, connection: &ConnectionPlan) -> Vec<String> {
        match &connection.way {
            Way::Stdio { command, environment, cwd } => {
                let words: Vec<String> = command.iter().map(|word| quoted(&written(word))).collect();
                let mut lines = vec![format!("STARTS {}", words.join(" "))];
                let named = command.first().map(written).unwrap_or_default();
                lines.extend(program_line(&named, self.program_of(command, cwd.as_ref())));
                lines.extend(cwd.iter().map(|cwd| format!("in {}", quoted(&cwd.to_string_lossy()))));
                lines.extend(named_lines("with the variable", environment));
                lines
            }
            Way::Http { url, headers } => {
                let mut lines = vec![format!("CONNECTS TO {}", quoted(&written(url)))];
                lines.extend(named_lines("with the header", headers));
                lines
            }
        }
    }

    /// The key it stands under, and what stands there.
    pub(super) fn kind_json(&self, kind: &InvokerKind) -> (&'static str, Value) {
        match kind {
            InvokerKind::Builtin(name) => ("builtin", json!(name)),
            InvokerKind::Command(plan) => {
                let what = json!({
                    "argv": plan.argv.iter().map(argv_json).collect::<Vec<_>>(),
                    "program": self.program_of_command(plan).ok(),
                    "environment": named_json(&plan.environment),
                    "cwd": plan.cwd,
                    "stdin": plan.stdin.as_ref().map(template),
                });
                ("command", what)
            }
            InvokerKind::Http(plan) => {
                let named = |list: &[(String, Template)]| {
                    let entry = |(name, value): &(String, Template)| json!({ "name": name, "value": template(value) });
                    list.iter().map(entry).collect::<Vec<_>>()
                };
                let what = json!({
                    "method": plan.method,
                    "url": template(&plan.url),
                    "query": named(&plan.query),
                    "headers": named(&plan.headers),
                    "body": plan.body.as_ref().map(body),
                });
                ("http", what)
            }
        }
    }

    pub(super) fn kind_lines(&self, kind: &InvokerKind) -> Vec<String> {
        match kind {
            InvokerKind::Builtin(_) => Vec::new(),
            InvokerKind::Command(plan) => self.command_lines(plan),
            InvokerKind::Http(plan) => request_lines(plan),
        }
    }

    fn command_lines(&self, plan: &CommandPlan) -> Vec<String> {
        let words: Vec<String> = plan.argv.iter().map(argv_text).collect();
        let mut lines = vec![format!("STARTS {}", words.join(" "))];
        let named = plan.argv.first().map(argv_text).unwrap_or_default();
        lines.extend(program_line(named.trim_matches('"'), self.program_of_command(plan)));
        lines.extend(plan.cwd.iter().map(|cwd| format!("in {}", quoted(&cwd.to_string_lossy()))));
        lines.extend(named_lines("with the variable", &plan.environment));
        lines.extend(plan.stdin.iter().map(|stdin| format!("reading {}", quoted(&template(stdin)))));
        lines
    }

    fn program_of(&self, command: &[SecretRef], cwd: Option<&PathBuf>) -> Result<PathBuf, String> {
        let first = command.first().map(|first| first.read(&self.environment()));
        match first {
            Some(Ok(name)) => self.found(&name, cwd),
            Some(Err(unset)) => Err(unset.to_string()),
            None => Err("no program is named".to_owned()),
        }
    }

    fn program_of_command(&self, plan: &CommandPlan) -> Result<PathBuf, String> {
        let Some(ArgvPart::One(first)) = plan.argv.first() else {
            return Err("no program is named".to_owned());
        };
        match first.fill(&serde_json::Map::new(), &self.environment(), |value| value) {
            Ok(name) => self.found(&name.unwrap_or_default(), plan.cwd.as_ref()),
            Err(unset) => Err(unset.to_string()),
        }
    }

    fn found(&self, name: &str, cwd: Option<&PathBuf>) -> Result<PathBuf, String> {
        let dir = cwd.map_or_else(|| self.world.cwd.clone(), |cwd| self.world.cwd.join(cwd));
        let avoid: Option<&Path> = Some(&self.world.cwd);
        find_program(name, self.world.var("PATH"), &dir, avoid).map_err(|error| error.to_string())
    }

    fn environment(&self) -> Environment {
        Environment::new(self.world.env.clone())
    }
}

fn request_lines(plan: &RequestPlan) -> Vec<String> {
    let mut lines = vec![format!("CONNECTS TO {} {}", plan.method, quoted(&template(&plan.url)))];
    for (what, list) in [("with the query", &plan.query), ("with the header", &plan.headers)] {
        for (name, value) in list {
            lines.push(match value.variables().collect::<Vec<_>>().as_slice() {
                [] => format!("{what} {}: {}", quoted(name), quoted(&template(value))),
                names => format!("{what} {}: reads your {}", quoted(name), plain(&names.join(", "))),
            });
        }
    }
    lines.extend(plan.body.iter().map(|sent| format!("sending {}", quoted(&body_text(sent)))));
    lines
}

/// Nothing, where the program is named by its whole path.
fn program_line(named: &str, program: Result<PathBuf, String>) -> Option<String> {
    match program {
        Ok(path) if path == Path::new(named) => None,
        Ok(path) => Some(format!("which is {} now", quoted(&path.to_string_lossy()))),
        Err(why) => Some(format!("which is not there now: {}", plain(&why))),
    }
}

fn named_json(list: &[(String, SecretRef)]) -> Vec<Value> {
    list.iter().map(|(name, value)| json!({ "name": name, "reads": value.variables() })).collect()
}

fn named_lines(what: &str, list: &[(String, SecretRef)]) -> Vec<String> {
    let line = |(name, value): &(String, SecretRef)| match value.variables().as_slice() {
        [] => format!("{what} {}: written there", quoted(name)),
        names => format!("{what} {}: reads your {}", quoted(name), plain(&names.join(", "))),
    };
    list.iter().map(line).collect()
}

fn argv_json(part: &ArgvPart) -> Value {
    match part {
        ArgvPart::One(one) => json!(template(one)),
        ArgvPart::Together(parts) => json!(parts.iter().map(template).collect::<Vec<_>>()),
    }
}

fn argv_text(part: &ArgvPart) -> String {
    match part {
        ArgvPart::One(one) => quoted(&template(one)),
        ArgvPart::Together(parts) => {
            format!("[{}]", parts.iter().map(|part| quoted(&template(part))).collect::<Vec<_>>().join(" "))
        }
    }
}

fn body(body: &BodyPlan) -> Value {
    match body {
        BodyPlan::Text(text) => json!(template(text)),
        BodyPlan::Json(value) => json_template(value),
    }
}

fn body_text(sent: &BodyPlan) -> String {
    match sent {
        BodyPlan::Text(text) => template(text),
        BodyPlan::Json(value) => json_template(value).to_string(),
    }
}

fn json_template(value: &JsonTemplate) -> Value {
    match value {
        JsonTemplate::Fixed(value) => value.clone(),
        JsonTemplate::Text(text) => json!(template(text)),
        JsonTemplate::Array(entries) => entries.iter().map(json_template).collect(),
        JsonTemplate::Object(entries) => {
            let entries = entries.iter().map(|(name, entry)| (name.clone(), json_template(entry)));
            Value::Object(entries.collect())
        }
    }
}

/// As the descriptor has it: variables and arguments stay names.
fn template(template: &Template) -> String {
    let piece = |piece: &TemplatePiece| match piece {
        TemplatePiece::Text(text) => text.replace('{', "{{").replace('}', "}}"),
        TemplatePiece::Variable { name, default } => variable(name, default.as_deref()),
        TemplatePiece::Argument(name) => format!("{{{name}}}"),
    };
    template.pieces.iter().map(piece).collect()
}

fn written(value: &SecretRef) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Variable { name, default } => variable(name, default.as_deref()),
    };
    match value {
        SecretRef::Literal(text) => text.clone(),
        SecretRef::Environment(name) => variable(name, None),
        SecretRef::Template(pieces) => pieces.iter().map(piece).collect(),
    }
}

fn variable(name: &str, default: Option<&str>) -> String {
    match default {
        None => format!("${{{name}}}"),
        Some(default) => format!("${{{name}:-{default}}}"),
    }
}
