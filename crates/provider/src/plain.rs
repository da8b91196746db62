//! Content in plain words, for wires that take only words in some place, and the bytes of what can be shown.
//!
//! Nothing vanishes silently: bytes that a wire cannot carry, or that cannot be found any more, leave a line that says
//! so. Reasoning is the exception: it goes back to its maker natively or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Content, InvocationResult};

use crate::grouping::Answer;

/// Why bytes are represented by a line of text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Instead {
    /// They follow in the next message.
    ShownNext,
    /// This wire, or this place of it, does not take them.
    NotShown,
}

/// One piece of content as text, if it says anything.
pub(crate) fn text(content: &Content, blobs: &dyn Blobs, instead: Instead) -> Option<String> {
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
            match (blobs.bytes(digest), instead) {
                (None, _) => format!("[{mime}{name}: the bytes are not available any more]"),
                (Some(bytes), Instead::ShownNext) => {
                    format!("[{mime}{name}, {} bytes: shown in the next message]", bytes.len())
                }
                (Some(bytes), Instead::NotShown) => {
                    format!("[{mime}{name}, {} bytes: cannot be shown here]", bytes.len())
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
    instead: Instead,
) -> String {
    texts.filter_map(|content| text(content, blobs, instead)).collect::<Vec<_>>().join("\n")
}

/// The MIME type and the base64 of a blob whose type is one of `mimes`, if its bytes are there and not empty.
pub(crate) fn shown<'a>(
    content: &'a Content,
    blobs: &dyn Blobs,
    mimes: &[&str],
) -> Option<(&'a str, String)> {
    let Content::Blob { mime, digest, .. } = content else { return None };
    if !mimes.contains(&mime.as_str()) {
        return None;
    }
    let bytes = blobs.bytes(digest).filter(|bytes| !bytes.is_empty())?;
    Some((mime, STANDARD.encode(&bytes)))
}

/// What image models commonly take: the four types that Anthropic's SDK (2.11.0) names.
pub(crate) const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The content of an answer; a missing one has none.
pub(crate) fn contents<'a>(answer: &Answer<'a>) -> &'a [Content] {
    match answer {
        Answer::Result(InvocationResult { content, .. }) => content,
        Answer::Missing => &[],
    }
}

/// An answer that failed, in words: what it says, or else how it ended.
pub(crate) fn failure(answer: &Answer<'_>, blobs: &dyn Blobs) -> String {
    let said = joined(contents(answer).iter(), blobs, Instead::NotShown);
    match answer {
        Answer::Result(result) if said.is_empty() => {
            format!("the invocation ended as `{}`", result.outcome.label())
        }
        Answer::Result(_) => said,
        Answer::Missing => "there is no record of how this invocation ended".to_owned(),
    }
}
