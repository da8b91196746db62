//! Canisters as a flat list of items.
//!
//! A call and its output are items, paired by `call_id`. All calls of a turn precede all their outputs. A turn of the
//! same model is sent back unchanged ([`super::replay`]); a turn of another model becomes one message and its calls. An
//! output is a text, or a list if it contains images or files. The text of a failed output begins with the failure,
//! because there is no flag for it.

use converse_canister::{Blobs, Canister, Content, Document, Stop};
use serde_json::{Value, json};

use super::replay;
use crate::grouping::{Call, Part, Section, Turn, group};
use crate::kept_messages::{KeptMessages, answerable, list};
use crate::media::{EncodedMedia, Media, Medium, Position};
use crate::plain;
use crate::{Endpoint, Prompt, TranslateError};

#[derive(Default)]
pub(super) struct Conversation {
    pub(super) instructions: Option<String>,
    /// The stored reply that the input continues.
    pub(super) previous: Option<String>,
    pub(super) input: Vec<Value>,
}

/// The items of a prompt. The last one is the user's, or an output.
pub(super) fn conversation(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Conversation, TranslateError> {
    let grouped = group(prompt.view, endpoint, prompt.model);
    let stored = if endpoint.quirks.stored { last_stored(&grouped.sections) } else { None };
    let input = items(&grouped.sections, prompt, endpoint, stored.map(|(at, _)| at));
    if !input.last().is_some_and(is_answerable) {
        return Err(TranslateError::NothingToAnswer);
    }
    let previous = stored.map(|(_, id)| id.to_owned());
    Ok(Conversation { instructions: grouped.instructions, previous, input })
}

/// The input as the text of a list, for a server that keeps nothing. What was written for earlier requests is not written
/// again.
pub(super) fn text(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    kept: &mut KeptMessages,
) -> Result<Vec<u8>, TranslateError> {
    let write = |sections: &[Section<'_>], follows| {
        answerable(items(sections, prompt, endpoint, None), follows, is_answerable)
    };
    Ok(list(prompt, endpoint, kept, None, write)?.text)
}

/// `stored`: the turn that the server keeps, with everything before it.
fn items(
    sections: &[Section<'_>],
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    stored: Option<usize>,
) -> Vec<Value> {
    let media = Media::of(prompt, endpoint);
    let mut input = Vec::new();
    for (at, section) in sections.iter().enumerate().skip(stored.unwrap_or(0)) {
        match section {
            Section::Input(canisters) => input.extend(user_message(canisters, &media)),
            Section::Turn(turn) => {
                if stored != Some(at) {
                    input.extend(replay::items(turn).unwrap_or_else(|| neutral_items(turn)));
                }
                input.extend(turn.calls().map(|call| output_item(call, prompt.blobs, &media)));
            }
        }
    }
    input
}

fn is_answerable(item: &Value) -> bool {
    item["role"] == "user" || item["type"] == "function_call_output"
}

/// The last turn that this server keeps, and its id there. One that broke off is repeated rather than named: what the
/// server kept of it is not known.
fn last_stored<'p>(sections: &'p [Section<'_>]) -> Option<(usize, &'p str)> {
    sections.iter().enumerate().rev().find_map(|(at, section)| {
        let Section::Turn(turn) = section else { return None };
        if turn.native.is_none() || *turn.stop != Stop::End {
            return None;
        }
        turn.parts.iter().find_map(|part| match part {
            Part::Words(assistant) => Some((at, assistant.response_id.as_deref()?)),
            Part::Call(_) => None,
        })
    })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn user_message(canisters: &[&Canister], media: &Media<'_>) -> Option<Value> {
    let parts: Vec<Value> = canisters
        .iter()
        .flat_map(|canister| match canister {
            Canister::User(user) => parts(&user.content, Position::UserMessage, media),
            Canister::Document(document) => document_parts(document, media),
            _ => Vec::new(),
        })
        .collect();
    // Text alone is a plain string, which every server understands.
    let texts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
    let content = match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => Value::Array(parts.clone()),
    };
    (!parts.is_empty()).then(|| json!({ "role": "user", "content": content }))
}

fn text_of(part: &Value) -> Option<&str> {
    part.get("text").and_then(Value::as_str)
}

fn parts(contents: &[Content], place: Position, media: &Media<'_>) -> Vec<Value> {
    let part = |content: &Content| match media.inline(content, place) {
        Some(shown) => Some(shown_part(&shown)),
        None => media.words(content, place).map(|text| text_part(&text)),
    };
    contents.iter().filter_map(part).collect()
}

/// `ResponseInputImageParam` and `ResponseInputFileParam` of SDK 3.52.0. This wire has no audio, so none arrives here.
fn shown_part(shown: &EncodedMedia<'_>) -> Value {
    match shown.medium {
        Medium::Picture => {
            json!({ "type": "input_image", "image_url": shown.data_url(), "detail": "auto" })
        }
        Medium::Pdf | Medium::Sound => json!({
            "type": "input_file",
            "filename": shown.name.unwrap_or("document.pdf"),
            "file_data": shown.data_url(),
        }),
    }
}

/// A document's text under its name; what can be shown of it comes after.
fn document_parts(document: &Document, media: &Media<'_>) -> Vec<Value> {
    let (texts, shown): (Vec<Value>, Vec<Value>) = parts(&document.content, Position::UserMessage, media)
        .into_iter()
        .partition(|part| text_of(part).is_some());
    let text = texts.iter().filter_map(text_of).collect::<Vec<_>>().join("\n");
    let text = (!text.is_empty()).then(|| text_part(&plain::fenced_document(&document.name, &text)));
    text.into_iter().chain(shown).collect()
}

/// Formats a turn as plain text for any model: its text, then its calls. Empty if the turn has neither text nor calls
/// nothing.
fn neutral_items(turn: &Turn<'_>) -> Vec<Value> {
    let words = turn.words();
    let message = (!words.is_empty()).then(|| json!({ "role": "assistant", "content": words.join("\n\n") }));
    let calls = turn.calls().map(|call| {
        json!({
            "type": "function_call",
            "call_id": call.wire_id,
            "name": call.tool,
            "arguments": replay::arguments(call),
        })
    });
    message.into_iter().chain(calls).collect()
}

fn output_item(call: &Call<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Value {
    let output = if call.answer.outcome().is_success() {
        let parts = parts(plain::contents(&call.answer), Position::Result, media);
        let texts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
        match texts {
            Some(texts) => json!(texts.join("\n")),
            None => Value::Array(parts),
        }
    } else {
        json!(plain::marked_failure(&call.answer, blobs))
    };
    json!({ "type": "function_call_output", "call_id": call.wire_id, "output": output })
}
