//! Keywords of older drafts in the form that draft 2020-12 has for them, which is the one that providers hold schemas
//! against (Anthropic's error text: "must match JSON Schema draft 2020-12",
//! <https://github.com/anthropics/claude-code/issues/63673>, checked 2026-11). One of them costs the whole request.
//!
//! The meaning stays the same, except for draft 3's `required` in a property, which is dropped.
//!
//! <https://json-schema.org/draft/2020-12/release-notes>, <https://json-schema.org/draft-06/json-schema-release-notes>.

use serde_json::{Map, Value};

use super::each_inner;

pub(super) fn modernise(schema: &mut Map<String, Value>) {
    if schema.iter().any(is_old) {
        rewrite(schema);
    }
    each_inner(schema, &mut |_, inner| {
        if let Value::Object(inner) = inner {
            modernise(inner);
        }
    });
}

/// Returns whether a keyword has a form that [`rewrite`] changes. Looking at each is cheaper than looking for these.
pub(super) fn is_old((keyword, value): (&String, &Value)) -> bool {
    match (keyword.as_str(), value) {
        ("items", Value::Array(_))
        | ("exclusiveMinimum" | "exclusiveMaximum" | "required", Value::Bool(_)) => true,
        ("type", kind) => kind == "any",
        _ => false,
    }
}

fn rewrite(schema: &mut Map<String, Value>) {
    tuple(schema);
    for (bound, exclusive) in [("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")] {
        limit(schema, bound, exclusive);
    }
    if schema.get("required").is_some_and(Value::is_boolean) {
        schema.shift_remove("required");
    }
    // Draft 3's word for no restriction.
    if schema.get("type").is_some_and(|kind| kind == "any") {
        schema.shift_remove("type");
    }
}

/// Drafts 4 to 2019-09: a list under `items` is a tuple, and `additionalItems` is what comes after it.
fn tuple(schema: &mut Map<String, Value>) {
    if !schema.get("items").is_some_and(Value::is_array) {
        return;
    }
    let entries = schema.shift_remove("items").unwrap_or_default();
    let rest = schema.shift_remove("additionalItems");
    // An empty list has no meaning and is not valid in 2020-12.
    if entries.as_array().is_some_and(|entries| !entries.is_empty()) {
        schema.entry("prefixItems").or_insert(entries);
    }
    if let Some(rest) = rest {
        schema.insert("items".to_owned(), rest);
    }
}

/// Draft 4: `minimum` has the limit, and a boolean keyword says whether the limit is exclusive.
fn limit(schema: &mut Map<String, Value>, bound: &str, exclusive: &str) {
    let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else { return };
    let is_exclusive = *is_exclusive;
    schema.shift_remove(exclusive);
    if is_exclusive && let Some(value) = schema.shift_remove(bound) {
        schema.insert(exclusive.to_owned(), value);
    }
}
