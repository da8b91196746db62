//! A schema without references: each becomes what it refers to.
//!
//! Gemini resolves references itself, but refuses references without a target, references beside other keywords, and
//! cycles through required properties. A cycle is cut where it closes: only the type remains there. The same happens
//! where the schema would become too long, because schemas are foreign. Both only loosen what the model gets.

use serde_json::{Map, Value};

use super::each_inner;

/// References within references that are followed, and the root.
const MAX_DEPTH: usize = 13;
/// Schemas that references may add.
const MAX_ADDED: usize = 2000;

/// The keywords that only serve references, or name the dialect.
const BOOKKEEPING: [&str; 8] =
    ["$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary", "$defs", "definitions"];

/// Returns whether [`inlined`] removes or resolves a keyword.
pub(super) fn is_changed(keyword: &str) -> bool {
    BOOKKEEPING.contains(&keyword) || matches!(keyword, "$ref" | "$dynamicRef")
}

/// The schema with everything in it that references led to.
pub(super) fn inlined(root: &Map<String, Value>) -> Map<String, Value> {
    let mut inliner = Inliner { root, path: vec!["#".to_owned()], left: MAX_ADDED };
    let mut schema = root.clone();
    inliner.open(&mut schema);
    schema
}

struct Inliner<'a> {
    root: &'a Map<String, Value>,
    /// The references that have been followed to where we are; `#` is the root itself.
    path: Vec<String>,
    left: usize,
}

impl Inliner<'_> {
    fn open(&mut self, schema: &mut Map<String, Value>) {
        if self.path.len() > 1 {
            self.left = self.left.saturating_sub(1);
        }
        for key in BOOKKEEPING {
            schema.shift_remove(key);
        }
        // Beside a reference the keywords are the writer's own words for this place; they go first.
        let reference = schema.shift_remove("$ref").or(schema.shift_remove("$dynamicRef"));
        each_inner(schema, &mut |_, inner| {
            if let Value::Object(inner) = inner {
                self.open(inner);
            }
        });
        if let Some(Value::String(reference)) = reference {
            for (key, value) in self.resolved(&reference) {
                combine(schema, key, value);
            }
        }
    }

    fn resolved(&mut self, reference: &str) -> Map<String, Value> {
        let Some(target) = target(self.root, reference) else { return Map::new() };
        if self.left == 0 || self.path.len() >= MAX_DEPTH || self.path.iter().any(|step| step == reference) {
            return outline(target);
        }
        self.path.push(reference.to_owned());
        let mut schema = target.clone();
        self.open(&mut schema);
        self.path.pop();
        schema
    }
}

/// Merges the target of a reference with the keywords beside the reference: properties of both, required by either.
fn combine(schema: &mut Map<String, Value>, key: String, value: Value) {
    match (key.as_str(), schema.get_mut(&key), value) {
        ("properties", Some(Value::Object(own)), Value::Object(more)) => {
            for (name, property) in more {
                own.entry(name).or_insert(property);
            }
        }
        ("required", Some(Value::Array(own)), Value::Array(more)) => {
            own.extend(more.into_iter().filter(|name| !own.contains(name)).collect::<Vec<_>>());
        }
        (_, Some(_), _) => {}
        (_, None, value) => {
            schema.insert(key, value);
        }
    }
}

/// Describes a schema that is cut.
fn outline(schema: &Map<String, Value>) -> Map<String, Value> {
    let kept = schema.iter().filter(|(key, _)| matches!(key.as_str(), "type" | "title" | "description"));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Within the document: the root, a JSON pointer or an anchor of a definition.
fn target<'a>(root: &'a Map<String, Value>, reference: &str) -> Option<&'a Map<String, Value>> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() {
        return Some(root);
    }
    let Some(pointer) = fragment.strip_prefix('/') else {
        let definitions = ["$defs", "definitions"].into_iter().filter_map(|key| root.get(key)?.as_object());
        let mut schemas = definitions.flat_map(|table| table.values()).filter_map(Value::as_object);
        return schemas.find(|schema| schema.get("$anchor").and_then(Value::as_str) == Some(fragment));
    };
    let unescaped = |step: &str| step.replace("~1", "/").replace("~0", "~");
    match pointer.split_once('/') {
        None => root.get(&unescaped(pointer))?.as_object(),
        Some((first, rest)) => root.get(&unescaped(first))?.pointer(&format!("/{rest}"))?.as_object(),
    }
}
