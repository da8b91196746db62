//! A schema without combinations: `$ref` followed, `allOf` merged, one schema for each branch of `anyOf` and `oneOf`.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::Maker;

/// Ways through the branches of one schema.
const MOST_BRANCHES: usize = 8;
/// References and combinations followed for one value.
const MOST_HOPS: usize = 16;

pub(super) type Flat = Map<String, Value>;

impl Maker<'_> {
    /// Nothing, if no value can fit or it goes too deep.
    pub(super) fn branches(&self, schema: &Value) -> Vec<Flat> {
        self.unfolded(schema, MOST_HOPS)
    }

    fn unfolded(&self, schema: &Value, hops: usize) -> Vec<Flat> {
        let (Some(hops), true) = (hops.checked_sub(1), self.step()) else { return Vec::new() };
        let object = match schema {
            Value::Object(object) => object,
            Value::Bool(true) => return vec![Flat::new()],
            _ => return Vec::new(),
        };
        let combination = |key: &&String| {
            matches!(key.as_str(), "$ref" | "allOf" | "anyOf" | "oneOf" | "$defs" | "definitions")
        };
        let own = object.iter().filter(|(key, _)| !combination(key));
        let mut ways: Vec<Flat> = vec![own.map(|(key, value)| (key.clone(), value.clone())).collect()];
        if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
            let Some(target) = self.target(reference) else { return Vec::new() };
            ways = crossed(&ways, &self.unfolded(target, hops));
        }
        for part in list(object, "allOf") {
            ways = crossed(&ways, &self.unfolded(part, hops));
        }
        for key in ["anyOf", "oneOf"] {
            if object.contains_key(key) {
                let branches = list(object, key).iter().map(|branch| self.unfolded(branch, hops));
                ways = crossed(&ways, &super::in_turn(branches.collect()));
            }
        }
        ways
    }

    /// Names (`$anchor`) are not looked for.
    fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        let pointer: Cow<'_, str> = if pointer.contains('%') {
            pointer.replace("%24", "$").replace("%25", "%").into()
        } else {
            pointer.into()
        };
        self.root.pointer(&pointer)
    }
}

pub(super) fn list<'v>(object: &'v Flat, key: &str) -> &'v [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn number(flat: &Flat, key: &str) -> Option<usize> {
    let value = flat.get(key)?;
    let whole =
        value.as_u64().or_else(|| value.as_f64().filter(|float| *float >= 0.0).map(|float| float as u64));
    whole.and_then(|whole| usize::try_from(whole).ok())
}

/// The possible types; derived from its keywords if `type` is missing.
pub(super) fn types(flat: &Flat) -> Vec<&str> {
    match flat.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => guessed(flat).into_iter().collect(),
    }
}

fn guessed(flat: &Flat) -> Option<&'static str> {
    let telling: [(&str, &[&str]); 4] = [
        ("object", &["properties", "required", "additionalProperties", "minProperties"]),
        ("array", &["items", "prefixItems", "minItems", "contains"]),
        ("string", &["minLength", "maxLength", "pattern", "format"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ];
    let has = |keys: &[&str]| keys.iter().any(|key| flat.contains_key(*key));
    telling.into_iter().find(|(_, keys)| has(keys)).map(|(kind, _)| kind)
}

fn crossed(left: &[Flat], right: &[Flat]) -> Vec<Flat> {
    let pairs = right.iter().flat_map(|right| left.iter().map(move |left| merged(left, right)));
    pairs.take(MOST_BRANCHES).collect()
}

/// What fits both, roughly.
fn merged(left: &Flat, right: &Flat) -> Flat {
    let mut both = left.clone();
    for (key, value) in right {
        let value = match left.get(key) {
            Some(known) => joined(key, known, value),
            None => value.clone(),
        };
        both.insert(key.clone(), value);
    }
    both
}

fn joined(key: &str, left: &Value, right: &Value) -> Value {
    match (key, left, right) {
        ("properties" | "patternProperties", Value::Object(left), Value::Object(right)) => {
            let mut all = left.clone();
            for (name, schema) in right {
                let schema = match left.get(name) {
                    Some(known) if known != schema => json!({ "allOf": [known, schema] }),
                    _ => schema.clone(),
                };
                all.insert(name.clone(), schema);
            }
            Value::Object(all)
        }
        ("required", Value::Array(left), Value::Array(right)) => {
            let more = right.iter().filter(|name| !left.contains(name));
            left.iter().chain(more).cloned().collect()
        }
        ("enum" | "type", ..) => {
            let (left, right) = (as_list(left), as_list(right));
            let common: Vec<Value> = left.iter().filter(|one| right.contains(one)).cloned().collect();
            match common.as_slice() {
                [one] if key == "type" => one.clone(),
                _ => common.into(),
            }
        }
        ("items", ..) if left != right => json!({ "allOf": [left, right] }),
        ("additionalProperties", Value::Bool(false), _) => Value::Bool(false),
        (key, ..) if key.starts_with("min") || key == "exclusiveMinimum" => {
            stricter(left, right, Ordering::Greater)
        }
        (key, ..) if key.starts_with("max") || key == "exclusiveMaximum" => {
            stricter(left, right, Ordering::Less)
        }
        _ => right.clone(),
    }
}

fn as_list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values.clone(),
        one => vec![one.clone()],
    }
}

fn stricter(left: &Value, right: &Value, wanted: Ordering) -> Value {
    let order = left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right));
    if order == Some(wanted) { left.clone() } else { right.clone() }
}
