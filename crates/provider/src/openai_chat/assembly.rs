//! Collects one chat completion, streamed or whole.
//!
//! A stream is whole when a finish reason or `[DONE]` has come: some servers never send the one, some the other. It is
//! *over* only at `[DONE]` or at the end of the body, since usage comes after the finish reason. Only the first choice
//! is read. The four ways in which servers tell reasoning (`reasoning_content`, `reasoning`, `<think>` tags, `thinking`
//! parts) become one.
//!
//! The native form keeps only what has no neutral one and some server wants back: the reasoning keys.

use converse_canister::{Content as Pieces, Stop, Usage};
use serde_json::{Map, Value, json};

use super::calls::Calls;
use super::chunk::{Chunk, Content, Words};
use super::cost::cost;
use super::details::ReasoningDetails;
use super::think::ThinkSplitter;
use crate::body::{Assembly, Fault, refused};
use crate::compact_vec::CompactVec;
use crate::compose::{Piece, ReplyParts};
use crate::head::Head;
use crate::lenient::{count, read, tokens, value};
use crate::repeated::RepeatedEvent;
use crate::sse::Event;
use crate::{Delta, Reply, ReplyError, ReplyOrigin};

/// Words for a reply that is whole: OpenAI's own, and those of servers that pass on another's (`eos`: Together;
/// `eos_token`, `stop_sequence`: Text Generation Inference, <https://huggingface.co/docs/text-generation-inference>;
/// `end_turn`, `tool_use`: Anthropic; `complete`, `tool_call`: Cohere; `STOP`: Gemini). Checked 2026-11.
const HARMLESS: [&str; 9] = [
    "stop",
    "tool_calls",
    "tool_call",
    "function_call",
    "tool_use",
    "end_turn",
    "eos",
    "eos_token",
    "complete",
];

#[derive(Debug)]
pub(crate) struct CompletionAssembly {
    origin: ReplyOrigin,
    text: String,
    reasoning: String,
    /// The key of the reasoning, if the server uses one.
    reasoning_key: Option<&'static str>,
    details: ReasoningDetails,
    refusal: String,
    think: ThinkSplitter,
    calls: Calls,
    finish: Option<String>,
    usage: Option<Value>,
    id: Option<String>,
    model: Option<String>,
    repeated: RepeatedEvent,
    done: bool,
}

impl CompletionAssembly {
    pub(crate) fn new(origin: ReplyOrigin) -> Self {
        Self {
            origin,
            text: String::new(),
            reasoning: String::new(),
            reasoning_key: None,
            details: ReasoningDetails::default(),
            refusal: String::new(),
            think: ThinkSplitter::default(),
            calls: Calls::default(),
            finish: None,
            usage: None,
            id: None,
            model: None,
            repeated: RepeatedEvent::default(),
            done: false,
        }
    }

    /// Reads the fields that chunks and whole responses share. Returns whether there was a list of choices, even an empty one.
    fn absorb(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<bool, Fault> {
        if self.id.is_none() {
            self.id = chunk.id.into_text().map(|id| id.into_owned());
        }
        if self.model.is_none() {
            self.model = chunk.model.into_text().map(|model| model.into_owned());
        }
        let groq = || value(chunk.x_groq).and_then(|mut groq| groq.get_mut("usage").map(Value::take));
        if let Some(usage) = value(chunk.usage).or_else(groq).filter(Value::is_object) {
            self.usage = Some(usage);
        }
        let Some(choices) = chunk.choices else { return Ok(false) };
        for choice in choices {
            if choice.error.is_some() {
                return Err(Fault::Refused(json!({ "error": value(choice.error) })));
            }
            if count(choice.index).unwrap_or(0) != 0 {
                continue;
            }
            if let Some(words) = choice.delta {
                self.words(words, false, out)?;
            } else if let Some(words) = choice.message {
                self.words(words, true, out)?;
            }
            self.note_finish(choice.finish_reason.text())?;
        }
        Ok(true)
    }

    /// The first reason counts: some servers repeat it, with the usage or changed to `stop`.
    fn note_finish(&mut self, reason: Option<&str>) -> Result<(), Fault> {
        match reason {
            // OpenRouter; DeepSeek's word for being out of resources.
            Some(failure @ ("error" | "insufficient_system_resource")) => {
                Err(Fault::BrokenOff(failure.to_owned()))
            }
            Some(reason) if self.finish.is_none() => {
                self.finish = Some(reason.to_owned());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn words(&mut self, words: Words<'_>, whole: bool, out: &mut Vec<Delta>) -> Result<(), Fault> {
        // Some servers send both keys with the same words.
        let keyed = [("reasoning_content", words.reasoning_content), ("reasoning", words.reasoning)];
        for (key, reasoning) in keyed {
            if let Some(reasoning) =
                reasoning.into_text().filter(|_| *self.reasoning_key.get_or_insert(key) == key)
            {
                self.reasoning.push_str(&reasoning);
                out.push(Delta::Reasoning(reasoning.into_owned()));
            }
        }
        if let Some(details) = value(words.reasoning_details) {
            self.details.extend(details);
        }
        self.content(words.content, out);
        self.refusal.push_str(words.refusal.text().unwrap_or_default());
        for piece in words.tool_calls.into_iter().flatten() {
            if whole { self.calls.add(piece)? } else { self.calls.feed(piece, out)? }
        }
        Ok(())
    }

    fn content(&mut self, content: Content<'_>, out: &mut Vec<Delta>) {
        match content {
            Content::None => {}
            Content::Text(text) => self.split(&text, out),
            Content::Parts(parts) => {
                for part in parts {
                    match part.kind.text() {
                        Some("thinking") => {
                            let thought = part.thinking.all_text();
                            if !thought.is_empty() {
                                self.reasoning.push_str(&thought);
                                out.push(Delta::Reasoning(thought.into_owned()));
                            }
                        }
                        _ => self.split(part.text.text().unwrap_or_default(), out),
                    }
                }
            }
        }
    }

    fn split(&mut self, text: &str, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        let (all, reasoning) = (&mut self.text, &mut self.reasoning);
        self.think.feed(text, |segment| segment.append_to(all, reasoning, out));
    }

    /// `None`: it is whole and gives no reason.
    fn stop(&self) -> Option<Stop> {
        let finish = self.finish.as_deref();
        if finish.is_none() && !self.done {
            return Some(Stop::Cut);
        }
        if !self.refusal.is_empty() {
            return Some(Stop::Refused { reason: Some(self.refusal.clone()) });
        }
        Some(match finish? {
            word if HARMLESS.contains(&word.to_ascii_lowercase().as_str()) => Stop::End,
            "stop_sequence" => Stop::Sequence,
            // `model_length`: Mistral's word for the context window.
            "length" | "model_length" | "max_tokens" => Stop::Truncated,
            filter @ ("content_filter" | "refusal") => Stop::Refused { reason: Some(filter.to_owned()) },
            other => Stop::Other(other.to_owned()),
        })
    }

    fn native(&mut self) -> Vec<Value> {
        let mut kept = Map::new();
        if let Some(key) = self.reasoning_key {
            kept.insert(key.to_owned(), json!(self.reasoning));
        }
        if let Some(details) = std::mem::take(&mut self.details).into_value() {
            kept.insert("reasoning_details".to_owned(), details);
        }
        if kept.is_empty() { Vec::new() } else { vec![Value::Object(kept)] }
    }
}

impl Assembly for CompletionAssembly {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        // Groq names its errors.
        if event.name == "error" {
            return Err(refused(data));
        }
        if let Some(text) = self.repeated.text(data) {
            self.split(text, out);
            return Ok(());
        }
        let mut repaired = None;
        let chunk: Chunk<'_> = read(data, &mut repaired)?;
        if chunk.error.is_some() {
            return Err(refused(data));
        }
        if let Some(text) = chunk.only_text() {
            self.repeated.remember(data, text);
        }
        self.absorb(chunk, out).map(|_| ())
    }

    fn whole(&mut self, body: &str) -> Result<(), Fault> {
        let mut repaired = None;
        let answer: Chunk<'_> = read(body, &mut repaired)?;
        if answer.error.is_some() {
            return Err(refused(body));
        }
        if answer.choices.as_ref().is_none_or(CompactVec::is_empty) {
            return Err(Fault::Nonsense);
        }
        self.absorb(answer, &mut Vec::new())?;
        self.done = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>, head: &Head) -> Result<Reply, ReplyError> {
        let mut think = std::mem::take(&mut self.think);
        think.finish(|segment| segment.append_to(&mut self.text, &mut self.reasoning, &mut Vec::new()));
        let stop = self.stop();
        let native = self.native();
        let mut pieces = Vec::new();
        if !self.reasoning.is_empty() {
            pieces.push(Piece::Words(Pieces::Reasoning { text: self.reasoning, seal: None }));
        }
        let text = if self.text.is_empty() { self.refusal } else { self.text };
        if !text.is_empty() {
            pieces.push(Piece::Words(Pieces::text(text)));
        }
        pieces.extend(self.calls.into_pieces());
        let collected = ReplyParts {
            pieces,
            native,
            usage: self.usage.as_ref().map(usage).unwrap_or_default(),
            cost: self.usage.as_ref().and_then(cost),
            model: self.model,
            response_id: self.id,
        };
        collected.into_reply(stop, &self.origin, head)
    }
}

fn usage(wire: &Value) -> Usage {
    Usage {
        input: tokens(wire, "/prompt_tokens"),
        output: tokens(wire, "/completion_tokens"),
        cache_read: tokens(wire, "/prompt_tokens_details/cached_tokens")
            .or_else(|| tokens(wire, "/prompt_cache_hit_tokens")),
        cache_write: tokens(wire, "/prompt_tokens_details/cache_write_tokens"),
        reasoning: tokens(wire, "/completion_tokens_details/reasoning_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use converse_canister::TurnId;
    use http::Response;
    use proptest::prelude::*;

    use super::*;
    use crate::{Endpoint, processor_of, row};

    /// The deltas and the reply of events; with `mark`, each has a form of its own.
    fn read_all(endpoint: &Endpoint, events: &[String], mark: bool) -> String {
        let origin = ReplyOrigin { turn: TurnId(1), model: "m".to_owned(), endpoint: endpoint.clone() };
        let head =
            Response::builder().header("content-type", "text/event-stream").body(()).unwrap().into_parts().0;
        let (mut decoder, mut deltas) = (processor_of(endpoint).normalize(&head, origin), Vec::new());
        let mut were_read = Vec::new();
        for (number, event) in events.iter().enumerate() {
            let mark = if mark { format!("\"unknown\":{number},") } else { String::new() };
            let event = format!("data: {{{mark}{event}}}\n\n");
            were_read.push(decoder.feed(event.as_bytes(), &mut deltas).is_ok());
        }
        format!("{were_read:?} {deltas:?} {:?}", decoder.finish().ok())
    }

    proptest! {
        #[test]
        fn events_of_one_form_are_read_as_events_of_different_forms(
            events in prop::collection::vec((
                prop_oneof![Just(""), Just("a"), Just("ä\u{2028}"), Just("<think>"), Just("</think>"), Just("\\n"), Just("\\ud83e")],
                prop_oneof![
                    5 => Just(""), 1 => Just(r#""reasoning":"r","#), 1 => Just(r#""refusal":"no","#), 1 => Just(r#""tool_calls":[],"#),
                    1 => Just(r#""content":"twice","#)
                ],
                prop_oneof![
                    5 => Just(""), 1 => Just(r#","finish_reason":"stop""#), 1 => Just(r#","index":1"#), 1 => Just(r#","error":{}"#),
                    1 => Just(r#","message":{"content":"whole"}"#)
                ],
                prop_oneof![
                    5 => Just("]"), 1 => Just(r#"],"usage":{"prompt_tokens":3}"#), 1 => Just(r#"],"id":"i""#), 1 => Just(",{}]")
                ],
            ), 1..12),
        ) {
            let form = |(text, delta, choice, chunk)| {
                format!(r#""choices":[{{"delta":{{{delta}"content":"{text}"}}{choice}}}{chunk}"#)
            };
            let events: Vec<String> = events.into_iter().map(form).collect();
            let endpoint = row("vllm").unwrap().endpoint(None);
            prop_assert_eq!(read_all(&endpoint, &events, false), read_all(&endpoint, &events, true));
        }
    }
}
