//! Canisters as Ollama's messages.
//!
//! A turn is one assistant message with all its calls, then a `tool` message for each result in the order of the
//! calls: results are matched by order and by the tool's name, and by an id only where the server gave one. Pictures
//! are a list beside the text, so those of results follow in a user message. A failed result says so in its words.

use converse_canister::{Blobs, Canister, Content, Document};
use serde_json::{Map, Value, json};

use crate::grouping::{Call, Section, Turn, group, instructions};
use crate::kept_messages::{KeptMessages, answerable, list};
use crate::media::{EncodedMedia, Media, Position};
use crate::plain;
use crate::{AnswerFormat, Endpoint, Prompt, TranslateError};

enum Message {
    User { texts: Vec<String>, images: Vec<String> },
    Other(Value),
}

/// The messages of a prompt, the instructions first.
pub(super) fn messages(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Vec<Value>, TranslateError> {
    let sections = group(prompt.view, endpoint, prompt.model).sections;
    let messages = answerable(conversation(&sections, prompt, endpoint), false, is_answerable)?;
    Ok(system(prompt).into_iter().chain(messages).collect())
}

/// The same as the text of a list. What was written for earlier requests is not written again.
pub(super) fn text(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    kept: &mut KeptMessages,
) -> Result<Vec<u8>, TranslateError> {
    let write = |sections: &[Section<'_>], follows| {
        answerable(conversation(sections, prompt, endpoint), follows, is_answerable)
    };
    Ok(list(prompt, endpoint, kept, system(prompt), write)?.text)
}

fn system(prompt: &Prompt<'_>) -> Option<Value> {
    let instruction =
        prompt.controls.answer.as_ref().filter(|_| !prompt.tools.is_empty()).map(AnswerFormat::in_words);
    let system: Vec<String> = instructions(prompt.view).into_iter().chain(instruction).collect();
    (!system.is_empty()).then(|| json!({ "role": "system", "content": system.join("\n\n") }))
}

fn is_answerable(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role == "user" || role == "tool")
}

/// Returns the messages of these sections of a prompt.
fn conversation(sections: &[Section<'_>], prompt: &Prompt<'_>, endpoint: &Endpoint) -> Vec<Value> {
    let media = Media::of(prompt, endpoint);
    let mut messages = Vec::new();
    for section in sections {
        match section {
            Section::Input(canisters) => {
                for canister in canisters {
                    let (texts, images) = said_parts(canister, &media);
                    push_user(&mut messages, texts, images);
                }
            }
            Section::Turn(turn) => {
                messages.extend(assistant_message(turn).map(Message::Other));
                let results =
                    turn.calls().map(|call| Message::Other(tool_message(call, prompt.blobs, &media)));
                messages.extend(results);
                let images = result_images(turn, &media);
                if !images.is_empty() {
                    let heading = "The images from the results above, in their order:".to_owned();
                    push_user(&mut messages, vec![heading], images);
                }
            }
        }
    }
    messages.into_iter().map(render).collect()
}

fn push_user(messages: &mut Vec<Message>, texts: Vec<String>, images: Vec<String>) {
    if texts.is_empty() && images.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(Message::User { texts: all_texts, images: shown }) => {
            all_texts.extend(texts);
            shown.extend(images);
        }
        _ => messages.push(Message::User { texts, images }),
    }
}

fn render(message: Message) -> Value {
    match message {
        Message::Other(message) => message,
        Message::User { texts, images } => {
            let mut message = Map::new();
            message.insert("role".into(), json!("user"));
            message.insert("content".into(), json!(texts.join("\n\n")));
            if !images.is_empty() {
                message.insert("images".into(), json!(images));
            }
            Value::Object(message)
        }
    }
}

fn said_parts(canister: &Canister, media: &Media<'_>) -> (Vec<String>, Vec<String>) {
    match canister {
        Canister::User(user) => parts(&user.content, media),
        Canister::Document(document) => document_parts(document, media),
        _ => Default::default(),
    }
}

/// Texts, and pictures in base64.
fn parts(contents: &[Content], media: &Media<'_>) -> (Vec<String>, Vec<String>) {
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for content in contents {
        match media.inline(content, Position::UserMessage) {
            Some(EncodedMedia { base64, .. }) => images.push(base64),
            None => texts.extend(media.words(content, Position::UserMessage)),
        }
    }
    (texts, images)
}

fn document_parts(document: &Document, media: &Media<'_>) -> (Vec<String>, Vec<String>) {
    let (texts, images) = parts(&document.content, media);
    let text = texts.join("\n");
    let texts =
        if text.is_empty() { Vec::new() } else { vec![plain::fenced_document(&document.name, &text)] };
    (texts, images)
}

/// `None` if the turn has neither text nor calls.
fn assistant_message(turn: &Turn<'_>) -> Option<Value> {
    let words = turn.words();
    let calls: Vec<Value> = turn.calls().map(call).collect();
    if words.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    message.insert("content".into(), json!(words.join("\n\n")));
    // Some models need their reasoning to continue after a call; templates that do not use it ignore it.
    // <https://docs.ollama.com/capabilities/tool-calling>: the whole message is sent back.
    if let Some(thinking) = turn.native.unwrap_or_default().iter().find_map(|item| item.get("thinking")) {
        message.insert("thinking".into(), thinking.clone());
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

fn call(call: &Call<'_>) -> Value {
    let mut wire = Map::new();
    if let Some(id) = given_id(call) {
        wire.insert("id".into(), json!(id));
    }
    wire.insert("type".into(), json!("function"));
    let arguments = &call.invocation.arguments.object;
    wire.insert("function".into(), json!({ "name": call.tool, "arguments": arguments }));
    Value::Object(wire)
}

/// The id that the server itself gave, which only newer versions do.
fn given_id<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    call.invocation.wire_id.as_deref().filter(|id| *id == call.wire_id)
}

fn tool_message(call: &Call<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Value {
    let content = if call.answer.outcome().is_success() {
        let texts = plain::contents(&call.answer).iter();
        texts.filter_map(|content| media.words(content, Position::Result)).collect::<Vec<_>>().join("\n")
    } else {
        plain::marked_failure(&call.answer, blobs)
    };
    let mut message = Map::new();
    message.insert("role".into(), json!("tool"));
    message.insert("content".into(), json!(content));
    message.insert("tool_name".into(), json!(call.tool));
    if let Some(id) = given_id(call) {
        message.insert("tool_call_id".into(), json!(id));
    }
    Value::Object(message)
}

/// The pictures of all successful results of a turn, in order.
fn result_images(turn: &Turn<'_>, media: &Media<'_>) -> Vec<String> {
    media.behind(turn).into_iter().map(|shown| shown.base64).collect()
}
