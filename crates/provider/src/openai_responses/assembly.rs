//! Collects one response, streamed or whole.
//!
//! Deltas are reported and not kept: the turn is built from the items in `response.output_item.done`, whose encrypted
//! reasoning is the valid one (that of `added` is not). Exactly one of `response.completed`, `.incomplete` and
//! `.failed` ends a stream; without them the reply is incomplete. [`super::items`] handles events that come twice or in
//! another order. Sequence numbers are used in one case: an event with the number of the previous one is a repetition.
//! Events and items of other kinds are skipped but kept.
//!
//! The events are those of the SDK's types (3.52.0), explained at
//! <https://platform.openai.com/docs/api-reference/responses-streaming> (checked 2026-11).

use converse_canister::{Cost, Stop, Usage};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::items::Items;
use crate::body::{Assembly, Fault, refused};
use crate::compose::ReplyParts;
use crate::head::Head;
use crate::lenient::{LenientStr, count, read, tokens, value};
use crate::openai_chat::cost;
use crate::sse::Event;
use crate::{Delta, Reply, ReplyError, ReplyOrigin};

/// Any event of the stream, as borrowed views of its text: each kind has some of these fields.
#[derive(Debug, serde::Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: LenientStr<'a>,
    #[serde(borrow)]
    sequence_number: Option<&'a RawValue>,
    #[serde(borrow)]
    output_index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    delta: LenientStr<'a>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The whole response, as in bodies and in the first and last events.
#[derive(Debug, serde::Deserialize)]
struct Response<'a> {
    #[serde(borrow, default)]
    id: LenientStr<'a>,
    #[serde(borrow, default)]
    model: LenientStr<'a>,
    #[serde(borrow, default)]
    status: LenientStr<'a>,
    #[serde(borrow)]
    store: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    incomplete_details: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Debug)]
pub(crate) struct ResponseAssembly {
    origin: ReplyOrigin,
    items: Items,
    /// The number of the last event, where it is one that counts.
    sequence: Option<u64>,
    stop: Option<Stop>,
    usage: Usage,
    cost: Option<Cost>,
    id: Option<String>,
    model: Option<String>,
    /// The server reports that it does not store the reply, even if the request asked for that.
    unstored: bool,
}

impl ResponseAssembly {
    pub(crate) fn new(origin: ReplyOrigin) -> Self {
        Self {
            origin,
            items: Items::default(),
            sequence: None,
            stop: None,
            usage: Usage::default(),
            cost: None,
            id: None,
            model: None,
            unstored: false,
        }
    }

    /// Reads the fields of a response, at its start and at its end.
    fn note(&mut self, response: &Response<'_>) {
        let known = |text: Option<&str>, last: &mut Option<String>| {
            *last = text.map(str::to_owned).or(last.take());
        };
        known(response.id.text(), &mut self.id);
        known(response.model.text(), &mut self.model);
        self.unstored |= response.store.is_some_and(|store| store.get() == "false");
        if let Some(usage) = value(response.usage).filter(Value::is_object) {
            self.cost = cost(&usage);
            self.usage = self::usage(&usage);
        }
    }

    /// The end, by a word for it.
    fn end(&mut self, status: &str, response: &Response<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.note(response);
        if let Some(error) = value(response.error).filter(|error| !error.is_null()) {
            return Err(Fault::Refused(json!({ "error": error })));
        }
        let stop = match status {
            "completed" => Stop::End,
            "incomplete" => incomplete(response.incomplete_details),
            // The reply is unfinished; what follows is not part of this body.
            "in_progress" | "queued" => return Ok(()),
            failure => return Err(Fault::BrokenOff(failure.to_owned())),
        };
        let output = response.output.iter().flatten().map(|item| form(item)).collect::<Result<_, _>>()?;
        self.items.complete(output, out)?;
        self.stop = Some(stop);
        Ok(())
    }

    fn grow(&mut self, kind: &str, parsed: &StreamEvent<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let Some(slot) = self.items.growing(count(parsed.output_index))? else { return Ok(()) };
        let delta = parsed.delta.text().unwrap_or_default();
        match kind {
            "response.reasoning_summary_part.added" => slot.part_reasoning(out),
            _ if delta.is_empty() => {}
            "response.output_text.delta" | "response.refusal.delta" => slot.tell_text(delta, out),
            "response.function_call_arguments.delta" => slot.tell_arguments(delta, out),
            _ => slot.tell_reasoning(delta, out),
        }
        Ok(())
    }

    /// Returns whether the event repeats the one before it.
    fn is_repeated(&mut self, sequence: Option<u64>) -> bool {
        // Some servers number nothing, or everything with zero.
        let sequence = sequence.filter(|number| *number > 0);
        let last = std::mem::replace(&mut self.sequence, sequence);
        sequence.is_some() && sequence == last
    }
}

/// Why a response is not complete: `max_output_tokens` and `content_filter` are the SDK's reasons. More may come: what
/// is incomplete by its own word is cut, whatever the reason.
fn incomplete(details: Option<&RawValue>) -> Stop {
    let details = value(details).unwrap_or_default();
    match details.get("reason").and_then(Value::as_str) {
        Some("content_filter") => Stop::Refused { reason: Some("content_filter".to_owned()) },
        _ => Stop::Truncated,
    }
}

fn form(raw: &RawValue) -> Result<Value, Fault> {
    let mut repaired = None;
    match read(raw.get(), &mut repaired)? {
        form @ Value::Object(_) => Ok(form),
        _ => Err(Fault::Malformed("an output item that is not an object".to_owned())),
    }
}

fn missing(what: &str) -> Fault {
    Fault::Malformed(format!("an event without its {what}"))
}

const DELTAS: [&str; 6] = [
    "response.output_text.delta",
    "response.refusal.delta",
    "response.function_call_arguments.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.reasoning_summary_part.added",
];

const OTHERS: [&str; 10] = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.output_item.done",
    "response.completed",
    "response.incomplete",
    "response.failed",
    "response.cancelled",
    "response.done",
    "error",
];

impl Assembly for ResponseAssembly {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        if event.name == "error" {
            return Err(refused(data));
        }
        let known = |kind: &str| DELTAS.contains(&kind) || OTHERS.contains(&kind);
        // The name is authoritative; where a proxy has lost it, the data has it too.
        let named = !matches!(event.name, "" | "message");
        if named && !known(event.name) {
            return Ok(());
        }
        let mut repaired = None;
        let parsed: StreamEvent<'_> = read(data, &mut repaired)?;
        if parsed.error.is_some() {
            return Err(refused(data));
        }
        let kind = if named { event.name } else { parsed.kind.text().unwrap_or_default() };
        if self.is_repeated(count(parsed.sequence_number)) {
            return Ok(());
        }
        match kind {
            "error" => Err(refused(data)),
            "response.output_item.added" => {
                let item = form(parsed.item.ok_or_else(|| missing("item"))?)?;
                self.items.add(count(parsed.output_index), &item, out)
            }
            "response.output_item.done" => {
                let item = form(parsed.item.ok_or_else(|| missing("item"))?)?;
                self.items.done(count(parsed.output_index), item, out)
            }
            kind if DELTAS.contains(&kind) => self.grow(kind, &parsed, out),
            kind if OTHERS.contains(&kind) => {
                let raw = parsed.response.ok_or_else(|| missing("response"))?;
                let mut repaired = None;
                let response: Response<'_> = read(raw.get(), &mut repaired)?;
                match kind {
                    "response.created" | "response.in_progress" => {
                        self.note(&response);
                        Ok(())
                    }
                    "response.done" => {
                        self.end(response.status.text().unwrap_or("completed"), &response, out)
                    }
                    _ => self.end(kind.trim_start_matches("response."), &response, out),
                }
            }
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str) -> Result<(), Fault> {
        let mut repaired = None;
        let response: Response<'_> = read(body, &mut repaired)?;
        if response.error.is_none() && response.output.is_none() {
            return Err(Fault::Nonsense);
        }
        self.end(response.status.text().unwrap_or("completed"), &response, &mut Vec::new())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn finish(mut self: Box<Self>, head: &Head) -> Result<Reply, ReplyError> {
        let items = std::mem::take(&mut self.items).collect();
        let stop = match self.stop {
            Some(Stop::End) if items.lost_call => Stop::Cut,
            Some(Stop::End) if items.refusal.is_some() => Stop::Refused { reason: items.refusal },
            Some(stop) => stop,
            None => Stop::Cut,
        };
        // An id is kept only where a later request may name it.
        let stored = self.origin.endpoint.quirks.stored && !self.unstored;
        let collected = ReplyParts {
            pieces: items.pieces,
            native: items.native,
            usage: self.usage,
            cost: self.cost,
            model: self.model,
            response_id: self.id.filter(|_| stored),
        };
        collected.into_reply(Some(stop), &self.origin, head)
    }
}

fn usage(wire: &Value) -> Usage {
    Usage {
        input: tokens(wire, "/input_tokens"),
        output: tokens(wire, "/output_tokens"),
        cache_read: tokens(wire, "/input_tokens_details/cached_tokens"),
        cache_write: tokens(wire, "/input_tokens_details/cache_write_tokens"),
        reasoning: tokens(wire, "/output_tokens_details/reasoning_tokens"),
    }
}
