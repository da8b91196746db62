//! Lenient reading of JSON from servers that disagree on types.
//!
//! A field that should be a string is sometimes `null`, a number or missing; none of that may end a stream. [`LenientStr`]
//! reads a string, borrowed from the event if it has no escapes, and ignores any other type.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The methods of a visitor for all values but texts and objects: they are read as `None`.
macro_rules! others_are_none {
    () => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(None)
        }
    };
}

/// A string, or `None` if the field has another type.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct LenientStr<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'a> LenientStr<'a> {
    /// Returns the string if it is not empty.
    pub(crate) fn text(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LenientStr<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientStrVisitor).map(LenientStr)
    }
}

struct LenientStrVisitor;

impl<'de> Visitor<'de> for LenientStrVisitor {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text)))
    }

    others_are_none!();

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// An object of type `T`, or `None` if the field has another type. Read in one pass, where a `RawValue` is read twice.
#[derive(Debug)]
pub(crate) struct LenientObject<T>(pub(crate) Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientObjectVisitor(PhantomData)).map(LenientObject)
    }
}

struct LenientObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for LenientObjectVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    others_are_none!();
}

/// Reads JSON; where it holds half of a surrogate pair (a server that cuts its text between UTF-16 units), reads it
/// again with U+FFFD in its place. `repaired` is where that second text lives.
pub(crate) fn read<'a, T: Deserialize<'a>>(
    json: &'a str,
    repaired: &'a mut Option<String>,
) -> Result<T, serde_json::Error> {
    match serde_json::from_str(json) {
        Ok(value) => Ok(value),
        Err(error) => match replace_lone_surrogates(json) {
            Some(text) => serde_json::from_str(repaired.insert(text)),
            None => Err(error),
        },
    }
}

/// Returns the text with every escape of a lone surrogate replaced by U+FFFD; `None` if it has none.
fn replace_lone_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let (mut rest, mut changed) = (json, false);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        repaired.push_str(before);
        let length = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                changed = true;
                repaired.push_str("\\ufffd");
                rest = escape.get(6..)?;
                continue;
            }
            // The escaped character is one byte, or the text is not JSON.
            _ => 2,
        };
        repaired.push_str(escape.get(..length)?);
        rest = escape.get(length..)?;
    }
    repaired.push_str(rest);
    changed.then_some(repaired)
}

/// The UTF-16 unit of a `\uXXXX` at the start.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Returns a count; `None` for anything else (`null`, a negative number, a string).
pub(crate) fn count(raw: Option<&RawValue>) -> Option<u64> {
    raw?.get().trim().parse().ok()
}

/// Returns the value, unless it is nested deeper than serde_json reads.
pub(crate) fn value(raw: Option<&RawValue>) -> Option<Value> {
    serde_json::from_str(raw?.get()).ok()
}

/// Returns the token count at a JSON pointer.
pub(crate) fn tokens(usage: &Value, pointer: &str) -> Option<u64> {
    usage.pointer(pointer)?.as_u64()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Row<'a> {
        #[serde(borrow, default)]
        a: LenientStr<'a>,
        #[serde(borrow)]
        n: Option<&'a RawValue>,
    }

    #[test]
    fn a_string_is_taken_and_anything_else_passed_over() {
        for (json, text) in [
            (r#"{"a":"x"}"#, Some("x")),
            (r#"{"a":"\n"}"#, Some("\n")),
            (r#"{"a":""}"#, None),
            (r#"{"a":null}"#, None),
            (r#"{"a":[1,{"b":2}]}"#, None),
            (r#"{"a":{"b":[3]}}"#, None),
            (r#"{"a":-1.5}"#, None),
            (r#"{"a":true}"#, None),
            ("{}", None),
        ] {
            assert_eq!(serde_json::from_str::<Row<'_>>(json).unwrap().a.text(), text, "{json}");
        }
        let row: Row<'_> = serde_json::from_str(r#"{"a":"plain"}"#).unwrap();
        assert!(matches!(row.a.0, Some(Cow::Borrowed(_))), "no copy without need");
    }

    #[test]
    fn an_object_is_taken_and_anything_else_passed_over() {
        #[derive(Deserialize)]
        struct Outer<'a> {
            #[serde(borrow)]
            o: Option<LenientObject<Row<'a>>>,
        }
        for (json, text) in [
            (r#"{"a":"x","n":7}"#, Some("x")),
            (r#"{"b":[{}]}"#, None),
            ("null", None),
            (r#""a""#, None),
            (r#"[{"a":"x"}]"#, None),
            ("1", None),
            ("-1", None),
            ("1.5", None),
            ("true", None),
        ] {
            let outer = format!(r#"{{"o":{json}}}"#);
            let read = serde_json::from_str::<Outer<'_>>(&outer).unwrap().o.and_then(|row| row.0);
            assert_eq!(read.as_ref().and_then(|row| row.a.text()), text, "{json}");
            assert_eq!(read.is_some(), json.starts_with('{'), "{json}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        for (json, text) in [
            (r#"{"a":"x\ud83e"}"#, "x\u{fffd}"),
            (r#"{"a":"\udd80\ud83e\udd80\uD83E\n"}"#, "\u{fffd}🦀\u{fffd}\n"),
            (r#"{"a":"\\\\ud83e\ud83e\u0041"}"#, "\\\\ud83e\u{fffd}A"),
        ] {
            let mut room = None;
            assert_eq!(read::<Row<'_>>(json, &mut room).unwrap().a.text(), Some(text), "{json}");
        }
        for json in [r#"{"a":"\ud83"#, r#"{"a":"\"#, r#"{"a":"\ué"}"#, "{"] {
            assert!(read::<Row<'_>>(json, &mut None).is_err(), "{json}");
        }
    }

    #[test]
    fn a_count_is_a_whole_number() {
        for (json, number) in [("7", Some(7)), ("null", None), ("-1", None), ("\"1\"", None), ("1.5", None)] {
            let json = format!(r#"{{"n":{json}}}"#);
            assert_eq!(count(serde_json::from_str::<Row<'_>>(&json).unwrap().n), number, "{json}");
        }
    }
}
