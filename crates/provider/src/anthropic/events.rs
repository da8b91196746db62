//! Events of Anthropic, as borrowed views of their text. Only used fields are named; others are ignored.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient::LenientStr;

/// Any stream event; which fields it has depends on its kind.
#[derive(Debug, Deserialize)]
pub(super) struct StreamEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<EventDelta<'a>>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// The delta of a block, or that of the message (`stop_reason`).
#[derive(Debug, Deserialize)]
pub(super) struct EventDelta<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) text: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) partial_json: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) signature: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) citation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) stop_reason: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
}

/// A message: whole, or as `message_start` announces it.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) model: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) stop_details: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// A content block, as far as it is understood here.
#[derive(Debug, Deserialize)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) text: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) thinking: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) name: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) input: Option<&'a RawValue>,
}
