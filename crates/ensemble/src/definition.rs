//! The definition of a tool: everything that its server or descriptor declares, not only what a model is shown.
//!
//! Approvals and the lockfile are bound to its digest. The definition of a server is kept as text and parsed only when it
//! is needed: most runs never need it, and the text is smaller than a parsed value.

use std::sync::{Arc, OnceLock};

use converse_canister::Digest;
use serde_json::Value;

/// Maximum depth of nested arrays and objects. A file that contains definitions must be readable too.
const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone)]
pub struct Definition(Arc<Parsed>);

#[derive(Debug)]
struct Parsed {
    text: Box<str>,
    digest: OnceLock<Digest>,
}

impl Definition {
    /// Takes the object as it came over the wire.
    pub fn raw(text: impl Into<Box<str>>) -> Self {
        Self(Arc::new(Parsed { text: text.into(), digest: OnceLock::new() }))
    }

    pub fn of(value: &Value) -> Self {
        Self::raw(value.to_string())
    }

    /// Returns the object. A definition that cannot be parsed or is nested too deeply becomes one text.
    pub fn value(&self) -> Value {
        let text = self.0.text.as_ref();
        match serde_json::from_str(text) {
            Ok(value) if is_within(&value, MAX_DEPTH) => value,
            _ => Value::from(text),
        }
    }

    /// Returns the SHA-256 of the canonical form, in which the order of keys and blanks do not count.
    pub fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| converse_config::lock::digest(&self.value()))
    }
}

fn is_within(value: &Value, depth: usize) -> bool {
    let below = |value: &Value| depth > 0 && is_within(value, depth - 1);
    match value {
        Value::Array(entries) => entries.iter().all(below),
        Value::Object(members) => members.values().all(below),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blanks_and_the_order_of_keys_do_not_count() {
        let digest = |text: &str| Definition::raw(text).digest();
        let one = digest(r#"{"name":"a","inputSchema":{"type":"object","required":[]}}"#);
        assert_eq!(digest(r#"{ "inputSchema": {"required": [], "type": "object"}, "name": "\u0061" }"#), one);
        assert_ne!(digest(r#"{"name":"a","inputSchema":{"type":"object","required":[],"x":0}}"#), one);
        assert_eq!(Definition::of(&json!({ "name": "a" })).digest(), digest(r#"{"name":"a"}"#));
    }

    #[test]
    fn what_is_nested_too_deeply_is_a_text() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let is_text = |depth| Definition::raw(nested(depth)).value().is_string();
        assert_eq!([10, MAX_DEPTH + 1, MAX_DEPTH + 2, 100_000].map(is_text), [false, false, true, true]);
        assert_ne!(Definition::raw(nested(200)).digest(), Definition::raw(nested(201)).digest());
    }
}
