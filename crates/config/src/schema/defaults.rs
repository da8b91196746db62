//! Fills in the `default` of missing properties.
//!
//! Only `properties` and their references are used. Defaults inside `anyOf` and similar keywords depend on the matching
//! branch, so the tool handles them.

use serde_json::{Map, Value};

use super::graph::percent_decoded;

/// Limit on the references followed from one property.
const MAX_HOPS: usize = 8;
/// Limit on the levels of arguments that are filled.
const MAX_DEPTH: usize = 64;

pub(super) fn filled(schema: &Value, arguments: &Map<String, Value>) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    fill(schema, schema, &mut arguments, MAX_DEPTH);
    arguments
}

fn fill(root: &Value, schema: &Value, object: &mut Map<String, Value>, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        let property = followed(root, property);
        match object.get_mut(name) {
            Some(Value::Object(inner)) => fill(root, property, inner, depth),
            Some(Value::Array(items)) => fill_items(root, property, items, depth),
            Some(_) => {}
            None => {
                if let Some(default) = property.get("default") {
                    object.insert(name.clone(), default.clone());
                }
            }
        }
    }
}

fn fill_items(root: &Value, schema: &Value, items: &mut [Value], depth: usize) {
    let Some(schema) = schema.get("items") else { return };
    let schema = followed(root, schema);
    for item in items {
        if let Value::Object(inner) = item {
            fill(root, schema, inner, depth);
        }
    }
}

/// Returns the schema, or the target of its `$ref`. A `default` next to the `$ref` takes precedence.
fn followed<'s>(root: &'s Value, mut schema: &'s Value) -> &'s Value {
    for _ in 0..MAX_HOPS {
        if schema.get("default").is_some() {
            return schema;
        }
        let fragment = schema.get("$ref").and_then(Value::as_str).and_then(|text| text.strip_prefix('#'));
        let target = fragment.and_then(percent_decoded).and_then(|pointer| root.pointer(&pointer));
        match target {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}
