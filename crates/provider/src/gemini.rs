//! Gemini: `POST {base}/v1beta/models/{model}:generateContent` and `:streamGenerateContent?alt=sse`.
//!
//! A conversation is `contents` of two roles in strict alternation, each a list of parts. A reply's parts go back as
//! they came, each signature on the part that brought it ([`replay`]); tools are declared in JSON Schema
//! (`parametersJsonSchema`). A request holds nothing that was not asked for: `toolConfig` is sent only to force a
//! call, since the server's own choice is `AUTO`.
//!
//! <https://ai.google.dev/api/generate-content>; the types are those of google-genai 3.4.0 (checked 2026-11).

mod assembly;
mod chunk;
mod contents;
mod faults;
mod finish;
pub(crate) mod model;
mod part;
mod replay;
mod results;
mod thinking;

pub(crate) use faults::{reasons, retry_delay, spent_for_today};

use bytes::Bytes;
use converse_canister::{Declaration, ToolName};
use http::response::Parts;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::body::BodyDecoder;
use crate::controls::{check_sampling, check_unlimited};
use crate::grouping::instructions;
use crate::head::Head;
use crate::kept_messages::is_plain;
use crate::request::{post, post_with_texts, tool_values, tools};
use crate::schema::{self, Schema};
use crate::{
    AnswerFormat, Decoder, Endpoint, ForcedCall, Prepared, Processor, Prompt, ReplyOrigin, TranslateError,
};
use contents::Conversation;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Processor for Gemini {
    fn prepare_tools(&self, tools: &[Declaration], _: &Endpoint) -> Result<Vec<Value>, TranslateError> {
        tool_values(tools, prepare_tool)
    }

    fn nativize_prepared(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
        prepared: Prepared<'_>,
    ) -> Result<http::Request<Bytes>, TranslateError> {
        let (body, texts) = body(prompt, endpoint, prepared)?;
        let (base, version) = model::base_and_version(endpoint)?;
        let method = if prompt.controls.stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        let path = format!("/{version}/{}:{method}", model::path(prompt.model)?);
        let texts: Vec<_> = texts.iter().map(|(key, text)| (*key, text.as_slice())).collect();
        post_with_texts(endpoint, (base, &path), body, &texts, prompt.controls.stream)
    }

    fn normalize(&self, head: &Parts, origin: ReplyOrigin) -> Box<dyn Decoder> {
        Box::new(BodyDecoder::new(Head::of(head), assembly::CandidateAssembly::new(origin)))
    }

    /// The whole request is counted, not its contents alone. <https://ai.google.dev/api/tokens> (checked 2026-11)
    fn count(
        &self,
        prompt: &Prompt<'_>,
        endpoint: &Endpoint,
    ) -> Option<Result<http::Request<Bytes>, TranslateError>> {
        let request = body(prompt, endpoint, Prepared::default()).and_then(|(body, _)| {
            let (base, version) = model::base_and_version(endpoint)?;
            let model = model::path(prompt.model)?;
            let mut counted = Map::new();
            counted.insert("model".into(), json!(model));
            counted.extend(body);
            let question = Map::from_iter([("generateContentRequest".to_owned(), Value::Object(counted))]);
            post(endpoint, base, &format!("/{version}/{model}:countTokens"), question, false)
        });
        Some(request)
    }

    fn counted(&self, body: &[u8]) -> Option<u64> {
        serde_json::from_slice::<Value>(body).ok()?.get("totalTokens")?.as_u64()
    }
}

/// Texts in the place of the values of some keys.
type Texts = Vec<(&'static str, Vec<u8>)>;

fn body(
    prompt: &Prompt<'_>,
    endpoint: &Endpoint,
    prepared: Prepared<'_>,
) -> Result<(Map<String, Value>, Texts), TranslateError> {
    let kept = prepared.messages.filter(|_| is_plain(prompt, endpoint, "contents"));
    let written = kept.map(|kept| contents::text(prompt, endpoint, kept)).transpose()?;
    let conversation = match written {
        Some(_) => Conversation { instructions: instructions(prompt.view), ..Conversation::default() },
        None => contents::contents(prompt, endpoint)?,
    };
    let mut texts: Texts = written.into_iter().map(|text| ("contents", text)).collect();
    let mut body = Map::new();
    let answer = prompt.controls.answer.as_ref();
    let (schema, described) = match (answer, takes_answer_schema(prompt)) {
        (Some(answer), true) => (Some(schema::gemini_answer(&answer.schema)), None),
        (answer, _) => (None, answer.map(AnswerFormat::in_words)),
    };
    let instructions: Vec<String> = conversation.instructions.into_iter().chain(described).collect();
    if !instructions.is_empty() {
        let instructions = instructions.join("\n\n");
        body.insert("systemInstruction".into(), json!({ "parts": [{ "text": instructions }] }));
    }
    if !prompt.tools.is_empty() {
        let (tools, text) = tools(prompt, endpoint, prepared.tools, prepare_tool)?;
        body.insert("tools".into(), json!([{ "functionDeclarations": tools }]));
        let text = text.map(|text| format!("[{{\"functionDeclarations\":{}}}]", text.get()));
        texts.extend(text.map(|text| ("tools", text.into_bytes())));
        if let Some(forced) = &prompt.controls.forced {
            let mut choice = json!({ "mode": "ANY" });
            if let ForcedCall::Tool(name) = forced {
                choice["allowedFunctionNames"] = json!([name]);
            }
            body.insert("toolConfig".into(), json!({ "functionCallingConfig": choice }));
        }
    }
    body.insert("contents".into(), Value::Array(conversation.contents));
    let config = generation_config(prompt, schema)?;
    if !config.is_empty() {
        body.insert("generationConfig".into(), Value::Object(config));
    }
    merge(&mut body, &prompt.controls.extra);
    Ok((body, texts))
}

/// `answer` is the schema that the answer must match.
fn generation_config(
    prompt: &Prompt<'_>,
    answer: Option<Value>,
) -> Result<Map<String, Value>, TranslateError> {
    check_sampling(prompt)?;
    check_unlimited(prompt)?;
    let controls = prompt.controls;
    let mut config = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(key.to_owned(), value);
        }
    };
    set("maxOutputTokens", controls.max_output_tokens.map(|limit| json!(limit)));
    set("temperature", controls.temperature.map(|temperature| json!(temperature)));
    set("topP", controls.top_p.map(|top_p| json!(top_p)));
    set("stopSequences", (!controls.stop.is_empty()).then(|| json!(controls.stop)));
    if answer.is_some() {
        set("responseMimeType", Some(json!("application/json")));
        set("responseJsonSchema", answer);
    }
    set("thinkingConfig", thinking::config(prompt.model, prompt.facts, controls.effort)?);
    Ok(config)
}

/// The user's own keys. Those of `generationConfig` go beside ours, since there is no other place for `topK` or `seed`.
fn merge(body: &mut Map<String, Value>, extra: &Map<String, Value>) {
    for (key, value) in extra {
        match (body.get_mut(key), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) if key == "generationConfig" => {
                ours.extend(theirs.clone());
            }
            _ => {
                body.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Returns whether the model takes `responseJsonSchema`; otherwise the schema is described in the system text. Together
/// with functions only Gemini 3 takes it ("Function calling with a response mime type: 'application/json' is
/// unsupported", <https://github.com/googleapis/python-genai/issues/867>;
/// <https://ai.google.dev/gemini-api/docs/structured-output#structured-outputs-with-tools>, checked 2026-11). The answer
/// is checked against the whole schema afterwards in any case.
fn takes_answer_schema(prompt: &Prompt<'_>) -> bool {
    prompt.tools.is_empty() || model::generation(prompt.model).is_some_and(|is| is >= model::THREE)
}

/// Returns a tool as Gemini wants it: `{name, description, parametersJsonSchema}`. A tool without arguments has no schema,
/// as the documentation asks; older models refused an object without properties.
///
/// <https://ai.google.dev/api/caching#FunctionDeclaration>, google-genai 3.4.0 (checked 2026-11).
pub(crate) fn prepare_tool(tool: &Declaration) -> Result<FunctionDeclaration<'_>, TranslateError> {
    let schema = schema::for_gemini(tool)?;
    let schema = takes_arguments(&schema).then_some(schema);
    Ok(FunctionDeclaration { name: &tool.name, description: &tool.description, schema })
}

#[derive(Serialize)]
pub(crate) struct FunctionDeclaration<'d> {
    name: &'d ToolName,
    description: &'d str,
    #[serde(rename = "parametersJsonSchema", skip_serializing_if = "Option::is_none")]
    schema: Option<Schema<'d>>,
}

fn takes_arguments(schema: &Map<String, Value>) -> bool {
    let some = |key: &str| schema.get(key).and_then(Value::as_object).is_some_and(|table| !table.is_empty());
    let open = matches!(schema.get("additionalProperties"), Some(Value::Object(_) | Value::Bool(true)));
    some("properties") || some("patternProperties") || open
}
