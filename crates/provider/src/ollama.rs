//! Ollama's own chat: `POST {base}/api/chat`, the base without `/v1`.
//!
//! A reply has one line of JSON for every piece, or is one object. Differences from similar wires: arguments are
//! objects, a result names its tool instead of its call, calls come in a separate piece before the last, and their
//! `done_reason` is `stop`. Without `stream` Ollama streams, so the key is always sent.
//!
//! Ollama silently drops the oldest messages of a prompt that does not fit its window, and shifts the window while it
//! writes (default window: 4096 tokens on small machines, <https://docs.ollama.com/context-length>). With `truncate`
//! and `shift` false it refuses instead, or ends the reply as `length`. Versions that do not know the two keys ignore
//! them. The window is the user's own setting (`num_ctx` from [`crate::Facts::wanted_window`]): a larger one costs
//! memory and reloads the model, so the maximum of a model is not requested.
//!
//! <https://docs.ollama.com/api/chat>, <https://github.com/ollama/ollama/blob/main/api/types.go> (`ChatRequest`), types
//! of the Python SDK 0.6.3 (checked 2026-11).

mod assembly;
mod chunk;
mod messages;

use bytes::Bytes;
use converse_canister::Declaration;
use http::header::{ACCEPT, HeaderValue};
use http::response::Parts;
use serde_json::{Map, Value, json};

use crate::body::BodyDecoder;
use crate::controls::{check_sampling, check_unforced, effort};
use crate::head::Head;
use crate::kept_messages::is_plain;
use crate::request::{post_with_texts, tool_values, tools};
use crate::{
    Controls, Decoder, Effort, Endpoint, Facts, Prepared, Processor, Prompt, ReplyOrigin, Thinking,
    TranslateError,
};

#[derive(Debug)]
pub(crate) struct Ollama;

impl Processor for Ollama {
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        tool_values(tools, crate::openai_chat::prepare_tool)
    }

    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        prepared: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        check_sampling(prompt)?;
        check_unforced(prompt)?;
        let controls = prompt.controls;
        let mut body = Map::new();
        body.insert("model".into(), json!(prompt.model));
        let kept = prepared.messages.filter(|_| is_plain(prompt, endpoint, "messages"));
        let written = kept.map(|kept| messages::text(prompt, endpoint, kept)).transpose()?;
        let messages = match written {
            Some(_) => Value::Null,
            None => Value::Array(messages::messages(prompt, endpoint)?),
        };
        body.insert("messages".into(), messages);
        let (tools, prepared_tools) =
            tools(prompt, endpoint, prepared.tools, crate::openai_chat::prepare_tool)?;
        // A format is a grammar for every token, so no tool can be called with it. The schema is then described in
        // text. <https://github.com/ollama/ollama/issues/8095>, <https://github.com/ollama/ollama/issues/13750>.
        if let Some(answer) = controls.answer.as_ref().filter(|_| prompt.tools.is_empty()) {
            body.insert("format".into(), answer.schema.clone());
        }
        if !prompt.tools.is_empty() {
            body.insert("tools".into(), tools);
        }
        if let Some(effort) = effort(prompt)? {
            body.insert("think".into(), think(effort, prompt.model, prompt.facts));
        }
        let options = options(controls, prompt.facts);
        if !options.is_empty() {
            body.insert("options".into(), Value::Object(options));
        }
        for key in ["truncate", "shift"] {
            body.insert(key.into(), json!(false));
        }
        body.insert("stream".into(), json!(controls.stream));
        merge(&mut body, &controls.extra);
        let tools = prepared_tools.as_deref().map(|tools| ("tools", tools.get().as_bytes()));
        let messages = written.as_deref().map(|text| ("messages", text));
        let texts: Vec<_> = tools.into_iter().chain(messages).collect();
        let at = (endpoint.base_url.as_str(), "/api/chat");
        let mut request = post_with_texts(endpoint, at, body, &texts, controls.stream)?;
        if controls.stream {
            request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/x-ndjson"));
        }
        Ok(request)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        Box::new(BodyDecoder::new(Head::of(head), assembly::ChatAssembly::new(origin)))
    }
}

/// Most models think or do not; gpt-oss has three levels, ignores a yes or no, and others refuse a level.
/// <https://docs.ollama.com/capabilities/thinking> (checked 2026-11).
fn think(effort: Effort, model: &str, facts: &Facts) -> Value {
    let levels = facts.thinking == Some(Thinking::Effort) || model.contains("gpt-oss");
    match (effort, levels) {
        (Effort::None, _) => json!(false),
        (_, false) => json!(true),
        (Effort::Minimal | Effort::Low, true) => json!("low"),
        (Effort::Medium, true) => json!("medium"),
        (Effort::High | Effort::XHigh | Effort::Max, true) => json!("high"),
    }
}

fn options(controls: &Controls, facts: &Facts) -> Map<String, Value> {
    let mut options = Map::new();
    let mut say = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            options.insert(key.to_owned(), value);
        }
    };
    say("num_ctx", facts.wanted_window.map(Value::from));
    say("num_predict", controls.max_output_tokens.map(Value::from));
    say("temperature", controls.temperature.map(Value::from));
    say("top_p", controls.top_p.map(Value::from));
    say("stop", (!controls.stop.is_empty()).then(|| json!(controls.stop)));
    options
}

/// Adds further options to ours; other keys are set as given.
fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(more)) if key == "options" => ours.extend(more.clone()),
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}
