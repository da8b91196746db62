//! Tools that no client can or should use, each for another reason, beside valid ones.

use serde_json::{Value, json};

use super::listing::tool;

/// Levels of the reference bomb: unrolled it would have 2^40 leaves.
const LEVELS: usize = 40;

pub(super) fn malformed() -> Vec<Value> {
    vec![
        json!({ "name": "no_schema", "description": "Has no schema" }),
        json!({ "name": "array_schema", "description": "Its schema is a list", "inputSchema": [] }),
        json!({ "name": "text_schema", "description": "Its schema is a text", "inputSchema": "object" }),
        json!({ "name": "list_arguments", "description": "Takes a list", "inputSchema": { "type": "array" } }),
        json!({ "description": "Has no name", "inputSchema": { "type": "object" } }),
        json!({ "name": 5, "description": "Its name is a number", "inputSchema": { "type": "object" } }),
        json!("no tool at all"),
        Value::Null,
        tool("two words", "A space in its name", &[]),
        tool("in\u{200b}visible", "A character in its name that nobody sees", &[]),
        tool("\u{435}cho", "Its first letter is Cyrillic", &[]),
        tool("turned\u{202e}round", "Its name turns the line round", &[]),
        tool("", "Its name is empty", &[]),
        tool(&"x".repeat(129), "Its name is too long", &[]),
        tool("twin", "The first of two of a name", &[]),
        tool("twin", "The second of two of a name", &[]),
        with_schema("bomb", bomb()),
        with_schema("remote_ref", property(json!({ "$ref": "http://127.0.0.1:9/schema.json" }))),
        with_schema("file_ref", property(json!({ "$ref": "file:///etc/passwd" }))),
        with_schema("pattern", property(json!({ "type": "string", "pattern": "^(a+)+$" }))),
        with_schema("back_pattern", property(json!({ "type": "string", "pattern": r"^(a*)*\1$" }))),
        with_schema("large", property(json!({ "type": "string", "description": "x".repeat(100 * 1024) }))),
        with_schema("any_of", any_of()),
        with_schema("root_ref", json!({ "$ref": "#/$defs/arguments", "$defs": { "arguments": any_of() } })),
        tool("good", "Is as good as any", &[]),
    ]
}

fn with_schema(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "Has a schema of its own", "inputSchema": schema })
}

fn property(schema: Value) -> Value {
    json!({ "type": "object", "properties": { "value": schema } })
}

/// Keywords that some providers refuse at the root of a schema.
fn any_of() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "id": { "type": "integer" }, "name": { "type": "string" } },
        "anyOf": [{ "required": ["id"] }, { "required": ["name"] }],
    })
}

fn bomb() -> Value {
    let mut levels: serde_json::Map<String, Value> = (0..LEVELS)
        .map(|level| {
            let next = json!({ "$ref": format!("#/$defs/level{}", level + 1) });
            (format!("level{level}"), json!({ "allOf": [next, next] }))
        })
        .collect();
    levels.insert(format!("level{LEVELS}"), json!({ "type": "string" }));
    let mut schema = property(json!({ "$ref": "#/$defs/level0" }));
    schema["$defs"] = Value::Object(levels);
    schema
}
