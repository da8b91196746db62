//! Objects that should fit: with what is required, with everything, with one thing special.

use serde_json::{Map, Value, json};

use super::flat::{Flat, list, number};
use super::{Drawn, Maker, in_turn};

/// A schema's properties, in their order, each with whether it must be there.
pub(super) fn properties(flat: &Flat) -> impl Iterator<Item = (&String, &Value)> {
    flat.get("properties").and_then(Value::as_object).into_iter().flatten()
}

/// The names that must be there, with those that come with them.
pub(super) fn required(flat: &Flat) -> Vec<String> {
    let mut names: Vec<String> =
        list(flat, "required").iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let depends =
        flat.get("dependentRequired").or_else(|| flat.get("dependencies")).and_then(Value::as_object);
    let mut at = 0;
    while let Some(name) = names.get(at) {
        let more = depends.and_then(|depends| depends.get(name)).and_then(Value::as_array);
        let more: Vec<String> =
            more.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        for name in more {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        at += 1;
    }
    names
}

/// What speaks of a property: its own schema, or that of all others.
pub(super) fn schema_of(flat: &Flat, name: &str) -> Value {
    let own = flat.get("properties").and_then(|properties| properties.get(name));
    let others = flat.get("additionalProperties").filter(|schema| schema.is_object());
    own.or(others).cloned().unwrap_or_else(|| json!({}))
}

/// Returns names for undeclared properties, as many as are needed.
pub(super) fn more_names(flat: &Flat, have: usize) -> Vec<String> {
    let least = number(flat, "minProperties").unwrap_or(0).min(32);
    (have..least).map(|n| format!("extra_{n}")).collect()
}

impl Maker<'_> {
    pub(super) fn objects(&self, flat: &Flat, depth: usize, wide: bool) -> Vec<Drawn> {
        let Some(minimal) = self.minimal(flat, depth) else { return Vec::new() };
        if depth == 0 || !wide {
            return vec![Drawn::new("only what is required", minimal)];
        }
        let optional: Vec<_> = properties(flat).filter(|(name, _)| !minimal.contains_key(*name)).collect();
        let mut full = minimal.clone();
        for (name, schema) in optional {
            if let Some(value) = self.one(schema, depth - 1) {
                full.insert(name.clone(), value);
            }
        }
        let with = |name: &String, drawn: Drawn| {
            let mut object = minimal.clone();
            object.insert(name.clone(), drawn.value);
            Drawn::new(format!("with `{name}`: {}", drawn.note), object)
        };
        let special = |(name, schema): (&String, &Value)| {
            self.values(schema, depth - 1).into_iter().map(|drawn| with(name, drawn)).collect()
        };
        let special = in_turn(properties(flat).map(special).collect());
        let plain = [Drawn::new("only what is required", minimal.clone()), Drawn::new("everything", full)];
        plain.into_iter().chain(special).collect()
    }

    fn minimal(&self, flat: &Flat, depth: usize) -> Option<Map<String, Value>> {
        let mut names = required(flat);
        let optional = properties(flat).map(|(name, _)| name).filter(|name| !names.contains(name));
        let least = number(flat, "minProperties").unwrap_or(0);
        let wanted: Vec<String> = optional.take(least.saturating_sub(names.len())).cloned().collect();
        names.extend(wanted);
        let more = more_names(flat, names.len());
        names.extend(more);
        if names.is_empty() {
            return Some(Map::new());
        }
        let below = depth.checked_sub(1)?;
        let entry = |name: String| {
            let value = self.one(&schema_of(flat, &name), below)?;
            Some((name, value))
        };
        names.into_iter().map(entry).collect()
    }
}
