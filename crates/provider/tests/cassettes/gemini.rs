//! Recordings of Gemini: the same replay, with its own way of saying things.

use converse_canister::{
    Canister, Declaration, InvocationResult, NoBlobs, Outcome, Supervisor, ToolName, Transcript, User,
};
use converse_provider::{Controls, Effort, Endpoint, Facts, Prompt, processor, row};
use serde_json::{Value, json};

pub(super) fn replay(cassette: &Value) {
    let endpoint = row("gemini").unwrap().endpoint(None);
    let model = cassette["meta"]["model"].as_str().unwrap();
    let mut transcript = Transcript::new();
    let (mut seen, mut came) = (0, Vec::new());
    for exchange in cassette["exchanges"].as_array().unwrap() {
        let request = &exchange["request"]["json"];
        let contents = request["contents"].as_array().unwrap();
        if transcript.as_slice().is_empty()
            && let Some(text) = request["systemInstruction"]["parts"][0]["text"].as_str()
        {
            transcript.push(Canister::Supervisor(Supervisor { text: text.to_owned() })).unwrap();
        }
        for content in contents.iter().skip(seen).filter(|content| content["role"] == "user") {
            hear(&mut transcript, content);
        }
        seen = contents.len();
        let ours = request_of(&transcript, request, model, &endpoint);
        assert_eq!(facts(&ours), facts(request));
        assert_eq!(signatures(&ours["contents"]), came, "signatures stand where they stood");
        answers_stand_right(&ours);
        let Some(reply) = super::answer(exchange, &transcript, model, &endpoint) else { return };
        let body: Value = serde_json::from_str(exchange["response"]["body"].as_str().unwrap()).unwrap();
        came.extend(signatures(&json!([body["candidates"][0]["content"]])));
        for canister in reply.canisters {
            transcript.push(canister).unwrap();
        }
    }
    let words: Vec<String> = transcript.as_slice().iter().filter_map(words).collect();
    assert_eq!(words.last().map(String::as_str), cassette["meta"]["final_text"].as_str());
}

fn words(canister: &Canister) -> Option<String> {
    match canister {
        Canister::Assistant(assistant) => Some(assistant.words()),
        _ => None,
    }
}

/// Results answer the open invocations in their order: old models give no ids.
fn hear(transcript: &mut Transcript, content: &Value) {
    for part in content["parts"].as_array().unwrap() {
        if let Some(text) = part["text"].as_str() {
            transcript.push(Canister::User(User::text(text))).unwrap();
        } else {
            let open =
                transcript.open().first().map(|invocation| (invocation.id.clone(), invocation.tool.clone()));
            let (id, tool) = open.unwrap();
            assert_eq!(Some(tool.as_str()), part["functionResponse"]["name"].as_str());
            let result = InvocationResult::new(id, Outcome::Success, response_text(part));
            transcript.push(Canister::Result(result)).unwrap();
        }
    }
}

/// The recorded client wraps what we say plainly.
fn response_text(part: &Value) -> String {
    let response = &part["functionResponse"]["response"];
    let text = response["output"].as_str().or(response["content"][0]["text"].as_str());
    text.unwrap().to_owned()
}

fn request_of(transcript: &Transcript, recorded: &Value, model: &str, endpoint: &Endpoint) -> Value {
    let declarations = recorded["tools"][0]["functionDeclarations"].as_array();
    let tools: Vec<Declaration> = declarations.into_iter().flatten().map(declaration).collect();
    let thinking = &recorded["generationConfig"]["thinkingConfig"];
    let effort = (thinking["thinkingLevel"] == "low").then_some(Effort::Low);
    let controls = Controls { effort, ..Controls::default() };
    let (view, facts) = (transcript.as_slice(), Facts::default());
    let prompt = Prompt { model, view, tools: &tools, controls: &controls, facts: &facts, blobs: &NoBlobs };
    let request = processor(endpoint.dialect).nativize(&prompt, endpoint).unwrap();
    let ours: Value = serde_json::from_slice(request.body()).unwrap();
    if thinking.is_object() {
        assert_eq!(ours["generationConfig"]["thinkingConfig"], *thinking);
    }
    ours
}

fn declaration(tool: &Value) -> Declaration {
    let lower = tool["parameters"]
        .to_string()
        .replace("\"OBJECT\"", "\"object\"")
        .replace("\"STRING\"", "\"string\"");
    Declaration {
        name: ToolName::new(tool["name"].as_str().unwrap()).unwrap(),
        description: tool["description"].as_str().unwrap_or_default().to_owned(),
        arguments: serde_json::from_str(&lower).unwrap(),
    }
}

fn parts(contents: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let contents = contents.as_array().unwrap().iter();
    let parts = contents.flat_map(|content| {
        content["parts"].as_array().unwrap().iter().map(move |part| (&content["role"], part))
    });
    parts.filter(|(_, part)| part["thought"] != true)
}

/// What a request says, without its form. A call's id is the server's own business where the client drops it.
fn facts(request: &Value) -> Vec<String> {
    let tools = request["tools"][0]["functionDeclarations"].as_array().into_iter().flatten();
    let tools = tools.map(|tool| format!("tool {} {}", tool["name"], tool["description"]));
    let messages = parts(&request["contents"]).map(|(role, part)| {
        if let Some(call) = part.get("functionCall") {
            format!("call {} {}", call["name"], call["args"])
        } else if let Some(response) = part.get("functionResponse") {
            format!("result {} {}", response["name"], response_text(part))
        } else {
            format!("{role} {}", part["text"])
        }
    });
    tools.chain(messages).collect()
}

/// The signature of each of the model's parts, or that it has none.
fn signatures(contents: &Value) -> Vec<Value> {
    parts(contents)
        .filter(|(role, _)| *role == "model")
        .map(|(_, part)| part["thoughtSignature"].clone())
        .collect()
}

/// As many responses right after a model's calls as there are calls, in their order, and the roles in turns.
fn answers_stand_right(request: &Value) {
    let contents = request["contents"].as_array().unwrap();
    let named = |content: Option<&Value>, key: &str| -> Vec<Value> {
        let parts = content.and_then(|content| content["parts"].as_array()).into_iter().flatten();
        parts.filter_map(|part| part.get(key)).map(|call| call["name"].clone()).collect()
    };
    for (at, content) in contents.iter().enumerate() {
        assert_eq!(content["role"], ["user", "model"][at % 2]);
        if at % 2 == 1 {
            let next = contents.get(at + 1);
            assert_eq!(named(Some(content), "functionCall"), named(next, "functionResponse"));
        }
    }
}
