//! A result → what a client is sent.
//!
//! What an MCP server wrote is handed on as it wrote it. What was cut or cleaned, and what other tools say, is written
//! anew; a structure stands in the text as well, for clients that know no structures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Content, Digest, InvocationResult};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents, ResultType};

/// `is_structured`: the client will take no success without a structure.
pub(crate) fn result(
    result: &InvocationResult,
    verbatim: Option<&str>,
    is_structured: bool,
    blobs: &dyn Blobs,
) -> CallToolResult {
    let mut answer = verbatim.and_then(as_written).unwrap_or_else(|| written(result, blobs));
    if answer.content.is_empty()
        && let Some(value) = &answer.structured_content
    {
        answer.content.push(ContentBlock::text(value.to_string()));
    }
    if is_structured && answer.structured_content.is_none() {
        // Cut, or never there: clients refuse the whole of it, unless it is an error.
        answer.is_error = Some(true);
    }
    answer
}

/// `None`: there is something in it that the protocol does not know.
fn as_written(text: &str) -> Option<CallToolResult> {
    let mut answer: CallToolResult = serde_json::from_str(text).ok()?;
    answer.result_type = Some(ResultType::COMPLETE);
    Some(answer)
}

fn written(result: &InvocationResult, blobs: &dyn Blobs) -> CallToolResult {
    let mut answer = CallToolResult::success(Vec::new());
    answer.is_error = Some(!result.outcome.is_success());
    for content in &result.content {
        match content {
            Content::Text { text, .. } | Content::Reasoning { text, .. } => {
                answer.content.push(ContentBlock::text(text));
            }
            Content::Structured { value } => {
                answer.content.push(ContentBlock::text(value.to_string()));
                // Older clients take objects only, and none takes two.
                if value.is_object() && answer.structured_content.is_none() {
                    answer.structured_content = Some(value.clone());
                }
            }
            Content::Blob { mime, digest, name, .. } => {
                answer.content.push(blob(mime, digest, name.as_deref(), blobs));
            }
            Content::Resource { uri, name, mime } => {
                let mut link = Resource::new(uri, name.as_deref().unwrap_or(uri));
                link.mime_type = mime.clone();
                answer.content.push(ContentBlock::resource_link(link));
            }
        }
    }
    answer
}

fn blob(mime: &str, digest: &Digest, name: Option<&str>, blobs: &dyn Blobs) -> ContentBlock {
    let Some(bytes) = blobs.bytes(digest) else {
        return ContentBlock::text(format!("[{mime}: it could not be kept]"));
    };
    let data = STANDARD.encode(&bytes);
    match mime.split('/').next() {
        Some("image") => ContentBlock::image(data, mime),
        Some("audio") => ContentBlock::audio(data, mime),
        _ => {
            let uri = name.map_or_else(|| format!("sha256:{digest}"), |name| format!("file:///{name}"));
            ContentBlock::resource(ResourceContents::blob(data, uri).with_mime_type(mime))
        }
    }
}
