//! A short description of the schema of an argument: type, values, bounds.

use serde_json::Value;

/// Describes the common keywords of a schema. The whole schema is in `--json`.
pub fn describe_argument(schema: &Value) -> String {
    let mut words = vec![kind(schema)];
    match (&schema["const"], schema["enum"].as_array()) {
        (Value::Null, None) => {}
        (Value::Null, Some(values)) => {
            words.push(format!(
                "one of {}",
                values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ")
            ));
        }
        (value, _) => words.push(format!("only {value}")),
    }
    words.extend(range(schema, ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"], ""));
    words.extend(range(schema, ["minLength", "", "maxLength", ""], " characters"));
    words.extend(range(schema, ["minItems", "", "maxItems", ""], " items"));
    let text = |key: &str| schema[key].as_str();
    words.extend(text("pattern").map(|pattern| format!("like {pattern}")));
    words.extend(text("format").map(str::to_owned));
    words.extend(schema.get("default").map(|value| format!("else {value}")));
    words.join(", ")
}

/// The type; for an array also the type of its items.
fn kind(schema: &Value) -> String {
    let kinds = match &schema["type"] {
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    match schema["items"]["type"].as_str() {
        Some(items) if kinds == "array" => format!("array of {items}"),
        _ => kinds,
    }
}

/// `keys`: inclusive and exclusive minimum, inclusive and exclusive maximum.
fn range(schema: &Value, keys: [&str; 4], unit: &str) -> Option<String> {
    let [least, above, most, below] = keys.map(|key| schema.get(key).filter(|value| value.is_number()));
    let one = |word: &str, value: Option<&Value>| value.map(|value| format!("{word} {value}"));
    let ends =
        [one("at least", least), one("more than", above), one("at most", most), one("less than", below)];
    let range = match (least, above, most, below) {
        (Some(least), None, Some(most), None) => format!("{least} to {most}"),
        _ => ends.into_iter().flatten().collect::<Vec<_>>().join(" and "),
    };
    (!range.is_empty()).then(|| range + unit)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_is_described_in_a_few_words() {
        for (schema, description) in [
            (json!({}), "any"),
            (json!(true), "any"),
            (json!({ "type": "integer", "minimum": 1, "maximum": 200 }), "integer, 1 to 200"),
            (json!({ "type": "number", "exclusiveMinimum": 0 }), "number, more than 0"),
            (
                json!({ "type": "number", "minimum": 0, "exclusiveMaximum": 1.5 }),
                "number, at least 0 and less than 1.5",
            ),
            (json!({ "type": ["string", "null"], "maxLength": 9 }), "string or null, at most 9 characters"),
            (
                json!({ "type": "string", "enum": ["c", "f"], "default": "c" }),
                "string, one of \"c\" | \"f\", else \"c\"",
            ),
            (json!({ "const": 7 }), "any, only 7"),
            (
                json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
                "array of string, at least 1 items",
            ),
            (json!({ "type": "string", "format": "date", "pattern": "^2" }), "string, like ^2, date"),
            (json!({ "type": "string", "minimum": "x" }), "string"),
        ] {
            assert_eq!(describe_argument(&schema), description);
        }
    }
}
