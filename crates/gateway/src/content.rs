//! Converts a result to the answer for a client.
//!
//! The result of an MCP server is passed on unchanged. Truncated or cleaned results, and results of other tools, are
//! written anew. Structured content is also sent as text, for clients without structured content.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Content, Digest, InvocationResult, json_length};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents, ResultType};

use crate::output_schema::OutputSchema;

/// The beginning of the note that a result violates the output schema. The reader of the result may have added it.
const VIOLATION: &str = "[the result does not match the tool's output schema";

/// With a `schema`, a client accepts a success only with structured content that matches it.
pub(crate) fn result(
    result: &InvocationResult,
    verbatim: Option<&str>,
    schema: Option<&OutputSchema>,
    blobs: &dyn Blobs,
) -> CallToolResult {
    let mut answer = verbatim.and_then(from_server).unwrap_or_else(|| from_content(result, blobs));
    if answer.content.is_empty()
        && let Some(value) = &answer.structured_content
    {
        answer.content.push(ContentBlock::text(value.to_string()));
    }
    let Some(schema) = schema else { return answer };
    match answer.structured_content.as_ref().map(|value| schema.violation(value)) {
        // Truncated or missing: clients reject the whole result, unless it is an error.
        None => answer.is_error = Some(true),
        Some(None) => {}
        Some(Some(fault)) => {
            answer.structured_content = None;
            answer.is_error = Some(true);
            add_note(&mut answer, &fault);
        }
    }
    answer
}

/// Returns the bytes of a result, without its frame.
pub(crate) fn size(result: &InvocationResult, blobs: &dyn Blobs) -> usize {
    let size = |content: &Content| match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => text.len(),
        Content::Blob { digest, .. } => blobs.bytes(digest).map_or(0, |bytes| bytes.len()),
        Content::Resource { uri, .. } => uri.len(),
        Content::Structured { value } => json_length(value),
    };
    result.content.iter().map(size).sum()
}

fn add_note(answer: &mut CallToolResult, fault: &str) {
    let is_note = |block: &ContentBlock| block.as_text().is_some_and(|text| text.text.starts_with(VIOLATION));
    if !answer.content.iter().any(is_note) {
        answer.content.push(ContentBlock::text(format!("{VIOLATION}: {fault}]")));
    }
}

/// `None`: the text is not a result of the protocol.
fn from_server(text: &str) -> Option<CallToolResult> {
    let mut answer: CallToolResult = serde_json::from_str(text).ok()?;
    answer.result_type = Some(ResultType::COMPLETE);
    Some(answer)
}

fn from_content(result: &InvocationResult, blobs: &dyn Blobs) -> CallToolResult {
    let mut answer = CallToolResult::success(Vec::new());
    answer.is_error = Some(!result.outcome.is_success());
    for content in &result.content {
        match content {
            Content::Text { text, .. } | Content::Reasoning { text, .. } => {
                answer.content.push(ContentBlock::text(text));
            }
            Content::Structured { value } => {
                answer.content.push(ContentBlock::text(value.to_string()));
                // Older clients accept only objects, and a result has at most one structure.
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
        return ContentBlock::text(format!("[{mime}: the content is not available]"));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use converse_canister::{InvocationId, Outcome, TurnId};
    use serde_json::{Value, json};

    use super::*;

    struct Nothing;

    impl Blobs for Nothing {
        fn bytes(&self, _: &Digest) -> Option<Arc<[u8]>> {
            None
        }
    }

    #[test]
    fn a_structure_that_breaks_its_promise_is_no_success() {
        let schema =
            json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let schema = OutputSchema::new(Arc::new(schema.as_object().unwrap().clone()));
        let read = |value: &Value| {
            let said = InvocationResult::new(InvocationId::of(TurnId(1), 0), Outcome::Success, "");
            let note = Content::text(format!("{VIOLATION}: as it was read]"));
            InvocationResult { content: vec![Content::Structured { value: value.clone() }, note], ..said }
        };
        for (value, is_error, is_kept) in [
            (json!({ "n": 1 }), false, true),
            (json!({ "n": "x" }), true, false),
            (json!({}), true, false),
            (json!([1]), true, false),
        ] {
            let text =
                json!({ "content": [{ "type": "text", "text": "words" }], "structuredContent": value });
            let from_server = result(&read(&value), Some(&text.to_string()), Some(&schema), &Nothing);
            let said = serde_json::to_value(&from_server).unwrap();
            assert_eq!(said["isError"] == json!(true), is_error, "{said}");
            assert_eq!(said.get("structuredContent").is_some(), is_kept, "{said}");
            assert_eq!(said["content"][0]["text"], "words");
            let note = said["content"][1]["text"].as_str().unwrap_or_default();
            assert_eq!(note.starts_with(VIOLATION), !is_kept, "{said}");
            // Cleaned: the words are there already, once.
            let anew = serde_json::to_value(result(&read(&value), None, Some(&schema), &Nothing)).unwrap();
            assert_eq!(anew["isError"] == json!(true), is_error, "{anew}");
            assert_eq!(anew.to_string().matches("the tool's output schema").count(), 1, "{anew}");
            let free = result(&read(&value), Some(&text.to_string()), None, &Nothing);
            assert!(free.structured_content.is_some(), "nothing was promised");
        }
    }
}
