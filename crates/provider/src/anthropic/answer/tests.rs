//! Schemas in the strict subset, and those that are not to be said there.

use super::*;

#[test]
fn schemas_come_out_strict() {
    let string = json!({ "type": "string" });
    let closed = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let a = json!({ "a": string });
    for (schema, expected) in [
        (json!({ "type": "object", "properties": a }), closed(a.clone(), json!([]))),
        (json!({ "properties": a, "required": ["a"] }), closed(a.clone(), json!(["a"]))),
        (
            json!({ "type": "integer", "minimum": 1, "description": "n" }),
            json!({ "type": "integer", "description": "n\n\n{minimum: 1}" }),
        ),
        (json!({ "type": "string", "format": "date" }), json!({ "type": "string", "format": "date" })),
        (
            json!({ "type": "string", "format": "iban" }),
            json!({ "type": "string", "description": "{format: \"iban\"}" }),
        ),
        (json!({ "type": "string", "enum": ["x", null] }), json!({ "enum": ["x", null] })),
        (json!({ "const": 1 }), json!({ "const": 1 })),
        (
            json!({ "type": ["string", "null"], "maxLength": 3, "title": "t" }),
            json!({ "anyOf": [string, { "type": "null" }], "title": "t", "description": "{maxLength: 3}" }),
        ),
        (json!({ "oneOf": [string, { "type": "null" }] }), json!({ "anyOf": [string, { "type": "null" }] })),
        (
            json!({ "type": "array", "items": string, "minItems": 2 }),
            json!({ "type": "array", "items": string, "description": "{minItems: 2}" }),
        ),
        (
            json!({ "$defs": { "a": string }, "$ref": "#/$defs/a" }),
            json!({ "$defs": { "a": string }, "$ref": "#/$defs/a" }),
        ),
    ] {
        assert_eq!(narrow(&schema).as_ref(), Some(&expected), "{schema}");
    }
}

#[test]
fn what_cannot_be_said_is_told_in_words() {
    let wide: Map<String, Value> =
        (0..=MAX_OPTIONAL).map(|n| (format!("p{n}"), json!({ "type": "null" }))).collect();
    for schema in [
        json!(true),
        json!({}),
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "properties": { "a": {} } }),
        json!({ "type": "object", "properties": { "a": { "type": "null" } }, "required": ["b"] }),
        json!({ "type": "array" }),
        json!({ "allOf": [{ "type": "string" }] }),
        json!({ "$ref": "https://example.com/s" }),
        json!({ "$ref": "#/$defs/gone", "$defs": {} }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "type": "array", "items": { "$ref": "#/$defs/a" } } } }),
        json!({ "type": "object", "properties": wide }),
    ] {
        assert_eq!(narrow(&schema), None, "{schema}");
    }
    let answer = AnswerFormat { name: "answer".into(), schema: json!({ "type": "object" }) };
    assert!(
        matches!(form(&answer), AnswerForm::Instructions(words) if words.ends_with(r#"{"type":"object"}"#))
    );
}
