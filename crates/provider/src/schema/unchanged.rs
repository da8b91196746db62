//! Schemas that a wire gets as they were declared, which most are. Each function returns `None` if the wire's rules may
//! change something; in doubt the schema is copied and the rules decide.

use converse_canister::Declaration;
use serde_json::{Map, Value};

use super::{COMBINATORS, LIST, ONE, TABLE, drafts, inline, is_array};

type Object = Map<String, Value>;

/// The rules of all wires.
pub(super) fn everywhere(tool: &Declaration) -> Option<&Object> {
    root(tool).filter(|schema| !is_somewhere(schema, &has_old_form))
}

pub(super) fn for_openai(tool: &Declaration) -> Option<&Object> {
    let is_changed =
        |schema: &Object| has_old_form(schema) || is_array(schema) && !schema.contains_key("items");
    let is_taken = |schema: &Object| {
        let at_root = ["enum", "const", "not"].iter().any(|key| schema.contains_key(*key));
        !at_root && schema.get("properties").is_some_and(Value::is_object)
    };
    root(tool).filter(|schema| is_taken(schema) && !is_somewhere(schema, &is_changed))
}

pub(super) fn for_gemini(tool: &Declaration) -> Option<&Object> {
    root(tool).filter(|schema| !is_somewhere(schema, &|schema| has_old_form(schema) || is_narrowed(schema)))
}

/// The schema if it is an object that says so, without combinators or a reference.
fn root(tool: &Declaration) -> Option<&Object> {
    let schema = tool.arguments.as_object()?;
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let is_combined = COMBINATORS.iter().chain(&["$ref"]).any(|key| schema.contains_key(*key));
    (is_object && !is_combined).then_some(schema)
}

fn has_old_form(schema: &Object) -> bool {
    schema.iter().any(drafts::is_old)
}

/// Returns whether Gemini's rules may change this schema, or a boolean inside it.
fn is_narrowed(schema: &Object) -> bool {
    let properties = schema.get("properties");
    let is_missing = |name: &Value| {
        name.as_str().is_some_and(|name| properties.is_none_or(|properties| properties.get(name).is_none()))
    };
    let is_true = |schema: &Value| *schema == true;
    schema.iter().any(|(key, value)| match value {
        _ if inline::is_changed(key) || key == "const" => true,
        _ if key == "properties" && !value.is_object() => true,
        Value::Array(names) if key == "required" => names.iter().any(is_missing),
        Value::Array(schemas) => LIST.contains(&key.as_str()) && schemas.iter().any(is_true),
        Value::Object(schemas) => TABLE.contains(&key.as_str()) && schemas.values().any(is_true),
        Value::Bool(true) => key != "additionalProperties" && ONE.contains(&key.as_str()),
        _ => false,
    })
}

/// Returns whether this is so for a schema or one inside it.
fn is_somewhere(schema: &Object, is: &impl Fn(&Object) -> bool) -> bool {
    let inside = |schema: &Value| schema.as_object().is_some_and(|schema| is_somewhere(schema, is));
    is(schema)
        || schema.iter().any(|(key, value)| match value {
            Value::Array(schemas) => LIST.contains(&key.as_str()) && schemas.iter().any(inside),
            Value::Object(schemas) if TABLE.contains(&key.as_str()) => schemas.values().any(inside),
            Value::Object(schema) => ONE.contains(&key.as_str()) && is_somewhere(schema, is),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use converse_canister::ToolName;
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::{changed_for_openai, changed_root, narrowed_for_gemini};
    use super::*;

    fn tool(arguments: Value) -> Declaration {
        Declaration { name: ToolName::cleaned("t"), description: String::new(), arguments: arguments.into() }
    }

    /// Schemas of the keywords that some rule is about, and values that are not schemas.
    fn schemas() -> impl Strategy<Value = Value> {
        let kinds = prop_oneof![
            4 => prop::sample::select(vec!["object", "array", "string", "any"]).prop_map(|kind| json!(kind)),
            1 => Just(json!(["array", "null"])),
        ];
        let leaf = prop_oneof![
            3 => kinds.clone().prop_map(|kind| json!({ "type": kind })),
            1 => any::<bool>().prop_map(Value::Bool),
            1 => Just(json!(1)),
            1 => Just(json!(["a", "b"])),
        ];
        let keys: Vec<&str> = ONE
            .iter()
            .chain(&LIST)
            .chain(&TABLE)
            .chain(&["$ref", "$id", "required", "enum", "const", "exclusiveMinimum", "default", "a"])
            .copied()
            .collect();
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let named = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
            let table = named.prop_map(|table| Value::Object(table.into_iter().collect()));
            let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array);
            let value = prop_oneof![2 => inner, 2 => table, 1 => list];
            let fields = prop::collection::vec((prop::sample::select(keys.clone()), value), 0..4);
            (prop::option::of(kinds.clone()), fields).prop_map(|(kind, fields)| {
                let kind = kind.map(|kind| ("type".to_owned(), kind));
                let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value));
                Value::Object(kind.into_iter().chain(fields).collect())
            })
        })
    }

    fn texts(schema: Option<&Object>) -> Option<String> {
        Some(serde_json::to_string(schema?).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]
        #[test]
        fn the_rules_change_nothing_in_what_passes(inner in schemas(), more in schemas()) {
            let mut schema = json!({ "type": "object", "properties": { "a": inner } });
            if let (Some(schema), Value::Object(more)) = (schema.as_object_mut(), more) {
                schema.extend(more);
            }
            let tool = tool(schema);
            let root = changed_root(&tool);
            let gemini = root.as_ref().ok().map(narrowed_for_gemini);
            for (passes, ruled) in [
                (everywhere(&tool), root.ok()),
                (for_openai(&tool), changed_for_openai(&tool).ok()),
                (for_gemini(&tool), gemini),
            ] {
                prop_assert!(passes.is_none() || texts(passes) == texts(ruled.as_ref()));
            }
        }
    }

    #[test]
    fn a_plain_schema_passes_every_wire() {
        let items = json!({ "type": "array", "items": { "enum": ["x"] }, "default": [] });
        let tool = tool(json!({
            "type": "object",
            "properties": { "a": { "type": "string", "minLength": 1 }, "b": items },
            "required": ["a"],
            "additionalProperties": false,
        }));
        for passes in [everywhere(&tool), for_openai(&tool), for_gemini(&tool)] {
            assert_eq!(passes, tool.arguments.as_object());
        }
    }
}
