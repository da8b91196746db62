//! A Chat Completions request as the router needs it: the prompt, the tools, the calls made since and their results.
//!
//! What is an error at OpenAI is one here (no messages, an unknown role, a result without its call's id); what is not read
//! is not checked. Images of results come in a user message right after the results, which is not the prompt.

use serde_json::Value;

use crate::tool::Tool;

/// Why a request is answered with status 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("the body is not JSON: {0}")]
    Json(String),
    #[error("`{0}` is missing or is not {1}")]
    Wrong(&'static str, &'static str),
    #[error("message {0} has no valid `role`")]
    Role(usize),
    #[error("message {0} is a result without a `tool_call_id`")]
    Unpaired(usize),
    #[error("`tools` entry {0} has no function with a name")]
    Tool(usize),
    #[error("the understudy is not a language model: it cannot answer in a given `response_format`")]
    Format,
}

impl Malformed {
    /// The field that is wrong, as OpenAI's `param`.
    pub(crate) fn param(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) => None,
            Self::Wrong(field, _) => Some(field),
            Self::Role(_) | Self::Unpaired(_) => Some("messages"),
            Self::Tool(_) => Some("tools"),
            Self::Format => Some("response_format"),
        }
    }
}

/// A call that was made since the prompt, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) result: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) prompt: String,
    pub(crate) tools: Vec<Tool>,
    pub(crate) made: Vec<Made>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    /// Calls of one reply.
    pub(crate) most_calls: usize,
    /// Tokens of the answer.
    pub(crate) most_tokens: Option<u64>,
}

/// Maximum number of calls of one reply.
const CALLS: usize = 16;

impl Request {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let body: Value = serde_json::from_slice(body).map_err(|error| Malformed::Json(error.to_string()))?;
        let model = body.get("model").and_then(Value::as_str).ok_or(Malformed::Wrong("model", "a string"))?;
        let messages = body.get("messages").and_then(Value::as_array).filter(|messages| !messages.is_empty());
        let messages = messages.ok_or(Malformed::Wrong("messages", "a list with a message"))?;
        if body.pointer("/response_format/type").is_some_and(|kind| kind != "text") {
            return Err(Malformed::Format);
        }
        check(messages)?;
        let flag = |pointer: &str| body.pointer(pointer).and_then(Value::as_bool);
        let last = (0..messages.len()).rfind(|at| is_prompt(messages, *at));
        let behind = last.and_then(|last| messages.get(last + 1..)).unwrap_or(messages);
        Ok(Self {
            model: model.to_owned(),
            prompt: last.and_then(|last| messages.get(last)).map(text).unwrap_or_default(),
            tools: tools(&body)?,
            made: made(behind),
            stream: flag("/stream").unwrap_or(false),
            include_usage: flag("/stream_options/include_usage").unwrap_or(false),
            most_calls: if flag("/parallel_tool_calls") == Some(false) { 1 } else { CALLS },
            most_tokens: ["max_completion_tokens", "max_tokens"]
                .iter()
                .find_map(|key| body.get(*key)?.as_u64()),
        })
    }
}

fn check(messages: &[Value]) -> Result<(), Malformed> {
    for (index, message) in messages.iter().enumerate() {
        match role(message) {
            "tool" if message.get("tool_call_id").and_then(Value::as_str).is_none() => {
                return Err(Malformed::Unpaired(index));
            }
            "system" | "developer" | "user" | "assistant" | "tool" => {}
            _ => return Err(Malformed::Role(index)),
        }
    }
    Ok(())
}

/// Whether the user wrote it. A message with images after a result holds that result's.
fn is_prompt(messages: &[Value], at: usize) -> bool {
    let is = |at: usize, wanted: &str| messages.get(at).is_some_and(|message| role(message) == wanted);
    let Some(message) = messages.get(at).filter(|_| is(at, "user")) else { return false };
    let behind_a_result = at.checked_sub(1).is_some_and(|before| is(before, "tool"));
    let of_a_result = behind_a_result && has_pictures(message);
    !of_a_result && !text(message).trim().is_empty()
}

fn has_pictures(message: &Value) -> bool {
    let parts = message.get("content").and_then(Value::as_array);
    parts.into_iter().flatten().any(|part| part.get("type").is_some_and(|kind| kind == "image_url"))
}

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// The content as text: a string, or the text parts.
fn text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).collect::<Vec<_>>().join("\n\n")
        }
        _ => String::new(),
    }
}

/// The tools that may be called: none with `tool_choice: "none"`, one with a forced function.
fn tools(body: &Value) -> Result<Vec<Tool>, Malformed> {
    let entries = match body.get("tools") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(Malformed::Wrong("tools", "a list")),
    };
    let mut tools = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        tools.push(Tool::read(entry).ok_or(Malformed::Tool(index))?);
    }
    match body.get("tool_choice") {
        Some(Value::String(choice)) if choice == "none" => tools.clear(),
        Some(choice) => {
            if let Some(name) = choice.pointer("/function/name").and_then(Value::as_str) {
                tools.retain(|tool| tool.name == name);
            }
        }
        None => {}
    }
    Ok(tools)
}

/// The calls in the order they were made, each with its answer.
fn made(messages: &[Value]) -> Vec<Made> {
    let mut made: Vec<Made> = Vec::new();
    for message in messages {
        for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let field =
                |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            made.push(Made {
                id: field("/id"),
                tool: field("/function/name"),
                arguments: field("/function/arguments"),
                result: None,
            });
        }
        let id = message.get("tool_call_id").and_then(Value::as_str);
        if let Some(open) = made.iter_mut().find(|one| one.result.is_none() && Some(one.id.as_str()) == id) {
            open.result = Some(text(message));
        }
    }
    made
}
