//! The form of keywords in draft 2020-12, which Anthropic and OpenAI require; older drafts have other forms of some.
//! Gemini has a list of its own and fails on other forms.
//!
//! Error text: <https://github.com/anthropics/claude-code/issues/63673>,
//! <https://github.com/FoundationAgents/OpenManus/issues/1162>; the forms:
//! <https://json-schema.org/draft/2020-12/schema> (checked 2026-11).

use serde_json::Value;

use super::walk::{SchemaNode, escaped};
use super::{Effect, Fault, LintTarget};

#[derive(Debug, Clone, Copy)]
enum Shape {
    Types,
    Schema,
    Schemas,
    Table,
    Texts,
    List,
    Number,
    Count,
    Text,
    Flag,
}

const SHAPES: &[(Shape, &[&str])] = &[
    (Shape::Types, &["type"]),
    (
        Shape::Schema,
        &[
            "items",
            "additionalProperties",
            "contains",
            "else",
            "if",
            "not",
            "propertyNames",
            "then",
            "unevaluatedItems",
            "unevaluatedProperties",
        ],
    ),
    (Shape::Schemas, &["anyOf", "oneOf", "allOf", "prefixItems"]),
    (Shape::Table, &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]),
    (Shape::Texts, &["required"]),
    (Shape::List, &["enum", "examples"]),
    (Shape::Number, &["maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"]),
    (
        Shape::Count,
        &[
            "maxItems",
            "minItems",
            "maxLength",
            "minLength",
            "maxProperties",
            "minProperties",
            "maxContains",
            "minContains",
        ],
    ),
    (Shape::Text, &["$ref", "$id", "$anchor", "$comment", "description", "format", "pattern", "title"]),
    (Shape::Flag, &["uniqueItems", "deprecated", "readOnly", "writeOnly"]),
];

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

pub(super) fn faults(_: LintTarget, nodes: &[SchemaNode<'_>]) -> Vec<Fault> {
    nodes.iter().flat_map(of_site).collect()
}

fn of_site(node: &SchemaNode<'_>) -> Vec<Fault> {
    let keywords = SHAPES.iter().flat_map(|(shape, keys)| keys.iter().map(move |key| (*shape, *key)));
    let wrong = keywords.filter_map(|(shape, key)| {
        let value = node.get(key)?;
        // At the root a wrong type is a matter of its own.
        let known = node.is_root() && key == "type";
        (!known && !shape.fits(value)).then(|| Fault {
            kind: "invalid-schema",
            pointer: format!("{}/{}", node.pointer, escaped(key)),
            says: format!("accepts only JSON Schema of draft 2020-12, where `{key}` is {}", shape.says()),
            effect: Effect::Refused,
        })
    });
    wrong.collect()
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        let schema = |value: &Value| value.is_object() || value.is_boolean();
        let kind = |value: &Value| value.as_str().is_some_and(|kind| TYPES.contains(&kind));
        match (self, value) {
            (Self::Types, Value::Array(kinds)) => !kinds.is_empty() && kinds.iter().all(kind),
            (Self::Types, value) => kind(value),
            (Self::Schema, value) => schema(value),
            (Self::Schemas, Value::Array(schemas)) => !schemas.is_empty() && schemas.iter().all(schema),
            (Self::Table, Value::Object(schemas)) => schemas.values().all(schema),
            (Self::Texts, Value::Array(texts)) => texts.iter().all(Value::is_string),
            (Self::Count, Value::Number(number)) => {
                number.as_u64().is_some()
                    || number.as_f64().is_some_and(|count| count >= 0.0 && count.fract() == 0.0)
            }
            (Self::List, value) => value.is_array(),
            (Self::Number, value) => value.is_number(),
            (Self::Text, value) => value.is_string(),
            (Self::Flag, value) => value.is_boolean(),
            _ => false,
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::Types => "the name of a type, or a list of them",
            Self::Schema => "one schema (a list of them for a tuple is `prefixItems`)",
            Self::Schemas => "a list of one or more schemas",
            Self::Table => "a table of schemas",
            Self::Texts => "a list of texts",
            Self::List => "a list",
            Self::Number => "a number",
            Self::Count => "an integer of 0 or more",
            Self::Text => "a text",
            Self::Flag => "`true` or `false`",
        }
    }
}
