//! Fills in the `default` of missing properties.
//!
//! Only `properties` and their references are used. Defaults inside `anyOf` and similar keywords depend on the matching
//! branch, so the tool handles them.

use serde_json::{Map, Value};

use super::graph::{escaped, percent_decoded};

/// Limit on the references followed from one property.
const MAX_HOPS: usize = 8;
/// Limit on the levels of arguments that are filled.
const MAX_DEPTH: usize = 64;

/// Arguments with defaults filled in.
pub(super) struct Filled {
    pub(super) arguments: Value,
    /// JSON pointers of the defaults that were filled in.
    inserted: Vec<String>,
}

impl Filled {
    /// Fills in the defaults of missing properties.
    pub(super) fn of(schema: &Value, arguments: &Map<String, Value>) -> Self {
        let mut arguments = arguments.clone();
        let mut inserted = Vec::new();
        let mut filling = Filling { root: schema, inserted: &mut inserted };
        filling.fill(schema, &mut arguments, "", MAX_DEPTH);
        Self { arguments: Value::Object(arguments), inserted }
    }

    /// Returns whether a default was filled in.
    pub(super) fn has_defaults(&self) -> bool {
        !self.inserted.is_empty()
    }

    /// Removes the defaults in which one of `faults` is; false if there is none.
    pub(super) fn remove_refused(&mut self, faults: &[String]) -> bool {
        let is_refused = |inserted: &String| {
            let within = |fault: &String| {
                fault
                    .strip_prefix(inserted.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            faults.iter().any(within)
        };
        let (refused, kept): (Vec<_>, Vec<_>) = self.inserted.drain(..).partition(is_refused);
        self.inserted = kept;
        for pointer in &refused {
            let Some((parent, name)) = pointer.rsplit_once('/') else { continue };
            if let Some(Value::Object(parent)) = self.arguments.pointer_mut(parent) {
                parent.shift_remove(&name.replace("~1", "/").replace("~0", "~"));
            }
        }
        !refused.is_empty()
    }
}

struct Filling<'s> {
    root: &'s Value,
    inserted: &'s mut Vec<String>,
}

impl Filling<'_> {
    fn fill(&mut self, schema: &Value, object: &mut Map<String, Value>, at: &str, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
        for (name, property) in properties {
            let property = followed(self.root, property);
            let at = format!("{at}/{}", escaped(name));
            match object.get_mut(name) {
                Some(Value::Object(inner)) => self.fill(property, inner, &at, depth),
                Some(Value::Array(items)) => self.fill_items(property, items, &at, depth),
                Some(_) => {}
                None => {
                    if let Some(default) = property.get("default") {
                        object.insert(name.clone(), default.clone());
                        self.inserted.push(at);
                    }
                }
            }
        }
    }

    fn fill_items(&mut self, schema: &Value, items: &mut [Value], at: &str, depth: usize) {
        let Some(schema) = schema.get("items") else { return };
        let schema = followed(self.root, schema);
        for (index, item) in items.iter_mut().enumerate() {
            if let Value::Object(inner) = item {
                self.fill(schema, inner, &format!("{at}/{index}"), depth);
            }
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
