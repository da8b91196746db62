//! A tool's result as the server wrote it → an answer.
//!
//! Pure but for the bytes that are kept. Nothing a result points to is ever read, and what is not understood is passed
//! on as the JSON it is. <https://modelcontextprotocol.io/specification/2025-11-25/server/tools> (checked 2026-11).

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use converse_canister::Content;
use converse_ensemble::{Answer, Artefacts, InvokeError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::raw::First;
use crate::words;

const MAX_BLOCKS: usize = 1000;
const MAX_NAME: usize = 300;
/// Padding is left out by some servers.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    #[serde(default)]
    content: Option<First<Box<RawValue>, MAX_BLOCKS>>,
    structured_content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: Option<bool>,
    result_type: Option<String>,
    /// A legacy task (2025-11-25).
    task: Option<Value>,
}

/// The answer, and the structured content as it was, for whoever wants to hold it against a schema.
pub(crate) fn answer(text: &str, artefacts: &dyn Artefacts) -> Result<(Answer, Option<Value>), InvokeError> {
    let Ok(result) = serde_json::from_str::<Outcome>(text) else {
        // Not a result of `tools/call`; perhaps the model can make something of it.
        return Ok((Answer::text(text), None));
    };
    match result.result_type.as_deref() {
        Some("input_required") => {
            let words = "the server asks for input, which this version cannot give; nothing more was sent";
            return Err(InvokeError::Failed(words.to_owned()));
        }
        Some("task") => return Err(no_tasks()),
        _ if result.task.is_some() && result.content.is_none() => return Err(no_tasks()),
        _ => {}
    }
    if result.content.is_none() && result.structured_content.is_none() {
        return Ok((Answer::text(text), None));
    }
    let blocks = result.content.unwrap_or_default();
    let mut content: Vec<Content> = blocks.items.iter().map(|block| read(block, artefacts)).collect();
    let structured = result.structured_content.map(|raw| serde_json::from_str(raw.get()).map_err(|_| raw));
    let structured = match structured {
        Some(Ok(value)) => Some(value),
        // Nested too deeply to be read.
        Some(Err(raw)) => {
            content.push(Content::text(raw.get()));
            None
        }
        None => None,
    };
    if let Some(value) = structured.as_ref().filter(|value| !is_said(value, &content)) {
        content.push(Content::Structured { value: Value::clone(value) });
    }
    if blocks.left > 0 {
        content.push(Content::text(format!("[{} more blocks of the result are left out]", blocks.left)));
    }
    let answer = Answer { content, is_error: result.is_error.unwrap_or(false) };
    Ok((answer, structured))
}

fn no_tasks() -> InvokeError {
    let words =
        "the server began a task instead of answering, which this version cannot follow: outcome unknown";
    InvokeError::Interrupted(words.to_owned())
}

/// Do the texts hold the same already? Many servers send both, and a model would pay for both.
fn is_said(value: &Value, content: &[Content]) -> bool {
    // What is no object is wrapped in one, as `result` or by another name.
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
    value.as_str() == Some(text) || serde_json::from_str::<Value>(text).is_ok_and(|said| said == *value)
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    #[serde(alias = "audio", rename_all = "camelCase")]
    Image {
        data: String,
        mime_type: Option<String>,
    },
    Resource {
        resource: Embedded,
    },
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        uri: String,
        name: Option<String>,
        title: Option<String>,
        mime_type: Option<String>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

fn read(block: &RawValue, artefacts: &dyn Artefacts) -> Content {
    match serde_json::from_str(block.get()) {
        Ok(Block::Text { text }) => Content::text(text),
        Ok(Block::Image { data, mime_type }) => blob(&data, mime_type.as_deref(), None, artefacts),
        Ok(Block::Resource { resource: Embedded { uri, text: Some(text), .. } }) => {
            Content::text(format!("[resource {}]\n{text}", words::cleaned(&uri, MAX_NAME)))
        }
        Ok(Block::Resource { resource: Embedded { uri, blob: Some(data), mime_type, .. } }) => {
            blob(&data, mime_type.as_deref(), Some(words::cleaned(&uri, MAX_NAME)), artefacts)
        }
        Ok(Block::ResourceLink { uri, name, title, mime_type }) => Content::Resource {
            uri: words::cleaned(&uri, words::ERROR),
            name: name.or(title).map(|name| words::cleaned(&name, MAX_NAME)),
            mime: mime_type.as_deref().map(mime),
        },
        // A kind that is not known here, or one that lacks something.
        Ok(Block::Resource { .. }) | Err(_) => Content::text(block.get()),
    }
}

fn blob(data: &str, mime_type: Option<&str>, name: Option<String>, artefacts: &dyn Artefacts) -> Content {
    let mime = mime(mime_type.unwrap_or_default());
    let Ok(bytes) = BASE64.decode(data.trim()) else {
        return Content::text(format!("[{mime}, not valid base64, not kept]"));
    };
    match artefacts.keep(&bytes) {
        Some(digest) => Content::Blob { mime, digest, name, seal: None },
        None => Content::text(format!("[{mime}, {} bytes, not kept]", bytes.len())),
    }
}

/// A media type as it may stand in a message; anything else is only bytes.
fn mime(mime: &str) -> String {
    let plain = |c: char| c.is_ascii_graphic() || c == ' ';
    let usable = mime.len() <= 100 && mime.contains('/') && mime.chars().all(plain);
    if usable { mime.to_ascii_lowercase() } else { "application/octet-stream".to_owned() }
}

#[cfg(test)]
mod tests;
