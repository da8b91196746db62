//! Canisters as chat messages.
//!
//! A turn is one assistant message with all its calls, followed by one `tool` message each, in the order of the calls.
//! A `tool` message holds text only, so an image in a result leaves a line there and follows in a user message after
//! the last `tool` message. A failed result says so in its first words: this wire has no flag for it.
//!
//! Neighbouring user messages are joined: the templates of some local models take nothing but alternation.

use converse_canister::{Blobs, Canister, Content, Document};
use serde_json::{Map, Value, json};

use crate::grouping::{Call, Part, Passage, Turn, group};
use crate::plain::{self, IMAGES, Instead};
use crate::{Endpoint, Prompt, TranslateError};

/// A part of a user message.
enum UserPart {
    Text(String),
    Image(Value),
}

enum Message {
    User(Vec<UserPart>),
    Other(Value),
}

/// The messages of a prompt, the instructions first.
pub(crate) fn messages(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Vec<Value>, TranslateError> {
    let grouped = group(prompt.view, endpoint, prompt.model);
    let mut messages = Vec::new();
    for passage in &grouped.passages {
        match passage {
            Passage::Said(said) => {
                let parts = said.iter().flat_map(|canister| said_parts(canister, prompt.blobs)).collect();
                say(&mut messages, parts);
            }
            Passage::Turn(turn) => {
                messages.extend(assistant_message(turn, endpoint).map(Message::Other));
                let results = turn.calls().map(|call| Message::Other(tool_message(call, prompt.blobs)));
                messages.extend(results);
                say(&mut messages, result_images(turn, prompt.blobs));
            }
        }
    }
    if !messages.last().is_some_and(|message| match message {
        Message::User(_) => true,
        Message::Other(message) => message.get("role").is_some_and(|role| role == "tool"),
    }) {
        return Err(TranslateError::NothingToAnswer);
    }
    let system = grouped.instructions.map(|text| json!({ "role": "system", "content": text }));
    Ok(system.into_iter().chain(messages.into_iter().map(render)).collect())
}

fn say(messages: &mut Vec<Message>, parts: Vec<UserPart>) {
    if parts.is_empty() {
        return;
    }
    match messages.last_mut() {
        Some(Message::User(last)) => last.extend(parts),
        _ => messages.push(Message::User(parts)),
    }
}

/// Text alone is a plain string, which every server understands.
fn render(message: Message) -> Value {
    let parts = match message {
        Message::Other(message) => return message,
        Message::User(parts) => parts,
    };
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            UserPart::Text(text) => Some(text.as_str()),
            UserPart::Image(_) => None,
        })
        .collect();
    let content = match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts
            .into_iter()
            .map(|part| match part {
                UserPart::Text(text) => json!({ "type": "text", "text": text }),
                UserPart::Image(image) => image,
            })
            .collect(),
    };
    json!({ "role": "user", "content": content })
}

fn said_parts(canister: &Canister, blobs: &dyn Blobs) -> Vec<UserPart> {
    match canister {
        Canister::User(user) => user.content.iter().filter_map(|content| user_part(content, blobs)).collect(),
        Canister::Document(document) => document_parts(document, blobs),
        _ => Vec::new(),
    }
}

fn user_part(content: &Content, blobs: &dyn Blobs) -> Option<UserPart> {
    image(content, blobs).map(UserPart::Image).or_else(|| {
        let text = plain::text(content, blobs, Instead::NotShown)?;
        Some(UserPart::Text(text))
    })
}

fn image(content: &Content, blobs: &dyn Blobs) -> Option<Value> {
    let (mime, data) = plain::shown(content, blobs, &IMAGES)?;
    Some(json!({ "type": "image_url", "image_url": { "url": format!("data:{mime};base64,{data}") } }))
}

/// A document's text between fences that do not occur in it, under its name; its images after it.
fn document_parts(document: &Document, blobs: &dyn Blobs) -> Vec<UserPart> {
    let (images, rest): (Vec<&Content>, Vec<&Content>) =
        document.content.iter().partition(|content| plain::shown(content, blobs, &IMAGES).is_some());
    let text = plain::joined(rest.into_iter(), blobs, Instead::NotShown);
    let name: String = document.name.chars().filter(|c| !c.is_control()).take(200).collect();
    let mut parts = Vec::new();
    if !text.is_empty() {
        let fence = "`".repeat(longest_run(&text).max(2) + 1);
        parts.push(UserPart::Text(format!("Document \"{name}\":\n{fence}\n{text}\n{fence}")));
    }
    parts.extend(images.into_iter().filter_map(|content| image(content, blobs)).map(UserPart::Image));
    parts
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// None if the turn says nothing and calls nothing: an empty message is refused by some and means nothing to all.
fn assistant_message(turn: &Turn<'_>, endpoint: &Endpoint) -> Option<Value> {
    let words: Vec<String> = turn
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Words(assistant) => Some(assistant.words()),
            Part::Call(_) => None,
        })
        .filter(|words| !words.trim().is_empty())
        .collect();
    let calls: Vec<Value> = turn.calls().map(call).collect();
    if words.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // With calls and no words: null is what OpenAI's own documents show.
    message.insert("content".into(), if words.is_empty() { Value::Null } else { json!(words.join("\n\n")) });
    if let Some((key, reasoning)) = reasoning(turn, endpoint, !calls.is_empty()) {
        message.insert(key.into(), reasoning);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

fn call(call: &Call<'_>) -> Value {
    let arguments = &call.invocation.arguments;
    // The model's own text, byte for byte; what is no object (a malformed one is empty) is refused by strict servers.
    let text = if arguments.object.is_empty() { "{}" } else { arguments.raw.trim() };
    json!({
        "id": call.wire_id,
        "type": "function",
        "function": { "name": call.tool, "arguments": text },
    })
}

/// What the server wants back of its reasoning. DeepSeek answers 400 to a turn with calls that lacks the key, even an
/// empty one and even if another model wrote the turn.
/// <https://api-docs.deepseek.com/guides/thinking_mode>, the empty one:
/// <https://github.com/deepseek-ai/deepseek-harness/discussions/739> (a copy read 2026-11-21);
/// <https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks>.
fn reasoning(turn: &Turn<'_>, endpoint: &Endpoint, calls: bool) -> Option<(&'static str, Value)> {
    let key = endpoint.quirks.replay_reasoning?;
    let native = turn.native.unwrap_or_default().iter().find_map(|item| item.get(key)).cloned();
    match native {
        Some(reasoning) => Some((key, reasoning)),
        None if calls && key == "reasoning_content" => Some((key, json!(""))),
        None => None,
    }
}

fn tool_message(call: &Call<'_>, blobs: &dyn Blobs) -> Value {
    let outcome = call.answer.outcome();
    let content = if outcome.is_success() {
        let texts = plain::contents(&call.answer).iter().filter_map(|content| {
            let shown = plain::shown(content, blobs, &IMAGES).is_some();
            plain::text(content, blobs, if shown { Instead::ShownNext } else { Instead::NotShown })
        });
        texts.collect::<Vec<_>>().join("\n")
    } else {
        format!("error ({}): {}", outcome.label(), plain::failure(&call.answer, blobs))
    };
    json!({ "role": "tool", "tool_call_id": call.wire_id, "content": content })
}

/// The images of all successful results of a turn, in order.
fn result_images(turn: &Turn<'_>, blobs: &dyn Blobs) -> Vec<UserPart> {
    let successes = turn.calls().filter(|call| call.answer.outcome().is_success());
    let images =
        successes.flat_map(|call| plain::contents(&call.answer)).filter_map(|content| image(content, blobs));
    let mut parts: Vec<UserPart> = images.map(UserPart::Image).collect();
    if !parts.is_empty() {
        parts.insert(0, UserPart::Text("The images from the results above, in their order:".to_owned()));
    }
    parts
}
