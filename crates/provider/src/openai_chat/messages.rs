//! Canisters as chat messages.
//!
//! A turn is one assistant message with all its calls, followed by one `tool` message each, in the order of the calls.
//! A `tool` message contains only text, so an image in a result is replaced by a line there and follows in a user
//! message after the last `tool` message. The text of a failed result begins with the failure: this wire has no flag
//! for it.
//!
//! If a server accepts no user message after a `tool` message (after a stopped turn, or with an image of a result), a
//! short assistant message is inserted.
//!
//! Consecutive user messages are joined, because the templates of some local models require alternation.

use converse_canister::{Blobs, Canister, Content, Document};
use serde_json::{Map, Value, json};

use crate::grouping::{Call, Section, Turn, group, instructions};
use crate::kept_messages::{KeptMessages, answerable, list};
use crate::media::{EncodedMedia, Media, Medium, Position, heading};
use crate::plain;
use crate::thoughts::REASONING_KEYS;
use crate::{Endpoint, Prompt, ReasoningReplay, Thinking, TranslateError};

/// A part of a user message.
enum UserPart {
    Text(String),
    /// A picture, a file or sound.
    EncodedMedia(Value),
}

enum Message {
    User(Vec<UserPart>),
    Other(Value),
}

/// The messages of a prompt, the instructions first.
pub(crate) fn messages(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Vec<Value>, TranslateError> {
    let sections = group(prompt.view, endpoint, prompt.model).sections;
    let messages = conversation(&sections, prompt, endpoint, false);
    if !messages.last().is_some_and(is_answerable) {
        return Err(TranslateError::NothingToAnswer);
    }
    Ok(system(prompt, endpoint).into_iter().chain(messages).collect())
}

/// The same as the text of a list. What was written for earlier requests is not written again.
pub(crate) fn text(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    kept: &mut KeptMessages,
) -> Result<Vec<u8>, TranslateError> {
    let write = |sections: &[Section<'_>], follows| {
        answerable(conversation(sections, prompt, endpoint, follows), follows, is_answerable)
    };
    Ok(list(prompt, endpoint, kept, system(prompt, endpoint), write)?.text)
}

fn system(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Option<Value> {
    // OpenAI's reasoning models take both words, others only this one.
    let reasons = prompt.facts.thinking.is_some_and(|thinking| thinking != Thinking::None);
    let role = if endpoint.quirks.developer_role && reasons { "developer" } else { "system" };
    instructions(prompt.view).map(|text| json!({ "role": role, "content": text }))
}

/// Returns the messages of these sections of a prompt. `follows`: they come after the last question.
fn conversation(
    sections: &[Section<'_>],
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    follows: bool,
) -> Vec<Value> {
    let media = Media::of(prompt, endpoint);
    let mut messages = Vec::new();
    let last_question = sections.iter().rposition(Section::has_user).unwrap_or(0);
    for (place, section) in sections.iter().enumerate() {
        match section {
            Section::Input(canisters) => {
                let parts = canisters.iter().flat_map(|canister| input_parts(canister, &media)).collect();
                push_user(&mut messages, parts);
            }
            Section::Turn(turn) => {
                let in_turn = follows || place > last_question;
                messages.extend(assistant_message(turn, endpoint, in_turn).map(Message::Other));
                let results =
                    turn.calls().map(|call| Message::Other(tool_message(call, prompt.blobs, &media)));
                messages.extend(results);
                push_user(&mut messages, result_media(turn, &media));
            }
        }
    }
    if speaks_between(prompt.model, endpoint) {
        messages = bridged(messages);
    }
    messages.into_iter().map(render).collect()
}

fn is_answerable(message: &Value) -> bool {
    message.get("role").is_some_and(|role| role == "user" || role == "tool")
}

/// Mistral's models keep that rule behind a router too.
fn speaks_between(model: &str, endpoint: &Endpoint) -> bool {
    !endpoint.quirks.user_after_tool || model.starts_with("mistralai/")
}

/// An empty text would not do: <https://github.com/pipecat-ai/pipecat-flows/pull/180> (read 2026-11-22).
const BETWEEN: &str = "I have the results.";

fn bridged(messages: Vec<Message>) -> Vec<Message> {
    let mut bridged: Vec<Message> = Vec::new();
    for message in messages {
        if matches!(message, Message::User(_)) && bridged.last().is_some_and(is_result) {
            bridged.push(Message::Other(json!({ "role": "assistant", "content": BETWEEN })));
        }
        bridged.push(message);
    }
    bridged
}

fn is_result(message: &Message) -> bool {
    matches!(message, Message::Other(message) if message.get("role").is_some_and(|role| role == "tool"))
}

fn push_user(messages: &mut Vec<Message>, parts: Vec<UserPart>) {
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
            UserPart::EncodedMedia(_) => None,
        })
        .collect();
    let content = match texts {
        Some(texts) => json!(texts.join("\n\n")),
        None => parts
            .into_iter()
            .map(|part| match part {
                UserPart::Text(text) => json!({ "type": "text", "text": text }),
                UserPart::EncodedMedia(part) => part,
            })
            .collect(),
    };
    json!({ "role": "user", "content": content })
}

fn input_parts(canister: &Canister, media: &Media<'_>) -> Vec<UserPart> {
    match canister {
        Canister::User(user) => user.content.iter().filter_map(|content| user_part(content, media)).collect(),
        Canister::Document(document) => document_parts(document, media),
        _ => Vec::new(),
    }
}

fn user_part(content: &Content, media: &Media<'_>) -> Option<UserPart> {
    match media.inline(content, Position::UserMessage) {
        Some(shown) => Some(UserPart::EncodedMedia(part(&shown))),
        None => media.words(content, Position::UserMessage).map(UserPart::Text),
    }
}

/// Bytes as a part: <https://developers.openai.com/api/docs/guides/images-vision>, `file` and `input_audio` as SDK
/// 3.52.0 types them (2026-11).
fn part(shown: &EncodedMedia<'_>) -> Value {
    match shown.medium {
        Medium::Picture => json!({ "type": "image_url", "image_url": { "url": shown.data_url() } }),
        Medium::Pdf => {
            let filename = shown.name.unwrap_or("document.pdf");
            json!({ "type": "file", "file": { "filename": filename, "file_data": shown.data_url() } })
        }
        Medium::Sound => {
            let format = if shown.mime == "audio/wav" { "wav" } else { "mp3" };
            json!({ "type": "input_audio", "input_audio": { "data": shown.base64, "format": format } })
        }
    }
}

/// A document's text between fences that do not occur in it, under its name; what can be shown of it comes after.
fn document_parts(document: &Document, media: &Media<'_>) -> Vec<UserPart> {
    let (mut texts, mut shown) = (Vec::new(), Vec::new());
    for content in &document.content {
        match user_part(content, media) {
            Some(UserPart::Text(text)) => texts.push(text),
            Some(part) => shown.push(part),
            None => {}
        }
    }
    let text = texts.join("\n");
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(UserPart::Text(plain::fenced_document(&document.name, &text)));
    }
    parts.extend(shown);
    parts
}

/// Returns `None` for a turn without text and calls, because some servers refuse an empty message.
fn assistant_message(turn: &Turn<'_>, endpoint: &Endpoint, in_turn: bool) -> Option<Value> {
    let words = turn.words();
    let calls: Vec<Value> = turn.calls().map(call).collect();
    if words.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // With calls and no words: null is what OpenAI's own documents show, some templates want a text.
    let silent = words.is_empty() && endpoint.quirks.null_content;
    message.insert("content".into(), if silent { Value::Null } else { json!(words.join("\n\n")) });
    if let Some((key, reasoning)) = reasoning(turn, endpoint, !calls.is_empty(), in_turn) {
        message.insert(key.into(), reasoning);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Some(Value::Object(message))
}

fn call(call: &Call<'_>) -> Value {
    let arguments = &call.invocation.arguments;
    // The model's own text, byte for byte. Strict servers refuse anything but an object, so malformed arguments become
    // `{}`.
    let text = if arguments.object.is_empty() { "{}" } else { arguments.raw.trim() };
    json!({
        "id": call.wire_id,
        "type": "function",
        "function": { "name": call.tool, "arguments": text },
    })
}

/// Returns the reasoning that the server requires back. DeepSeek answers 400 to a turn with calls that lacks the key, even an
/// empty one and even if another model wrote the turn.
/// <https://api-docs.deepseek.com/guides/thinking_mode>, the empty one:
/// <https://github.com/deepseek-ai/deepseek-harness/discussions/739> (a copy read 2026-11-21);
/// <https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks>. Within the turn:
/// <https://github.com/vllm-project/vllm/pull/28531> (vLLM),
/// <https://docs.ollama.com/capabilities/tool-calling> (Ollama), both read 2026-11-23.
fn reasoning(
    turn: &Turn<'_>,
    endpoint: &Endpoint,
    calls: bool,
    in_turn: bool,
) -> Option<(&'static str, Value)> {
    let items = turn.native.unwrap_or_default();
    let came = |key: &str| items.iter().find_map(|item| item.get(key)).cloned();
    let key = match endpoint.quirks.replay_reasoning {
        ReasoningReplay::Never => return None,
        ReasoningReplay::InTurn if calls && in_turn => {
            return REASONING_KEYS.iter().find_map(|key| Some((*key, came(key)?)));
        }
        ReasoningReplay::InTurn => return None,
        ReasoningReplay::Always(key) => key,
    };
    match came(key) {
        Some(reasoning) => Some((key, reasoning)),
        None if calls && key == "reasoning_content" => Some((key, json!(""))),
        None => None,
    }
}

fn tool_message(call: &Call<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Value {
    let content = if call.answer.outcome().is_success() {
        let texts = plain::contents(&call.answer).iter();
        texts.filter_map(|content| media.words(content, Position::Result)).collect::<Vec<_>>().join("\n")
    } else {
        plain::marked_failure(&call.answer, blobs)
    };
    json!({ "role": "tool", "tool_call_id": call.wire_id, "content": content })
}

/// Returns the media of all successful results of a turn that the model can see, in order.
fn result_media(turn: &Turn<'_>, media: &Media<'_>) -> Vec<UserPart> {
    let shown = media.behind(turn);
    if shown.is_empty() {
        return Vec::new();
    }
    let heading = UserPart::Text(heading(&shown));
    std::iter::once(heading).chain(shown.iter().map(part).map(UserPart::EncodedMedia)).collect()
}
