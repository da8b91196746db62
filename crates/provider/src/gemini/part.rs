//! One part of a reply: its meaning, and its form as received.

use converse_canister::{Arguments, Content};
use serde_json::{Map, Value, json};

use super::chunk::{FunctionCall, TextPart, WirePart};
use crate::Delta;
use crate::body::Fault;
use crate::compose::Piece;
use crate::lenient::read;

/// More parts than any reply has; bounds what a hostile stream can make us keep.
const MAX_PARTS: usize = 10_000;

/// The parts of a reply, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct PartList {
    pub(super) pieces: Vec<Piece>,
    /// As they came, but for texts that came in fragments without a signature.
    pub(super) native: Vec<Value>,
    calls: usize,
}

impl PartList {
    pub(super) fn add(&mut self, raw: &str, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if self.native.len() >= MAX_PARTS {
            return Err(Fault::Malformed("more parts than are read".to_owned()));
        }
        if let Ok(part) = serde_json::from_str::<TextPart<'_>>(raw)
            && self.goes_on(&part)
        {
            self.words(&part.text, part.thought, out);
            return Ok(());
        }
        let (mut repaired, mut mended_form) = (None, None);
        let part: WirePart<'_> = read(raw, &mut repaired)?;
        let signature = part.thought_signature.text().map(str::to_owned);
        let form: Option<Map<String, Value>> = read(raw, &mut mended_form).ok();
        if let Some(call) = part.function_call {
            let form = form.unwrap_or_else(|| bare_call(&call, signature.as_deref()));
            self.native.push(Value::Object(form));
            return self.call(call, out);
        }
        // Nested too deep to be kept, and no call: nothing that anyone would want back.
        let Some(form) = form else { return Ok(()) };
        let thought = part.thought.is_some_and(|flag| flag.get().trim() == "true");
        if let Some(text) = part.text.0 {
            self.words(&text, thought, out);
        }
        self.keep(form, thought, signature.is_some());
        Ok(())
    }

    fn call(&mut self, call: FunctionCall<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let goes_on = call.will_continue.is_some_and(|flag| flag.get().trim() == "true");
        if goes_on || call.partial_args.is_some() {
            return Err(Fault::Malformed("arguments in pieces, which were not asked for".to_owned()));
        }
        let tool = call.name.into_text().unwrap_or_default().into_owned();
        let raw = call.args.map(|args| args.get()).unwrap_or_default();
        let index = self.calls;
        self.calls += 1;
        out.push(Delta::InvocationStarted { index, tool: tool.clone() });
        if !raw.is_empty() {
            out.push(Delta::Arguments { index, fragment: raw.to_owned() });
        }
        let id = call.id.into_text().map(|id| id.into_owned());
        self.pieces.push(Piece::Call { id, tool, arguments: Arguments::parse(raw) });
        Ok(())
    }

    fn words(&mut self, text: &str, thought: bool, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        out.push(if thought { Delta::Reasoning(text.to_owned()) } else { Delta::Text(text.to_owned()) });
        match (self.pieces.last_mut(), thought) {
            (Some(Piece::Words(Content::Text { text: before, .. })), false)
            | (Some(Piece::Words(Content::Reasoning { text: before, .. })), true) => before.push_str(text),
            (_, false) => self.pieces.push(Piece::Words(Content::text(text))),
            (_, true) => {
                let content = Content::Reasoning { text: text.to_owned(), seal: None };
                self.pieces.push(Piece::Words(content));
            }
        }
    }

    /// Appends the text to the previous fragment. Returns true if it was appended or is empty.
    fn goes_on(&mut self, part: &TextPart<'_>) -> bool {
        if part.text.is_empty() {
            return true;
        }
        let Some(before) = self.native.last_mut().and_then(|last| last_text(last, part.thought)) else {
            return false;
        };
        before.push_str(&part.text);
        true
    }

    /// A fragment joins the one before it only if nothing but text is in both; an empty one is kept only for what else
    /// is in it, such as the signature at the end of a stream.
    fn keep(&mut self, form: Map<String, Value>, thought: bool, signed: bool) {
        if !signed && let Some(text) = fragment(&form, thought) {
            if text.is_empty() {
                return;
            }
            if let Some(before) = self.native.last_mut().and_then(|last| last_text(last, thought)) {
                before.push_str(text);
                return;
            }
        }
        self.native.push(Value::Object(form));
    }
}

/// The text of a part that has nothing else (but the mark of a thought).
fn fragment(form: &Map<String, Value>, thought: bool) -> Option<&str> {
    let marked = form.get("thought") == Some(&Value::Bool(true));
    let keys = 1 + usize::from(form.contains_key("thought"));
    (marked == thought && form.len() == keys).then(|| form.get("text").and_then(Value::as_str)).flatten()
}

/// Returns the text of the last part if a fragment may be appended to it.
fn last_text(last: &mut Value, thought: bool) -> Option<&mut String> {
    let last = last.as_object_mut()?;
    fragment(last, thought)?;
    match last.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// A call whose arguments are nested too deep to be kept: malformed, and an invocation all the same.
fn bare_call(call: &FunctionCall<'_>, signature: Option<&str>) -> Map<String, Value> {
    let mut function = Map::new();
    function.insert("name".into(), json!(call.name.text().unwrap_or_default()));
    function.insert("args".into(), json!({}));
    if let Some(id) = call.id.text() {
        function.insert("id".into(), json!(id));
    }
    let mut form = Map::new();
    form.insert("functionCall".into(), Value::Object(function));
    if let Some(signature) = signature {
        form.insert("thoughtSignature".into(), json!(signature));
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_joined_where_nothing_is_lost() {
        for (came, kept, count) in [
            (vec![r#"{"text":"a"}"#, r#"{"text":"b"}"#], r#"[{"text":"ab"}]"#, 2),
            // The order of keys is that of the first one.
            (
                vec![r#"{"thought":true,"text":"a"}"#, r#"{"text":"b","thought":true}"#, r#"{"text":"c"}"#],
                r#"[{"thought":true,"text":"ab"},{"text":"c"}]"#,
                3,
            ),
            (vec![r#"{"text":"a"}"#, r#"{"text":"b","thought":false}"#], r#"[{"text":"ab"}]"#, 2),
            (
                vec![r#"{"text":"a","thought":null}"#, r#"{"text":"b"}"#],
                r#"[{"text":"ab","thought":null}]"#,
                2,
            ),
            (
                vec![r#"{"text":"a"}"#, r#"{"text":"b","thought":true}"#],
                r#"[{"text":"a"},{"text":"b","thought":true}]"#,
                2,
            ),
            // A signature or an unknown part keeps its position.
            (
                vec![r#"{"text":"a"}"#, r#"{"text":"b","thoughtSignature":"s"}"#, r#"{"text":"c"}"#],
                r#"[{"text":"a"},{"text":"b","thoughtSignature":"s"},{"text":"c"}]"#,
                3,
            ),
            (vec![r#"{"text":"a"}"#, r#"{"text":"b","x":1}"#], r#"[{"text":"a"},{"text":"b","x":1}]"#, 2),
            (
                vec![r#"{"text":"a"}"#, r#"{"text":""}"#, r#"{"text":"","thoughtSignature":"s"}"#],
                r#"[{"text":"a"},{"text":"","thoughtSignature":"s"}]"#,
                1,
            ),
            (vec![r#"{"text":""}"#], "[]", 0),
            (vec![r#"{"text":"a"}"#, r#"{"text":"\ud83e\n"}"#], "[{\"text\":\"a\u{fffd}\\n\"}]", 2),
        ] {
            let (mut parts, mut deltas) = (PartList::default(), Vec::new());
            came.iter().for_each(|raw| parts.add(raw, &mut deltas).unwrap());
            assert_eq!(Value::Array(parts.native).to_string(), kept, "{came:?}");
            assert_eq!(deltas.len(), count, "{came:?}");
        }
    }
}
