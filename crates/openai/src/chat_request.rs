//! `POST /v1/chat/completions`: the request.
//!
//! Source: `types/chat/completion_create_params.py` and the message types beside it, PyPI `openai` 3.54.0, November 2026.
//! `reasoning_content` of assistant messages is DeepSeek's extension, which compatible clients send back.

use converse_canister::{Content, Outcome};
use serde_json::{Map, Value, json};

use super::content::{self, Allowed};
use super::conversation::Builder;
use super::fields::{Fields, found, shown};
use super::options::{self, AnswerFormat, Sampling, ToolUse};
use super::{ApiError, Conversation};

/// A request for a chat completion.
#[derive(Debug)]
pub struct ChatRequest {
    pub model: String,
    pub conversation: Conversation,
    pub stream: bool,
    /// Whether a stream reports usage in an additional last chunk.
    pub include_usage: bool,
    pub sampling: Sampling,
    pub answer: AnswerFormat,
    pub tools: ToolUse,
    /// The end user as the client names them.
    pub user: Option<String>,
    /// Texts that the response repeats.
    pub metadata: Map<String, Value>,
}

const CLIENT_TOOLS: &str = "send functions as `tools`";

impl ChatRequest {
    /// Parses a body.
    ///
    /// # Errors
    /// The body is not JSON, or a parameter is unknown, invalid or not supported.
    pub fn parse(body: &[u8]) -> Result<Self, ApiError> {
        let mut fields = Fields::parse(body)?;
        let model = fields.required_string("model")?;
        let messages = fields.array("messages")?.ok_or_else(|| ApiError::missing("messages"))?;
        let (stream, include_usage) = streaming(&mut fields)?;
        let sampling = sampling(&mut fields)?;
        let answer = AnswerFormat::of_chat(&mut fields)?;
        let tools = ToolUse::of(&mut fields, tool, chosen)?;
        let user = user(&mut fields)?;
        let metadata = options::metadata(&mut fields)?;
        refusals(&mut fields)?;
        fields.end()?;
        let conversation = conversation(messages)?;
        Ok(Self { model, conversation, stream, include_usage, sampling, answer, tools, user, metadata })
    }
}

fn streaming(fields: &mut Fields) -> Result<(bool, bool), ApiError> {
    let stream = fields.boolean("stream")?.unwrap_or(false);
    let Some(mut options) = fields.object("stream_options")? else { return Ok((stream, false)) };
    if !stream {
        return Err(ApiError::invalid_value("stream_options", "it is allowed only with `stream: true`"));
    }
    let include_usage = options.boolean("include_usage")?.unwrap_or(false);
    options.only("include_obfuscation", &[json!(false)])?;
    options.end()?;
    Ok((stream, include_usage))
}

fn sampling(fields: &mut Fields) -> Result<Sampling, ApiError> {
    let temperature = fields.number("temperature", 2.0)?;
    let top_p = fields.number("top_p", 1.0)?;
    let (old, new) = (fields.count("max_tokens")?, fields.count("max_completion_tokens")?);
    if old.is_some() && new.is_some() {
        let message = "`max_tokens` and `max_completion_tokens` cannot be given together";
        return Err(ApiError::invalid_value("max_tokens", message));
    }
    let stop = options::stop(fields)?;
    let effort = options::effort(fields, "reasoning_effort")?;
    Ok(Sampling { temperature, top_p, max_output_tokens: new.or(old), stop, effort })
}

/// The end user: `safety_identifier`, or the older `user`.
pub(super) fn user(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let (old, new) = (fields.string("user")?, fields.string("safety_identifier")?);
    Ok(new.or(old))
}

/// Parameters that are accepted only with a value that has no effect.
fn refusals(fields: &mut Fields) -> Result<(), ApiError> {
    for (key, supported) in [
        ("n", json!(1)),
        ("frequency_penalty", json!(0)),
        ("presence_penalty", json!(0)),
        ("logprobs", json!(false)),
        ("top_logprobs", json!(0)),
        ("logit_bias", json!({})),
        ("store", json!(false)),
        ("modalities", json!(["text"])),
        ("verbosity", json!("medium")),
    ] {
        fields.only(key, &[supported])?;
    }
    fields.only("service_tier", &["auto".into(), "default".into()])?;
    for (key, hint) in [
        ("audio", "answers are text"),
        ("function_call", CLIENT_TOOLS),
        ("functions", CLIENT_TOOLS),
        ("moderation", "the moderation of the provider applies"),
        ("prediction", "leave it out"),
        ("prompt_cache_key", "the prompt cache is used without it"),
        ("prompt_cache_options", "the prompt cache is used without it"),
        ("prompt_cache_retention", "the prompt cache is used without it"),
        ("seed", "models do not answer deterministically"),
        ("web_search_options", "search is a tool of this server"),
    ] {
        fields.refuse(key, hint)?;
    }
    Ok(())
}

/// A tool of chat completions has its function inside of `function`.
fn tool(mut fields: Fields) -> Result<options::ClientTool, ApiError> {
    let at = fields.at("function");
    let function = Fields::of(fields.required("function")?, at)?;
    fields.end()?;
    options::function(function)
}

fn chosen(fields: &mut Fields) -> Result<String, ApiError> {
    let at = fields.at("function");
    let mut function = Fields::of(fields.required("function")?, at)?;
    let name = function.required_string("name")?;
    function.end()?;
    Ok(name)
}

fn conversation(messages: Vec<Value>) -> Result<Conversation, ApiError> {
    let mut builder = Builder::continuing(false);
    for (index, message) in messages.into_iter().enumerate() {
        let mut message = Fields::of(message, format!("messages[{index}]"))?;
        let role = message.required_string("role")?;
        match role.as_str() {
            "system" | "developer" => {
                let parts = content(&mut message, Allowed::Text)?;
                builder.system(content::text_of(parts), message.path())?;
            }
            "user" => {
                let parts = content(&mut message, Allowed::All)?;
                builder.user(parts, message.path())?;
            }
            "assistant" => assistant(&mut message, &mut builder)?,
            "tool" => {
                let id = message.required_string("tool_call_id")?;
                let parts = content(&mut message, Allowed::Text)?;
                builder.result(&id, parts, Outcome::Success, &message.at("tool_call_id"))?;
            }
            "function" => {
                return Err(ApiError::unsupported_value(&message.at("role"), "`function`", "`tool`"));
            }
            _ => {
                let expected = "expected `system`, `developer`, `user`, `assistant` or `tool`, found";
                let message_ = format!("{expected} {}", shown(&role));
                return Err(ApiError::invalid_value(&message.at("role"), message_));
            }
        }
        message.refuse("name", "models do not see names of speakers")?;
        message.end()?;
    }
    builder.end("messages")
}

fn content(message: &mut Fields, allowed: Allowed) -> Result<Vec<content::Part>, ApiError> {
    let at = message.at("content");
    content::chat(message.required("content")?, &at, allowed)
}

/// An assistant message is one reply: reasoning, text and calls. An empty one is left out: some clients keep the empty
/// answer of a turn that failed.
fn assistant(message: &mut Fields, builder: &mut Builder) -> Result<(), ApiError> {
    let mut said = Vec::new();
    if let Some(text) = message.string("reasoning_content")?.filter(|text| !text.is_empty()) {
        said.push(Content::Reasoning { text, seal: None });
    }
    let at = message.at("content");
    let text = message.take("content").map(|value| content::chat_assistant(value, &at)).transpose()?;
    let refusal = message.string("refusal")?;
    let text = text.filter(|text| !text.is_empty()).or(refusal).filter(|text| !text.is_empty());
    said.extend(text.map(Content::text));
    let calls = message.array("tool_calls")?.unwrap_or_default();
    message.only("annotations", &[json!([])])?;
    message.refuse("audio", "answers are text")?;
    message.refuse("function_call", "send calls as `tool_calls`")?;
    // This server's own extensions, which clients send back with the message. They repeat what the answer says.
    for key in ["event", "events"] {
        if let Some(value) = message.take(key).filter(|value| !value.is_object() && !value.is_array()) {
            return Err(ApiError::invalid_type(&message.at(key), "an object or an array", found(&value)));
        }
    }
    if said.is_empty() && calls.is_empty() {
        return Ok(());
    }
    builder.next_reply(said, message.path())?;
    for (index, call) in calls.into_iter().enumerate() {
        let mut call = Fields::of(call, format!("{}[{index}]", message.at("tool_calls")))?;
        if call.word("type", &["function", "custom"])? == Some("custom") {
            return Err(ApiError::unsupported_value(&call.at("type"), "`custom`", "`function`"));
        }
        let (id, at) = (call.required_string("id")?, call.at("function"));
        let mut function = Fields::of(call.required("function")?, at)?;
        let name = function.required_string("name")?;
        let arguments = function.required_string("arguments")?;
        function.end()?;
        // Streams number their calls, and some clients keep the number.
        if let Some(index) = call.take("index").filter(|index| !index.is_u64()) {
            return Err(ApiError::invalid_type(&call.at("index"), "an integer", found(&index)));
        }
        builder.call(id, name, &arguments, &call.at("id"))?;
        call.end()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
