//! A result → what a client is sent.
//!
//! What an MCP server wrote is handed on as it wrote it. What was cut or cleaned, and what other tools say, is written
//! anew; a structure stands in the text as well, for clients that know no structures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Content, Digest, InvocationResult};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents, ResultType};

use crate::promise::Promise;

/// How it is told that a tool breaks its word; where it was read, the words may be there already.
const BROKEN: &str = "[the result does not match the tool's output schema";

/// `promise`: the client will take no success without a structure that keeps to it.
pub(crate) fn result(
    result: &InvocationResult,
    verbatim: Option<&str>,
    promise: Option<&Promise>,
    blobs: &dyn Blobs,
) -> CallToolResult {
    let mut answer = verbatim.and_then(as_written).unwrap_or_else(|| written(result, blobs));
    if answer.content.is_empty()
        && let Some(value) = &answer.structured_content
    {
        answer.content.push(ContentBlock::text(value.to_string()));
    }
    let Some(promise) = promise else { return answer };
    match answer.structured_content.as_ref().map(|value| promise.broken_by(value)) {
        // Cut, or never there: clients refuse the whole of it, unless it is an error.
        None => answer.is_error = Some(true),
        Some(None) => {}
        Some(Some(fault)) => {
            answer.structured_content = None;
            answer.is_error = Some(true);
            noted(&mut answer, &fault);
        }
    }
    answer
}

fn noted(answer: &mut CallToolResult, fault: &str) {
    let said = |block: &ContentBlock| block.as_text().is_some_and(|text| text.text.starts_with(BROKEN));
    if !answer.content.iter().any(said) {
        answer.content.push(ContentBlock::text(format!("{BROKEN}: {fault}]")));
    }
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
        let promise = Promise::new(Arc::new(schema.as_object().unwrap().clone()));
        let read = |value: &Value| {
            let said = InvocationResult::new(InvocationId::of(TurnId(1), 0), Outcome::Success, "");
            let note = Content::text(format!("{BROKEN}: as it was read]"));
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
            let as_written = result(&read(&value), Some(&text.to_string()), Some(&promise), &Nothing);
            let said = serde_json::to_value(&as_written).unwrap();
            assert_eq!(said["isError"] == json!(true), is_error, "{said}");
            assert_eq!(said.get("structuredContent").is_some(), is_kept, "{said}");
            assert_eq!(said["content"][0]["text"], "words");
            let note = said["content"][1]["text"].as_str().unwrap_or_default();
            assert_eq!(note.starts_with(BROKEN), !is_kept, "{said}");
            // Cleaned: the words are there already, once.
            let anew = serde_json::to_value(result(&read(&value), None, Some(&promise), &Nothing)).unwrap();
            assert_eq!(anew["isError"] == json!(true), is_error, "{anew}");
            assert_eq!(anew.to_string().matches("the tool's output schema").count(), 1, "{anew}");
            let free = result(&read(&value), Some(&text.to_string()), None, &Nothing);
            assert!(free.structured_content.is_some(), "nothing was promised");
        }
    }
}
