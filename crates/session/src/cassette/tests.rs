mod asked;
mod files;
mod secrets;

use std::path::Path;
use std::sync::Arc;

use converse_canister::Content;
use serde_json::{Map, Value, json};

use super::*;
use crate::Redact;

/// Takes this word out.
struct Canary;
const WORD: &str = "canary-0123456789";

impl Redact for Canary {
    fn text(&self, text: &str) -> String {
        text.replace(WORD, "[redacted]")
    }

    fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(members) => members.values_mut().for_each(|item| self.json(item)),
            _ => {}
        }
    }
}

fn question(body: Value) -> Question {
    Question::new("p/m", "POST", "/chat", body.to_string().as_bytes(), &Canary)
}

fn reply(text: &str) -> Reply {
    let headers = Map::from_iter([("content-type".to_owned(), json!("application/json"))]);
    Reply::Response(Response { status: 200, headers, body: Kept::Text(text.to_owned()), broken: None })
}

fn exchange(body: Value, says: &str) -> Entry {
    let Question { model, request } = question(body);
    Entry::Model(Exchange { model, dialect: "openai-chat".to_owned(), request, began: 0, reply: reply(says) })
}

fn call(arguments: Value, given: Given) -> Entry {
    let tool = "e.t".to_owned();
    Entry::Invocation(Call { tool, arguments, given, began: 0, blobs: Vec::new(), cost: 0, elapsed_ms: 3 })
}

fn answer(text: &str) -> Given {
    Given::Answer { content: vec![Content::text(text)], is_error: false, kept: false }
}

fn failed(kind: ErrorKind) -> Given {
    Given::Error { kind, message: "c".to_owned(), sent: false, kept: false }
}

fn recorded(entries: &[Entry]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f.cassette");
    let recorder = Recorder::create(&path, "converse 0", "2026-11-22T00:00:00Z", Arc::new(Canary)).unwrap();
    recorder.model("p/m");
    entries.iter().for_each(|entry| recorder.write(entry));
    assert!(!path.exists(), "it is in its place only when it is whole");
    assert_eq!(recorder.finish(true).unwrap(), None);
    (dir, path)
}

fn player(entries: &[Entry]) -> Player {
    let (_dir, path) = recorded(entries);
    Player::new(Cassette::read(&path).unwrap(), Path::new("f.cassette"))
}
