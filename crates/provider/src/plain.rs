//! Content as plain text, for places where a wire accepts only text.
//!
//! Nothing is dropped silently: bytes that a wire cannot carry, or that are no longer available, are replaced by a line
//! that says so. Reasoning is the exception: it goes back to its maker natively or not at all.

use converse_canister::{Blobs, Content, InvocationResult};

use crate::grouping::Answer;

/// Why a line of text replaces bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Placeholder {
    /// The bytes follow in the next message.
    ShownNext,
    /// The wire does not accept the bytes in this position.
    NotShown,
    /// The bytes exceed the server's limit.
    TooLarge,
    /// Newer media fill the request.
    NoRoom,
}

/// Returns one piece of content as text; `None` if it is blank.
pub(crate) fn text(content: &Content, blobs: &dyn Blobs, placeholder: Placeholder) -> Option<String> {
    let text = match content {
        Content::Text { text, .. } => text.clone(),
        Content::Reasoning { .. } => return None,
        Content::Structured { value } => value.to_string(),
        Content::Resource { uri, name, mime } => {
            let name = name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
            let mime = mime.as_ref().map(|mime| format!(" ({mime})")).unwrap_or_default();
            format!("[resource{name}{mime}: {uri}]")
        }
        Content::Blob { mime, digest, name, .. } => {
            let name = name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
            match (blobs.bytes(digest), placeholder) {
                (None, _) => format!("[{mime}{name}: the bytes are not available any more]"),
                (Some(bytes), Placeholder::ShownNext) => {
                    format!("[{mime}{name}, {} bytes: shown in the next message]", bytes.len())
                }
                (Some(bytes), Placeholder::NotShown) => {
                    format!("[{mime}{name}, {} bytes: cannot be shown here]", bytes.len())
                }
                (Some(bytes), Placeholder::TooLarge) => {
                    format!("[{mime}{name}, {} bytes: too large to be shown here]", bytes.len())
                }
                (Some(bytes), Placeholder::NoRoom) => {
                    format!(
                        "[{mime}{name}, {} bytes: not shown any more, newer ones fill the request]",
                        bytes.len()
                    )
                }
            }
        }
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Joins pieces of content with newlines. Empty if all are blank.
pub(crate) fn joined<'a>(
    texts: impl Iterator<Item = &'a Content>,
    blobs: &dyn Blobs,
    placeholder: Placeholder,
) -> String {
    texts.filter_map(|content| text(content, blobs, placeholder)).collect::<Vec<_>>().join("\n")
}

/// Returns a document's text under its name, between fences that do not occur in it.
pub(crate) fn fenced_document(name: &str, text: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
    let longest_run = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest_run.max(2) + 1);
    format!("Document \"{name}\":\n{fence}\n{text}\n{fence}")
}

/// Returns the content of an answer; empty for a missing answer.
pub(crate) fn contents<'a>(answer: &Answer<'a>) -> &'a [Content] {
    match answer {
        Answer::Result(InvocationResult { content, .. }) => content,
        Answer::Missing => &[],
    }
}

/// Returns a failed answer marked as `error (outcome): …`, for wires without a flag for failure.
pub(crate) fn marked_failure(answer: &Answer<'_>, blobs: &dyn Blobs) -> String {
    format!("error ({}): {}", answer.outcome().label(), failure(answer, blobs))
}

/// Returns the text of a failed answer, or how the invocation ended if it has no text.
pub(crate) fn failure(answer: &Answer<'_>, blobs: &dyn Blobs) -> String {
    let text = joined(contents(answer).iter(), blobs, Placeholder::NotShown);
    match answer {
        Answer::Result(result) if text.is_empty() => {
            format!("the invocation ended as `{}`", result.outcome.label())
        }
        Answer::Result(_) => text,
        Answer::Missing => "there is no record of how this invocation ended".to_owned(),
    }
}
