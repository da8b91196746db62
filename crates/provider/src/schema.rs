//! The schema of a tool as each wire gets it.
//!
//! | wire | what is changed |
//! |---|---|
//! | all | the root is an object without combinators ([`object_root`]); older drafts' forms become today's ([`drafts`]) |
//! | OpenAI, both | also: `properties` at the root, `items` at each array, no `enum`, `const` or `not` at the root |
//! | Gemini | also: no references ([`inline`]), `required` names what `properties` have, no `true` for a schema |
//!
//! Everything else passes unchanged, and a schema in which there is nothing to change is not copied. Every provider requires an object for the arguments, and most answer 400 to
//! another root (as recorded refusals show). Each change only loosens what the *model* gets, or says the same in
//! another form: the arguments are checked against the original schema before anything runs.
//!
//! The sources are those of the lint's table, which finds the same faults.

mod drafts;
mod inline;
mod unchanged;

use std::borrow::Cow;

use converse_canister::Declaration;
use serde_json::{Map, Value, json};

use crate::TranslateError;

const COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// The schema of a tool, borrowed if the wire gets it as it was declared.
pub(crate) type Schema<'d> = Cow<'d, Map<String, Value>>;

/// The schema with an object at its root, or an error that names the tool.
pub(crate) fn object_root(tool: &Declaration) -> Result<Schema<'_>, TranslateError> {
    let changed = || changed_root(tool).map(Cow::Owned);
    unchanged::everywhere(tool).map_or_else(changed, |schema| Ok(Cow::Borrowed(schema)))
}

fn changed_root(tool: &Declaration) -> Result<Map<String, Value>, TranslateError> {
    let wrong =
        |reason: &str| TranslateError::Tool { tool: tool.name.to_string(), reason: reason.to_owned() };
    let Value::Object(schema) = &*tool.arguments else { return Err(wrong("its schema is not an object")) };
    let mut schema = inlined(schema)
        .ok_or_else(|| wrong("the target of the `$ref` at the root of its schema does not exist"))?;
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
    drafts::modernise(&mut schema);
    Ok(schema)
}

/// OpenAI's own servers, with `strict` off: <https://github.com/openai/openai-agents-python/issues/449> (`properties`),
/// <https://github.com/zed-industries/zed/pull/47578> (`items`),
/// <https://github.com/goruck/home-generative-agent/pull/545> (keywords at the root). Checked 2026-11.
pub(crate) fn for_openai(tool: &Declaration) -> Result<Schema<'_>, TranslateError> {
    let changed = || changed_for_openai(tool).map(Cow::Owned);
    unchanged::for_openai(tool).map_or_else(changed, |schema| Ok(Cow::Borrowed(schema)))
}

fn changed_for_openai(tool: &Declaration) -> Result<Map<String, Value>, TranslateError> {
    let mut schema = changed_root(tool)?;
    for key in ["enum", "const", "not"] {
        schema.shift_remove(key);
    }
    if !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
    give_items(&mut schema);
    Ok(schema)
}

/// Adds an empty `items` to arrays without one, at any depth.
fn give_items(schema: &mut Map<String, Value>) {
    if is_array(schema) {
        schema.entry("items").or_insert_with(|| json!({}));
    }
    each_inner(schema, &mut |_, inner| {
        if let Value::Object(inner) = inner {
            give_items(inner);
        }
    });
}

fn is_array(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    }
}

/// Gemini's `parametersJsonSchema`. It passes over keywords that it does not know, but refuses references that lead
/// nowhere (<https://github.com/google-gemini/gemini-cli/issues/13326>,
/// <https://github.com/agent-infra/sandbox/issues/83>), those with company
/// (<https://github.com/anomalyco/opencode/issues/12295>) and, in its older field at least, what `required` names and
/// `properties` do not have. Checked 2026-11.
pub(crate) fn for_gemini(tool: &Declaration) -> Result<Schema<'_>, TranslateError> {
    let changed = || Ok(Cow::Owned(narrowed_for_gemini(&changed_root(tool)?)));
    unchanged::for_gemini(tool).map_or_else(changed, |schema| Ok(Cow::Borrowed(schema)))
}

/// Gemini's `responseJsonSchema`: the same rules, but that an answer may be of any type.
pub(crate) fn gemini_answer(schema: &Value) -> Value {
    match schema {
        Value::Object(schema) => {
            let mut schema = schema.clone();
            drafts::modernise(&mut schema);
            Value::Object(narrowed_for_gemini(&schema))
        }
        other => other.clone(),
    }
}

fn narrowed_for_gemini(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = inline::inlined(schema);
    narrow(&mut schema);
    schema
}

fn narrow(schema: &mut Map<String, Value>) {
    if schema.get("properties").is_some_and(|properties| !properties.is_object()) {
        schema.shift_remove("properties");
    }
    name_what_is_required(schema);
    // The only allowed value, as an `enum`, which every wire supports.
    if !schema.contains_key("enum")
        && schema.get("const").is_some_and(|value| value.is_string() || value.is_number())
        && let Some(value) = schema.shift_remove("const")
    {
        schema.insert("enum".to_owned(), json!([value]));
    }
    each_inner(schema, &mut |key, inner| match inner {
        Value::Object(inner) => narrow(inner),
        Value::Bool(true) if key != "additionalProperties" => *inner = json!({}),
        _ => {}
    });
}

/// A required name without a property of its own gets one that may be anything, unless others are forbidden: then no
/// arguments would be right, and the name is left out.
fn name_what_is_required(schema: &mut Map<String, Value>) {
    let Some(Value::Array(required)) = schema.get("required") else { return };
    let names: Vec<String> = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let known = |name: &String| schema.get("properties").and_then(|table| table.get(name)).is_some();
    let (known, unknown): (Vec<String>, Vec<String>) = names.iter().cloned().partition(known);
    if unknown.is_empty() {
        return;
    }
    let rest = schema.get("additionalProperties").cloned();
    if rest == Some(Value::Bool(false)) {
        schema.insert("required".to_owned(), json!(known));
        return;
    }
    let free = rest.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for name in unknown {
            properties.insert(name, free.clone());
        }
    }
}

/// Returns whether a schema without a type has no other keyword that restricts the type.
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

/// Keywords whose value is a schema, a list of schemas, or a table of schemas. The value of any other keyword (`enum`,
/// `default`, `examples`) is data.
pub(crate) const ONE: [&str; 12] = [
    "items",
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
pub(crate) const LIST: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
pub(crate) const TABLE: [&str; 5] =
    ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// Calls `each` for every schema directly inside `schema`, with the keyword that holds it.
fn each_inner(schema: &mut Map<String, Value>, each: &mut dyn FnMut(&str, &mut Value)) {
    for (key, value) in schema.iter_mut() {
        match value {
            Value::Array(schemas) if LIST.contains(&key.as_str()) => {
                schemas.iter_mut().for_each(|schema| each(key, schema));
            }
            Value::Object(schemas) if TABLE.contains(&key.as_str()) => {
                schemas.values_mut().for_each(|schema| each(key, schema));
            }
            schema if ONE.contains(&key.as_str()) => each(key, schema),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::ToolName;

    use super::*;

    fn root(arguments: Value) -> Result<Value, String> {
        let tool = Declaration {
            name: ToolName::new("t").unwrap(),
            description: String::new(),
            arguments: arguments.into(),
        };
        object_root(&tool).map(|schema| Value::Object(schema.into_owned())).map_err(|error| error.to_string())
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
