//! Changes to a request's body from the user's settings, for server differences without a flag.
//!
//! A patch is a rule, not a script: a pointer that a request does not have is not an error, since requests differ. The
//! keys that make up the conversation cannot be removed.

use serde_json::{Map, Value};

/// One change, for all models or for those that a pattern names.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// `*` matches any run of characters; `None` matches every model.
    pub models: Option<String>,
    pub change: Change,
}

/// One change at a JSON pointer into the body; `*` as a part of the pointer is every element of a list or object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Sets a value. Missing objects on the way are created; lists are not extended.
    Set {
        at: String,
        value: Value,
    },
    Remove {
        at: String,
    },
    /// Keeps the value under another key of the same object.
    Rename {
        at: String,
        to: String,
    },
}

/// Keys that patches cannot remove or replace.
const KEPT: [&str; 5] = ["model", "messages", "contents", "input", "tools"];

impl Patch {
    /// Returns whether the patch applies to the model.
    pub fn concerns(&self, model: &str) -> bool {
        self.models.as_deref().is_none_or(|pattern| fits(pattern, model))
    }
}

/// Applies all patches of the model, in order.
pub(crate) fn apply(patches: &[Patch], model: &str, body: &mut Map<String, Value>) {
    if patches.is_empty() {
        return;
    }
    let mut root = Value::Object(std::mem::take(body));
    for patch in patches.iter().filter(|patch| patch.concerns(model)) {
        change(&patch.change, &mut root);
    }
    if let Value::Object(patched) = root {
        *body = patched;
    }
}

fn change(change: &Change, root: &mut Value) {
    let (Change::Set { at, .. } | Change::Remove { at } | Change::Rename { at, .. }) = change;
    let Some(parts) = parts(at) else { return };
    let Some((last, way)) = parts.split_last() else { return };
    let replaces = matches!(change, Change::Rename { to, .. } if way.is_empty() && is_kept(to));
    if affects_kept_key(&parts) || replaces {
        return;
    }
    let make = matches!(change, Change::Set { .. });
    walk(root, way, make, &mut |parent| match change {
        Change::Set { value, .. } => set(parent, last, value),
        Change::Remove { .. } => drop(remove(parent, last)),
        Change::Rename { to, .. } => {
            if let Some(object) = parent.as_object_mut()
                && let Some(value) = object.shift_remove(last)
            {
                object.insert(to.clone(), value);
            }
        }
    });
}

fn is_kept(key: &str) -> bool {
    KEPT.contains(&key)
}

/// Returns whether a pointer names a kept key, all elements of one, or a pattern at the root.
fn affects_kept_key(parts: &[String]) -> bool {
    match parts {
        [key] => key == "*" || is_kept(key),
        [key, part] => key == "*" || (is_kept(key) && part == "*"),
        [key, ..] => key == "*",
        [] => true,
    }
}

/// Splits a pointer into parts; `None` if it is invalid or means the whole body.
fn parts(pointer: &str) -> Option<Vec<String>> {
    let parts = pointer.strip_prefix('/')?.split('/');
    Some(parts.map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

fn walk(place: &mut Value, way: &[String], make: bool, visit: &mut dyn FnMut(&mut Value)) {
    let Some((part, rest)) = way.split_first() else { return visit(place) };
    match place {
        Value::Object(object) if part == "*" => {
            object.values_mut().for_each(|next| walk(next, rest, make, visit));
        }
        Value::Array(items) if part == "*" => {
            items.iter_mut().for_each(|next| walk(next, rest, make, visit));
        }
        Value::Object(object) => {
            if make && !object.contains_key(part) {
                object.insert(part.clone(), Value::Object(Map::new()));
            }
            if let Some(next) = object.get_mut(part) {
                walk(next, rest, make, visit);
            }
        }
        Value::Array(items) => {
            if let Some(next) = part.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                walk(next, rest, make, visit);
            }
        }
        _ => {}
    }
}

fn set(parent: &mut Value, part: &str, value: &Value) {
    match parent {
        Value::Object(object) if part == "*" => object.values_mut().for_each(|old| *old = value.clone()),
        Value::Array(items) if part == "*" => items.iter_mut().for_each(|old| *old = value.clone()),
        Value::Object(object) => drop(object.insert(part.to_owned(), value.clone())),
        Value::Array(items) => {
            if let Some(old) = part.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                *old = value.clone();
            }
        }
        _ => {}
    }
}

fn remove(parent: &mut Value, part: &str) -> Option<Value> {
    match parent {
        Value::Object(object) if part == "*" => {
            object.clear();
            None
        }
        Value::Array(items) if part == "*" => {
            items.clear();
            None
        }
        Value::Object(object) => object.shift_remove(part),
        Value::Array(items) => {
            let at: usize = part.parse().ok()?;
            (at < items.len()).then(|| items.remove(at))
        }
        _ => None,
    }
}

/// Matches a pattern in which `*` matches any run of characters.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(at: &str, value: Value) -> Change {
        Change::Set { at: at.to_owned(), value }
    }

    fn remove(at: &str) -> Change {
        Change::Remove { at: at.to_owned() }
    }

    fn rename(at: &str, to: &str) -> Change {
        Change::Rename { at: at.to_owned(), to: to.to_owned() }
    }

    #[test]
    fn places_are_changed_and_missing_ones_are_no_error() {
        let body = json!({ "model": "m", "messages": [{ "role": "user" }], "max_tokens": 5, "a/b": 1,
            "tools": [{ "f": { "strict": true } }, { "f": {} }] });
        let changed = |path: &str, value: Value| {
            let mut body = body.clone();
            *body.pointer_mut(path).unwrap() = value;
            body
        };
        for (change, expected) in [
            (set("/max_tokens", json!(7)), changed("/max_tokens", json!(7))),
            (set("/model", json!("n")), body.clone()),
            (set("/messages", json!([])), body.clone()),
            (remove("/tools"), body.clone()),
            (rename("/messages", "input"), body.clone()),
            (set("/messages/0/role", json!("x")), changed("/messages/0/role", json!("x"))),
            (set("/messages/1/role", json!("x")), body.clone()),
            (set("/max_tokens/deep", json!(1)), body.clone()),
            (remove("/nowhere/at/all"), body.clone()),
            (rename("/nowhere", "x"), body.clone()),
            (remove("/*"), body.clone()),
            (set("/*", json!(0)), body.clone()),
            (rename("/*", "x"), body.clone()),
            (remove("/*/0"), body.clone()),
            (remove("/*/*/role"), body.clone()),
            (remove("/messages/*"), body.clone()),
            (set("/tools/*", json!({})), body.clone()),
            (rename("/max_tokens", "messages"), body.clone()),
            (rename("/tools/0/f", "tools"), changed("/tools/0", json!({ "tools": { "strict": true } }))),
            (remove(""), body.clone()),
            (remove("no pointer"), body.clone()),
            (set("/a~1b", json!(2)), changed("/a~1b", json!(2))),
            (remove("/tools/*/f/strict"), changed("/tools/0/f", json!({}))),
        ] {
            let mut patched = body.as_object().unwrap().clone();
            let patch = Patch { models: None, change: change.clone() };
            apply(&[patch], "m", &mut patched);
            assert_eq!(Value::Object(patched), expected, "{change:?}");
        }
    }

    #[test]
    fn objects_on_the_way_are_made_and_renamed_keys_keep_their_value() {
        let mut body = json!({ "max_tokens": 5 }).as_object().unwrap().clone();
        let patches = [set("/options/num_ctx", json!(8192)), rename("/max_tokens", "max_new_tokens")]
            .map(|change| Patch { models: None, change });
        apply(&patches, "m", &mut body);
        assert_eq!(Value::Object(body), json!({ "options": { "num_ctx": 8192 }, "max_new_tokens": 5 }));
    }

    #[test]
    fn a_patch_is_for_the_models_it_names() {
        for (pattern, model, fitting) in [
            ("qwen*", "qwen3:8b", true),
            ("qwen*", "my-qwen", false),
            ("*-r1*", "deepseek-r1:7b", true),
            ("*", "", true),
            ("m", "m", true),
            ("m", "mm", false),
            ("a*b*c", "a-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, model), fitting, "{pattern} {model}");
        }
        let mut body = Map::new();
        let patch = Patch { models: Some("x*".to_owned()), change: set("/seed", json!(1)) };
        apply(std::slice::from_ref(&patch), "y", &mut body);
        assert!(body.is_empty());
        apply(&[patch], "xy", &mut body);
        assert_eq!(body["seed"], 1);
    }
}
