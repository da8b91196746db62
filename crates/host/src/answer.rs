//! `--schema FILE`: the schema of the answer, for the request and for the check afterwards.
//!
//! Another schema than that of an object is wrapped for the request, and the value is unwrapped before it is checked
//! against the user's schema.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use converse_canister::{Malformed, exact_json};
use converse_config::{SchemaFault, ValueSchema};
use converse_engine::AnswerCheck;
use converse_provider::{AnswerFormat, WRAPPED, wrapped};
use serde_json::Value;

use crate::failure::Failure;
use crate::world::World;
use converse_session::files::open_regular;

/// The same limit as for the schemas of arguments.
const MOST_BYTES: u64 = 64 * 1024;

/// A valid schema and its form in requests.
#[derive(Debug, Clone)]
pub struct ReplySchema {
    schema: Arc<ValueSchema>,
    sent: Value,
    is_wrapped: bool,
}

impl ReplySchema {
    pub fn read(path: &Path, world: &World) -> Result<Self, Failure> {
        let shown = path.display();
        let failed = |why: String| Failure::usage("schema-file", format!("`{shown}` cannot be used: {why}"));
        let unread = |error: std::io::Error| failed(error.to_string());
        let file =
            world.cwd.join(path).canonicalize().and_then(|path| open_regular(&path)).map_err(unread)?;
        let mut text = String::new();
        file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unread)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(failed(format!("the schema has more than {MOST_BYTES} bytes")));
        }
        let schema = serde_json::from_str(&text).map_err(|error| failed(format!("not JSON: {error}")))?;
        Self::of(schema)
            .map_err(|why| failed(why).hint("expected a JSON Schema such as {\"type\": \"object\", …}"))
    }

    /// # Errors
    ///
    /// Why it is not a schema.
    pub fn of(schema: Value) -> Result<Self, String> {
        if !schema.is_object() {
            return Err("not a schema: expected a JSON object".to_owned());
        }
        let compiled = ValueSchema::compile(&schema).map_err(|error| match error.pointer.as_str() {
            "" => error.message,
            pointer => format!("{pointer}: {}", error.message),
        })?;
        let is_wrapped = schema.get("type").and_then(Value::as_str) != Some("object");
        let sent = if is_wrapped { wrapped(schema) } else { schema };
        Ok(Self { schema: Arc::new(compiled), sent, is_wrapped })
    }

    /// Returns the value of [`converse_provider::Controls::answer`].
    pub fn format(&self) -> AnswerFormat {
        AnswerFormat { name: "answer".to_owned(), schema: self.sent.clone() }
    }

    fn checked(&self, value: Value) -> Result<Value, String> {
        let faults = self.schema.check(&value);
        if faults.is_empty() {
            Ok(value)
        } else {
            Err(faults.iter().map(fault_text).collect::<Vec<_>>().join("; "))
        }
    }
}

impl AnswerCheck for ReplySchema {
    fn check(&self, text: &str) -> Result<Value, String> {
        let value = read(text)?;
        let inner =
            value.get(WRAPPED).filter(|_| self.is_wrapped && value.as_object().is_some_and(|o| o.len() == 1));
        match inner {
            // Some models omit the wrapping object, even if the value itself looks like it.
            Some(inner) => {
                self.checked(inner.clone()).or_else(|errors| self.checked(value).map_err(|_| errors))
            }
            None => self.checked(value),
        }
    }
}

/// Keeps the text that the model wrote: numbers are not rounded and no key is lost.
fn read(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    exact_json(text).map_err(|malformed| match malformed {
        Malformed::Syntax { message } => format!("it is not JSON: {message}"),
        Malformed::LossyNumber { number } => {
            format!("the number {number} cannot be held exactly; it needs fewer digits")
        }
        other => other.to_string(),
    })
}

fn fault_text(fault: &SchemaFault) -> String {
    match fault.pointer.as_str() {
        "" => fault.message.clone(),
        pointer => format!("{pointer} {}", fault.message),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted(schema: Value) -> ReplySchema {
        ReplySchema::of(schema).unwrap()
    }

    #[test]
    fn an_object_is_sent_as_it_is_and_checked() {
        let schema =
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let wanted = wanted(schema.clone());
        assert_eq!(wanted.format().schema, schema);
        assert_eq!(wanted.check(r#"{"n": 1}"#), Ok(json!({ "n": 1 })));
        for (text, word) in [("{}", "n"), (r#"{"n":"1"}"#, "/n"), ("n is 1", "not JSON"), (" ", "empty")] {
            assert!(wanted.check(text).unwrap_err().contains(word), "{text}: {:?}", wanted.check(text));
        }
    }

    #[test]
    fn an_answer_that_two_readers_could_read_differently_does_not_fit() {
        let wanted = wanted(json!({ "type": "object" }));
        for (text, word) in [
            (r#"{"n": 9007199254740993.5}"#, "9007199254740993.5"),
            (r#"{"n": 123456789012345678901234567890}"#, "123456789012345678901234567890"),
            (r#"{"n": 1e999}"#, "not JSON"),
            (r#"{"city": "Oslo", "city": "Bergen"}"#, "`city` is given twice"),
            (r#"{"a": [{"b": 1, "b": 1}]}"#, "`b` is given twice"),
        ] {
            let error = wanted.check(text).unwrap_err();
            assert!(error.contains(word) && !error.contains("string"), "{text}: {error}");
        }
        assert_eq!(wanted.check(r#"{"n": 18446744073709551615}"#), Ok(json!({ "n": u64::MAX })));
    }

    #[test]
    fn another_root_is_wrapped_and_unwrapped() {
        let wanted = wanted(json!({ "type": "array", "items": { "type": "integer" } }));
        assert_eq!(
            wanted.format().schema,
            json!({
                "type": "object",
                "properties": { "value": { "type": "array", "items": { "type": "integer" } } },
                "required": ["value"],
                "additionalProperties": false,
            })
        );
        assert_eq!(wanted.check(r#"{"value":[1,2]}"#), Ok(json!([1, 2])));
        assert_eq!(wanted.check("[1]"), Ok(json!([1])), "a model that knew better");
        assert!(wanted.check(r#"{"value":["x"]}"#).unwrap_err().contains("/0"));
    }

    #[test]
    fn a_value_that_looks_like_the_wrapping_is_not_lost() {
        let wanted =
            wanted(json!({ "anyOf": [{ "type": "object", "required": ["value"] }, { "type": "null" }] }));
        assert_eq!(wanted.check(r#"{"value":1}"#), Ok(json!({ "value": 1 })));
        assert_eq!(wanted.check(r#"{"value":null}"#), Ok(Value::Null));
    }

    #[test]
    fn references_lead_where_they_led() {
        let schema = json!({
            "$defs": { "tree": { "type": "array", "items": { "$ref": "#/$defs/tree" } }, "top": { "$ref": "#" } },
            "anyOf": [{ "$ref": "#/$defs/tree" }, { "type": "string" }],
        });
        let sent = wrapped(schema);
        assert_eq!(sent["$defs"]["tree"]["items"]["$ref"], "#/$defs/tree");
        assert_eq!(sent["$defs"]["top"]["$ref"], "#/properties/value");
        assert_eq!(sent["properties"]["value"]["anyOf"][0]["$ref"], "#/$defs/tree");
        let sent = ValueSchema::compile(&sent).unwrap();
        assert!(sent.check(&json!({ "value": [[], []] })).is_empty());
        assert!(!sent.check(&json!({ "value": [1] })).is_empty());
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for (schema, word) in [
            (json!([]), "expected a JSON object"),
            (json!({ "type": "strin" }), "/type"),
            (json!({ "$ref": "https://example.org/x" }), "outside the schema"),
        ] {
            let error = ReplySchema::of(schema.clone()).unwrap_err();
            assert!(error.contains(word), "{schema}: {error}");
        }
    }
}
