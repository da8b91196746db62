//! Content in plain words, for wires that take only words in some place, and the bytes of what can be shown.
//!
//! Nothing vanishes silently: bytes that a wire cannot carry, or that cannot be found any more, leave a line that says
//! so. Reasoning is the exception: it goes back to its maker natively or not at all.

use converse_canister::{Blobs, Content, InvocationResult};

use crate::grouping::Answer;

/// Why bytes are represented by a line of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Placeholder {
    /// They follow in the next message.
    ShownNext,
    /// This wire, or this place of it, does not take them.
    NotShown,
    /// They are more than the server takes.
    TooLarge,
    /// Newer ones fill the request.
    NoRoom,
}

/// One piece of content as text, if it says anything.
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

/// Pieces as one text, a line or more each. Empty if they say nothing.
pub(crate) fn joined<'a>(
    texts: impl Iterator<Item = &'a Content>,
    blobs: &dyn Blobs,
    placeholder: Placeholder,
) -> String {
    texts.filter_map(|content| text(content, blobs, placeholder)).collect::<Vec<_>>().join("\n")
}

/// A document's text under its name, between fences that do not occur in it.
pub(crate) fn fenced_document(name: &str, text: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).take(200).collect();
    let longest_run = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest_run.max(2) + 1);
    format!("Document \"{name}\":\n{fence}\n{text}\n{fence}")
}

/// The content of an answer; a missing one has none.
pub(crate) fn contents<'a>(answer: &Answer<'a>) -> &'a [Content] {
    match answer {
        Answer::Result(InvocationResult { content, .. }) => content,
        Answer::Missing => &[],
    }
}

/// The same for wires that have no flag for it: its first words say that it failed.
pub(crate) fn marked_failure(answer: &Answer<'_>, blobs: &dyn Blobs) -> String {
    format!("error ({}): {}", answer.outcome().label(), failure(answer, blobs))
}

/// An answer that failed, in words: what it says, or else how it ended.
pub(crate) fn failure(answer: &Answer<'_>, blobs: &dyn Blobs) -> String {
    let said = joined(contents(answer).iter(), blobs, Placeholder::NotShown);
    match answer {
        Answer::Result(result) if said.is_empty() => {
            format!("the invocation ended as `{}`", result.outcome.label())
        }
        Answer::Result(_) => said,
        Answer::Missing => "there is no record of how this invocation ended".to_owned(),
    }
}
