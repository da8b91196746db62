//! Responses of Gemini, as borrowed views of their text. A chunk of a stream and a whole response have the same form.
//!
//! `GenerateContentResponse` of <https://ai.google.dev/api/generate-content> and google-genai 3.4.0 (checked 2026-11).

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::compact_vec::CompactVec;
use crate::lenient::{LenientObject, LenientStr};

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) candidates: Option<CompactVec<Candidate<'a>>>,
    #[serde(borrow)]
    pub(super) prompt_feedback: Option<Feedback<'a>>,
    #[serde(borrow)]
    pub(super) usage_metadata: Option<LenientObject<UsageMetadata<'a>>>,
    #[serde(borrow, default)]
    pub(super) model_version: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) response_id: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(borrow)]
    pub(super) index: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<Contents<'a>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) finish_message: LenientStr<'a>,
}

/// Without `parts` where a filter has taken them.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Contents<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<CompactVec<&'a RawValue>>,
}

/// Counts, each of which may be missing or something else.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageMetadata<'a> {
    #[serde(borrow)]
    pub(super) prompt_token_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) cached_content_token_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_use_prompt_token_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) candidates_token_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) thoughts_token_count: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) total_token_count: Option<&'a RawValue>,
}

/// Why the prompt was not looked at.
#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow, default)]
    pub(super) block_reason: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) block_reason_message: LenientStr<'a>,
}

/// A part that is text and nothing else, as nearly all are.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextPart<'a> {
    #[serde(borrow)]
    pub(super) text: Cow<'a, str>,
    #[serde(default)]
    pub(super) thought: bool,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePart<'a> {
    #[serde(borrow, default)]
    pub(super) text: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) thought: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) thought_signature: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow, default)]
    pub(super) id: LenientStr<'a>,
    #[serde(borrow, default)]
    pub(super) name: LenientStr<'a>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    /// Arguments in pieces, which are sent only on request.
    #[serde(borrow)]
    pub(super) partial_args: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) will_continue: Option<&'a RawValue>,
}
