//! Canisters as Anthropic messages.
//!
//! User and assistant alternate strictly, so consecutive messages of one role are merged. The results of a turn come
//! together in the user message right after it, in the order of the invocations and before any text of the user, or the
//! server refuses the request. Text blocks are never blank and messages never empty.
//!
//! A turn of the same model is sent back unchanged ([`native_blocks`]); a turn of another model is sent in neutral
//! form, without reasoning, whose signatures are not valid here.

use converse_canister::{Blobs, Canister, Content, Document, Stop};
use serde_json::{Map, Value, json};

use super::caching::is_message_marked;
use crate::grouping::{Call, Grouped, Part, Section, Turn, group};
use crate::kept_messages::{self, KeptMessages, MessageList};
use crate::media::{Media, Medium, Position};
use crate::plain;
use crate::{Endpoint, Prompt, TranslateError};

#[derive(Default)]
pub(crate) struct Conversation {
    pub(crate) system: Option<String>,
    pub(crate) messages: Vec<Value>,
    /// The names of the tools that its calls are of, each once, in order.
    pub(crate) called: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Role {
    User,
    Assistant,
}

/// The messages of a prompt. The last one is the user's, unless the model paused and is to go on. `strict` is the newer
/// version of the API.
pub(crate) fn messages(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    strict: bool,
) -> Result<Conversation, TranslateError> {
    let Grouped { instructions, sections } = group(prompt.view, endpoint, prompt.model);
    let messages = written(&sections, prompt, endpoint, (strict, false))?;
    let mut called: Vec<String> = Vec::new();
    for section in &sections {
        let Section::Turn(turn) = section else { continue };
        for call in turn.calls() {
            if !called.contains(&call.tool) {
                called.push(call.tool.clone());
            }
        }
    }
    Ok(Conversation { system: instructions, messages, called })
}

/// The messages as the text of a list. What was written for earlier requests is not written again. The new messages have
/// the last reply.
pub(crate) fn list(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    strict: bool,
    kept: &mut KeptMessages,
) -> Result<MessageList, TranslateError> {
    let write = |sections: &[Section<'_>], follows| written(sections, prompt, endpoint, (strict, follows));
    let mut list = kept_messages::list(prompt, endpoint, kept, None, write)?;
    if list.new.is_empty() {
        *kept = KeptMessages::default();
        list = kept_messages::list(prompt, endpoint, kept, None, write)?;
    }
    // No marks are added to a request that has some.
    if list.new.iter().any(is_message_marked) {
        *kept = KeptMessages::default();
    }
    Ok(list)
}

/// Returns the messages of these sections of a prompt. `follows`: they come after a message of the user.
fn written(
    sections: &[Section<'_>],
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    (strict, follows): (bool, bool),
) -> Result<Vec<Value>, TranslateError> {
    let media = Media::of(prompt, endpoint);
    let mut messages: Vec<(Role, Vec<Value>)> = Vec::new();
    let mut paused = false;
    for section in sections {
        match section {
            Section::Input(canisters) => {
                append(
                    &mut messages,
                    Role::User,
                    canisters.iter().flat_map(|canister| input_blocks(canister, &media)),
                );
            }
            Section::Turn(turn) => {
                let blocks = native_blocks(turn, strict).unwrap_or_else(|| neutral_blocks(turn));
                paused = *turn.stop == Stop::Paused;
                append(&mut messages, Role::Assistant, blocks);
                append(
                    &mut messages,
                    Role::User,
                    turn.calls().map(|call| result_block(call, prompt.blobs, &media)),
                );
            }
        }
    }
    match messages.first() {
        _ if follows => {}
        // The part before it was left out of the view; the first message must be the user's all the same.
        Some((Role::Assistant, _)) => {
            let note = text_block("(The conversation up to here is left out.)");
            messages.insert(0, (Role::User, vec![note]));
        }
        Some((Role::User, _)) => {}
        None => return Err(TranslateError::NothingToAnswer),
    }
    if !paused && matches!(messages.last(), Some((Role::Assistant, _))) {
        return Err(TranslateError::NothingToAnswer);
    }
    let messages = messages.into_iter().map(|(role, content)| match role {
        Role::User => json!({ "role": "user", "content": content }),
        Role::Assistant => json!({ "role": "assistant", "content": content }),
    });
    Ok(messages.collect())
}

fn append(messages: &mut Vec<(Role, Vec<Value>)>, role: Role, blocks: impl IntoIterator<Item = Value>) {
    let mut blocks = blocks.into_iter().peekable();
    if blocks.peek().is_none() {
        return;
    }
    match messages.last_mut() {
        Some((last, content)) if *last == role => content.extend(blocks),
        _ => messages.push((role, blocks.collect())),
    }
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn input_blocks(canister: &Canister, media: &Media<'_>) -> Vec<Value> {
    match canister {
        Canister::User(user) => user
            .content
            .iter()
            .filter_map(|content| block(content, Position::UserMessage, None, media))
            .collect(),
        Canister::Document(document) => document_blocks(document, media),
        _ => Vec::new(),
    }
}

/// A document's text as one document block; its images and PDF files as blocks of their own.
fn document_blocks(document: &Document, media: &Media<'_>) -> Vec<Value> {
    let title: String = document.name.chars().take(200).collect();
    let is_blob = |content: &&Content| matches!(content, Content::Blob { .. });
    let texts = document.content.iter().filter(|content| !is_blob(content));
    let text = texts
        .filter_map(|content| media.words(content, Position::UserMessage))
        .collect::<Vec<_>>()
        .join("\n");
    let mut blocks = Vec::new();
    if !text.is_empty() {
        // The only media type of a text source; the title names the actual type.
        let source = json!({ "type": "text", "media_type": "text/plain", "data": text });
        blocks.push(titled(json!({ "type": "document", "source": source }), &title));
    }
    let blobs = document.content.iter().filter(is_blob);
    blocks.extend(blobs.filter_map(|blob| block(blob, Position::UserMessage, Some(&title), media)));
    blocks
}

fn titled(mut block: Value, title: &str) -> Value {
    if let Value::Object(block) = &mut block
        && !title.trim().is_empty()
    {
        block.insert("title".to_owned(), json!(title));
    }
    block
}

/// Formats content as a block of a user message or of a successful result.
fn block(content: &Content, place: Position, title: Option<&str>, media: &Media<'_>) -> Option<Value> {
    let Some(shown) = media.inline(content, place) else {
        return media.words(content, place).map(|text| text_block(&text));
    };
    let source = json!({ "type": "base64", "media_type": shown.mime, "data": shown.base64 });
    Some(match shown.medium {
        Medium::Pdf => {
            let title = shown.name.or(title).unwrap_or_default();
            titled(json!({ "type": "document", "source": source }), title)
        }
        Medium::Picture | Medium::Sound => json!({ "type": "image", "source": source }),
    })
}

/// Formats a turn as plain text for any model. Empty if the turn has neither text nor calls.
fn neutral_blocks(turn: &Turn<'_>) -> Vec<Value> {
    let mut blocks = Vec::new();
    for part in &turn.parts {
        match part {
            Part::Words(assistant) => {
                let words = assistant.words();
                if !words.trim().is_empty() {
                    blocks.push(text_block(&words));
                }
            }
            Part::Call(call) => blocks.push(json!({
                "type": "tool_use",
                "id": call.wire_id,
                "name": call.tool,
                "input": call.invocation.arguments.object,
            })),
        }
    }
    blocks
}

/// An empty result has no `content`; a failed one only text and `is_error`.
fn result_block(call: &Call<'_>, blobs: &dyn Blobs, media: &Media<'_>) -> Value {
    let mut block = Map::new();
    block.insert("type".into(), json!("tool_result"));
    block.insert("tool_use_id".into(), json!(call.wire_id));
    if !call.answer.outcome().is_success() {
        block.insert("content".into(), json!(plain::failure(&call.answer, blobs)));
        block.insert("is_error".into(), json!(true));
        return Value::Object(block);
    }
    let contents = plain::contents(&call.answer);
    if contents.iter().any(|content| matches!(content, Content::Blob { .. })) {
        let blocks: Vec<Value> = contents
            .iter()
            .filter_map(|content| self::block(content, Position::Result, None, media))
            .collect();
        block.insert("content".into(), Value::Array(blocks));
    } else {
        let texts = contents.iter().filter_map(|content| media.words(content, Position::Result));
        let text = texts.collect::<Vec<_>>().join("\n");
        if !text.is_empty() {
            block.insert("content".into(), json!(text));
        }
    }
    Value::Object(block)
}

/// Returns the blocks of a turn as its maker wrote them: thinking with its signature, redacted thinking, server tools'
/// blocks and blocks of unknown kinds. `None` if there is no native form, or if the calls in it are not the invocations
/// of the transcript.
///
/// Four things are changed, because the server refuses them from us although it wrote them: blank text blocks, an id
/// that was given twice, arguments that are not a JSON object (answered with an error result), and under the newer
/// version of the API a document directly in the message.
fn native_blocks(turn: &Turn<'_>, strict: bool) -> Option<Vec<Value>> {
    let items = turn.native.filter(|items| !items.is_empty())?;
    let calls: Vec<&Call<'_>> = turn.calls().collect();
    let mut waiting = calls.iter();
    let mut blocks = Vec::with_capacity(items.len());
    for item in items {
        match item.get("type").and_then(Value::as_str) {
            Some("text") if is_blank(item) => {}
            Some("document") if strict => {}
            Some("tool_use") => blocks.push(call_block(item, waiting.next()?)?),
            _ => blocks.push(item.clone()),
        }
    }
    waiting.next().is_none().then_some(blocks)
}

fn is_blank(item: &Value) -> bool {
    item.get("text").and_then(Value::as_str).is_none_or(|text| text.trim().is_empty())
}

fn call_block(item: &Value, call: &Call<'_>) -> Option<Value> {
    let mut block = item.as_object()?.clone();
    block.insert("id".to_owned(), json!(call.wire_id));
    block.insert("name".to_owned(), json!(call.tool));
    if call.invocation.arguments.malformed.is_some() || !block.get("input").is_some_and(Value::is_object) {
        block.insert("input".to_owned(), json!({}));
    }
    Some(Value::Object(block))
}
