//! The root of a tool's schema, made acceptable to every wire.
//!
//! A tool's arguments are an object for all providers, and most answer 400 to a root that is anything else or that has
//! `anyOf`, `oneOf`, `allOf` or `$ref` (as recorded refusals show). What is below the root passes unchanged. Dropping a
//! combinator only loosens what the *model* is told: the arguments are checked against the original schema before
//! anything runs.

use converse_canister::Declaration;
use serde_json::{Map, Value, json};

use crate::TranslateError;

const COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The schema with an object at its root, or an error that names the tool.
pub(crate) fn object_root(tool: &Declaration) -> Result<Map<String, Value>, TranslateError> {
    let wrong =
        |reason: &str| TranslateError::Tool { tool: tool.name.to_string(), reason: reason.to_owned() };
    let Value::Object(schema) = &tool.arguments else { return Err(wrong("its schema is not an object")) };
    let mut schema =
        inlined(schema).ok_or_else(|| wrong("the `$ref` at the root of its schema leads nowhere"))?;
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(Value::Array(kinds)) if kinds.iter().any(|kind| kind == "object") => {
            schema.insert("type".to_owned(), json!("object"));
        }
        None if schema.contains_key("properties") || says_nothing(&schema) => {
            schema.insert("type".to_owned(), json!("object"));
        }
        _ => return Err(wrong("the root of its schema must be of type `object`")),
    }
    for key in COMBINATORS {
        schema.shift_remove(key);
    }
    Ok(schema)
}

/// Does a schema without a type leave it open what the arguments are?
fn says_nothing(schema: &Map<String, Value>) -> bool {
    !COMBINATORS
        .iter()
        .chain(&["enum", "const", "not", "items", "pattern"])
        .any(|key| schema.contains_key(*key))
}

/// A root that is a `$ref` into its own definitions (generators write these for types) becomes what it refers to.
fn inlined(schema: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut root = schema.clone();
    for _ in 0..8 {
        let Some(target) = root.shift_remove("$ref") else { return Some(root) };
        let target = schema_at(schema, target.as_str()?)?.as_object()?.clone();
        for (key, value) in target {
            root.entry(key).or_insert(value);
        }
    }
    None
}

fn schema_at<'a>(schema: &'a Map<String, Value>, reference: &str) -> Option<&'a Value> {
    let (section, name) = reference.strip_prefix("#/")?.split_once('/')?;
    if !matches!(section, "$defs" | "definitions") || name.contains('/') {
        return None;
    }
    schema.get(section)?.get(name.replace("~1", "/").replace("~0", "~"))
}

#[cfg(test)]
mod tests {
    use converse_canister::ToolName;

    use super::*;

    fn root(arguments: Value) -> Result<Value, String> {
        let tool = Declaration { name: ToolName::new("t").unwrap(), description: String::new(), arguments };
        object_root(&tool).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn an_object_root_passes_unchanged_but_for_its_combinators() {
        let nested = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}, "required": ["a"]});
        assert_eq!(root(nested.clone()).unwrap(), nested);
        let mut combined = nested.clone();
        combined["oneOf"] = json!([{"required": ["a"]}]);
        assert_eq!(root(combined).unwrap(), nested);
    }

    #[test]
    fn a_missing_type_is_added_where_it_is_safe() {
        for schema in [json!({"properties": {}}), json!({}), json!({"type": ["object", "null"]})] {
            assert_eq!(root(schema).unwrap()["type"], "object");
        }
        let reference = json!({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "title": "A"}}});
        let inlined = root(reference).unwrap();
        assert_eq!(
            (&inlined["type"], &inlined["title"], inlined.get("$ref")),
            (&json!("object"), &json!("A"), None)
        );
    }

    #[test]
    fn another_root_is_an_error_that_names_the_tool() {
        for schema in [
            json!(true),
            json!({"type": "string"}),
            json!({"anyOf": [{"type": "object"}]}),
            json!({"$ref": "#/$defs/gone"}),
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}),
            json!({"$ref": "https://example.com/schema"}),
        ] {
            let error = root(schema).unwrap_err();
            assert!(error.starts_with("tool `t` cannot be offered"), "{error}");
        }
    }
}
