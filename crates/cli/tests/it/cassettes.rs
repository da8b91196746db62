//! Recorded traffic of real providers, replayed through the binary when it is there (`CONVERSE_CASSETTES`).
//! The recordings are other people's data and are not part of this repository.

use std::path::Path;

use serde_json::{Value, json};

use crate::body::Dialect;
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};

fn cassettes() -> Vec<Value> {
    let Ok(dir) = std::env::var("CONVERSE_CASSETTES") else { return Vec::new() };
    let mut paths: Vec<_> =
        std::fs::read_dir(Path::new(&dir)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

fn dialect(cassette: &Value) -> Option<Dialect> {
    match cassette["meta"]["api"].as_str() {
        Some("anthropic") => Some(Dialect::Anthropic),
        Some("openai-chat") => Some(Dialect::Chat),
        _ => None,
    }
}

fn recorded(exchange: &Value) -> Line {
    let response = &exchange["response"];
    let body = match &response["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kind =
        response["headers"]["content-type"].as_str().or_else(|| response["headers"]["Content-Type"].as_str());
    let kind = kind.map_or_else(
        || if body.starts_with('{') { "application/json" } else { "text/event-stream" }.to_owned(),
        str::to_owned,
    );
    Answer::new(u16::try_from(response["status"].as_u64().unwrap()).unwrap(), &kind, body).into()
}

/// Tools of the recording, declared so that calls of them are known; they answer with a fixed word.
fn descriptor(cassette: &Value) -> Option<String> {
    let mut toml = "[ensemble]\nname = \"recorded\"\ndescription = \"x\"\nprefix = \"\"\n".to_owned();
    let request = &cassette["exchanges"][0]["request"]["json"];
    request["tools"].as_array().filter(|tools| !tools.is_empty())?;
    for tool in request["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str()).unwrap();
        toml.push_str(&format!(
            "[[invokers]]\nname = {name:?}\ndescription = \"x\"\nbuiltin = \"test_word\"\narguments = {{ type = \"object\" }}\n"
        ));
    }
    Some(toml)
}

#[test]
fn every_recorded_conversation_replays_to_its_end_when_present() {
    let mut played = 0;
    for cassette in cassettes() {
        let Some(dialect) = dialect(&cassette) else { continue };
        let id = cassette["meta"]["id"].as_str().unwrap();
        let exchanges = cassette["exchanges"].as_array().unwrap();
        let provider = Provider::new(dialect, exchanges.iter().map(recorded).collect::<Vec<_>>());
        let env = provider.env(TestEnv::hasty());
        let dir = env.path("recorded").display().to_string();
        let mut args = vec!["ask", "go", "-m", provider.model(), "-o", "json"];
        match descriptor(&cassette) {
            Some(toml) => {
                env.write("recorded/recorded.toml", &toml);
                args.extend(["--ensembles", &dir, "-e", "recorded"]);
            }
            None => args.push("--no-tools"),
        }
        let ran = env.run(&args);
        let fails = cassette["meta"]["expect"] == "fail";
        assert_eq!(ran.code, if fails { 4 } else { 0 }, "{id}: {ran:?}");
        provider.is_content();
        if !fails {
            let calls = cassette["meta"]["tool_calls"].as_u64().unwrap();
            let object = ran.json();
            let outcomes = object["invocations"].as_array().unwrap();
            assert_eq!(outcomes.len() as u64, calls, "{id}");
            assert!(outcomes.iter().all(|call| call["outcome"] == json!("success")), "{id}: {outcomes:?}");
            assert!(!object["answer"].as_str().unwrap().is_empty(), "{id}");
        }
        played += 1;
    }
    println!("{played} recorded conversations were replayed");
    assert!(played > 0 || std::env::var("CONVERSE_CASSETTES").is_err(), "the folder holds none");
}
