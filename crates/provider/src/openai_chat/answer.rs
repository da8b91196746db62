//! Structured answers with a JSON Schema.
//!
//! With `strict` the server enforces the whole schema, and refuses schemas with keywords that it cannot enforce. So
//! `strict` is set only for schemas within that subset; otherwise the model only gets the schema. The answer is checked
//! here in any case.
//!
//! The subset: <https://developers.openai.com/api/docs/guides/structured-outputs> (checked 2026-11).

use serde_json::{Map, Value, json};

use crate::{AnswerFormat, Quirks, Structured};

/// `response_format` of a chat request, if the server has any.
pub(super) fn format(answer: &AnswerFormat, quirks: &Quirks) -> Option<Value> {
    match quirks.structured {
        Structured::None => None,
        Structured::JsonObject => Some(json!({ "type": "json_object" })),
        Structured::JsonSchema => {
            Some(json!({ "type": "json_schema", "json_schema": Value::Object(json_schema_format(answer)) }))
        }
    }
}

/// Name, schema and `strict`, which both of OpenAI's wires want.
pub(crate) fn json_schema_format(answer: &AnswerFormat) -> Map<String, Value> {
    let mut format = Map::new();
    format.insert("name".into(), json!(answer.name));
    format.insert("schema".into(), answer.schema.clone());
    format.insert("strict".into(), json!(is_strict(&answer.schema)));
    format
}

/// Deeper schemas are not looked through, nor does the server take them.
const MAX_DEPTH: usize = 10;

/// Returns whether the schema is within the subset, with an object at its root.
fn is_strict(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
        && schema.get("anyOf").is_none()
        && is_supported(schema, MAX_DEPTH)
}

const ANNOTATIONS: [&str; 3] = ["description", "title", "$schema"];

const ASSERTIONS: [&str; 12] = [
    "type",
    "enum",
    "const",
    "$ref",
    "pattern",
    "format",
    "multipleOf",
    "maximum",
    "minimum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
];

fn is_supported(schema: &Value, depth: usize) -> bool {
    let Some(schema) = schema.as_object().filter(|_| depth > 0) else { return false };
    let all = |schemas: &Value| match schemas {
        Value::Object(named) => named.values().all(|schema| is_supported(schema, depth - 1)),
        Value::Array(listed) => listed.iter().all(|schema| is_supported(schema, depth - 1)),
        _ => false,
    };
    let known = schema.iter().all(|(key, value)| match key.as_str() {
        "properties" | "$defs" | "definitions" | "anyOf" => all(value),
        "items" => is_supported(value, depth - 1),
        "required" | "additionalProperties" | "minItems" => true,
        key => ANNOTATIONS.contains(&key) || ASSERTIONS.contains(&key),
    });
    known && (!is_object(schema) || is_closed(schema))
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let named = |kind: &Value| kind == "object";
    schema.contains_key("properties")
        || schema
            .get("type")
            .is_some_and(|kind| named(kind) || kind.as_array().is_some_and(|k| k.iter().any(named)))
}

/// Every property is required, and no others are allowed.
fn is_closed(schema: &Map<String, Value>) -> bool {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.is_none_or(|named| named.keys().all(|name| required.iter().any(|r| r == name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_is_asked_for_only_within_the_subset() {
        let closed = json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", null]}},
            "required": ["a"], "additionalProperties": false});
        let with = |key: &str, value: Value| {
            let mut schema = closed.clone();
            schema[key] = value;
            schema
        };
        for (schema, strict) in [
            (closed.clone(), true),
            (with("description", json!("d")), true),
            (with("$defs", json!({"d": closed})), true),
            (with("properties", json!({"a": {"type": "array", "items": closed}})), true),
            (with("properties", json!({"a": {"anyOf": [closed, {"type": "null"}]}})), true),
            (json!({"type": "object", "additionalProperties": false}), true),
            (with("additionalProperties", json!(true)), false),
            (with("required", json!([])), false),
            (with("anyOf", json!([closed])), false),
            (with("minProperties", json!(1)), false),
            (with("properties", json!({"a": {"type": "object"}})), false),
            (with("properties", json!({"a": {"type": ["object", "null"]}})), false),
            (with("properties", json!({"a": {"type": "string", "default": "x"}})), false),
            (with("properties", json!({"a": true})), false),
            (with("$defs", json!({"d": {"oneOf": []}})), false),
            (json!({"type": "array", "items": {"type": "string"}}), false),
            (json!({}), false),
            (json!(true), false),
        ] {
            assert_eq!(is_strict(&schema), strict, "{schema}");
        }
        let mut deep = json!({"type": "string"});
        for _ in 0..MAX_DEPTH {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(!is_strict(&with("properties", json!({"a": deep}))));
    }
}
