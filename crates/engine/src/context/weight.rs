//! The weight of content in bytes of text. Content that is not text weighs as much as providers count for it.

use converse_canister::{Blobs, Content, json_length};

/// Average bytes of text per token.
pub(crate) const BYTES: u64 = 4;
/// Bytes around each message on the wire.
pub(super) const AROUND: u64 = 16;
/// Pictures are scaled down before they are counted; a page of a PDF is some words and a picture.
const PICTURE: u64 = 1_500 * BYTES;

/// Returns the weight of content.
pub(super) fn content_weight(content: &Content, blobs: &dyn Blobs) -> u64 {
    match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => text.len() as u64,
        Content::Resource { uri, name, .. } => (uri.len() + name.as_ref().map_or(0, String::len)) as u64,
        Content::Structured { value } => json_length(value) as u64,
        Content::Blob { mime, digest, .. } if mime.starts_with("image/") => {
            if blobs.bytes(digest).is_some() {
                PICTURE
            } else {
                AROUND
            }
        }
        Content::Blob { mime, digest, .. } => {
            let bytes = blobs.bytes(digest).map_or(0, |bytes| bytes.len() as u64);
            let share = if mime == "application/pdf" { 10 } else { 100 };
            AROUND + bytes / share
        }
    }
}
