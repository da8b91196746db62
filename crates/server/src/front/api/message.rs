//! Messages of a session as JSON: one object for each message, with the calls of a reply inside of it.

use std::collections::{HashMap, HashSet};

use converse_canister::{Canister, Content, Decision, Invocation, InvocationId, InvocationResult, Usage};
use converse_session::{Loaded, Reply};
use converse_text::wording::tool_name;
use serde_json::{Value, json};

/// How Markdown becomes HTML that can do nothing.
pub(super) type Markdown = fn(&str) -> String;

/// Returns the messages of a session from the message `from` on, at most `limit`.
pub(super) fn messages(
    loaded: &Loaded,
    session: &str,
    from: usize,
    limit: usize,
    markdown: Markdown,
) -> Vec<Value> {
    let canisters = loaded.transcript.as_slice();
    let decisions: HashMap<&InvocationId, &Decision> =
        loaded.decisions.iter().map(|(id, decision)| (id, decision)).collect();
    let mut list: Vec<Value> = Vec::new();
    // A reply of several messages is counted with its first one.
    let mut reported = HashSet::new();
    for (index, canister) in canisters.iter().enumerate().skip(from).take(limit) {
        let at = loaded.places.get(index).map(|place| place.at.to_string());
        let mut message = match canister {
            Canister::Invocation(call) => {
                // A call belongs to the reply before it.
                let reply = list.iter_mut().rev().find(|message| message["role"] == "assistant");
                if let Some(parts) = reply.and_then(|reply| reply["parts"].as_array_mut()) {
                    parts.push(call_part(call));
                }
                continue;
            }
            Canister::User(user) => json!({ "role": "user", "content": parts(&user.content, session) }),
            Canister::Supervisor(supervisor) => json!({ "role": "system", "text": supervisor.text }),
            Canister::Document(document) => {
                json!({ "role": "document", "name": document.name, "content": parts(&document.content, session) })
            }
            Canister::Assistant(assistant) => {
                let parts: Vec<Value> =
                    assistant.content.iter().filter_map(|content| reply_part(content, markdown)).collect();
                let mut message = json!({ "role": "assistant", "turn": assistant.turn.0, "parts": parts });
                if let Some(reply) = loaded.replies.get(&assistant.turn)
                    && reported.insert(assistant.turn)
                {
                    add_figures(&mut message, reply);
                }
                message
            }
            Canister::Result(result) => {
                let mut message = result_json(result, session);
                if let Some(decision) = decisions.get(&result.id) {
                    message["decision"] = decision_json(decision);
                }
                message
            }
        };
        message["index"] = json!(index);
        if let Some(at) = at {
            message["at"] = json!(at);
        }
        list.push(message);
    }
    list
}

fn add_figures(message: &mut Value, reply: &Reply) {
    message["model"] = json!(reply.model);
    message["usage"] = usage_json(&reply.usage);
    if let Some(cost) = reply.cost {
        message["cost"] = json!({ "dollars": cost.dollars().to_string() });
    }
    if let Some(milliseconds) = reply.milliseconds {
        message["elapsed_ms"] = json!(milliseconds);
    }
}

pub(super) fn usage_json(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cached_input_tokens": usage.cache_read,
        "output_tokens": usage.output,
        "reasoning_tokens": usage.reasoning,
    })
}

fn reply_part(content: &Content, markdown: Markdown) -> Option<Value> {
    match content {
        Content::Text { text, .. } => Some(json!({ "type": "text", "text": text, "html": markdown(text) })),
        Content::Reasoning { text, .. } => Some(json!({ "type": "reasoning", "text": text })),
        _ => None,
    }
}

fn call_part(call: &Invocation) -> Value {
    let tool = tool_name(&call.tool);
    let (ensemble, name) = tool.split_once('.').unwrap_or(("", &tool));
    json!({
        "type": "call",
        "id": call.id.to_string(),
        "ensemble": ensemble,
        "tool": name,
        "arguments": call.arguments.object,
    })
}

/// The result of a call, without its index.
pub(super) fn result_json(result: &InvocationResult, session: &str) -> Value {
    let mut message = json!({
        "role": "tool",
        "id": result.id.to_string(),
        "outcome": result.outcome,
        "content": parts(&result.content, session),
    });
    if let Some(cost) = result.cost {
        message["cost"] = json!({ "dollars": cost.dollars().to_string() });
    }
    message
}

pub(super) fn decision_json(decision: &Decision) -> Value {
    match decision {
        Decision::Allow { rule } => json!({ "allowed": true, "rule": rule }),
        Decision::AllowEdited { .. } => json!({ "allowed": true, "rule": "user", "edited": true }),
        Decision::Remember { pattern } => json!({ "allowed": true, "rule": pattern }),
        Decision::Deny { rule, comment } => json!({ "allowed": false, "rule": rule, "comment": comment }),
    }
}

/// Parts of a message. Bytes are at the address of the session's content.
pub(super) fn parts(content: &[Content], session: &str) -> Vec<Value> {
    let part = |content: &Content| {
        Some(match content {
            Content::Text { text, .. } => json!({ "type": "text", "text": text }),
            Content::Structured { value } => json!({ "type": "json", "value": value }),
            Content::Blob { mime, digest, name, .. } => {
                let kind = match mime.split('/').next() {
                    Some("image") => "image",
                    Some("audio") => "audio",
                    _ => "file",
                };
                json!({
                    "type": kind,
                    "media_type": mime,
                    "name": name,
                    "sha256": digest.to_string(),
                    "url": format!("/api/sessions/{session}/content/{digest}"),
                })
            }
            Content::Resource { uri, name, .. } => {
                let name = name.as_deref().unwrap_or_default();
                json!({ "type": "text", "text": format!("{name} {uri}").trim_start() })
            }
            Content::Reasoning { .. } => return None,
        })
    };
    content.iter().filter_map(part).collect()
}

/// The text that a model reads of a result.
pub(super) fn words(content: &[Content]) -> String {
    let words = content.iter().filter_map(|content| match content {
        Content::Structured { value } => Some(value.to_string()),
        content => content.as_text().map(str::to_owned),
    });
    words.collect::<Vec<_>>().join("\n")
}
