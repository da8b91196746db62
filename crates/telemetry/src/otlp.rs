//! OTLP as JSON: ids in hex, whole numbers of 64 bits as strings, kinds and states as numbers.
//!
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>, version 1.10, checked 2026-11.

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::Variables;
use super::spans::{Finished, Span, random_hex};

/// The state of a span that failed.
const ERROR: u8 = 2;

/// Takes secrets out of a text, and what is too long.
pub(super) type Clean<'a> = &'a dyn Fn(&str) -> String;

/// The attributes of the program that reports.
#[derive(Debug)]
pub(super) struct Resource(Vec<(String, Value)>);

impl Resource {
    pub(super) fn of(variables: &Variables<'_>) -> Self {
        let mut attributes = vec![
            ("service.name".to_owned(), json!("converse")),
            ("service.version".to_owned(), json!(env!("CARGO_PKG_VERSION"))),
            ("service.instance.id".to_owned(), json!(random_hex(16))),
        ];
        let mut set = |name: &str, value: &str| {
            attributes.retain(|(known, _)| known != name);
            attributes.push((name.to_owned(), json!(value)));
        };
        for pair in variables("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default().split(',') {
            if let Some((name, value)) = pair.split_once('=')
                && !name.trim().is_empty()
            {
                set(name.trim(), &percent_decode_str(value.trim()).decode_utf8_lossy());
            }
        }
        if let Some(name) = variables("OTEL_SERVICE_NAME") {
            set("service.name", name);
        }
        Self(attributes)
    }

    pub(super) fn json(&self) -> Value {
        json!({ "attributes": attributes(&self.0, &str::to_owned) })
    }
}

pub(super) fn scope() -> Value {
    json!({ "name": "converse", "version": env!("CARGO_PKG_VERSION") })
}

pub(super) fn attributes(pairs: &[(impl AsRef<str>, Value)], clean: Clean<'_>) -> Value {
    pairs
        .iter()
        .map(|(key, value)| json!({ "key": key.as_ref(), "value": any_value(value, clean) }))
        .collect()
}

/// Writes a text, a number or a list of them.
fn any_value(value: &Value, clean: Clean<'_>) -> Value {
    match value {
        Value::String(text) => json!({ "stringValue": clean(text) }),
        Value::Array(items) => {
            let values: Vec<Value> = items.iter().map(|item| any_value(item, clean)).collect();
            json!({ "arrayValue": { "values": values } })
        }
        number if number.is_u64() => json!({ "intValue": number.to_string() }),
        number => json!({ "doubleValue": number }),
    }
}

/// Returns the body of a request to `/v1/traces`.
pub(super) fn traces(turns: &[Finished], resource: &Resource, clean: Clean<'_>) -> Value {
    let spans = turns.iter().flat_map(|turn| turn.spans.iter().map(|one| span(one, turn, clean)));
    let spans: Vec<Value> = spans.collect();
    json!({ "resourceSpans": [{
        "resource": resource.json(),
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }] })
}

fn span(span: &Span, turn: &Finished, clean: Clean<'_>) -> Value {
    let mut object = json!({
        "traceId": turn.trace, "spanId": span.id, "name": clean(&span.name), "kind": span.kind,
        "startTimeUnixNano": span.began.to_string(), "endTimeUnixNano": span.ended.to_string(),
        "attributes": attributes(&span.attributes, clean), "flags": 1,
        "status": span.error.as_ref().map_or_else(|| json!({}), |error| json!({ "code": ERROR, "message": error })),
    });
    if let Some(parent) = &span.parent {
        object["parentSpanId"] = json!(parent);
    }
    if !turn.state.is_empty() {
        object["traceState"] = json!(turn.state);
    }
    object
}
