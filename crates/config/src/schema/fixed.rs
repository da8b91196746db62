//! Arguments that are fixed for all calls of a tool.

use serde_json::{Map, Value};

use super::{ArgumentsSchema, SchemaFault, escaped};

/// Keywords that count properties, or require some: a call gives the other arguments.
const COUNTING: [&str; 4] = ["required", "minProperties", "dependentRequired", "dependencies"];

/// Returns why these arguments cannot be fixed for calls of a tool with this schema: the schema does not list one, or
/// does not allow its value.
pub fn fixed_fault(schema: &Value, fixed: &Map<String, Value>) -> Option<SchemaFault> {
    if fixed.is_empty() {
        return None;
    }
    let listed = schema.get("properties").and_then(Value::as_object);
    let is_listed = |name: &str| listed.is_some_and(|listed| listed.contains_key(name));
    if let Some(unknown) = fixed.keys().find(|name| !is_listed(name)) {
        let message = "the tool does not have this argument".to_owned();
        return Some(SchemaFault { pointer: format!("/{}", escaped(unknown)), message });
    }
    let mut open = schema.clone();
    if let Some(open) = open.as_object_mut() {
        COUNTING.iter().for_each(|keyword| drop(open.remove(*keyword)));
    }
    // A schema that cannot be compiled is reported elsewhere.
    let faults = ArgumentsSchema::compile(&open).ok()?.check(fixed).err()?;
    let about = |fault: &SchemaFault| {
        fixed.keys().any(|name| {
            let pointer = format!("/{}", escaped(name));
            fault.pointer == pointer || fault.pointer.starts_with(&format!("{pointer}/"))
        })
    };
    faults.into_iter().find(about)
}

/// Returns the schema of the arguments that a call can give, if `fixed` are fixed.
#[must_use]
pub fn without_fixed(schema: &Value, fixed: &Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    if let Some(listed) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        listed.retain(|name, _| !fixed.contains_key(name));
    }
    let is_fixed = |name: &Value| name.as_str().is_some_and(|name| fixed.contains_key(name));
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !is_fixed(name));
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn fixed_arguments_are_listed_and_allowed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "database": { "enum": ["sales", "stock"] },
                "options": { "$ref": "#/$defs/options" },
                "query": { "type": "string" },
                "a/b": { "type": "integer" },
            },
            "required": ["database", "query"],
            "minProperties": 2,
            "additionalProperties": false,
            "$defs": { "options": { "type": "object", "properties": { "rows": { "maximum": 10 } } } },
        });
        for (fixed, at) in [
            (json!({}), None),
            (json!({ "database": "sales" }), None),
            (json!({ "options": { "rows": 10 } }), None),
            (json!({ "a/b": 1 }), None),
            (json!({ "database": "wages" }), Some("/database")),
            (json!({ "options": { "rows": 11 } }), Some("/options/rows")),
            (json!({ "a/b": "1" }), Some("/a~1b")),
            (json!({ "database": "sales", "schema": "x" }), Some("/schema")),
        ] {
            let fault = fixed_fault(&schema, &object(fixed.clone()));
            assert_eq!(fault.map(|fault| fault.pointer).as_deref(), at, "{fixed}");
        }
        let unlisted = fixed_fault(&json!({ "type": "object" }), &object(json!({ "x": 1 })));
        assert!(unlisted.is_some(), "a tool that lists no arguments has none to fix");
    }

    #[test]
    fn fixed_arguments_cannot_be_given() {
        let schema = json!({
            "type": "object",
            "properties": { "database": {}, "query": { "type": "string" } },
            "required": ["database", "query"],
        });
        let expected = json!({
            "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"],
        });
        assert_eq!(without_fixed(&schema, &object(json!({ "database": "sales" }))), expected);
        assert_eq!(without_fixed(&schema, &Map::new()), schema);
    }
}
