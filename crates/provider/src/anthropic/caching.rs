//! Cache marks: the prefix of the prompt up to a mark is kept in the server's cache, so that the next request of a
//! growing conversation can reuse it.
//!
//! A mark writes the prefix that ends there, and reads the longest prefix written before at one of the 20 blocks that
//! end at the mark. Four marks are allowed. Two are on the parts that all conversations share: the last tool and the
//! system text. The other two end the last user message and the one before it: the latter is where the previous request
//! ended, so its prefix is found however many calls and results followed. With a mark only at the end, a turn of ten
//! parallel calls would put 20 blocks in between, and everything would be paid again.
//!
//! Writing costs a quarter more than plain input, reading a tenth. So a question without tools, which may have no
//! follow-up, gets no marks. A prompt that is too short for the cache (512 to 4096 tokens, by model) is not an error
//! and costs nothing, so no size is estimated here.
//!
//! Marks are set only for Anthropic's own server and where a quirk says so. If the user sets marks in `extra`, none are
//! added.
//!
//! <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>, the sizes from
//! <https://dev.to/creeta/claudes-prompt-cache-fails-silently-below-1024-tokens-1ch1> (checked 2026-11).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::kept_messages::MessageList;

const MARK: &str = "cache_control";

/// The mark in a text, behind the other keys of a block.
const MARK_TEXT: &[u8] = br#","cache_control":{"type":"ephemeral"}"#;

/// The parts of a body that are text, each in the place of a value. They have no marks of the user, apart from new messages.
#[derive(Debug, Default)]
pub(super) struct Texts<'t> {
    /// Declarations; at least one.
    pub(super) tools: Option<Cow<'t, [u8]>>,
    pub(super) messages: Option<MessageList>,
}

/// Adds the marks to a body that is otherwise complete.
pub(super) fn mark(body: &mut Map<String, Value>, texts: &mut Texts<'_>) {
    let has_tools = texts.tools.is_some() || list_len(body.get("tools")) > 0;
    let messages = texts.messages.as_ref().map_or_else(|| list_len(body.get("messages")), |list| list.len);
    let is_marked =
        is_marked(body) || texts.messages.as_ref().is_some_and(|list| list.new.iter().any(is_message_marked));
    if !has_tools && messages <= 1 || is_marked {
        return;
    }
    if let Some(tools) = &mut texts.tools {
        let end = tools.len().saturating_sub(b"}]".len());
        tools.to_mut().splice(end..end, MARK_TEXT.iter().copied());
    }
    if let Some(list) = &mut texts.messages {
        // The later one first, so that the place of the other one stays.
        for end in list.user_ends.into_iter().flatten() {
            let end = end.saturating_sub(b"}]}".len());
            list.text.splice(end..end, MARK_TEXT.iter().copied());
        }
    }
    if let Some(Value::Array(tools)) = body.get_mut("tools")
        && let Some(last) = tools.last_mut()
    {
        put(last);
    }
    if let Some(system) = body.get_mut("system") {
        mark_system(system);
    }
    if let Some(Value::Array(messages)) = body.get_mut("messages") {
        let inputs = messages.iter_mut().rev().filter(|message| message["role"] == "user");
        for message in inputs.take(2) {
            let blocks = message.get_mut("content").and_then(Value::as_array_mut);
            if let Some(last) = blocks.and_then(|blocks| blocks.last_mut()) {
                put(last);
            }
        }
    }
}

fn list_len(list: Option<&Value>) -> usize {
    list.and_then(Value::as_array).map_or(0, Vec::len)
}

/// Only a block can be marked, a bare text cannot.
fn mark_system(system: &mut Value) {
    if let Some(text) = system.as_str() {
        *system = json!([{ "type": "text", "text": text }]);
    }
    if let Some(last) = system.as_array_mut().and_then(|blocks| blocks.last_mut()) {
        put(last);
    }
}

fn put(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert(MARK.to_owned(), json!({ "type": "ephemeral" }));
    }
}

/// Returns whether the user has set marks, at the root (the server places them) or on blocks.
fn is_marked(body: &Map<String, Value>) -> bool {
    let messages = body.get("messages").and_then(Value::as_array);
    body.contains_key(MARK)
        || has_mark(body.get("tools"))
        || has_mark(body.get("system"))
        || messages.into_iter().flatten().any(is_message_marked)
}

/// The same of one message.
pub(super) fn is_message_marked(message: &Value) -> bool {
    has_mark(message.get("content"))
}

fn has_mark(blocks: Option<&Value>) -> bool {
    let mut blocks = blocks.and_then(Value::as_array).into_iter().flatten();
    blocks.any(|block| block.get(MARK).is_some())
}

#[cfg(test)]
mod tests;
