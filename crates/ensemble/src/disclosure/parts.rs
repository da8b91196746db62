//! Parts of a descriptor as they are written: variables and arguments stay names.

use converse_config::{
    ArgvPart, BodyPlan, Grants, JsonTemplate, LogLevel, OauthPlan, PartPlan, RequestPlan, SecretRef, Template,
};
use serde_json::{Value, json};

use super::{Line, plain, quoted};
use crate::scripts::decides_code;

/// Whether to show the values of headers and variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Shown,
    Hidden,
}

impl Values {
    fn of(self, value: &SecretRef) -> Option<String> {
        (self == Self::Shown).then(|| source_text(value))
    }
}

pub(super) fn request_json(plan: &RequestPlan) -> Value {
    let mut request = json!({
        "method": plan.method,
        "url": plan.url.to_string(),
        "query": templates_json(&plan.query),
        "headers": templates_json(&plan.headers),
        "body": plan.body.as_ref().map(body),
    });
    if let Some(pointer) = &plan.result {
        request["result"] = json!(pointer);
    }
    request
}

pub(super) fn request_lines(plan: &RequestPlan) -> Vec<Line> {
    let line = format!("CONNECTS TO {} {}", plan.method, quoted(&plan.url.to_string()));
    let mut lines = vec![Line::acting(line)];
    for (what, list) in [("with the query", &plan.query), ("with the header", &plan.headers)] {
        for (name, value) in list {
            let reads: Vec<&str> = value.variables().collect();
            lines.push(Line::telling(format!("{what} {}", set(name, Some(&value.to_string()), &reads))));
        }
    }
    if let Some(path) = plan.body.as_ref().and_then(BodyPlan::file) {
        let path = quoted(&path.to_string());
        lines.push(Line::acting(format!("SENDS THE FILE {path} below the working directory")));
    }
    let sending = |sent| Line::telling(format!("sending {}", quoted(&body_text(sent))));
    lines.extend(plan.body.iter().map(sending));
    lines
}

pub(super) fn named_json(list: &[(String, SecretRef)], values: Values) -> Vec<Value> {
    let entry = |(name, value): &(String, SecretRef)| json!({ "name": name, "value": values.of(value), "reads": value.variables() });
    list.iter().map(entry).collect()
}

pub(super) fn header_lines(list: &[(String, SecretRef)], values: Values) -> impl Iterator<Item = Line> {
    list.iter().map(move |entry| Line::telling(format!("with the header {}", named(entry, values))))
}

pub(super) fn variable_lines(list: &[(String, SecretRef)], values: Values) -> impl Iterator<Item = Line> {
    list.iter().map(move |entry| {
        let set = named(entry, values);
        match decides_code(&entry.0) {
            true => Line::acting(format!("SETS {set}: it decides which code runs")),
            false => Line::telling(format!("with the variable {set}")),
        }
    })
}

fn named((name, value): &(String, SecretRef), values: Values) -> String {
    set(name, values.of(value).as_deref(), &value.variables())
}

fn set(name: &str, value: Option<&str>, reads: &[&str]) -> String {
    let (name, names) = (quoted(name), plain(&reads.join(", ")));
    match value.map(quoted) {
        Some(value) if reads.is_empty() => format!("{name} = {value}"),
        Some(value) => format!("{name} = {value}, which reads your {names}"),
        None if reads.is_empty() => format!("{name}: written there"),
        None => format!("{name}: reads your {names}"),
    }
}

pub(super) fn argv_json(part: &ArgvPart) -> Value {
    match part {
        ArgvPart::One(one) => json!(one.to_string()),
        ArgvPart::Group(parts) => json!(parts.iter().map(Template::to_string).collect::<Vec<_>>()),
    }
}

pub(super) fn argv_text(part: &ArgvPart) -> String {
    match part {
        ArgvPart::One(one) => quoted(&one.to_string()),
        ArgvPart::Group(parts) => {
            format!("[{}]", parts.iter().map(|part| quoted(&part.to_string())).collect::<Vec<_>>().join(" "))
        }
    }
}

fn templates_json(list: &[(String, Template)]) -> Vec<Value> {
    let entry = |(name, value): &(String, Template)| json!({ "name": name, "value": value.to_string() });
    list.iter().map(entry).collect()
}

fn body(body: &BodyPlan) -> Value {
    match body {
        BodyPlan::Text(text) => json!(text.to_string()),
        BodyPlan::Form(entries) => json!({ "form": templates_json(entries) }),
        BodyPlan::Json(value) => json_template(value),
        BodyPlan::Multipart(parts) => json!({ "multipart": parts.iter().map(part).collect::<Vec<_>>() }),
        BodyPlan::File(path) => json!({ "file": path.to_string() }),
    }
}

fn part(part: &PartPlan) -> Value {
    let key = if part.is_file { "file" } else { "value" };
    json!({ "name": part.name, (key): part.value.to_string(), "type": part.media_type })
}

fn body_text(sent: &BodyPlan) -> String {
    match sent {
        BodyPlan::Text(text) => text.to_string(),
        _ => body(sent).to_string(),
    }
}

fn json_template(value: &JsonTemplate) -> Value {
    match value {
        JsonTemplate::Fixed(value) => value.clone(),
        JsonTemplate::Text(text) => json!(text.to_string()),
        JsonTemplate::Array(entries) => entries.iter().map(json_template).collect(),
        JsonTemplate::Object(entries) => {
            let entries = entries.iter().map(|(name, entry)| (name.clone(), json_template(entry)));
            Value::Object(entries.collect())
        }
    }
}

/// Writes a variable as `${NAME}` in every place.
pub(super) fn source_text(value: &SecretRef) -> String {
    match value {
        SecretRef::Environment(name) => format!("${{{name}}}"),
        value => value.to_string(),
    }
}

pub(super) fn oauth_json(plan: &OauthPlan) -> Value {
    json!({
        "client_id": plan.client_id.as_ref().map(source_text),
        "has_secret": plan.client_secret.is_some(),
        "scopes": plan.scopes,
        "client_metadata_url": plan.client_metadata_url,
        "redirect_port": plan.redirect_port,
    })
}

pub(super) fn oauth_line(plan: &OauthPlan) -> Line {
    let client = plan.client_id.as_ref().map(|id| format!(" as the client {}", quoted(&source_text(id))));
    let scopes: Vec<String> = plan.scopes.iter().map(|scope| quoted(scope)).collect();
    let asking =
        if scopes.is_empty() { String::new() } else { format!(", asking for {}", scopes.join(", ")) };
    Line::acting(format!("GETS TOKENS IN YOUR NAME by OAuth{}{asking}", client.unwrap_or_default()))
}

pub(super) fn grants_json(grants: &Grants) -> Value {
    json!({
        "roots": grants.roots,
        "elicitation": grants.elicitation,
        "sampling": grants.sampling,
        "log_level": grants.log_level.map(LogLevel::as_str),
    })
}

pub(super) fn grants_lines(grants: &Grants) -> Vec<Line> {
    let mut lines = Vec::new();
    if !grants.roots.is_empty() {
        let roots: Vec<String> = grants.roots.iter().map(|root| quoted(root)).collect();
        lines.push(Line::acting(format!("IS TOLD OF THE DIRECTORIES {}", roots.join(", "))));
    }
    if grants.sampling {
        lines.push(Line::acting("MAY ASK THE MODEL at your cost".to_owned()));
    }
    if !grants.elicitation {
        lines.push(Line::telling("elicitation = false".to_owned()));
    }
    lines.extend(grants.log_level.map(|level| Line::telling(format!("log_level = {}", level.as_str()))));
    lines
}
