//! The part of the arguments that a condition applies to: a name, or a JSON pointer (RFC 6901) in which `*` is every entry.

use serde_json::{Map, Value};

/// A path into the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArgumentPath {
    /// As written.
    pub(crate) shown: String,
    steps: Vec<String>,
}

/// The values at a path.
#[derive(Debug, Default)]
pub(super) struct Values<'v> {
    pub(super) values: Vec<&'v Value>,
    /// A part of the path is absent.
    pub(super) absent: bool,
    /// A part of the path is a value without members.
    pub(super) blocked: bool,
}

impl ArgumentPath {
    /// Returns `None` if the pointer contains a `~` that is neither `~0` nor `~1`.
    pub(crate) fn new(written: &str) -> Option<Self> {
        let steps = match written.strip_prefix('/') {
            None => vec![written.to_owned()],
            Some(pointer) => pointer.split('/').map(unescaped).collect::<Option<_>>()?,
        };
        Some(Self { shown: written.to_owned(), steps })
    }

    /// Returns the name of the argument, unless the path starts with a wildcard.
    pub(super) fn argument(&self) -> Option<&str> {
        let (first, rest) = self.steps.split_first()?;
        (first != "*" || rest.is_empty()).then_some(first)
    }

    pub(super) fn find<'v>(&self, arguments: &'v Map<String, Value>) -> Values<'v> {
        let mut found = Values::default();
        let Some((first, rest)) = self.steps.split_first() else { return found };
        if first == "*" && !rest.is_empty() {
            arguments.values().for_each(|value| walk(value, rest, &mut found));
        } else {
            match arguments.get(first) {
                Some(value) => walk(value, rest, &mut found),
                None => found.absent = true,
            }
        }
        found
    }
}

fn unescaped(step: &str) -> Option<String> {
    let is_valid = step.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    is_valid.then(|| step.replace("~1", "/").replace("~0", "~"))
}

fn walk<'v>(value: &'v Value, steps: &[String], found: &mut Values<'v>) {
    let Some((step, rest)) = steps.split_first() else {
        found.values.push(value);
        return;
    };
    match value {
        Value::Object(members) if step == "*" => {
            found.absent |= members.is_empty();
            members.values().for_each(|member| walk(member, rest, found));
        }
        Value::Array(entries) if step == "*" => {
            found.absent |= entries.is_empty();
            entries.iter().for_each(|entry| walk(entry, rest, found));
        }
        Value::Object(members) => match members.get(step) {
            Some(member) => walk(member, rest, found),
            None => found.absent = true,
        },
        Value::Array(entries) => match step.parse::<usize>().ok().and_then(|at| entries.get(at)) {
            Some(entry) => walk(entry, rest, found),
            None => found.absent = true,
        },
        Value::Null => found.absent = true,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => found.blocked = true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(place: &str, arguments: &Value) -> (Vec<Value>, bool, bool) {
        let found = ArgumentPath::new(place).unwrap().find(arguments.as_object().unwrap());
        (found.values.into_iter().cloned().collect(), found.absent, found.blocked)
    }

    #[test]
    fn places_are_names_and_pointers() {
        let arguments = json!({ "a": 1, "/b": 2, "o": { "x": { "y~": 3 }, "": 4 }, "l": [{ "p": 5 }, { "p": 6 }, {}],
            "m": [[8], []], "e": {}, "n": null, "*": 7 });
        for (place, expected) in [
            ("a", (vec![json!(1)], false, false)),
            ("/a", (vec![json!(1)], false, false)),
            ("/~1b", (vec![json!(2)], false, false)),
            ("/o/x/y~0", (vec![json!(3)], false, false)),
            ("/o/", (vec![json!(4)], false, false)),
            ("/l/1/p", (vec![json!(6)], false, false)),
            ("/l/*/p", (vec![json!(5), json!(6)], true, false)),
            ("/l/9/p", (vec![], true, false)),
            ("/m/*/*", (vec![json!(8)], true, false)),
            ("/e/*", (vec![], true, false)),
            ("*", (vec![json!(7)], false, false)),
            ("/n/x", (vec![], true, false)),
            ("/a/x", (vec![], false, true)),
            ("o.x", (vec![], true, false)),
        ] {
            assert_eq!(found(place, &arguments), expected, "{place}");
        }
        assert_eq!(ArgumentPath::new("/a~2"), None);
    }
}
