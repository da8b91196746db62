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

use serde_json::{Map, Value, json};

const MARK: &str = "cache_control";

/// Adds the marks to a body that is otherwise complete.
pub(super) fn mark(body: &mut Map<String, Value>) {
    let tools = list_len(body.get("tools"));
    let messages = list_len(body.get("messages"));
    if tools == 0 && messages <= 1 || is_marked(body) {
        return;
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
    let on_blocks = |list: Option<&Value>| {
        let blocks = list.and_then(Value::as_array).into_iter().flatten();
        blocks.into_iter().any(|block| block.get(MARK).is_some())
    };
    let messages = body.get("messages").and_then(Value::as_array);
    body.contains_key(MARK)
        || on_blocks(body.get("tools"))
        || on_blocks(body.get("system"))
        || messages.into_iter().flatten().any(|message| on_blocks(message.get("content")))
}

#[cfg(test)]
mod tests;
