//! Converts a tool result from its JSON text to an [`Answer`].
//!
//! Pure except for the bytes that are stored. Nothing that a result links to is fetched, and unknown content is passed
//! on as JSON. Parts stay text until they are needed: a line of numbers takes dozens of times its size as a value.
//! <https://modelcontextprotocol.io/specification/2025-11-25/server/tools> (checked 2026-11).

mod block;
mod media;

use std::time::Duration;

use converse_canister::Content;
use converse_ensemble::{Answer, Artefacts, InvokeError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::First;
use block::Reader;
pub(crate) use media::{Refused, plain as plain_bytes};

const MAX_BLOCKS: usize = 1000;
/// Bytes of structured content that is parsed. Longer content is passed on as text, without comparison with other texts
/// or validation.
const MAX_STRUCTURED: usize = 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
    #[serde(borrow)]
    result_type: Option<&'a RawValue>,
    /// Not part of call results (2026-07-28 defines it for lists and resources) but honoured if present.
    #[serde(borrow)]
    ttl_ms: Option<&'a RawValue>,
    /// A legacy task (2025-11-25).
    #[serde(borrow)]
    task: Option<&'a RawValue>,
}

/// Returns how long an answer may be cached. Anything but a number of milliseconds forbids it.
fn fresh_for(ttl_ms: Option<&RawValue>) -> Option<Duration> {
    ttl_ms.map(|raw| raw.get().parse().map_or(Duration::ZERO, Duration::from_millis))
}

/// Parses a result. `judge` receives the structured content and may return a note on it.
pub(crate) fn answer(
    text: &str,
    artefacts: &dyn Artefacts,
    judge: impl FnOnce(&Value) -> Option<String>,
) -> Result<Answer, InvokeError> {
    // Serde would read an array as the fields in order.
    let outcome = text.trim_start().starts_with('{').then(|| serde_json::from_str::<Outcome<'_>>(text));
    let Some(Ok(result)) = outcome else {
        // Not a result of `tools/call`; the model gets the raw text.
        return Ok(Answer::new(vec![Content::text(text)], failed(text)));
    };
    match result.result_type.map(RawValue::get) {
        Some("\"input_required\"") => {
            let words = "the server asks for input in a way that its protocol version does not allow";
            return Err(InvokeError::Failed(words.to_owned()));
        }
        Some("\"task\"") => return Err(no_tasks()),
        _ if result.task.is_some() && result.content.is_none() => return Err(no_tasks()),
        _ => {}
    }
    let is_error = result.is_error.is_some_and(is_true);
    if result.content.is_none() && result.structured_content.is_none() {
        return Ok(Answer::new(vec![Content::text(text)], is_error));
    }
    let (mut content, left) = result.content.map_or_else(Default::default, |raw| blocks(raw, artefacts));
    let value = result.structured_content.and_then(readable);
    let note = value.as_ref().and_then(judge);
    match (value, result.structured_content) {
        (Some(value), _) if !is_said(&value, &content) => content.push(Content::Structured { value }),
        (None, Some(raw)) if !content.iter().any(|item| item.as_text() == Some(raw.get())) => {
            content.push(Content::text(raw.get()));
        }
        _ => {}
    }
    if left > 0 {
        content.push(Content::text(format!("[{left} more blocks of the result are left out]")));
    }
    content.extend(note.map(Content::text));
    Ok(Answer { fresh_for: fresh_for(result.ttl_ms), ..Answer::new(content, is_error) })
}

/// Returns whether an otherwise unreadable result has `isError`.
fn failed(text: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Verdict<'a> {
        #[serde(borrow)]
        is_error: Option<&'a RawValue>,
    }
    text.trim_start().starts_with('{')
        && serde_json::from_str::<Verdict<'_>>(text)
            .is_ok_and(|verdict| verdict.is_error.is_some_and(is_true))
}

fn is_true(raw: &RawValue) -> bool {
    matches!(raw.get(), "true" | "\"true\"" | "\"True\"")
}

/// Reads `content`; returns the blocks and how many were left out.
pub(crate) fn blocks(raw: &RawValue, artefacts: &dyn Artefacts) -> (Vec<Content>, usize) {
    let mut reader = Reader::new(artefacts);
    if let Ok(blocks) = serde_json::from_str::<First<&RawValue, MAX_BLOCKS>>(raw.get()) {
        return (blocks.items.into_iter().map(|block| reader.read(block)).collect(), blocks.left);
    }
    // A plain string, or a single block without an array.
    let bare = serde_json::from_str::<String>(raw.get());
    (vec![bare.map_or_else(|_| reader.read(raw), Content::text)], 0)
}

/// Returns `None` if the content is too long or nested too deeply.
fn readable(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= MAX_STRUCTURED).then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

fn no_tasks() -> InvokeError {
    let words =
        "the server began a task instead of answering, which this version cannot follow: outcome unknown";
    InvokeError::Interrupted(words.to_owned())
}

/// Returns whether the texts repeat the structured content. Many servers send both, and a model would pay for both.
fn is_said(value: &Value, content: &[Content]) -> bool {
    // A value that is not an object is wrapped in an object, as `result` or by another name.
    let wrapped =
        value.as_object().filter(|object| object.len() == 1).and_then(|object| object.values().next());
    let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
    [Some(value), wrapped].into_iter().flatten().any(|value| {
        let one_by_one = value.as_array().is_some_and(|array| {
            array.len() == texts.len()
                && !array.is_empty()
                && array.iter().zip(&texts).all(|(value, text)| says(text, value))
        });
        one_by_one || texts.iter().any(|text| says(text, value))
    })
}

fn says(text: &str, value: &Value) -> bool {
    let parsed =
        || (text.len() <= MAX_STRUCTURED).then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    value.as_str() == Some(text) || parsed().is_some_and(|parsed| parsed == *value)
}

#[cfg(test)]
mod tests;
