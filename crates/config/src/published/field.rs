//! Schema parts for the values of keys.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::table::MAX_DESCRIPTION;

/// The patterns that `EnsembleName` and `InvokerName` check.
pub(super) const ENSEMBLE_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";
pub(super) const INVOKER_NAME: &str = "^[A-Za-z0-9_./-]{1,128}$";

/// Returns `shape` with `description` as its first key.
pub(super) fn described(description: &str, shape: Value) -> Value {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(description));
    if let Value::Object(shape) = shape {
        schema.extend(shape);
    }
    Value::Object(schema)
}

/// Returns `schema` with the keys of `more` added.
pub(super) fn and(schema: Value, more: Value) -> Value {
    match (schema, more) {
        (Value::Object(mut schema), Value::Object(more)) => {
            schema.extend(more);
            Value::Object(schema)
        }
        (schema, _) => schema,
    }
}

pub(super) fn text(description: &str, rest: Value) -> Value {
    described(description, and(json!({ "type": "string" }), rest))
}

/// Returns the schema of a description that models read.
pub(super) fn description(description: &str) -> Value {
    text(description, json!({ "maxLength": MAX_DESCRIPTION }))
}

pub(super) fn flag(description: &str, default: bool) -> Value {
    described(description, json!({ "type": "boolean", "default": default }))
}

/// Returns the schema of a choice among `words`, the words that the parser accepts.
pub(super) fn choice<T>(description: &str, words: &[(&str, T)], rest: Value) -> Value {
    let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
    described(description, and(json!({ "type": "string", "enum": words }), rest))
}

pub(super) fn count(description: &str, least: u32, most: u32) -> Value {
    described(description, json!({ "type": "integer", "minimum": least, "maximum": most }))
}

/// Returns the schema of a duration: seconds, or a text with a unit.
pub(super) fn duration(description: &str, most: Duration) -> Value {
    let shape = json!({
        "type": ["number", "string"],
        "exclusiveMinimum": 0,
        "maximum": most.as_secs(),
        "pattern": with_unit("[mM]?[sS]|[mM]|[hH]"),
        "examples": ["30s", "5m", 0.5],
    });
    described(&format!("{description}. Seconds, or a text such as `30s`, `5m`, `500ms`"), shape)
}

/// Returns the schema of a size: bytes, or a text with a unit.
pub(super) fn size(description: &str, most: usize) -> Value {
    let shape = json!({
        "type": ["integer", "string"],
        "minimum": 1,
        "maximum": most,
        "pattern": with_unit("([kKmMgG][iI]?)?[bB]"),
        "examples": ["64 KiB", 65536],
    });
    described(&format!("{description}. Bytes, or a text such as `64 KiB`"), shape)
}

fn with_unit(units: &str) -> String {
    format!("^\\s*([0-9]+\\.?[0-9]*|\\.[0-9]+)\\s*({units})\\s*$")
}

pub(super) fn texts(description: &str, rest: Value) -> Value {
    described(description, and(json!({ "type": "array", "items": { "type": "string" } }), rest))
}

/// Returns the schema of a table with free keys and text values.
pub(super) fn named_texts(description: &str, example: Value) -> Value {
    let shape =
        json!({ "type": "object", "additionalProperties": { "type": "string" }, "examples": [example] });
    described(description, shape)
}

/// Returns the schema of a table with exactly these keys.
pub(super) fn table(description: &str, keys: Value, required: &[&str]) -> Value {
    let mut shape = json!({ "type": "object", "additionalProperties": false, "properties": keys });
    if let (Some(shape), false) = (shape.as_object_mut(), required.is_empty()) {
        shape.insert("required".to_owned(), json!(required));
    }
    described(description, shape)
}

/// Returns the schema of a JSON Schema written as TOML; its content is not checked here.
pub(super) fn schema(description: &str) -> Value {
    described(description, json!({ "type": "object", "examples": [{ "type": "object" }] }))
}
