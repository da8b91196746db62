//! An output item: the deltas reported while it grew, and its finished form.
//!
//! Only the finished form counts. The reported deltas are kept to report only the rest at the end, and for the text of
//! a reply that was interrupted.

use converse_canister::{Arguments, Content};
use serde_json::{Value, json};

use crate::Delta;
use crate::compose::Piece;

#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The server's number for it.
    pub(super) index: Option<u64>,
    /// As `output_item.done` or the whole response has it, with every key, known or not.
    pub(super) form: Option<Value>,
    /// The index among the invocations of the reply, once it is known.
    pub(super) call: Option<usize>,
    text: String,
    reasoning: String,
    told_arguments: bool,
}

impl Slot {
    pub(super) fn new(index: Option<u64>) -> Self {
        Self { index, ..Self::default() }
    }

    pub(super) fn is_done(&self) -> bool {
        self.form.is_some()
    }

    /// Reports a call once; `calls` is the number of calls before it.
    pub(super) fn announce(&mut self, item: &Value, calls: &mut usize, out: &mut Vec<Delta>) {
        if self.call.is_some() || !is_call(item) {
            return;
        }
        self.call = Some(*calls);
        out.push(Delta::InvocationStarted { index: *calls, tool: word(item, "name").to_owned() });
        *calls += 1;
    }

    pub(super) fn tell_text(&mut self, text: &str, out: &mut Vec<Delta>) {
        self.text.push_str(text);
        out.push(Delta::Text(text.to_owned()));
    }

    pub(super) fn tell_reasoning(&mut self, text: &str, out: &mut Vec<Delta>) {
        self.reasoning.push_str(text);
        out.push(Delta::Reasoning(text.to_owned()));
    }

    pub(super) fn tell_arguments(&mut self, fragment: &str, out: &mut Vec<Delta>) {
        let Some(index) = self.call else { return };
        self.told_arguments = true;
        out.push(Delta::Arguments { index, fragment: fragment.to_owned() });
    }

    /// Begins a new part of the summary, separated from the reported text.
    pub(super) fn part_reasoning(&mut self, out: &mut Vec<Delta>) {
        if !self.reasoning.is_empty() {
            self.tell_reasoning("\n\n", out);
        }
    }

    /// Stores the finished form and reports the part that was not reported yet.
    pub(super) fn finish(&mut self, form: Value, calls: &mut usize, out: &mut Vec<Delta>) {
        self.announce(&form, calls, out);
        if is_call(&form) && !self.told_arguments {
            let whole = arguments(&form);
            if !whole.is_empty() {
                self.tell_arguments(&whole, out);
            }
        }
        let rest = |all: &str, sent: &str| all.strip_prefix(sent).unwrap_or_default().to_owned();
        let text = rest(&words(&form), &self.text);
        if !text.is_empty() {
            self.tell_text(&text, out);
        }
        let reasoning = rest(&thoughts(&form), &self.reasoning);
        if !reasoning.is_empty() {
            self.tell_reasoning(&reasoning, out);
        }
        self.form = Some(form);
    }

    /// Returns the content and the native form; `None` for a call that was begun and never finished.
    pub(super) fn end(self) -> Option<(Vec<Piece>, Option<Value>)> {
        let Some(form) = self.form else {
            return self.call.is_none().then(|| unfinished(self.text, self.reasoning));
        };
        let mut pieces = Vec::new();
        let thoughts = thoughts(&form);
        if !thoughts.is_empty() {
            pieces.push(Piece::Words(Content::Reasoning { text: thoughts, seal: None }));
        }
        for text in texts(&form).filter(|text| !text.is_empty()) {
            pieces.push(Piece::Words(Content::text(text)));
        }
        if is_call(&form) {
            let id = Some(word(&form, "call_id")).filter(|id| !id.is_empty()).map(str::to_owned);
            let arguments = Arguments::parse(&arguments(&form));
            pieces.push(Piece::Call { id, tool: word(&form, "name").to_owned(), arguments });
        }
        Some((pieces, Some(form)))
    }
}

/// Builds a message from text that arrived without its item.
fn unfinished(text: String, reasoning: String) -> (Vec<Piece>, Option<Value>) {
    let mut pieces = Vec::new();
    if !reasoning.is_empty() {
        pieces.push(Piece::Words(Content::Reasoning { text: reasoning, seal: None }));
    }
    if text.is_empty() {
        return (pieces, None);
    }
    let form = json!({
        "type": "message",
        "role": "assistant",
        "content": [{ "type": "output_text", "text": text, "annotations": [] }],
    });
    pieces.push(Piece::Words(Content::text(text)));
    (pieces, Some(form))
}

/// Returns whether two forms have the id of the same item.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    for key in ["call_id", "id"] {
        let ids = [word(one, key), word(other, key)];
        if ids.iter().all(|id| !id.is_empty()) {
            return ids.first() == ids.last();
        }
    }
    one == other
}

fn word<'v>(item: &'v Value, key: &str) -> &'v str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_call(item: &Value) -> bool {
    item["type"] == "function_call"
}

/// The text of a call's arguments. Some servers send an object.
fn arguments(item: &Value) -> String {
    match item.get("arguments") {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The texts and refusals of a message.
fn texts(item: &Value) -> impl Iterator<Item = &str> {
    let content = item.get("content").filter(|_| item["type"] == "message");
    let plain = content.and_then(Value::as_str);
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    plain.into_iter().chain(parts.filter_map(|part| match part["type"].as_str() {
        Some("output_text" | "text") => part.get("text")?.as_str(),
        Some("refusal") => part.get("refusal")?.as_str(),
        _ => None,
    }))
}

fn words(item: &Value) -> String {
    texts(item).collect()
}

/// Returns the text of a refusal in a message.
pub(super) fn refusal(item: &Value) -> Option<&str> {
    let parts = item.get("content").filter(|_| item["type"] == "message")?.as_array()?;
    parts.iter().find(|part| part["type"] == "refusal")?.get("refusal")?.as_str()
}

/// The summary of reasoning, or where there is none its own text.
fn thoughts(item: &Value) -> String {
    if item["type"] != "reasoning" {
        return String::new();
    }
    let texts = |key: &str| {
        let parts = item.get(key).and_then(Value::as_array).into_iter().flatten();
        let texts: Vec<&str> = parts.map(|part| word(part, "text")).filter(|text| !text.is_empty()).collect();
        texts.join("\n\n")
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }
}
