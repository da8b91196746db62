//! OpenRouter's `reasoning_details`, collected from fragments.
//!
//! They must be sent back complete and in order. Streamed text comes in hundreds of fragments of one entry, with the
//! signature in the last: neighbouring `reasoning.text` fragments of one index become one entry again. Other types are
//! kept as received, because it is not known how their fragments join.
//!
//! The fragments are as in recorded streams; <https://openrouter.ai/docs/use-cases/reasoning-tokens>.

use serde_json::{Map, Value};

const TEXT: &str = "reasoning.text";

#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<Value>);

impl ReasoningDetails {
    pub(super) fn extend(&mut self, fragments: Value) {
        let Value::Array(fragments) = fragments else { return };
        for fragment in fragments {
            match (self.0.last_mut(), fragment) {
                (Some(Value::Object(last)), Value::Object(next)) if continues(last, &next) => {
                    join(last, next)
                }
                (_, fragment) => self.0.push(fragment),
            }
        }
    }

    pub(super) fn into_value(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Array(self.0))
    }
}

fn continues(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let both = |key: &str| last.get(key) == next.get(key);
    let kind = |map: &Map<String, Value>| map.get("type").is_some_and(|kind| kind == TEXT);
    let id_agrees = [last, next].iter().any(|map| map.get("id").is_none_or(Value::is_null)) || both("id");
    // A signature ends an entry: more text after it is another.
    let sealed = last.get("signature").is_some_and(|signature| signature.is_string());
    kind(last) && kind(next) && both("index") && id_agrees && !sealed
}

fn join(last: &mut Map<String, Value>, next: Map<String, Value>) {
    for (key, value) in next {
        match (key.as_str(), last.get_mut(&key), value) {
            ("text", Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (_, _, Value::Null) => {}
            (_, Some(known), value) if known.is_null() => *known = value,
            (_, Some(_), _) => {}
            (_, None, value) => {
                last.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fragments_of_one_text_become_one_entry_and_others_stay() {
        let mut details = ReasoningDetails::default();
        for fragment in [
            json!([{"type": "reasoning.text", "text": "a", "index": 0, "format": "f"}]),
            json!([{"type": "reasoning.text", "text": "b", "index": 0, "signature": null, "id": null}]),
            json!([{"type": "reasoning.text", "signature": "s", "index": 0}]),
            json!([{"type": "reasoning.text", "text": "c", "index": 0}]),
            json!([{"type": "reasoning.text", "text": "d", "index": 1}]),
            json!([{"type": "reasoning.encrypted", "data": "x", "index": 1}, {"type": "reasoning.encrypted", "data": "y", "index": 1}]),
            json!("nonsense"),
            json!(null),
        ] {
            details.extend(fragment);
        }
        assert_eq!(
            details.into_value(),
            Some(json!([
                {"type": "reasoning.text", "text": "ab", "index": 0, "format": "f", "signature": "s"},
                {"type": "reasoning.text", "text": "c", "index": 0},
                {"type": "reasoning.text", "text": "d", "index": 1},
                {"type": "reasoning.encrypted", "data": "x", "index": 1},
                {"type": "reasoning.encrypted", "data": "y", "index": 1},
            ]))
        );
        assert_eq!(ReasoningDetails::default().into_value(), None);
    }
}
