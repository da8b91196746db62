//! One content block while it grows.
//!
//! Its first form is kept as a JSON object with all its keys, known or not; deltas are collected beside it and put in
//! at the end. So the native form has whatever the server wrote, and a block of a kind unknown here is replayed whole.

use converse_canister::{Arguments, Content};
use serde_json::{Map, Value, json};

use super::events::{EventDelta, WireBlock};
use crate::Delta;
use crate::body::Fault;
use crate::compose::Piece;
use crate::lenient::{read, value};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
    Call,
    Other,
}

#[derive(Debug)]
pub(super) struct Block {
    kind: Kind,
    /// As `content_block_start` or the whole body has it.
    form: Map<String, Value>,
    /// Text or thinking.
    words: String,
    /// The text of `input`, from deltas.
    json: String,
    /// The text of `input` as it stood in the first form.
    input: Option<Box<str>>,
    signature: String,
    citations: Vec<Value>,
    id: Option<String>,
    name: String,
    /// The index among the invocations of the reply.
    pub(super) call: Option<usize>,
}

impl Block {
    /// A block from its first form. `calls` is the number of invocations before it.
    pub(super) fn begin(raw: &str, calls: usize) -> Result<Self, Fault> {
        let (mut repaired, mut mended_form) = (None, None);
        let wire: WireBlock<'_> = read(raw, &mut repaired)?;
        let kind = match wire.kind.text() {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            Some("tool_use") => Kind::Call,
            _ => Kind::Other,
        };
        let name = wire.name.into_text().unwrap_or_default().into_owned();
        let id = wire.id.into_text().map(|id| id.into_owned());
        let form = match read(raw, &mut mended_form) {
            Ok(Value::Object(form)) => form,
            // Arguments nested too deep to be read as a value: malformed, and an invocation all the same.
            _ if kind == Kind::Call => bare_call(id.as_deref(), &name),
            Ok(_) => return Err(Fault::Malformed("a content block that is not an object".to_owned())),
            Err(error) => return Err(error.into()),
        };
        let words = match kind {
            Kind::Text => wire.text.0,
            Kind::Thinking => wire.thinking.0,
            Kind::Call | Kind::Other => None,
        };
        Ok(Self {
            kind,
            form,
            words: words.unwrap_or_default().into_owned(),
            json: String::new(),
            input: wire.input.map(|input| input.get().into()),
            signature: String::new(),
            citations: Vec::new(),
            id,
            name,
            call: (kind == Kind::Call).then_some(calls),
        })
    }

    /// Reports what the start of the block contains.
    pub(super) fn announce(&self, out: &mut Vec<Delta>) {
        match (self.kind, self.call) {
            (Kind::Call, Some(index)) => {
                out.push(Delta::InvocationStarted { index, tool: self.name.clone() })
            }
            (Kind::Text, _) if !self.words.is_empty() => out.push(Delta::Text(self.words.clone())),
            (Kind::Thinking, _) if !self.words.is_empty() => out.push(Delta::Reasoning(self.words.clone())),
            _ => {}
        }
    }

    /// Takes a delta. Kinds of deltas that are not known are passed over.
    pub(super) fn grow(&mut self, delta: EventDelta<'_>, out: &mut Vec<Delta>) {
        match (delta.kind.text(), self.kind) {
            (Some("text_delta"), Kind::Text) => {
                if let Some(text) = delta.text.into_text() {
                    self.words.push_str(&text);
                    out.push(Delta::Text(text.into_owned()));
                }
            }
            (Some("thinking_delta"), Kind::Thinking) => {
                if let Some(text) = delta.thinking.into_text() {
                    self.words.push_str(&text);
                    out.push(Delta::Reasoning(text.into_owned()));
                }
            }
            (Some("input_json_delta"), _) => {
                if let Some(fragment) = delta.partial_json.into_text() {
                    self.json.push_str(&fragment);
                    if let Some(index) = self.call {
                        out.push(Delta::Arguments { index, fragment: fragment.into_owned() });
                    }
                }
            }
            (Some("signature_delta"), _) => {
                self.signature.push_str(delta.signature.text().unwrap_or_default())
            }
            (Some("citations_delta"), _) => self.citations.extend(value(delta.citation)),
            _ => {}
        }
    }

    /// Returns the content and the native form. `truncated` is a reply that was cut by a limit: thinking that has not
    /// come to its signature is refused on replay.
    pub(super) fn end(mut self, truncated: bool) -> (Option<Piece>, Option<Value>) {
        self.complete_form();
        match self.kind {
            Kind::Text => {
                let native = Value::Object(self.form);
                ((!self.words.is_empty()).then(|| Piece::Words(Content::text(self.words))), Some(native))
            }
            Kind::Thinking => {
                let signed =
                    self.form.get("signature").and_then(Value::as_str).is_some_and(|s| !s.is_empty());
                let native = (signed || !truncated).then(|| Value::Object(self.form));
                let content = Content::Reasoning { text: self.words, seal: None };
                let empty = matches!(&content, Content::Reasoning { text, .. } if text.is_empty());
                ((!empty).then_some(Piece::Words(content)), native)
            }
            Kind::Call => {
                let raw = if self.json.trim().is_empty() {
                    self.input.as_deref().unwrap_or("")
                } else {
                    &self.json
                };
                let arguments = Arguments::parse(raw);
                self.form.insert("input".to_owned(), Value::Object(arguments.object.clone()));
                let piece = Piece::Call { id: self.id, tool: self.name, arguments };
                (Some(piece), Some(Value::Object(self.form)))
            }
            Kind::Other => (None, Some(Value::Object(self.form))),
        }
    }

    fn complete_form(&mut self) {
        let key = match self.kind {
            Kind::Text => Some("text"),
            Kind::Thinking => Some("thinking"),
            Kind::Call | Kind::Other => None,
        };
        if let Some(key) = key {
            self.form.insert(key.to_owned(), json!(self.words));
        }
        if !self.signature.is_empty() {
            self.form.insert("signature".to_owned(), json!(self.signature));
        }
        if !self.citations.is_empty() {
            self.form.insert("citations".to_owned(), Value::Array(std::mem::take(&mut self.citations)));
        }
        if self.kind == Kind::Other && !self.json.trim().is_empty() {
            let input = serde_json::from_str(&self.json).unwrap_or_else(|_| json!({}));
            self.form.insert("input".to_owned(), input);
        }
    }
}

fn bare_call(id: Option<&str>, name: &str) -> Map<String, Value> {
    let mut form = Map::new();
    form.insert("type".to_owned(), json!("tool_use"));
    form.insert("id".to_owned(), json!(id));
    form.insert("name".to_owned(), json!(name));
    form
}
