//! Requests from arguments, answers from responses: tables.

mod answered;
mod filled;
mod sent;
mod urls;

use converse_config::{BodyPlan, Environment, JsonTemplate, RequestPlan};
use serde_json::Value;

use crate::testing::template;

/// `HOST` is `https://api.test`; `ODD` holds braces.
fn environment() -> Environment {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Environment::new([
        set("HOST", "https://api.test"),
        set("KEY", "s3cret"),
        set("ODD", "{x}"),
        set("BAD", "a\r\nb"),
    ])
}

fn plan(url: &str, query: &[(&str, &str)], headers: &[(&str, &str)], body: Option<BodyPlan>) -> RequestPlan {
    let named = |entries: &[(&str, &str)]| {
        entries.iter().map(|(name, text)| ((*name).to_owned(), template(text))).collect()
    };
    RequestPlan {
        method: "GET".to_owned(),
        url: template(url),
        query: named(query),
        headers: named(headers),
        styles: Vec::new(),
        body,
        result: None,
    }
}

fn json_template(written: &Value) -> JsonTemplate {
    match written {
        Value::String(text) => JsonTemplate::Text(template(text)),
        Value::Array(entries) => JsonTemplate::Array(entries.iter().map(json_template).collect()),
        Value::Object(fields) => JsonTemplate::Object(
            fields.iter().map(|(name, field)| (name.clone(), json_template(field))).collect(),
        ),
        fixed => JsonTemplate::Fixed(fixed.clone()),
    }
}
