//! Text into a JSON value of the type that a schema asks for.
//!
//! [`fitting`] is for arguments of plain questions and refuses what the schema refuses. [`written`] is for the explicit form
//! and passes on what was typed, even if it is wrong, so that the tool's own check answers it.

use serde_json::{Map, Number, Value};

use crate::words::lower;

/// Returns the value if it fits `type`, `minimum`, `maximum`, `minLength` and `maxLength`.
pub(crate) fn fitting(schema: &Map<String, Value>, kind: Option<&str>, text: &str) -> Option<Value> {
    match kind {
        Some("integer") => {
            let number: i64 = text.parse().ok()?;
            within(schema, Number::from(number).as_f64()?).then(|| Value::from(number))
        }
        Some("number") => {
            let number = number(text)?;
            within(schema, number.as_f64()?).then_some(Value::Number(number))
        }
        Some("boolean") => truth(text).map(Value::Bool),
        Some("string") | None => {
            let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
            let limit = |key: &str| schema.get(key).and_then(Value::as_u64);
            let fits = limit("maxLength").is_none_or(|most| length <= most)
                && limit("minLength").is_none_or(|least| length >= least);
            fits.then(|| Value::String(text.to_owned()))
        }
        Some(_) => None,
    }
}

fn within(schema: &Map<String, Value>, number: f64) -> bool {
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    limit("minimum").is_none_or(|least| number >= least)
        && limit("maximum").is_none_or(|most| number <= most)
        && limit("exclusiveMinimum").is_none_or(|least| number > least)
        && limit("exclusiveMaximum").is_none_or(|most| number < most)
}

fn number(text: &str) -> Option<Number> {
    serde_json::from_str::<Number>(text).ok()
}

fn truth(text: &str) -> Option<bool> {
    match lower(text).as_str() {
        "true" | "yes" | "on" | "да" => Some(true),
        "false" | "no" | "off" | "нет" => Some(false),
        _ => None,
    }
}

/// Returns what was typed after `key=` as the property's schema types it; without a schema, as JSON does.
pub(crate) fn written(schema: Option<&Value>, text: &str, quoted: bool) -> Value {
    let string = || Value::String(text.to_owned());
    let json = || serde_json::from_str::<Value>(text).ok();
    if quoted {
        return string();
    }
    match schema.map(types).unwrap_or_default().as_slice() {
        [] => json().unwrap_or_else(string),
        kinds if kinds.contains(&"string") => {
            if text == "null" && kinds.contains(&"null") {
                Value::Null
            } else {
                string()
            }
        }
        kinds => {
            let boolean = kinds.contains(&"boolean").then(|| truth(text)).flatten().map(Value::Bool);
            boolean
                .or_else(json)
                .unwrap_or_else(|| if kinds.contains(&"array") { list(schema, text) } else { string() })
        }
    }
}

/// `a,b,c` for an array.
fn list(schema: Option<&Value>, text: &str) -> Value {
    let items = schema.and_then(|schema| schema.get("items"));
    Value::Array(text.split(',').map(|item| written(items, item.trim(), false)).collect())
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|key| schema.get(*key)?.as_array())
            .flatten()
            .filter_map(|one| one.get("type")?.as_str())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn guesses_stay_within_the_schema() {
        for (schema, text, value) in [
            (json!({"type": "integer", "minimum": 1, "maximum": 7}), "5", Some(json!(5))),
            (json!({"type": "integer", "minimum": 1, "maximum": 7}), "8", None),
            (json!({"type": "integer"}), "2.5", None),
            (json!({"type": "number", "exclusiveMinimum": 0}), "0", None),
            (json!({"type": "number"}), "2.5", Some(json!(2.5))),
            (json!({"type": "string", "maxLength": 3}), "четыре", None),
            (json!({"type": "string", "minLength": 3}), "abc", Some(json!("abc"))),
            (json!({"type": "boolean"}), "да", Some(json!(true))),
            (json!({"type": "object"}), "{}", None),
        ] {
            let kind = schema["type"].as_str();
            assert_eq!(fitting(schema.as_object().unwrap(), kind, text), value, "{schema} {text}");
        }
    }
}
