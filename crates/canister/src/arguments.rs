//! Arguments of an invocation: the model's text and its parsed form.
//!
//! What a person approves must be what runs, so anything two readers could understand differently is malformed here:
//! a key given twice (serde_json keeps the last, a person may read the first) and a number that this machine cannot
//! hold exactly. Malformed arguments are a normal event: they keep their raw text and are answered, not dropped.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// An arguments object, the text it came from, and what is wrong with that text, if anything.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arguments {
    /// Empty when malformed.
    pub object: Map<String, Value>,
    /// The text as the model wrote it, byte for byte.
    pub raw: Box<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<Malformed>,
}

/// Why the text is not an arguments object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Malformed {
    #[error("not valid JSON: {message}")]
    Syntax { message: String },
    #[error("a JSON object is needed, not {found}")]
    NotAnObject { found: String },
    #[error("the key `{key}` is given twice")]
    DuplicateKey { key: String },
    #[error("the number {number} cannot be held exactly; write it as a string")]
    LossyNumber { number: String },
    #[error("{bytes} bytes of arguments; at most {limit} are read")]
    TooLong { bytes: usize, limit: usize },
}

impl Arguments {
    /// Longest text that is read, in bytes; longer ones are malformed.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Parses a model's text. The spellings of "no arguments" seen in the wild (nothing, blanks, `null`, the string
    /// `"null"`, the string `""`) all mean `{}`; a string that holds an object is not unpacked.
    pub fn parse(raw: &str) -> Self {
        let text = raw.trim();
        if matches!(text, "" | "null" | "\"null\"" | "\"\"" | "\"{}\"") {
            return Self { object: Map::new(), raw: raw.into(), malformed: None };
        }
        match read_object(text) {
            Ok(object) => Self { object, raw: raw.into(), malformed: None },
            Err(malformed) => Self { object: Map::new(), raw: raw.into(), malformed: Some(malformed) },
        }
    }

    /// Wraps an object, for wires that send an object rather than a string.
    pub fn from_object(object: Map<String, Value>) -> Self {
        let raw = Value::Object(object.clone()).to_string().into();
        Self { object, raw, malformed: None }
    }
}

fn read_object(text: &str) -> Result<Map<String, Value>, Malformed> {
    if text.len() > Arguments::MAX_BYTES {
        return Err(Malformed::TooLong { bytes: text.len(), limit: Arguments::MAX_BYTES });
    }
    match exact_json(text)? {
        Value::Object(object) => Ok(object),
        other => Err(Malformed::NotAnObject { found: kind(&other).to_owned() }),
    }
}

/// Parses a JSON value as strictly as arguments: no duplicate key, no number that this machine cannot represent exactly.
/// The length is not limited.
///
/// # Errors
/// If the text is not JSON, has a duplicate key, or has a number that would change.
pub fn exact_json(text: &str) -> Result<Value, Malformed> {
    let mut duplicate = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Strict { duplicate: &mut duplicate }.deserialize(&mut reader).and_then(|value| {
        reader.end()?;
        Ok(value)
    });
    if let Some(key) = duplicate {
        return Err(Malformed::DuplicateKey { key });
    }
    let value = value.map_err(|error| Malformed::Syntax { message: error.to_string() })?;
    if let Some(number) = lossy_number(text) {
        return Err(Malformed::LossyNumber { number: number.to_owned() });
    }
    Ok(value)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Deserialiser of any JSON value that reports the first duplicate key of an object.
struct Strict<'a> {
    duplicate: &'a mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict { duplicate: self.duplicate })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                *self.duplicate = Some(key);
                return Err(A::Error::custom("duplicate key"));
            }
            let value = map.next_value_seed(Strict { duplicate: self.duplicate })?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// The first number literal of a valid JSON text that would change its value by being read into an i64, u64 or f64.
fn lossy_number(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = after_string(bytes, at),
            b'-' | b'0'..=b'9' => {
                let length = bytes[at..]
                    .iter()
                    .take_while(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
                let end = at + length.count();
                if is_lossy(&text[at..end]) {
                    return Some(&text[at..end]);
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

fn after_string(bytes: &[u8], open: usize) -> usize {
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    at
}

fn is_lossy(literal: &str) -> bool {
    if literal.parse::<i64>().is_ok() || literal.parse::<u64>().is_ok() {
        return false;
    }
    let Ok(float) = literal.parse::<f64>() else { return true };
    // Between two decimals of one length a double may stand in the middle: then each of them means it.
    let spellings = [format!("{float:e}"), serde_json::Value::from(float).to_string()];
    !float.is_finite() || !spellings.iter().any(|spelling| decimal(literal) == decimal(spelling))
}

/// A decimal literal as (negative, significant digits, exponent of the last digit): equal values compare equal.
fn decimal(literal: &str) -> (bool, String, i64) {
    let (negative, rest) = literal.strip_prefix('-').map_or((false, literal), |rest| (true, rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0').to_owned();
    if digits.is_empty() {
        return (false, digits, 0);
    }
    let trailing = (all.len() - all.trim_end_matches('0').len()) as i64;
    let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX / 2) - fraction.len() as i64 + trailing;
    (negative, digits, exponent)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn malformed(raw: &str) -> Malformed {
        let arguments = Arguments::parse(raw);
        assert!(arguments.object.is_empty());
        assert_eq!(&*arguments.raw, raw);
        arguments.malformed.unwrap_or_else(|| panic!("{raw} passed"))
    }

    #[test]
    fn every_spelling_of_nothing_is_the_empty_object() {
        for raw in ["", "  \n", "null", "\"null\"", "\"\"", "{}", " { } ", "\"{}\""] {
            let arguments = Arguments::parse(raw);
            assert_eq!((arguments.malformed, arguments.object.len()), (None, 0), "{raw:?}");
        }
    }

    #[test]
    fn an_object_keeps_its_order_and_its_text() {
        let arguments = Arguments::parse(r#" {"z":1,"a":[true,null,"x",0.1,1e3,-7,18446744073709551615]} "#);
        assert_eq!(arguments.malformed, None);
        assert_eq!(arguments.object.keys().collect::<Vec<_>>(), ["z", "a"]);
        assert!(arguments.raw.starts_with(" {"));
    }

    #[test]
    fn what_is_not_an_object_is_said() {
        for (raw, found) in
            [("[1]", "an array"), ("\"x\"", "a string"), ("7", "a number"), ("true", "a boolean")]
        {
            assert_eq!(malformed(raw), Malformed::NotAnObject { found: found.into() });
        }
        for raw in ["{", "{\"a\":}", "{} x", "{'a':1}", "NaN", "{\"a\":1e400}", "{\"a\":\"\\ud800\"}"] {
            assert!(matches!(malformed(raw), Malformed::Syntax { .. }), "{raw}");
        }
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(matches!(malformed(&deep), Malformed::Syntax { .. }));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(Arguments::MAX_BYTES));
        assert!(matches!(malformed(&long), Malformed::TooLong { .. }));
    }

    #[test]
    fn a_key_twice_is_malformed_at_any_depth() {
        for raw in [r#"{"k":1,"k":2}"#, r#"{"a":[{"k":1,"b":0,"k":1}]}"#, r#"{"k":1,"\u006b":2}"#] {
            assert_eq!(malformed(raw), Malformed::DuplicateKey { key: "k".into() });
        }
    }

    #[test]
    fn a_number_that_would_change_is_malformed() {
        for number in ["123456789012345678901234567890", "-9223372036854775809", "0.1234567890123456789"] {
            let raw = format!(r#"{{"a":"12345678901234567890123","n":{number}}}"#);
            assert_eq!(malformed(&raw), Malformed::LossyNumber { number: number.into() });
        }
        for number in [
            "0.1",
            "1.50",
            "100e-2",
            "1e21",
            "-0.0",
            "0",
            "1E+2",
            "123456789.125",
            "1e-7",
            "-13298279891358.812",
            "-13298279891358.813",
        ] {
            let raw = format!(r#"{{"n":{number}}}"#);
            assert_eq!(Arguments::parse(&raw).malformed, None, "{number}");
        }
    }

    proptest! {
        #[test]
        fn any_finite_number_that_we_write_can_be_read(number: f64) {
            prop_assume!(number.is_finite());
            let raw = serde_json::json!({ "n": number }).to_string();
            let arguments = Arguments::parse(&raw);
            prop_assert_eq!(&arguments.malformed, &None);
            prop_assert_eq!(arguments.object["n"].as_f64(), Some(number));
        }

        #[test]
        fn any_text_is_answered(raw in ".{0,60}") {
            let arguments = Arguments::parse(&raw);
            let back: Arguments = serde_json::from_str(&serde_json::to_string(&arguments).unwrap()).unwrap();
            prop_assert_eq!(back, arguments);
        }
    }
}
