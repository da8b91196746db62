//! Canisters as `contents`.
//!
//! User and model alternate strictly, so consecutive contents of one role are merged. The results of a turn come first
//! in the user content right after it, one for each call, in the order of the calls.
//!
//! A turn of the same model is sent back unchanged ([`super::replay`]); a turn of another model is sent in neutral
//! form, without reasoning. Gemini 3 refuses calls without a signature, and calls of other models have none: the first
//! call of such a turn gets the placeholder that Google documents (only the first of parallel calls has a signature).
//! <https://ai.google.dev/gemini-api/docs/thought-signatures#faqs>,
//! <https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures> (checked 2026-11).

use converse_canister::{Canister, Content, Document};
use serde_json::{Map, Value, json};

use super::{model, replay, results};
use crate::grouping::{Call, Grouped, Part, Section, Turn, group};
use crate::kept_messages::{KeptMessages, list};
use crate::media::{EncodedMedia, Media, Position};
use crate::plain;
use crate::{Endpoint, Prompt, TranslateError};

/// Of the two documented values the one that Google's other endpoint takes too.
const NOT_SIGNED_HERE: &str = "skip_thought_signature_validator";

#[derive(Default)]
pub(super) struct Conversation {
    pub(super) instructions: Option<String>,
    pub(super) contents: Vec<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    User,
    Model,
}

/// The contents of a prompt; the last one is the user's.
pub(super) fn contents(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Conversation, TranslateError> {
    let Grouped { instructions, sections } = group(prompt.view, endpoint, prompt.model);
    Ok(Conversation { instructions, contents: written(&sections, prompt, endpoint, false)? })
}

/// The contents as the text of a list. What was written for earlier requests is not written again.
pub(super) fn text(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    kept: &mut KeptMessages,
) -> Result<Vec<u8>, TranslateError> {
    let write = |sections: &[Section<'_>], follows| written(sections, prompt, endpoint, follows);
    Ok(list(prompt, endpoint, kept, None, write)?.text)
}

/// Returns the contents of these sections of a prompt. `follows`: they come after a content of the user.
fn written(
    sections: &[Section<'_>],
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    follows: bool,
) -> Result<Vec<Value>, TranslateError> {
    let media = Media::of(prompt, endpoint);
    let signed = model::generation(prompt.model).is_some_and(|is| is >= model::THREE);
    let mut contents: Vec<(Role, Vec<Value>)> = Vec::new();
    for section in sections {
        match section {
            Section::Input(canisters) => {
                append(
                    &mut contents,
                    Role::User,
                    canisters.iter().flat_map(|canister| input_parts(canister, &media)),
                );
            }
            Section::Turn(turn) => {
                let parts = replay::parts(turn).unwrap_or_else(|| neutral_parts(turn, signed));
                append(&mut contents, Role::Model, parts);
                append(&mut contents, Role::User, results::parts(turn, prompt.blobs, &media));
            }
        }
    }
    match contents.first() {
        _ if follows => {}
        // The part before it was left out of the view; the first content must be the user's all the same.
        Some((Role::Model, _)) => {
            let note = json!({ "text": "(The conversation up to here is left out.)" });
            contents.insert(0, (Role::User, vec![note]));
        }
        Some((Role::User, _)) => {}
        None => return Err(TranslateError::NothingToAnswer),
    }
    if matches!(contents.last(), Some((Role::Model, _))) {
        return Err(TranslateError::NothingToAnswer);
    }
    let contents = contents.into_iter().map(|(role, parts)| match role {
        Role::User => json!({ "role": "user", "parts": parts }),
        Role::Model => json!({ "role": "model", "parts": parts }),
    });
    Ok(contents.collect())
}

fn append(contents: &mut Vec<(Role, Vec<Value>)>, role: Role, parts: impl IntoIterator<Item = Value>) {
    let mut parts = parts.into_iter().peekable();
    if parts.peek().is_none() {
        return;
    }
    match contents.last_mut() {
        Some((last, content)) if *last == role => content.extend(parts),
        _ => contents.push((role, parts.collect())),
    }
}

fn input_parts(canister: &Canister, media: &Media<'_>) -> Vec<Value> {
    match canister {
        Canister::User(user) => {
            user.content.iter().filter_map(|content| input_part(content, media)).collect()
        }
        Canister::Document(document) => document_parts(document, media),
        _ => Vec::new(),
    }
}

fn input_part(content: &Content, media: &Media<'_>) -> Option<Value> {
    match media.inline(content, Position::UserMessage) {
        Some(shown) => Some(inline_data(&shown)),
        None => media.words(content, Position::UserMessage).map(|text| json!({ "text": text })),
    }
}

/// Bytes as a part.
pub(super) fn inline_data(shown: &EncodedMedia<'_>) -> Value {
    json!({ "inlineData": { "mimeType": shown.mime, "data": shown.base64 } })
}

/// A document's text between fences that do not occur in it, under its name; what can be shown of it comes after.
fn document_parts(document: &Document, media: &Media<'_>) -> Vec<Value> {
    let (mut texts, mut shown) = (Vec::new(), Vec::new());
    for content in &document.content {
        match media.inline(content, Position::UserMessage) {
            Some(bytes) => shown.push(inline_data(&bytes)),
            None => texts.extend(media.words(content, Position::UserMessage)),
        }
    }
    let text = texts.join("\n");
    if text.is_empty() {
        return shown;
    }
    let text = plain::fenced_document(&document.name, &text);
    std::iter::once(json!({ "text": text })).chain(shown).collect()
}

/// Formats a turn as plain text for any model. Empty if the turn has neither text nor calls.
fn neutral_parts(turn: &Turn<'_>, signed: bool) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut unsigned = signed;
    for part in &turn.parts {
        match part {
            Part::Words(assistant) => {
                let words = assistant.words();
                if !words.trim().is_empty() {
                    parts.push(json!({ "text": words }));
                }
            }
            Part::Call(call) => {
                let mut part = Map::new();
                part.insert("functionCall".into(), function_call(call));
                if std::mem::take(&mut unsigned) {
                    part.insert("thoughtSignature".into(), json!(NOT_SIGNED_HERE));
                }
                parts.push(Value::Object(part));
            }
        }
    }
    parts
}

fn function_call(call: &Call<'_>) -> Value {
    let mut function = Map::new();
    if let Some(id) = results::servers_id(call) {
        function.insert("id".into(), json!(id));
    }
    function.insert("name".into(), json!(call.tool));
    function.insert("args".into(), Value::Object(call.invocation.arguments.object.clone()));
    Value::Object(function)
}
