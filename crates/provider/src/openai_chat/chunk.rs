//! Responses of chat servers, as borrowed views of a chunk's text. A whole answer has the same form, with `message` in
//! place of `delta`.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::compact_vec::CompactVec;
use crate::lenient::{LenientStr, count};

#[derive(Debug, serde::Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) model: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) choices: Option<CompactVec<Choice<'a>>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) x_groq: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// Returns the text of a chunk that adds text and has no other effect; `None` if it has escapes.
    pub(super) fn only_text(&self) -> Option<&'a str> {
        let Self { id: _, model: _, choices: Some(choices), usage: None, x_groq: None, error: None } = self
        else {
            return None;
        };
        let [Choice { index, delta: Some(words), message: _, finish_reason, error: None }] =
            choices.as_slice()
        else {
            return None;
        };
        let Words {
            content: Content::Text(Cow::Borrowed(text)),
            reasoning_content,
            reasoning,
            reasoning_details: None,
            refusal,
            tool_calls: None,
        } = words
        else {
            return None;
        };
        let absent = [finish_reason, reasoning_content, reasoning, refusal];
        let is_first = count(*index).unwrap_or(0) == 0;
        (is_first && absent.iter().all(|text| text.text().is_none())).then_some(text)
    }
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<Words<'a>>,
    #[serde(borrow)]
    pub(super) message: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A message or a piece of one.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Words<'a> {
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) reasoning_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) refusal: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: LenientStr<'a>,
    /// A string, an object, `null` or absent.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// A string, or an array of parts (Mistral's reasoning models), or neither.
#[derive(Debug, Default)]
pub(super) enum Content<'a> {
    #[default]
    None,
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Debug, serde::Deserialize)]
pub(super) struct ContentPart<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) text: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: Content<'a>,
}

impl Content<'_> {
    /// All text in it, thinking not included.
    pub(super) fn all_text(&self) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => parts.iter().filter_map(|part| part.text.text()).collect::<String>().into(),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, an array of parts or null")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Content::None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Content::Parts(parts))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::None)
    }
}
