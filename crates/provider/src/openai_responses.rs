//! OpenAI Responses: `POST {base}/responses`.
//!
//! The server stores nothing unless the endpoint is configured so: `store` is false and every item goes back, reasoning
//! in its encrypted form. With [`crate::Quirks::stored`] the server keeps replies and the next request names the last
//! one instead of repeating what led to it; then leaving out old parts of a conversation shortens nothing, since the
//! server has them all.
//!
//! The wire is that of the SDK's types (3.52.0), explained at
//! <https://developers.openai.com/api/docs/guides/conversation-state> and
//! <https://platform.openai.com/docs/api-reference/responses> (checked 2026-11).

mod assembly;
mod input;
mod items;
mod replay;
mod slot;

use bytes::Bytes;
use converse_canister::{Declaration, ToolName};
use http::response::Parts;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::BodyDecoder;
use crate::controls::{check_sampling, effort};
use crate::grouping::instructions;
use crate::head::Head;
use crate::kept_messages::is_plain;
use crate::openai_chat::{json_schema_format, word};
use crate::request::{post_with_texts, tool_values, tools};
use crate::schema::{Schema, for_openai};
use crate::{
    Decoder, Effort, Endpoint, ForcedCall, Prepared, Processor, Prompt, ReplyOrigin, Structured, Thinking,
    TranslateError,
};

#[derive(Debug)]
pub(crate) struct OpenAiResponses;

impl Processor for OpenAiResponses {
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
        Box::new(BodyDecoder::new(Head::of(head), assembly::ResponseAssembly::new(origin)))
    }
}

fn request(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    prepared: Prepared<'_>,
) -> Result<http::Request<Bytes>, TranslateError> {
    let stored = endpoint.quirks.stored;
    let kept = prepared.messages.filter(|_| !stored && is_plain(prompt, endpoint, "input"));
    let written = kept.map(|kept| input::text(prompt, endpoint, kept)).transpose()?;
    let conversation = match written {
        Some(_) => input::Conversation { instructions: instructions(prompt.view), ..Default::default() },
        None => input::conversation(prompt, endpoint)?,
    };
    let mut body = Map::new();
    body.insert("model".into(), json!(prompt.model));
    // Not carried over by `previous_response_id`, so they are sent every time.
    if let Some(instructions) = conversation.instructions {
        body.insert("instructions".into(), json!(instructions));
    }
    if let Some(previous) = conversation.previous {
        body.insert("previous_response_id".into(), json!(previous));
    }
    body.insert("input".into(), Value::Array(conversation.input));
    let mut text = None;
    if !prompt.tools.is_empty() {
        let (value, kept) = tools(prompt, endpoint, prepared.tools, prepare_tool)?;
        text = kept;
        body.insert("tools".into(), value);
        if let Some(forced) = &prompt.controls.forced {
            let choice = match forced {
                ForcedCall::Any => json!("required"),
                ForcedCall::Tool(name) => json!({ "type": "function", "name": name }),
            };
            body.insert("tool_choice".into(), choice);
        }
        if prompt.controls.single_call {
            body.insert("parallel_tool_calls".into(), json!(false));
        }
    }
    control(&mut body, prompt, endpoint)?;
    body.extend(prompt.controls.extra.clone());
    let at = (endpoint.base_url.as_str(), "/responses");
    let tools = text.as_deref().map(|tools| ("tools", tools.get().as_bytes()));
    let texts: Vec<_> = tools.into_iter().chain(written.as_deref().map(|text| ("input", text))).collect();
    post_with_texts(endpoint, at, body, &texts, prompt.controls.stream)
}

fn control(
    body: &mut Map<String, Value>,
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
) -> Result<(), TranslateError> {
    let (controls, quirks) = (prompt.controls, &endpoint.quirks);
    if !controls.stop.is_empty() {
        return Err(TranslateError::Control("the Responses API does not support stop sequences".to_owned()));
    }
    check_sampling(prompt)?;
    if let Some(limit) = controls.max_output_tokens {
        body.insert("max_output_tokens".into(), json!(limit));
    }
    if let Some(temperature) = controls.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if let Some(top_p) = controls.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
    if let Some(reasoning) = reasoning(prompt, endpoint)? {
        body.insert("reasoning".into(), reasoning);
    }
    if let Some(format) = format(prompt, quirks.structured) {
        body.insert("text".into(), json!({ "format": format }));
    }
    if quirks.fallbacks && !controls.fallbacks.is_empty() {
        body.insert("models".into(), json!(controls.fallbacks));
    }
    body.insert("store".into(), json!(quirks.stored));
    if quirks.include_encrypted && thinks(prompt) {
        body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    }
    if controls.stream {
        body.insert("stream".into(), json!(true));
    }
    Ok(())
}

/// Returns whether the model is known to reason. Other models answer 400 to `include` ("Encrypted content is not supported
/// with this model") and to `reasoning`: <https://github.com/ShishirPatil/gorilla/issues/1148>,
/// <https://github.com/NousResearch/hermes-agent/pull/46550> (2026-11). Where nothing is known nothing is asked:
/// OpenAI fills `encrypted_content` by itself (SDK 3.52.0, `ResponseReasoningItem`).
fn thinks(prompt: &Prompt<'_>) -> bool {
    match prompt.facts.thinking {
        Some(thinking) => thinking != Thinking::None,
        None => prompt.controls.effort.is_some_and(|effort| effort != Effort::None),
    }
}

/// A summary is requested only if it will be shown: organisations without verification get a 400 for it.
/// <https://github.com/BerriAI/litellm/issues/16032> (2026-11).
fn reasoning(prompt: &Prompt<'_>, endpoint: &Endpoint) -> Result<Option<Value>, TranslateError> {
    let mut reasoning = Map::new();
    if let Some(effort) = effort(prompt)? {
        if !endpoint.quirks.effort {
            let problem = format!("the provider `{}` does not accept an effort", endpoint.provider);
            return Err(TranslateError::Control(problem));
        }
        reasoning.insert("effort".into(), json!(word(effort)));
    }
    if prompt.controls.show_reasoning && endpoint.quirks.effort && thinks(prompt) {
        reasoning.insert("summary".into(), json!("auto"));
    }
    Ok((!reasoning.is_empty()).then_some(Value::Object(reasoning)))
}

/// <https://developers.openai.com/api/docs/guides/structured-outputs> (2026-11): here the schema stands beside the
/// type.
fn format(prompt: &Prompt<'_>, structured: Structured) -> Option<Value> {
    let answer = prompt.controls.answer.as_ref()?;
    match structured {
        Structured::None => None,
        Structured::JsonObject => Some(json!({ "type": "json_object" })),
        Structured::JsonSchema => {
            let mut format = json_schema_format(answer);
            format.insert("type".into(), json!("json_schema"));
            Some(Value::Object(format))
        }
    }
}

/// Returns a tool as the Responses API wants it: flat. `strict` is always sent: without it the server takes schemas as
/// strict, which those of MCP servers are not (SDK 3.52.0 makes the key required).
fn prepare_tool(tool: &Declaration) -> Result<FlatTool<'_>, TranslateError> {
    Ok(FlatTool {
        r#type: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: for_openai(tool)?,
        strict: false,
    })
}

#[derive(Serialize)]
struct FlatTool<'d> {
    r#type: &'static str,
    name: &'d ToolName,
    description: &'d str,
    parameters: Schema<'d>,
    strict: bool,
}
