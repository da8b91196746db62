//! A request as it is compared: what a model is asked, and nothing of when, where and by whom.

use converse_canister::canonical;
use serde_json::{Map, Value, json};

use crate::cassette::entry::Request;
use crate::{Redact, digest};

/// Names of a body's members that are about the account or the run, not about the question. Ours sends none of them;
/// a patch of the user's own settings may.
const VOLATILE: [&str; 5] = ["metadata", "prompt_cache_key", "safety_identifier", "session_id", "user"];
/// Where the cache of a provider may end: sent to Anthropic's own server, but not to compatible ones. The request
/// counts as the same.
const MARK: &str = "cache_control";
/// A longer text without a blank is an image or a document, which its digest replaces.
const LONG: usize = 4096;
/// Only a run that keeps its session can say where the whole of a long result is.
const ARTEFACT: &str = "; the whole is kept as artefact ";
const HEX: usize = 64;

/// A request of a model, in its one spelling.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub model: String,
    pub request: Request,
}

impl Question {
    /// `path` follows the base URL. A body that is not JSON is one text.
    pub fn new(model: &str, method: &str, path: &str, body: &[u8], redact: &dyn Redact) -> Self {
        let mut body = serde_json::from_slice(body)
            .unwrap_or_else(|_| Value::from(String::from_utf8_lossy(body).into_owned()));
        redact.json(&mut body);
        if let Some(members) = body.as_object_mut() {
            VOLATILE.iter().for_each(|name| drop(members.shift_remove(*name)));
        }
        settle(&mut body);
        let (method, path) = (method.to_owned(), redact.text(path));
        Self { model: model.to_owned(), request: Request { method, path, body: sorted(&body) } }
    }

    /// Equal for equal questions only.
    pub(super) fn key(&self) -> String {
        canonical(&self.value())
    }

    pub(super) fn value(&self) -> Value {
        let Request { method, path, body } = &self.request;
        json!({ "model": self.model, "method": method, "path": path, "body": body })
    }
}

/// With its members in one order, so that a cassette's lines are diffed well.
pub(super) fn sorted(value: &Value) -> Value {
    serde_json::from_str(&canonical(value)).unwrap_or_else(|_| value.clone())
}

/// Removes what differs between runs, and what is not useful to readers, from every text.
fn settle(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(settled) = settled(text) {
                *text = settled;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(members) => {
            members.retain(|name, value| !(name == MARK && value["type"] == "ephemeral"));
            Map::values_mut(members).for_each(settle);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn settled(text: &str) -> Option<String> {
    if text.len() > LONG && !text.contains(char::is_whitespace) {
        return Some(format!("[{} bytes, sha256 {}]", text.len(), digest(text.as_bytes())));
    }
    let at = text.find(ARTEFACT)?;
    let (mut kept, mut rest) = (String::new(), text);
    let mut next = Some(at);
    while let Some(at) = next {
        let (before, after) = rest.split_at(at);
        kept.push_str(before);
        let after = after.get(ARTEFACT.len()..).unwrap_or_default();
        let hex = after.bytes().take(HEX).take_while(u8::is_ascii_hexdigit).count();
        if hex < HEX {
            kept.push_str(ARTEFACT);
        }
        rest = if hex < HEX { after } else { after.get(HEX..).unwrap_or_default() };
        next = rest.find(ARTEFACT);
    }
    Some(kept + rest)
}
