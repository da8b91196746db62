#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test's helpers may panic, and this one asks the environment where the recordings are"
)]
//! Recorded conversations, if there are any: `CONVERSE_CASSETTES` names a folder of them. Their bodies go through the
//! decoder, their results answer the calls, and the next request must say what the recorded client said.
//!
//! Recordings are other people's data and no part of this repository.

#[path = "cassettes/gemini.rs"]
mod gemini;

use std::collections::BTreeSet;
use std::{env, fs};

use converse_canister::{
    Canister, Declaration, InvocationResult, NoBlobs, Outcome, Supervisor, ToolName, Transcript, User,
};
use converse_provider::{
    Controls, Dialect, Endpoint, Facts, Prompt, Reply, ReplyError, ReplyOrigin, processor, row,
};
use serde_json::Value;

#[test]
fn recorded_conversations_replay_when_present() {
    let Some(folder) = env::var_os("CONVERSE_CASSETTES") else {
        println!("skipped: CONVERSE_CASSETTES is not set");
        return;
    };
    let mut replayed = 0;
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for path in files {
        let cassette: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        println!("replaying {}", path.file_stem().unwrap().display());
        let dialect = match cassette["meta"]["api"].as_str() {
            Some("anthropic") => Dialect::AnthropicMessages,
            Some("openai-chat") => Dialect::OpenAiChat,
            Some("openai-responses") => Dialect::OpenAiResponses,
            Some("gemini") => {
                gemini::replay(&cassette);
                replayed += 1;
                continue;
            }
            _ => continue,
        };
        replay(&cassette, dialect);
        replayed += 1;
    }
    assert!(replayed > 0, "no recording of a known wire");
}

fn replay(cassette: &Value, dialect: Dialect) {
    let provider = cassette["meta"]["provider"].as_str().unwrap();
    let provider = if dialect == Dialect::OpenAiResponses { "openai-responses" } else { provider };
    let endpoint = row(provider).unwrap().endpoint(None);
    assert_eq!(endpoint.dialect, dialect);
    let mut transcript = Transcript::new();
    let mut seen = 0;
    for exchange in cassette["exchanges"].as_array().unwrap() {
        let request = &exchange["request"]["json"];
        let messages = request["messages"].as_array().or(request["input"].as_array()).unwrap();
        if transcript.as_slice().is_empty() {
            begin(&mut transcript, request);
        }
        for message in &messages[seen..] {
            hear(&mut transcript, message);
        }
        let model = request["model"].as_str().unwrap();
        compare(&transcript, request, model, &endpoint);
        let Some(reply) = answer(exchange, &transcript, model, &endpoint) else { return };
        signatures_are_kept(&exchange["response"], &reply);
        for canister in reply.canisters {
            transcript.push(canister).unwrap();
        }
        // What the client sends next begins with all this and its own copy of the reply, which nobody hears.
        seen = messages.len();
    }
}

fn begin(transcript: &mut Transcript, request: &Value) {
    let system = &request["system"];
    let text =
        system.as_str().map(str::to_owned).or_else(|| system.as_array().map(|_| texts(system).concat()));
    if let Some(text) = text {
        transcript.push(Canister::Supervisor(Supervisor { text })).unwrap();
    }
}

/// Takes over what a client added to the conversation: words, instructions, results.
fn hear(transcript: &mut Transcript, message: &Value) {
    match message["role"].as_str().or(message["type"].as_str()).unwrap() {
        "function_call_output" => result(transcript, &message["call_id"], &message["output"], false),
        "function_call" | "reasoning" => {}
        "system" => {
            let text = texts(&message["content"]).concat();
            transcript.push(Canister::Supervisor(Supervisor { text })).unwrap();
        }
        "tool" => result(transcript, &message["tool_call_id"], &message["content"], false),
        "user" => {
            for block in message["content"].as_array().into_iter().flatten() {
                if block["type"] == "tool_result" {
                    let failed = block["is_error"].as_bool().unwrap_or(false);
                    result(transcript, &block["tool_use_id"], &block["content"], failed);
                }
            }
            let words = texts(&message["content"]).concat();
            if !words.is_empty() {
                transcript.push(Canister::User(User::text(words))).unwrap();
            }
        }
        "assistant" => {}
        other => panic!("a role this test does not know: {other}"),
    }
}

fn result(transcript: &mut Transcript, id: &Value, content: &Value, failed: bool) {
    let open = transcript.open();
    let invocation = open.iter().find(|invocation| invocation.wire_id.as_deref() == id.as_str());
    let id = invocation.unwrap_or_else(|| panic!("no open invocation {id}")).id.clone();
    let outcome = if failed { Outcome::Failed } else { Outcome::Success };
    transcript.push(Canister::Result(InvocationResult::new(id, outcome, texts(content).concat()))).unwrap();
}

/// The text of a content in any of its forms.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part["type"] == "text")
            .map(|part| part["text"].as_str().unwrap().into())
            .collect(),
        _ => Vec::new(),
    }
}

fn answer(exchange: &Value, transcript: &Transcript, model: &str, endpoint: &Endpoint) -> Option<Reply> {
    let response = &exchange["response"];
    let mut builder =
        http::Response::builder().status(u16::try_from(response["status"].as_u64().unwrap()).unwrap());
    for (name, value) in response["headers"].as_object().unwrap() {
        builder = builder.header(name, value.as_str().unwrap());
    }
    let head = builder.body(()).unwrap().into_parts().0;
    let body = response["body"].as_str().unwrap().as_bytes();
    let [whole, bytes] = [body.len(), 1].map(|size| {
        let origin =
            ReplyOrigin { turn: transcript.next_turn(), model: model.to_owned(), endpoint: endpoint.clone() };
        let mut decoder = processor(endpoint.dialect).normalize(&head, origin);
        let mut deltas = Vec::new();
        for piece in body.chunks(size) {
            decoder.feed(piece, &mut deltas).unwrap();
        }
        decoder.finish()
    });
    assert_eq!(whole, bytes);
    match whole {
        Ok(reply) => Some(reply),
        Err(ReplyError::Refusal(refusal)) => {
            assert_eq!(u64::from(refusal.status), response["status"].as_u64().unwrap());
            assert!(!refusal.message.is_empty());
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// Every signature of a response is in the reply's native form, byte for byte.
fn signatures_are_kept(response: &Value, reply: &Reply) {
    let Some(Canister::Assistant(first)) = reply.canisters.first() else {
        panic!("no assistant canister first")
    };
    let native = serde_json::to_string(&first.native).unwrap();
    let body = response["body"].as_str().unwrap();
    let marks = ["\"signature\":\"", "\"encrypted_content\": \"", "\"encrypted_content\":\""];
    for part in marks.iter().flat_map(|mark| body.split(mark).skip(1)) {
        let signature = part.split('"').next().unwrap();
        assert!(native.contains(signature), "a signature was lost");
    }
}

/// Our request for the same conversation, against the recorded one.
fn compare(transcript: &Transcript, recorded: &Value, model: &str, endpoint: &Endpoint) {
    let tools: Vec<Declaration> =
        recorded["tools"].as_array().into_iter().flatten().map(declaration).collect();
    let controls = Controls::default();
    let view = transcript.as_slice();
    let prompt =
        Prompt { model, view, tools: &tools, controls: &controls, facts: &Facts::default(), blobs: &NoBlobs };
    let request = processor(endpoint.dialect).nativize(&prompt, endpoint).unwrap();
    let ours: Value = serde_json::from_slice(request.body()).unwrap();
    assert_eq!(facts(&ours), facts(recorded));
    answers_stand_right(&ours);
    let names = |request: &Value| {
        request["tools"].as_array().map(|tools| tools.iter().map(|t| declaration(t).name).collect::<Vec<_>>())
    };
    assert_eq!(names(&ours), names(recorded));
}

fn declaration(tool: &Value) -> Declaration {
    let function = tool.get("function").unwrap_or(tool);
    Declaration {
        name: ToolName::new(function["name"].as_str().unwrap()).unwrap(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        arguments: function.get("input_schema").or(function.get("parameters")).unwrap().clone().into(),
    }
}

/// What a request says, without its form: who said which text, which calls were made with which arguments under which
/// id, and what answered them, in order.
fn facts(request: &Value) -> Vec<String> {
    if let Some(items) = request["input"].as_array() {
        return items.iter().map(item_fact).collect();
    }
    let mut facts: Vec<String> =
        texts(&request["system"]).into_iter().map(|text| format!("system {}", text.trim())).collect();
    for message in request["messages"].as_array().unwrap() {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            facts.push(format!("result {} {}", message["tool_call_id"], texts(&message["content"]).concat()));
            continue;
        }
        let words: String = texts(&message["content"]).concat();
        if !words.trim().is_empty() {
            facts.push(format!("{role} {}", words.trim()));
        }
        for entry in message["reasoning_details"].as_array().into_iter().flatten() {
            facts.push(format!("reasoning {} {}", entry["text"], entry["signature"]));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let arguments: Value =
                serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap_or_default();
            facts.push(format!("call {} {} {arguments}", call["id"], function["name"]));
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => {
                    facts.push(format!("call {} {} {}", block["id"], block["name"], block["input"]))
                }
                Some("tool_result") => {
                    facts.push(format!(
                        "result {} {}",
                        block["tool_use_id"],
                        texts(&block["content"]).concat()
                    ));
                }
                Some("thinking") => facts.push(format!("thinking {}", block["signature"])),
                _ => {}
            }
        }
    }
    facts
}

fn item_fact(item: &Value) -> String {
    match item["type"].as_str() {
        Some("function_call") => {
            let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
            format!("call {} {} {arguments}", item["call_id"], item["name"])
        }
        Some("function_call_output") => format!("result {} {}", item["call_id"], item["output"]),
        Some("reasoning") => format!("reasoning {} {}", item["id"], item["encrypted_content"]),
        _ => format!("{} {}", item["role"], item["content"]),
    }
}

/// The same for a flat list of items.
fn outputs_stand_right(items: &[Value]) {
    let mut waiting = BTreeSet::new();
    for item in items {
        let id = item["call_id"].to_string();
        match item["type"].as_str() {
            Some("function_call") => assert!(waiting.insert(id), "an id twice"),
            Some("function_call_output") => assert!(waiting.remove(&id), "{id} answers nothing"),
            Some("reasoning") => {}
            _ => assert!(waiting.is_empty(), "unanswered before the next message: {waiting:?}"),
        }
    }
    assert!(waiting.is_empty(), "never answered: {waiting:?}");
}

/// The answers to a turn's calls come right after it, all of them, each once.
fn answers_stand_right(request: &Value) {
    if let Some(items) = request["input"].as_array() {
        return outputs_stand_right(items);
    }
    let mut waiting = BTreeSet::new();
    for message in request["messages"].as_array().unwrap() {
        let blocks = || message["content"].as_array().into_iter().flatten();
        let results =
            blocks().filter(|block| block["type"] == "tool_result").map(|block| &block["tool_use_id"]);
        for id in results.chain((message["role"] == "tool").then_some(&message["tool_call_id"])) {
            assert!(waiting.remove(&id.to_string()), "{id} answers nothing");
        }
        if message["role"] != "tool" {
            assert!(waiting.is_empty(), "unanswered before the next message: {waiting:?}");
        }
        let calls = blocks().filter(|block| block["type"] == "tool_use").map(|block| &block["id"]);
        let chat = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["id"]);
        for id in calls.chain(chat) {
            assert!(waiting.insert(id.to_string()), "{id} twice");
        }
    }
    assert!(waiting.is_empty(), "never answered: {waiting:?}");
    let texts: Vec<&Value> = request["messages"].as_array().unwrap().iter().collect();
    assert!(texts.iter().all(|message| !message["content"].as_array().is_some_and(Vec::is_empty)));
}
