//! Which arguments can be nothing but numbers: in front of those a `-` is a sign, and no option.

use std::collections::BTreeSet;

use serde_json::Value;

/// By the schema of the arguments alone.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    properties: BTreeSet<String>,
    /// Those whose entries are.
    lists: BTreeSet<String>,
}

impl Numbers {
    pub(super) fn of(schema: Option<&Value>) -> Self {
        let mut numbers = Self::default();
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            if is_number(property) {
                numbers.properties.insert(name.clone());
            }
            if property.get("items").is_some_and(is_number) {
                numbers.lists.insert(name.clone());
            }
        }
        numbers
    }

    /// The value is looked at too: in older drafts a reference beside `type` undoes it.
    pub(super) fn is_one(&self, name: &str, value: &Value) -> bool {
        value.is_number() && self.properties.contains(name)
    }

    pub(super) fn is_entry(&self, name: &str, entry: &Value) -> bool {
        entry.is_number() && self.lists.contains(name)
    }
}

fn is_number(schema: &Value) -> bool {
    let number = |of: &Value| matches!(of.as_str(), Some("integer" | "number"));
    match schema.get("type") {
        Some(Value::Array(types)) => !types.is_empty() && types.iter().all(number),
        Some(of) => number(of),
        None => false,
    }
}
