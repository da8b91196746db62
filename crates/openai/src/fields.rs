//! The fields of an object of a request, taken one at a time. Fields that are left are unknown, and `null` means absent.

use converse_canister::exact_json;
use converse_text::shorten::within_chars;
use serde_json::{Map, Value};

use super::ApiError;

/// An object of a request and its path, for messages.
#[derive(Debug)]
pub(super) struct Fields {
    path: String,
    left: Map<String, Value>,
    /// Names that were asked for: the known names of the object.
    known: Vec<&'static str>,
}

impl Fields {
    /// Parses a body. Duplicate keys, deep nesting and numbers that would change are refused.
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let text = std::str::from_utf8(body).map_err(|_| ApiError::not_json("not UTF-8"))?;
        match exact_json(text).map_err(ApiError::not_json)? {
            Value::Object(left) => Ok(Self { path: String::new(), left, known: Vec::new() }),
            other => Err(ApiError::not_json(format!("found {}", found(&other)))),
        }
    }

    pub(super) fn of(value: Value, path: impl Into<String>) -> Result<Self, ApiError> {
        let path = path.into();
        match value {
            Value::Object(left) => Ok(Self { path, left, known: Vec::new() }),
            other => Err(ApiError::invalid_type(&path, "an object", found(&other))),
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path of a field.
    pub(super) fn at(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Returns whether a field is there and not `null`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.left.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.left.swap_remove(key).filter(|value| !value.is_null())
    }

    pub(super) fn required(&mut self, key: &'static str) -> Result<Value, ApiError> {
        self.take(key).ok_or_else(|| ApiError::missing(&self.at(key)))
    }

    pub(super) fn string(&mut self, key: &'static str) -> Result<Option<String>, ApiError> {
        self.take(key).map(|value| self.as_string(key, value)).transpose()
    }

    pub(super) fn required_string(&mut self, key: &'static str) -> Result<String, ApiError> {
        let value = self.required(key)?;
        self.as_string(key, value)
    }

    fn as_string(&self, key: &str, value: Value) -> Result<String, ApiError> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(ApiError::invalid_type(&self.at(key), "a string", found(&other))),
        }
    }

    pub(super) fn boolean(&mut self, key: &'static str) -> Result<Option<bool>, ApiError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(ApiError::invalid_type(&self.at(key), "a boolean", found(&other))),
        }
    }

    /// A number from 0 to `most`.
    pub(super) fn number(&mut self, key: &'static str, most: f64) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match value.as_f64() {
            Some(number) if (0.0..=most).contains(&number) => Ok(Some(number)),
            Some(number) => {
                let message = format!("expected a number from 0 to {most}, found {number}");
                Err(ApiError::invalid_value(&self.at(key), message))
            }
            None => Err(ApiError::invalid_type(&self.at(key), "a number", found(&value))),
        }
    }

    /// An integer from 1.
    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u32>, ApiError> {
        let Some(value) = self.take(key) else { return Ok(None) };
        match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
            Some(number) if number > 0 => Ok(Some(number)),
            _ if value.is_number() => {
                let message = format!("expected an integer from 1 to {}, found {value}", u32::MAX);
                Err(ApiError::invalid_value(&self.at(key), message))
            }
            _ => Err(ApiError::invalid_type(&self.at(key), "an integer", found(&value))),
        }
    }

    pub(super) fn array(&mut self, key: &'static str) -> Result<Option<Vec<Value>>, ApiError> {
        match self.take(key) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(other) => Err(ApiError::invalid_type(&self.at(key), "an array", found(&other))),
        }
    }

    pub(super) fn object(&mut self, key: &'static str) -> Result<Option<Self>, ApiError> {
        let at = self.at(key);
        self.take(key).map(|value| Self::of(value, at)).transpose()
    }

    /// One of these words.
    pub(super) fn word(
        &mut self,
        key: &'static str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, ApiError> {
        let Some(text) = self.string(key)? else { return Ok(None) };
        let known = words.iter().find(|word| **word == text);
        known.copied().map(Some).ok_or_else(|| {
            let message = format!("expected one of {}, found {}", listed(words), shown(&text));
            ApiError::invalid_value(&self.at(key), message)
        })
    }

    /// A parameter of OpenAI's API that has no meaning here.
    pub(super) fn refuse(&mut self, key: &'static str, hint: &str) -> Result<(), ApiError> {
        match self.take(key) {
            None => Ok(()),
            Some(_) => Err(ApiError::unsupported_parameter(&self.at(key), hint)),
        }
    }

    /// A parameter of which only values without an effect are supported: its default.
    pub(super) fn only(&mut self, key: &'static str, supported: &[Value]) -> Result<(), ApiError> {
        let Some(value) = self.take(key) else { return Ok(()) };
        let is_equal = |other: &Value| match (value.as_f64(), other.as_f64()) {
            (Some(value), Some(other)) => value == other,
            _ => value == *other,
        };
        if supported.iter().any(is_equal) {
            return Ok(());
        }
        let expected: Vec<String> = supported.iter().map(|value| format!("`{value}`")).collect();
        Err(ApiError::unsupported_value(&self.at(key), shown(&value.to_string()), &expected.join(" or ")))
    }

    /// Refuses what is left.
    pub(super) fn end(self) -> Result<(), ApiError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(key) => Err(ApiError::unknown_parameter(&self.at(key), key, self.known.iter().copied())),
        }
    }
}

/// Names the type of a value, for messages.
pub(super) fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Quotes a value of the client for a message.
pub(super) fn shown(text: &str) -> String {
    if text.is_empty() { "an empty text".to_owned() } else { format!("`{}`", within_chars(text, 60)) }
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}
