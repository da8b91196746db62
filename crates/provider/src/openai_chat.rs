//! OpenAI Chat Completions: `POST {base}/chat/completions`, of OpenAI and all compatible servers.
//!
//! Two dozen servers use this wire, each with differences. Differences in what they *accept* are in the endpoint's
//! [`crate::Quirks`], and the request follows them. Differences in what they *send* are accepted from every server.
//! Strict servers refuse unknown keys, so a request has only necessary keys, and a turn is rebuilt from `role`,
//! `content` and `tool_calls` alone.
//!
//! The wire is that of the SDK's types (3.52.0), explained at <https://platform.openai.com/docs/api-reference/chat>.

mod answer;
mod assembly;
mod calls;
mod chunk;
mod cost;
mod details;
mod messages;
mod think;

pub(crate) use answer::json_schema_format;
pub(crate) use cost::cost;
pub(crate) use think::ThinkSplitter;

use bytes::Bytes;
use converse_canister::{Declaration, ToolName};
use http::response::Parts;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::BodyDecoder;
use crate::controls::{check_sampling, effort};
use crate::head::Head;
use crate::kept_messages::is_plain;
use crate::request::{post_with_texts, tool_values, tools};
use crate::schema::{Schema, for_openai};
use crate::{
    Decoder, Effort, Endpoint, ForcedCall, Prepared, Processor, Prompt, Quirks, ReplyOrigin, TranslateError,
};

#[derive(Debug)]
pub(crate) struct OpenAiChat;

impl Processor for OpenAiChat {
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        tool_values(tools, prepare_tool)
    }

    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        prepared: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        request(prompt, endpoint, prepared)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        Box::new(BodyDecoder::new(Head::of(head), assembly::CompletionAssembly::new(origin)))
    }
}

fn request(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    prepared: Prepared<'_>,
) -> Result<http::Request<Bytes>, TranslateError> {
    let (controls, quirks) = (prompt.controls, &endpoint.quirks);
    check_sampling(prompt)?;
    let mut body = Map::new();
    body.insert("model".into(), json!(prompt.model));
    let mut retired = Vec::new();
    let wants_retired = prompt.tools.is_empty() && wants_retired(prompt.model, quirks);
    let kept = prepared.messages.filter(|_| !wants_retired && is_plain(prompt, endpoint, "messages"));
    let written = kept.map(|kept| messages::text(prompt, endpoint, kept)).transpose()?;
    if written.is_none() {
        let messages = messages::messages(prompt, endpoint)?;
        if wants_retired {
            retired = retired_tools(&messages);
        }
        body.insert("messages".into(), Value::Array(messages));
    } else {
        body.insert("messages".into(), Value::Null);
    }
    let mut text = None;
    if !prompt.tools.is_empty() {
        let (value, kept) = tools(prompt, endpoint, prepared.tools, prepare_tool)?;
        text = kept;
        body.insert("tools".into(), value);
        if let Some(forced) = &controls.forced {
            let choice = match forced {
                ForcedCall::Any => json!("required"),
                ForcedCall::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
            };
            body.insert("tool_choice".into(), choice);
        }
        if controls.single_call {
            body.insert("parallel_tool_calls".into(), json!(false));
        }
    } else if !retired.is_empty() {
        body.insert("tools".into(), Value::Array(retired));
        body.insert("tool_choice".into(), json!("none"));
    }
    if let Some(limit) = controls.max_output_tokens {
        body.insert(quirks.max_tokens_key.into(), json!(limit));
    }
    if let Some(temperature) = controls.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(top_p) = controls.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
    if !controls.stop.is_empty() {
        body.insert("stop".into(), json!(controls.stop));
    }
    if let Some(effort) = effort(prompt)? {
        if !quirks.effort {
            let problem = format!("the provider `{}` does not accept an effort", endpoint.provider);
            return Err(TranslateError::Control(problem));
        }
        body.insert("reasoning_effort".into(), json!(word(effort)));
    }
    if let Some(format) = controls.answer.as_ref().and_then(|answer| answer::format(answer, quirks)) {
        body.insert("response_format".into(), format);
    }
    // <https://openrouter.ai/docs/guides/routing/model-fallbacks> (2026-11).
    if quirks.fallbacks && !controls.fallbacks.is_empty() {
        body.insert("models".into(), json!(controls.fallbacks));
    }
    // <https://openrouter.ai/docs/client-sdks/typescript/models/anthropiccachecontroldirective.md> (2026-11): said
    // once at the top, it puts a breakpoint after the last block, which grows with the conversation. Other models
    // cache by themselves.
    if quirks.cache_control && is_anthropics(prompt.model) {
        body.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
    if controls.stream {
        body.insert("stream".into(), json!(true));
        if quirks.stream_options {
            body.insert("stream_options".into(), json!({ "include_usage": true }));
        }
    }
    body.extend(controls.extra.clone());
    let at = (endpoint.base_url.as_str(), "/chat/completions");
    let tools = text.as_deref().map(|tools| ("tools", tools.get().as_bytes()));
    let texts: Vec<_> = tools.into_iter().chain(written.as_deref().map(|text| ("messages", text))).collect();
    post_with_texts(endpoint, at, body, &texts, controls.stream)
}

/// A router's name for a model of Anthropic's.
fn is_anthropics(model: &str) -> bool {
    model.starts_with("anthropic/")
}

/// Anthropic's rule also applies behind a proxy: no calls in the history without declarations. OpenRouter is known by
/// its `cache_control`. <https://github.com/camel-ai/owl/issues/532> (LiteLLM, read 2026-11-22).
fn wants_retired(model: &str, quirks: &Quirks) -> bool {
    quirks.retired_tools || (quirks.cache_control && is_anthropics(model))
}

/// The words are the same on both of OpenAI's wires (SDK 3.52.0, `ReasoningEffort`).
pub(crate) fn word(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Minimal => "minimal",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::XHigh => "xhigh",
        Effort::Max => "max",
    }
}

/// Returns a tool as chat servers want it. `parameters` always has `type` and `properties`, which some servers'
/// templates read without a check; `strict` is never sent, since it restricts schemas in ways that ours need not
/// follow.
pub(crate) fn prepare_tool(tool: &Declaration) -> Result<ChatTool<'_>, TranslateError> {
    let function =
        Function { name: &tool.name, description: &tool.description, parameters: for_openai(tool)? };
    Ok(ChatTool { r#type: "function", function })
}

#[derive(Serialize)]
pub(crate) struct ChatTool<'d> {
    r#type: &'static str,
    function: Function<'d>,
}

#[derive(Serialize)]
struct Function<'d> {
    name: &'d ToolName,
    description: &'d str,
    parameters: Schema<'d>,
}

/// Returns declarations for the tools that the history calls, each once, in the order of the first call.
fn retired_tools(messages: &[Value]) -> Vec<Value> {
    let calls = messages.iter().filter_map(|message| message.get("tool_calls")?.as_array()).flatten();
    let mut names: Vec<&str> = Vec::new();
    for name in calls.filter_map(|call| call.pointer("/function/name")?.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let declared = |name: &&str| {
        let parameters = json!({ "type": "object", "properties": {} });
        let function =
            json!({ "name": name, "description": "No longer available.", "parameters": parameters });
        json!({ "type": "function", "function": function })
    };
    names.iter().map(declared).collect()
}
