//! One chunk of a reply, borrowed from its line.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::LenientStr;

/// One line of a stream, or a whole reply.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) model: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow)]
    done: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) done_reason: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) prompt_eval_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) eval_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) content: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: LenientStr<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Chunk<'_> {
    /// Returns whether the chunk is the last one; `None` if it does not say.
    pub(super) fn done(&self) -> Option<bool> {
        self.done.map(|done| done.get() == "true")
    }
}

impl Function<'_> {
    /// The text of its arguments: an object, or from some proxies a string that holds one.
    pub(super) fn arguments(&self) -> Cow<'_, str> {
        let raw = self.arguments.map(RawValue::get).unwrap_or_default();
        if raw.starts_with('"')
            && let Ok(text) = serde_json::from_str::<String>(raw)
        {
            return Cow::Owned(text);
        }
        Cow::Borrowed(raw)
    }
}
