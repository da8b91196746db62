//! [`wrapped`]: the schema of an answer that is not an object, for wires that need an object at the root.
//!
//! OpenAI refuses anything else (<https://developers.openai.com/api/docs/guides/structured-outputs>, 2026-11).

use serde_json::{Map, Value, json};

/// The key in the object around a value that is not an object.
pub const WRAPPED: &str = "value";

/// Wraps a schema in an object with one property. Definitions move to the root, where wires expect them, and other
/// references are adjusted.
pub fn wrapped(mut schema: Value) -> Value {
    let mut root = Map::new();
    if let Some(object) = schema.as_object_mut() {
        for key in ["$schema", "$id", "$defs", "definitions"] {
            root.extend(object.shift_remove(key).map(|value| (key.to_owned(), value)));
        }
    }
    moved(&mut schema);
    for key in ["$defs", "definitions"] {
        root.get_mut(key).into_iter().for_each(moved_within);
    }
    root.extend([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), json!({ WRAPPED: schema })),
        ("required".to_owned(), json!([WRAPPED])),
        ("additionalProperties".to_owned(), json!(false)),
    ]);
    Value::Object(root)
}

/// Keywords whose values are data, and keywords whose values are schemas by name.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

fn moved(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => moved_target(target),
                    value if NAMED.contains(&key.as_str()) => moved_within(value),
                    value if !DATA.contains(&key.as_str()) => moved(value),
                    _ => {}
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(moved),
        _ => {}
    }
}

fn moved_within(named: &mut Value) {
    named.as_object_mut().into_iter().flat_map(|named| named.values_mut()).for_each(moved);
}

/// An anchor (`#name`) moves with its schema.
fn moved_target(target: &mut String) {
    let stays = ["#/$defs/", "#/definitions/"].iter().any(|root| target.starts_with(root));
    let pointer = target.strip_prefix('#').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    if let Some(rest) = pointer.filter(|_| !stays) {
        *target = format!("#/properties/{WRAPPED}{rest}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_references_move_and_only_where_they_are_some() {
        let schema = json!({ "$id": "https://a.example/s", "type": "array", "$defs": { "t": { "$anchor": "tt" } },
            "items": { "anyOf": [{ "$ref": "#tt" }, { "$ref": "#/$defs/t" }, { "$ref": "#" }, { "$ref": "#/items" }],
                "default": { "$ref": "#/x" }, "properties": { "default": { "$ref": "#/items" } } } });
        let sent = wrapped(schema);
        let items = &sent["properties"]["value"]["items"];
        let targets: Vec<&str> =
            items["anyOf"].as_array().unwrap().iter().map(|one| one["$ref"].as_str().unwrap()).collect();
        assert_eq!(targets, ["#tt", "#/$defs/t", "#/properties/value", "#/properties/value/items"]);
        assert_eq!(items["default"]["$ref"], "#/x");
        assert_eq!(items["properties"]["default"]["$ref"], "#/properties/value/items");
        assert_eq!(sent["$id"], "https://a.example/s");
        assert_eq!(sent.pointer("/properties/value/$id"), None);
    }
}
