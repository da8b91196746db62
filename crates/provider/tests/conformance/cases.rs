//! Reading the cases of the corpus, and replies in the JSON form that they are kept in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_canister::{Blobs, Canister, Declaration, Digest, TurnId};
use converse_provider::{
    AcceptedMedia, AnswerFormat, Controls, Delta, Dialect, Effort, Endpoint, Facts, Prompt, Quirks, Refusal,
    Reply, ReplyError, ReplyOrigin, Structured, Thinking, processor, row,
};
use serde_json::{Map, Value, json};

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    pub(crate) original: OriginalPrompt,
    pub(crate) has_prompt: bool,
    /// The response's head and body.
    pub(crate) response: Option<(http::response::Parts, Vec<u8>)>,
}

/// A prompt that owns its parts.
#[derive(Clone)]
pub(crate) struct OriginalPrompt {
    pub(crate) endpoint: Endpoint,
    pub(crate) model: String,
    pub(crate) view: Vec<Canister>,
    pub(crate) tools: Vec<Declaration>,
    pub(crate) controls: Controls,
    pub(crate) facts: Facts,
    pub(crate) blobs: Kept,
}

#[derive(Clone)]
pub(crate) struct Kept(HashMap<Digest, Arc<[u8]>>);

impl Blobs for Kept {
    fn bytes(&self, digest: &Digest) -> Option<Arc<[u8]>> {
        self.0.get(digest).cloned()
    }
}

/// All cases, in the order of their names.
pub(crate) fn all() -> Vec<Case> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases = Vec::new();
    for dialect in Dialect::ALL {
        let Ok(entries) = fs::read_dir(root.join(dialect.label())) else { continue };
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        cases.extend(folders.into_iter().map(|folder| read(folder, dialect)));
    }
    cases
}

fn read(folder: PathBuf, dialect: Dialect) -> Case {
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ["prompt.json", "request.json", "head.txt", "body.bin", "reply.json"];
        assert!(known.contains(&name.as_str()), "{name} in {} is no part of a case", folder.display());
    }
    let prompt = fs::read_to_string(folder.join("prompt.json")).ok();
    let original =
        original(&prompt.as_deref().map_or(json!({}), |text| serde_json::from_str(text).unwrap()), dialect);
    let response = folder.join("body.bin").exists().then(|| {
        let head = head(&fs::read_to_string(folder.join("head.txt")).unwrap());
        (head, fs::read(folder.join("body.bin")).unwrap())
    });
    assert!(prompt.is_some() || response.is_some(), "{} is empty", folder.display());
    let name = format!("{}/{}", dialect.label(), folder.file_name().unwrap().to_str().unwrap());
    Case { name, folder, original, has_prompt: prompt.is_some(), response }
}

fn original(prompt: &Value, dialect: Dialect) -> OriginalPrompt {
    let default = match dialect {
        Dialect::AnthropicMessages => "anthropic",
        Dialect::OpenAiChat => "openai-chat",
        Dialect::OpenAiResponses => "openai-responses",
        Dialect::Gemini => "gemini",
        Dialect::Ollama => "ollama-native",
    };
    let field = |key: &str| prompt.get(key).cloned().unwrap_or(Value::Array(Vec::new()));
    let mut endpoint =
        row(prompt["endpoint"].as_str().unwrap_or(default)).unwrap().endpoint(prompt["base_url"].as_str());
    assert_eq!(endpoint.dialect, dialect);
    let blobs = prompt["blobs"].as_object().into_iter().flatten().map(|(digest, data)| {
        let digest = serde_json::from_value(json!(digest)).unwrap();
        (digest, STANDARD.decode(data.as_str().unwrap()).unwrap().into())
    });
    depart(&mut endpoint.quirks, &prompt["quirks"]);
    if let Some(version) = prompt["version"].as_str() {
        endpoint.version = Some(version.to_owned());
    }
    OriginalPrompt {
        endpoint,
        model: prompt["model"].as_str().unwrap_or("model-1").to_owned(),
        view: serde_json::from_value(field("view")).unwrap(),
        tools: serde_json::from_value(field("tools")).unwrap(),
        controls: controls(&prompt["controls"]),
        facts: facts(&prompt["facts"]),
        blobs: Kept(blobs.collect()),
    }
}

/// Quirks that a case is about and no known server has, or not yet.
fn depart(quirks: &mut Quirks, value: &Value) {
    for (key, flag) in [
        ("stored", &mut quirks.stored),
        ("null_content", &mut quirks.null_content),
        ("cache_control", &mut quirks.cache_control),
        ("fallbacks", &mut quirks.fallbacks),
        ("retired_tools", &mut quirks.retired_tools),
        ("include_encrypted", &mut quirks.include_encrypted),
    ] {
        *flag = value[key].as_bool().unwrap_or(*flag);
    }
    if let Some(word) = value["structured"].as_str() {
        quirks.structured = match word {
            "none" => Structured::None,
            "json_object" => Structured::JsonObject,
            "json_schema" => Structured::JsonSchema,
            other => panic!("no such structured: {other}"),
        };
    }
}

fn controls(value: &Value) -> Controls {
    Controls {
        stream: value["stream"].as_bool().unwrap_or(false),
        temperature: value["temperature"].as_f64(),
        max_output_tokens: value["max_output_tokens"].as_u64().map(|n| n.try_into().unwrap()),
        effort: value["effort"].as_str().map(|word| match word {
            "none" => Effort::None,
            "minimal" => Effort::Minimal,
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            "xhigh" => Effort::XHigh,
            "max" => Effort::Max,
            other => panic!("no such effort: {other}"),
        }),
        show_reasoning: value["show_reasoning"].as_bool().unwrap_or(false),
        top_p: value["top_p"].as_f64(),
        stop: serde_json::from_value(value.get("stop").cloned().unwrap_or(json!([]))).unwrap(),
        answer: value
            .get("answer")
            .map(|schema| AnswerFormat { name: "answer".into(), schema: schema.clone() }),
        fallbacks: serde_json::from_value(value.get("fallbacks").cloned().unwrap_or(json!([]))).unwrap(),
        extra: value["extra"].as_object().cloned().unwrap_or_default(),
        forced: None,
        single_call: false,
    }
}

fn facts(value: &Value) -> Facts {
    let flag = |key: &str| value[key].as_bool();
    Facts {
        window: value["window"].as_u64(),
        wanted_window: value["wanted_window"].as_u64(),
        max_output: value["max_output"].as_u64(),
        takes: AcceptedMedia { images: flag("images"), documents: flag("documents"), audio: flag("audio") },
        tools: flag("tools"),
        sampling: flag("sampling"),
        structured: flag("structured"),
        thinking: value["thinking"].as_str().map(|word| match word {
            "none" => Thinking::None,
            "budget" => Thinking::Budget,
            "effort" => Thinking::Effort,
            other => panic!("no such thinking: {other}"),
        }),
        ..Facts::default()
    }
}

/// A status line and headers: `200`, then `name: value` lines.
pub(crate) fn head(text: &str) -> http::response::Parts {
    let mut lines = text.lines();
    let mut builder = http::Response::builder().status(lines.next().unwrap().trim());
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        builder = builder.header(name, value);
    }
    builder.body(()).unwrap().into_parts().0
}

impl OriginalPrompt {
    /// A prompt without anything, for bodies that answer no case.
    pub(crate) fn nothing(dialect: Dialect) -> Self {
        original(&json!({}), dialect)
    }

    pub(crate) fn prompt(&self) -> Prompt<'_> {
        Prompt {
            model: &self.model,
            view: &self.view,
            tools: &self.tools,
            controls: &self.controls,
            facts: &self.facts,
            blobs: &self.blobs,
        }
    }

    /// The reply's turn is the one after the view's.
    pub(crate) fn origin(&self) -> ReplyOrigin {
        let last = self.view.iter().filter_map(Canister::turn).max();
        let turn = TurnId(last.map_or(1, |turn| turn.0 + 1));
        ReplyOrigin { turn, model: self.model.clone(), endpoint: self.endpoint.clone() }
    }

    /// The request, or the error, in JSON.
    pub(crate) fn request(&self) -> Value {
        let request = match processor(self.endpoint.dialect).nativize(&self.prompt(), &self.endpoint) {
            Ok(request) => request,
            Err(error) => return json!({ "error": error.to_string() }),
        };
        let headers: Map<String, Value> = request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap())))
            .collect();
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        assert_eq!(serde_json::to_vec(&body).unwrap(), *request.body(), "the body is compact JSON");
        json!({ "method": request.method().as_str(), "uri": request.uri().to_string(), "headers": headers, "body": body })
    }
}

/// Feeds a body in pieces; the deltas come back too.
pub(crate) fn decode<'a>(
    original: &OriginalPrompt,
    head: &http::response::Parts,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Result<Reply, ReplyError>, Vec<Delta>) {
    let mut decoder = processor(original.endpoint.dialect).normalize(head, original.origin());
    let mut deltas = Vec::new();
    for piece in pieces {
        if decoder.feed(piece, &mut deltas).is_err() {
            break;
        }
    }
    (decoder.finish(), deltas)
}

/// What came of a body, in the form of `reply.json`.
pub(crate) fn outcome(result: &Result<Reply, ReplyError>) -> Value {
    match result {
        Ok(reply) => json!({ "reply": reply_json(reply) }),
        Err(ReplyError::Refusal(refusal)) => json!({ "refusal": refusal_json(refusal) }),
        Err(ReplyError::CutShort { partial }) => json!({ "cut": reply_json(partial) }),
        Err(ReplyError::Empty { reply }) => json!({ "empty": reply_json(reply) }),
        Err(ReplyError::Decode(error)) => json!({ "decode": error.to_string() }),
    }
}

fn reply_json(reply: &Reply) -> Value {
    json!({
        "canisters": reply.canisters,
        "stop": reply.stop,
        "usage": reply.usage,
        "cost": reply.cost,
        "model": reply.model,
        "request_id": reply.request_id,
    })
}

fn refusal_json(refusal: &Refusal) -> Value {
    json!({
        "class": format!("{:?}", refusal.class),
        "status": refusal.status,
        "message": refusal.message,
        "code": refusal.code,
        "request_id": refusal.request_id,
        "retry_after_ms": refusal.retry.after.map(|after| u64::try_from(after.as_millis()).unwrap()),
        "should_retry": refusal.retry.should,
    })
}

/// The text that the deltas told.
pub(crate) fn text_of(deltas: &[Delta]) -> String {
    deltas
        .iter()
        .filter_map(|delta| if let Delta::Text(text) = delta { Some(text.as_str()) } else { None })
        .collect()
}

/// Compares with a file, or writes it when `CONVERSE_BLESS` is 1 or a part of its path. Text, since the order of keys
/// counts.
pub(crate) fn expect(file: &Path, actual: &Value) {
    let actual = format!("{}\n", serde_json::to_string_pretty(actual).unwrap());
    if let Ok(part) = env::var("CONVERSE_BLESS") {
        if part == "1" || file.to_string_lossy().contains(&part) {
            fs::write(file, actual).unwrap();
        }
        return;
    }
    let expected = fs::read_to_string(file).unwrap_or_else(|_| panic!("{} is missing", file.display()));
    assert!(actual == expected, "{}\nexpected {expected}\ncame out {actual}", file.display());
}
