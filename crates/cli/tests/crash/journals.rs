//! What is in the journals: read here as files, and not by the program that wrote them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::env::{TestEnv, files};

pub(crate) const NOT_RUN: &str = "not run: ";
pub(crate) const INTERRUPTED: &str = "interrupted: ";

/// Something that must be in one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// By the user or by the model.
    Said(String),
    /// A result of the invocation with this id.
    Answered(String),
}

#[derive(Debug)]
pub(crate) struct Journal {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn all(env: &TestEnv) -> Vec<Journal> {
    let found = files(&env.path("home/.local/share/converse/sessions")).into_iter();
    let journals = found.filter(|path| path.ends_with("journal.jsonl"));
    journals.map(|path| Journal { bytes: std::fs::read(&path).unwrap(), path }).collect()
}

impl Journal {
    /// Without the beginning of a line that never came.
    pub(crate) fn whole(&self) -> &[u8] {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        &self.bytes[..end]
    }

    fn canisters(&self) -> Vec<Value> {
        let lines = self.whole().split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let entries = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        entries.filter(|entry| entry["type"] == "canister").map(|entry| entry["canister"].clone()).collect()
    }

    pub(crate) fn holds(&self, fact: &Fact) -> bool {
        self.canisters().iter().any(|canister| match fact {
            Fact::Said(text) => {
                ["user", "assistant"].iter().any(|role| canister["role"] == *role) && words(canister) == *text
            }
            Fact::Answered(id) => canister["role"] == "result" && canister["id"] == id.as_str(),
        })
    }

    pub(crate) fn is_begun(&self) -> bool {
        !self.canisters().is_empty()
    }

    /// The text of a reply that was arriving at the end.
    pub(crate) fn arriving(&self) -> String {
        let lines = self.whole().split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let entries = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
        entries.fold(String::new(), |text, entry| match entry["type"].as_str() {
            Some("partial") => text + entry["text"].as_str().unwrap_or_default(),
            Some("canister" | "used") => String::new(),
            _ => text,
        })
    }

    /// What each invocation was told, by its id; and the word that it was to note.
    pub(crate) fn invocations(&self) -> BTreeMap<String, Invocation> {
        let mut all = BTreeMap::<String, Invocation>::new();
        for canister in self.canisters() {
            let id = canister["id"].as_str().unwrap_or_default().to_owned();
            if canister["role"] == "invocation" {
                let word = canister["arguments"]["object"]["word"].as_str().map(str::to_owned);
                all.insert(id, Invocation { word, results: Vec::new() });
            } else if canister["role"] == "result" {
                all.entry(id).or_default().results.push(words(&canister));
            }
        }
        all
    }
}

#[derive(Debug, Default)]
pub(crate) struct Invocation {
    pub(crate) word: Option<String>,
    pub(crate) results: Vec<String>,
}

fn words(canister: &Value) -> String {
    let parts = canister["content"].as_array().into_iter().flatten();
    let parts = parts.filter(|part| part["type"] == "text");
    parts.filter_map(|part| part["text"].as_str()).collect()
}
