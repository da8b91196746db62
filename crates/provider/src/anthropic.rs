//! Anthropic Messages: `POST {base}/v1/messages`.
//!
//! The keys are those of the SDK's types (2.11.0), explained at <https://platform.claude.com/docs/en/api/messages>. The
//! differences between the two versions of the API are in [`version`], control of reasoning in [`thinking`], cache
//! marks in [`caching`], and structured answers in [`answer`].

mod answer;
mod assembly;
mod block;
mod caching;
mod events;
mod messages;
mod thinking;
mod version;

use std::borrow::Cow;

use bytes::Bytes;
use converse_canister::{Declaration, ToolName};
use http::response::Parts;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::BodyDecoder;
use crate::controls::check_sampling;
use crate::grouping::instructions;
use crate::head::Head;
use crate::kept_messages::is_plain;
use crate::request::{post_with_texts, tool_values, tools};
use crate::schema::{Schema, object_root};
use crate::{
    Controls, Decoder, Effort, Endpoint, ForcedCall, Prepared, Processor, Prompt, ReplyOrigin, TranslateError,
};
use answer::AnswerForm;
use caching::Texts;
use messages::Conversation;
use version::Version;

/// The keys of a request for counting, as named by SDK 2.11.0 (`MessageCountTokensParams`).
const COUNTED: [&str; 8] =
    ["model", "system", "tools", "tool_choice", "messages", "thinking", "output_config", "cache_control"];

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Processor for Anthropic {
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        tool_values(tools, prepare_tool)
    }

    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        prepared: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        let body = body(prompt, endpoint, prepared)?;
        request(prompt, endpoint, "/v1/messages", body, prompt.controls.stream)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        Box::new(BodyDecoder::new(Head::of(head), assembly::MessageAssembly::new(origin)))
    }

    fn count(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
    ) -> Option<Result<http::Request<Bytes>, TranslateError>> {
        Some(body(prompt, endpoint, Prepared::default()).and_then(|(mut body, texts)| {
            body.retain(|key, _| COUNTED.contains(&key.as_str()));
            request(prompt, endpoint, "/v1/messages/count_tokens", (body, texts), false)
        }))
    }

    fn counted(&self, body: &[u8]) -> Option<u64> {
        serde_json::from_slice::<Value>(body).ok()?.get("input_tokens")?.as_u64()
    }
}

fn request(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    path: &str,
    (body, texts): (Map<String, Value>, Texts<'_>),
    stream: bool,
) -> Result<http::Request<Bytes>, TranslateError> {
    // The official base URL has no `/v1`; people write it all the same.
    let base = endpoint.base_url.trim().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let tools = texts.tools.as_deref().map(|tools| ("tools", tools));
    let messages = texts.messages.as_ref().map(|list| ("messages", list.text.as_slice()));
    let texts: Vec<_> = tools.into_iter().chain(messages).collect();
    let request = post_with_texts(endpoint, (base, path), body, &texts, stream)?;
    versioned(request, endpoint, prompt.controls)
}

/// Adds the version of the API that suits these controls.
pub(crate) fn versioned(
    mut request: http::Request<Bytes>,
    endpoint: &Endpoint,
    controls: &Controls,
) -> Result<http::Request<Bytes>, TranslateError> {
    request.headers_mut().insert("anthropic-version", Version::of(endpoint, controls)?.header()?);
    Ok(request)
}

fn body<'p>(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    prepared: Prepared<'p>,
) -> Result<(Map<String, Value>, Texts<'p>), TranslateError> {
    let controls = prompt.controls;
    let strict = Version::of(endpoint, controls)?.is_strict();
    // Without tools, those that the whole history calls are declared.
    let kept =
        prepared.messages.filter(|_| !prompt.tools.is_empty() && is_plain(prompt, endpoint, "messages"));
    let list = kept.map(|kept| messages::list(prompt, endpoint, strict, kept)).transpose()?;
    let conversation = match list {
        Some(_) => Conversation { system: instructions(prompt.view), ..Conversation::default() },
        None => messages::messages(prompt, endpoint, strict)?,
    };
    let max_tokens = max_tokens(prompt);
    let new = list.as_ref().map_or(&conversation.messages, |list| &list.new);
    let thought = thinking::thought(prompt, max_tokens, new)?;
    let mut texts = Texts { messages: list, tools: None };
    let form = controls.answer.as_ref().map(answer::form);
    let mut body = Map::new();
    body.insert("model".into(), json!(prompt.model));
    body.insert("max_tokens".into(), json!(max_tokens));
    let (format, instruction) = match form {
        Some(AnswerForm::Schema(format)) => (Some(format), None),
        Some(AnswerForm::Instructions(words)) => (None, Some(words)),
        None => (None, None),
    };
    let system: Vec<String> = conversation.system.into_iter().chain(instruction).collect();
    if !system.is_empty() {
        body.insert("system".into(), json!(system.join("\n\n")));
    }
    if !prompt.tools.is_empty() {
        let (value, text) = tools(prompt, endpoint, prepared.tools, prepare_tool)?;
        texts.tools = text.map(|text| match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.get().as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.get().as_bytes().to_vec()),
        });
        body.insert("tools".into(), value);
        let mut choice = match &controls.forced {
            None => json!({ "type": "auto" }),
            Some(ForcedCall::Any) => json!({ "type": "any" }),
            Some(ForcedCall::Tool(name)) => json!({ "type": "tool", "name": name }),
        };
        if controls.single_call {
            choice["disable_parallel_tool_use"] = json!(true);
        }
        if controls.single_call || controls.forced.is_some() {
            body.insert("tool_choice".into(), choice);
        }
    } else if !conversation.called.is_empty() {
        let retired = conversation.called.iter().map(|name| retired_tool(name));
        body.insert("tools".into(), retired.collect());
        body.insert("tool_choice".into(), json!({ "type": "none" }));
    }
    body.insert("messages".into(), Value::Array(conversation.messages));
    insert_sampling(&mut body, prompt)?;
    if let Some(thinking) = thought.thinking {
        body.insert("thinking".into(), thinking);
    }
    if thought.effort.is_some() || format.is_some() {
        let mut config = Map::new();
        config.extend(thought.effort.map(|effort| ("effort".to_owned(), json!(effort))));
        config.extend(format.map(|format| ("format".to_owned(), format)));
        body.insert("output_config".into(), Value::Object(config));
    }
    if controls.stream {
        body.insert("stream".into(), json!(true));
    }
    body.extend(controls.extra.clone());
    if version::is_anthropics_own(endpoint) || endpoint.quirks.cache_control {
        caching::mark(&mut body, &mut texts);
    }
    Ok((body, texts))
}

/// Returns a tool as Anthropic wants it: `{name, description, input_schema}`, the schema an object at its root.
pub(crate) fn prepare_tool(tool: &Declaration) -> Result<MessagesTool<'_>, TranslateError> {
    let input_schema = object_root(tool)?;
    Ok(MessagesTool { name: &tool.name, description: &tool.description, input_schema })
}

#[derive(Serialize)]
pub(crate) struct MessagesTool<'d> {
    name: &'d ToolName,
    description: &'d str,
    input_schema: Schema<'d>,
}

/// Returns a declaration without arguments for a tool that is no longer offered. The server refuses a history with
/// calls if no tools are declared, so the called tools are declared and calling is switched off.
fn retired_tool(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "name": name, "description": "No longer available.", "input_schema": schema })
}

/// `max_tokens` for an unknown model: every current model writes at least this much, and a runaway reply stays cheap.
const MAX_TOKENS_UNKNOWN: u32 = 8192;
/// `max_tokens` of a stream: room for thinking, which counts, and for a long answer.
const MAX_TOKENS_STREAMED: u32 = 32_000;
/// `max_tokens` for the two highest efforts: the vendor advises to begin at 64k.
/// <https://platform.claude.com/docs/en/build-with-claude/effort> (checked 2026-11)
const MAX_TOKENS_HIGH_EFFORT: u32 = 64_000;
/// `max_tokens` of a reply that is not streamed: the SDK (2.11.0) assumes an hour for 128,000 tokens and refuses such
/// requests of more than 10 minutes, since the network drops idle connections.
const MAX_TOKENS_WHOLE: u32 = 21_333;

/// Returns the user's limit, or the model's maximum bounded by the kind of request, since a runaway reply costs money
/// and time. `max_tokens` has no default on this wire and must be sent.
fn max_tokens(prompt: &Prompt<'_>) -> u32 {
    let controls = prompt.controls;
    if let Some(limit) = controls.max_output_tokens {
        return limit;
    }
    let Some(most) = prompt.facts.max_output else { return MAX_TOKENS_UNKNOWN };
    let bound = match controls.effort {
        _ if !controls.stream => MAX_TOKENS_WHOLE,
        Some(Effort::XHigh | Effort::Max) => MAX_TOKENS_HIGH_EFFORT,
        _ => MAX_TOKENS_STREAMED,
    };
    u32::try_from(most).unwrap_or(u32::MAX).clamp(1, bound)
}

/// Inserts temperature, `top_p` and stop sequences, only those that the user set. Models from 4.7 on refuse sampling
/// settings.
/// <https://platform.claude.com/docs/en/api/versioning> (checked 2026-11)
fn insert_sampling(body: &mut Map<String, Value>, prompt: &Prompt<'_>) -> Result<(), TranslateError> {
    let controls = prompt.controls;
    check_sampling(prompt)?;
    if let Some(temperature) = controls.temperature {
        if temperature > 1.0 {
            let problem = format!("this provider accepts a temperature from 0 to 1, not {temperature}");
            return Err(TranslateError::Control(problem));
        }
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(top_p) = controls.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
    if !controls.stop.is_empty() {
        body.insert("stop_sequences".into(), json!(controls.stop));
    }
    Ok(())
}
