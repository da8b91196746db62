//! Reading checked arguments.
//!
//! The schema has been applied before a built-in runs, so these errors are for callers that come without one.

use converse_canister::Arguments;
use converse_text::invisible::is_treacherous;
use converse_text::shorten;
use serde_json::Value;

use crate::InvokeError;

/// A text that may be missing (or null).
pub(super) fn text<'a>(arguments: &'a Arguments, key: &str) -> Result<Option<&'a str>, InvokeError> {
    match arguments.object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(InvokeError::Invalid(format!("`{key}` must be a string"))),
    }
}

pub(super) fn required_text<'a>(arguments: &'a Arguments, key: &str) -> Result<&'a str, InvokeError> {
    text(arguments, key)?.ok_or_else(|| InvokeError::Invalid(format!("`{key}` is missing")))
}

/// Returns an integer of 0 or more; `3.0` is an integer too, as in JSON Schema.
pub(super) fn count(arguments: &Arguments, key: &str) -> Result<Option<usize>, InvokeError> {
    let number = match arguments.object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(value) => value.as_u64().or_else(|| value.as_f64().and_then(whole)),
    };
    let number = number.and_then(|number| usize::try_from(number).ok());
    number.map(Some).ok_or_else(|| InvokeError::Invalid(format!("`{key}` must be a whole number, 0 or more")))
}

fn whole(float: f64) -> Option<u64> {
    // Within 2^53 a float that is whole is that number exactly.
    ((0.0..=9_007_199_254_740_992.0).contains(&float) && float.fract() == 0.0).then_some(float as u64)
}

/// A switch; missing is off.
pub(super) fn flag(arguments: &Arguments, key: &str) -> Result<bool, InvokeError> {
    match arguments.object.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(_) => Err(InvokeError::Invalid(format!("`{key}` must be true or false"))),
    }
}

/// Text for a message: bounded, and without characters that could move a terminal's cursor or reverse its text.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 200;
    let mut shown = String::new();
    shorten::chars(text, MOST).chars().for_each(|character| push_visible(&mut shown, character));
    shown
}

/// One character, escaped if it has no picture of its own.
pub(super) fn push_visible(out: &mut String, character: char) {
    if is_treacherous(character) {
        out.extend(character.escape_default());
    } else {
        out.push(character);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        Arguments::from_object(value.as_object().unwrap().clone())
    }

    #[test]
    fn values_are_read_or_refused() {
        let given =
            arguments(json!({ "t": "x", "n": 3, "f": 4.0, "b": true, "nil": null, "neg": -1, "half": 0.5 }));
        assert_eq!(text(&given, "t"), Ok(Some("x")));
        assert_eq!(text(&given, "nil"), Ok(None));
        assert_eq!(required_text(&given, "u"), Err(InvokeError::Invalid("`u` is missing".into())));
        assert!(text(&given, "n").is_err());
        assert_eq!(count(&given, "n"), Ok(Some(3)));
        assert_eq!(count(&given, "f"), Ok(Some(4)));
        assert_eq!(count(&given, "nil"), Ok(None));
        for bad in ["neg", "half", "t"] {
            assert!(count(&given, bad).is_err(), "{bad}");
        }
        assert_eq!((flag(&given, "b"), flag(&given, "none")), (Ok(true), Ok(false)));
        assert!(flag(&given, "n").is_err());
    }

    #[test]
    fn what_is_shown_is_short_and_visible() {
        assert_eq!(shown("a\u{1b}[31m\u{202e}b\n"), "a\\u{1b}[31m\\u{202e}b\\n");
        assert_eq!(shown(&"я".repeat(500)).chars().count(), 201);
    }
}
