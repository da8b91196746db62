//! Plain schemas, those of most tools, are checked here without compiling them.
//!
//! Compiling a first schema also compiles the schema of its draft, which costs as much as the rest of a call. A schema is
//! plain if this module knows all its keywords, and each has a value that the draft allows. What [`fits`] accepts, the
//! compiled schema accepts too (a property test). Other values are left to the compiled schema, which also has the message.

use std::cmp::Ordering;
use std::collections::HashSet;

use jsonschema::Draft;
use serde_json::{Map, Value};

use super::fault::TYPES;

/// Integers up to it are exact as numbers with a fraction.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns whether a schema is valid and [`fits`] knows its keywords. The depth must be bounded.
pub(super) fn is_plain(schema: &Value, draft: Draft) -> bool {
    match schema {
        Value::Bool(_) => true,
        // In draft 4, `exclusiveMinimum` has another meaning, and there are no boolean schemas.
        Value::Object(map) => draft != Draft::Draft4 && map.iter().all(|(key, of)| is_known(key, of, draft)),
        _ => false,
    }
}

fn is_known(keyword: &str, of: &Value, draft: Draft) -> bool {
    let all = |is: &dyn Fn(&Value) -> bool| of.as_array().is_some_and(|all| all.iter().all(is));
    let is_empty = || of.as_array().is_some_and(Vec::is_empty);
    match keyword {
        "title" | "description" | "$comment" => of.is_string(),
        "deprecated" | "readOnly" | "writeOnly" => of.is_boolean(),
        "default" => is_inert(of),
        "examples" => of.is_array() && is_inert(of),
        // Earlier drafts check it.
        "format" => of.is_string() && matches!(draft, Draft::Draft201909 | Draft::Draft202012),
        "type" => is_type(of) || !is_empty() && all(&is_type) && is_set(of),
        "enum" => !is_empty() && all(&is_exact) && is_set(of),
        "const" => is_exact(of),
        "required" => all(&Value::is_string) && is_set(of),
        "properties" => {
            let is_property = |(name, of): (&String, &Value)| !name.starts_with('$') && is_plain(of, draft);
            of.as_object().is_some_and(|all| all.iter().all(is_property))
        }
        "additionalProperties" | "items" => is_plain(of, draft),
        "anyOf" | "allOf" => !is_empty() && all(&|of| is_plain(of, draft)),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => of.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => of.is_u64(),
        _ => false,
    }
}

fn is_type(name: &Value) -> bool {
    name.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Returns whether a value equals another one exactly if they are written alike.
fn is_exact(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(_) | Value::String(_)) || value.is_i64() || value.is_u64()
}

/// Returns whether a value holds no object with keys, which could be taken for a schema.
fn is_inert(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().all(is_inert),
        Value::Object(map) => map.is_empty(),
        _ => true,
    }
}

fn is_set(list: &Value) -> bool {
    let Some(list) = list.as_array() else { return false };
    list.iter().collect::<HashSet<_>>().len() == list.len()
}

/// Returns whether a value certainly matches a plain schema.
pub(super) fn fits(schema: &Value, value: &Value) -> bool {
    match schema {
        Value::Bool(all) => *all,
        Value::Object(map) => map.iter().all(|(keyword, of)| meets(keyword, of, map, value)),
        _ => false,
    }
}

/// A keyword says nothing about values of another type than its own.
fn meets(keyword: &str, of: &Value, schema: &Map<String, Value>, value: &Value) -> bool {
    let some = |is: &dyn Fn(&Value) -> bool| of.as_array().is_some_and(|all| all.iter().any(is));
    let all = |is: &dyn Fn(&Value) -> bool| of.as_array().is_some_and(|all| all.iter().all(is));
    match (keyword, value) {
        ("type", _) => is_of(of, value) || some(&|of| is_of(of, value)),
        ("enum", _) => some(&|of| of == value),
        ("const", _) => of == value,
        ("anyOf", _) => some(&|of| fits(of, value)),
        ("allOf", _) => all(&|of| fits(of, value)),
        ("properties", Value::Object(map)) => {
            let fits_of = |(name, of): (&String, &Value)| map.get(name).is_none_or(|value| fits(of, value));
            of.as_object().is_some_and(|all| all.iter().all(fits_of))
        }
        ("required", Value::Object(map)) => {
            all(&|name| name.as_str().is_some_and(|name| map.contains_key(name)))
        }
        ("additionalProperties", Value::Object(map)) => {
            let named = schema.get("properties").and_then(Value::as_object);
            let is_named = |name: &str| named.is_some_and(|named| named.contains_key(name));
            map.iter().all(|(name, value)| is_named(name) || fits(of, value))
        }
        ("items", Value::Array(list)) => list.iter().all(|value| fits(of, value)),
        ("minimum", Value::Number(_)) => compare(value, of).is_some_and(Ordering::is_ge),
        ("maximum", Value::Number(_)) => compare(value, of).is_some_and(Ordering::is_le),
        ("exclusiveMinimum", Value::Number(_)) => compare(value, of).is_some_and(Ordering::is_gt),
        ("exclusiveMaximum", Value::Number(_)) => compare(value, of).is_some_and(Ordering::is_lt),
        ("minLength", Value::String(text)) => count(of).is_some_and(|least| text.chars().count() >= least),
        ("maxLength", Value::String(text)) => count(of).is_some_and(|most| text.chars().count() <= most),
        ("minItems", Value::Array(list)) => count(of).is_some_and(|least| list.len() >= least),
        ("maxItems", Value::Array(list)) => count(of).is_some_and(|most| list.len() <= most),
        // The rest describes, or is about another type.
        _ => true,
    }
}

fn is_of(name: &Value, value: &Value) -> bool {
    match name.as_str() {
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        // `1.0` is one too, but not for certain.
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        _ => false,
    }
}

/// Returns `None` if digits could be lost.
fn compare(value: &Value, limit: &Value) -> Option<Ordering> {
    if let (Some(value), Some(limit)) = (value.as_i64(), limit.as_i64()) {
        return Some(value.cmp(&limit));
    }
    let exact = |number: &Value| number.as_f64().filter(|number| number.abs() <= MAX_EXACT);
    exact(value)?.partial_cmp(&exact(limit)?)
}

fn count(of: &Value) -> Option<usize> {
    usize::try_from(of.as_u64()?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::build;
    use super::*;

    const DRAFTS: [Draft; 5] =
        [Draft::Draft4, Draft::Draft6, Draft::Draft7, Draft::Draft201909, Draft::Draft202012];

    #[test]
    fn schemas_of_most_tools_are_plain() {
        let schema = json!({
            "type": "object", "title": "t", "additionalProperties": false, "required": ["a"],
            "properties": {
                "a": { "type": "string", "description": "d", "minLength": 1, "default": "x" },
                "b": { "type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 9.5 },
                "c": { "type": "array", "items": { "enum": ["x", 1, null] }, "maxItems": 2 },
                "d": { "anyOf": [{ "type": "boolean" }, { "const": "y" }] },
            },
        });
        for draft in DRAFTS {
            assert_eq!(is_plain(&schema, draft), draft != Draft::Draft4, "{draft:?}");
        }
        for (value, expected) in [
            (json!({ "a": "x" }), true),
            (json!({ "a": "ä", "b": 9, "c": ["x", null], "d": "y" }), true),
            (json!({ "a": "x", "b": null, "d": true }), true),
            (json!({}), false),
            (json!({ "a": "" }), false),
            (json!({ "a": "x", "e": 1 }), false),
            (json!({ "a": "x", "b": 9.5 }), false),
            (json!({ "a": "x", "b": -1 }), false),
            (json!({ "a": "x", "c": [2] }), false),
            (json!({ "a": "x", "c": [1, 1, 1] }), false),
            (json!({ "a": "x", "d": "z" }), false),
            (json!([]), false),
        ] {
            assert_eq!(fits(&schema, &value), expected, "{value}");
        }
    }

    #[test]
    fn what_is_not_known_is_not_plain() {
        for (keyword, of) in [
            ("$ref", json!("#")),
            ("$id", json!("x")),
            ("pattern", json!("x")),
            ("uniqueItems", json!(true)),
            ("unknown", json!(1)),
            ("type", json!("strin")),
            ("type", json!([])),
            ("type", json!(["null", "null"])),
            ("enum", json!([])),
            ("enum", json!([1, 1])),
            ("enum", json!([1.0])),
            ("required", json!(["a", "a"])),
            ("minLength", json!(-1)),
            ("items", json!([{}])),
            ("anyOf", json!([])),
            ("properties", json!({ "a": 1 })),
            ("properties", json!({ "$ref": {} })),
            ("default", json!({ "$schema": "x" })),
            ("description", json!(1)),
        ] {
            assert!(!is_plain(&json!({ keyword: of }), Draft::Draft202012), "{keyword}: {of}");
        }
        let format = json!({ "format": "date" });
        assert_eq!(DRAFTS.map(|draft| is_plain(&format, draft)), [false, false, false, true, true]);
    }

    fn value() -> impl Strategy<Value = Value> {
        let number = prop_oneof![-3..4_i64, Just(i64::MAX), Just(1 << 53)];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number.prop_map(Value::from),
            prop_oneof![Just(1.0), Just(1.5), Just(-0.0), Just(1e300), Just(9_007_199_254_740_993.0)]
                .prop_map(|number: f64| json!(number)),
            Just(json!(u64::MAX)),
            "[abé]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    /// Of each type, and at the limits that [`schema`] sets.
    fn typical() -> [Value; 16] {
        [
            json!(null),
            json!(true),
            json!(0),
            json!(2),
            json!(-2),
            json!(1.5),
            json!(1e300),
            json!(i64::MAX),
            json!(""),
            json!("é"),
            json!("abé"),
            json!([]),
            json!([1, "a", null]),
            json!({}),
            json!({ "a": 1.5 }),
            json!({ "a": "b", "c": [2], "d": {} }),
        ]
    }

    /// Keywords with values that fit them, and with any.
    fn schema() -> impl Strategy<Value = Value> {
        const FREE: [&str; 12] = [
            "title",
            "default",
            "examples",
            "format",
            "enum",
            "const",
            "required",
            "items",
            "minimum",
            "maxLength",
            "readOnly",
            "type",
        ];
        let types = prop::sample::subsequence(TYPES.to_vec(), 1..3);
        let number = || prop_oneof![-3..4_i64, Just(i64::MAX)].prop_map(Value::from);
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            types.prop_map(|types| if let [one] = types[..] {
                json!({ "type": one })
            } else {
                json!({ "type": types })
            }),
            (
                prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
                number()
            )
                .prop_map(|(keyword, of)| json!({ keyword: of })),
            (prop::sample::select(vec!["minLength", "maxLength", "minItems", "maxItems"]), 0..4_u64)
                .prop_map(|(keyword, of)| json!({ keyword: of })),
            prop::collection::vec(value(), 0..4).prop_map(|listed| json!({ "enum": listed })),
            (prop::sample::select(FREE.to_vec()), value()).prop_map(|(keyword, of)| json!({ keyword: of })),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let properties = prop::collection::btree_map("[a-d]", inner.clone(), 0..3);
            prop_oneof![
                (properties, inner.clone(), prop::collection::btree_set("[a-d]", 0..3)).prop_map(
                    |(properties, additional, required)| json!({ "type": "object", "properties": properties,
                        "additionalProperties": additional, "required": required })
                ),
                inner.clone().prop_map(|items| json!({ "items": items })),
                (prop::sample::select(vec!["anyOf", "allOf"]), prop::collection::vec(inner, 0..3))
                    .prop_map(|(keyword, of)| json!({ keyword: of })),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// Numbers are compared in the same way by both.
        #[test]
        fn what_fits_is_valid_for_the_compiled_schema(
            schema in schema(), values in prop::collection::vec(value(), 8), draft in prop::sample::select(DRAFTS.to_vec())
        ) {
            if is_plain(&schema, draft) {
                let compiled = build(&schema, draft);
                prop_assert!(compiled.is_ok(), "{draft:?} {schema}");
                for value in values.iter().chain(&typical()).filter(|value| fits(&schema, value)) {
                    prop_assert!(compiled.as_ref().unwrap().is_valid(value), "{draft:?} {schema} {value}");
                }
            }
        }
    }
}
