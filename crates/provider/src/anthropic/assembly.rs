//! Collects one Anthropic message, streamed or whole.
//!
//! A stream: `message_start`, for each block `content_block_start`, deltas and `content_block_stop`, then
//! `message_delta` (stop reason, cumulative usage) and `message_stop`, which alone means that the message is whole.
//! Pings and unknown events are passed over wherever they stand. What breaks this order so that words or arguments
//! could end up in the wrong block is an error: a second `message_start`, a block begun twice, a delta for no block.
//!
//! The events are those of the SDK's types and of recorded streams, explained at
//! <https://platform.claude.com/docs/en/build-with-claude/streaming>.

use std::collections::HashMap;

use converse_canister::{Stop, Usage};
use serde_json::Value;
use serde_json::value::RawValue;

use super::block::Block;
use super::events::{EventDelta, Message, StreamEvent};
use crate::body::{Assembly, Fault, refused};
use crate::compose::ReplyParts;
use crate::head::Head;
use crate::lenient::{LenientStr, count, read, tokens, value};
use crate::sse::Event;
use crate::{Delta, Reply, ReplyError, ReplyOrigin};

/// More blocks than any reply has; bounds what a hostile stream can make us keep.
const MAX_BLOCKS: usize = 10_000;

#[derive(Debug)]
pub(crate) struct MessageAssembly {
    origin: ReplyOrigin,
    begun: bool,
    /// In the order in which they began.
    blocks: Vec<Block>,
    /// From the server's index to the place in `blocks`.
    places: HashMap<u64, usize>,
    calls: usize,
    stop: Option<Stop>,
    usage: WireUsage,
    id: Option<String>,
    model: Option<String>,
    complete: bool,
}

impl MessageAssembly {
    pub(crate) fn new(origin: ReplyOrigin) -> Self {
        Self {
            origin,
            begun: false,
            blocks: Vec::new(),
            places: HashMap::new(),
            calls: 0,
            stop: None,
            usage: WireUsage::default(),
            id: None,
            model: None,
            complete: false,
        }
    }

    fn begin(&mut self, message: Message<'_>) -> Result<(), Fault> {
        if std::mem::replace(&mut self.begun, true) {
            return Err(malformed("a second message began within the first"));
        }
        self.id = message.id.into_text().map(|id| id.into_owned());
        self.model = message.model.into_text().map(|model| model.into_owned());
        self.usage.update(message.usage);
        self.note_stop(&message.stop_reason, message.stop_details);
        Ok(())
    }

    fn begin_block(&mut self, index: u64, raw: &str) -> Result<&Block, Fault> {
        if self.blocks.len() >= MAX_BLOCKS {
            return Err(malformed("more content blocks than are read"));
        }
        if self.places.insert(index, self.blocks.len()).is_some() {
            return Err(Fault::Malformed(format!("content block {index} began twice")));
        }
        let block = Block::begin(raw, self.calls)?;
        self.calls += usize::from(block.call.is_some());
        self.blocks.push(block);
        self.blocks.last().ok_or_else(|| malformed("no content block"))
    }

    fn grow_block(&mut self, index: u64, delta: EventDelta<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let block = self.places.get(&index).and_then(|place| self.blocks.get_mut(*place));
        let block = block.ok_or_else(|| Fault::Malformed(format!("content block {index} never began")))?;
        block.grow(delta, out);
        Ok(())
    }

    fn note_stop(&mut self, reason: &LenientStr<'_>, details: Option<&RawValue>) {
        let Some(reason) = reason.text() else { return };
        self.stop = Some(match reason {
            "end_turn" | "tool_use" => Stop::End,
            "stop_sequence" => Stop::Sequence,
            "max_tokens" | "model_context_window_exceeded" => Stop::Truncated,
            "pause_turn" => Stop::Paused,
            "refusal" => Stop::Refused { reason: refusal_reason(details) },
            other => Stop::Other(other.to_owned()),
        });
    }
}

/// Returns why the model refused: the text of the details, or the category.
fn refusal_reason(details: Option<&RawValue>) -> Option<String> {
    let details = value(details)?;
    let word = |key: &str| details.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
    word("explanation").or_else(|| word("category")).map(str::to_owned)
}

fn malformed(what: &str) -> Fault {
    Fault::Malformed(what.to_owned())
}

impl Assembly for MessageAssembly {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if event.data.trim().is_empty() {
            return Ok(());
        }
        if event.name == "error" {
            return Err(refused(event.data));
        }
        const KNOWN: [&str; 6] = [
            "message_start",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ];
        // The name is authoritative; where a proxy has lost it, the data has it too.
        if !event.name.is_empty() && !KNOWN.contains(&event.name) {
            return Ok(());
        }
        let mut repaired = None;
        let parsed: StreamEvent<'_> = read(event.data, &mut repaired)?;
        // A proxy's error may come in its own form.
        if parsed.error.is_some() {
            return Err(refused(event.data));
        }
        let kind = if event.name.is_empty() { parsed.kind.text().unwrap_or_default() } else { event.name };
        let index = || count(parsed.index).ok_or_else(|| malformed("a content block without an index"));
        match kind {
            "message_start" => {
                self.begin(parsed.message.ok_or_else(|| malformed("no message in `message_start`"))?)
            }
            "content_block_start" => {
                let raw =
                    parsed.content_block.ok_or_else(|| malformed("no block in `content_block_start`"))?;
                self.begin_block(index()?, raw.get())?.announce(out);
                Ok(())
            }
            "content_block_delta" => {
                let index = index()?;
                let delta = parsed.delta.ok_or_else(|| malformed("no delta in `content_block_delta`"))?;
                self.grow_block(index, delta, out)
            }
            "message_delta" => {
                self.usage.update(parsed.usage);
                if let Some(delta) = parsed.delta {
                    self.note_stop(&delta.stop_reason, delta.stop_details);
                }
                Ok(())
            }
            "message_stop" => {
                self.complete = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str) -> Result<(), Fault> {
        let mut repaired = None;
        let message: Message<'_> = read(body, &mut repaired)?;
        if message.error.is_some() {
            return Err(refused(body));
        }
        let Some(blocks) = &message.content else { return Err(Fault::Nonsense) };
        for (index, raw) in (0..).zip(blocks) {
            self.begin_block(index, raw.get())?;
        }
        self.begin(message)?;
        self.complete = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn finish(self: Box<Self>, head: &Head) -> Result<Reply, ReplyError> {
        let stop = if self.complete { self.stop } else { Some(Stop::Cut) };
        let mut collected = ReplyParts {
            usage: self.usage.into(),
            model: self.model,
            response_id: self.id,
            ..ReplyParts::default()
        };
        for block in self.blocks {
            let (piece, native) = block.end(stop == Some(Stop::Truncated));
            collected.pieces.extend(piece);
            collected.native.extend(native);
        }
        collected.into_reply(stop, &self.origin, head)
    }
}

/// The last reported token counts: `message_delta` repeats them cumulatively.
#[derive(Debug, Clone, Copy, Default)]
struct WireUsage {
    input: Option<u64>,
    cache_write: Option<u64>,
    cache_read: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

impl WireUsage {
    fn update(&mut self, raw: Option<&RawValue>) {
        let Some(usage) = value(raw) else { return };
        for (mine, pointer) in [
            (&mut self.input, "/input_tokens"),
            (&mut self.cache_write, "/cache_creation_input_tokens"),
            (&mut self.cache_read, "/cache_read_input_tokens"),
            (&mut self.output, "/output_tokens"),
            (&mut self.reasoning, "/output_tokens_details/thinking_tokens"),
        ] {
            *mine = tokens(&usage, pointer).or(*mine);
        }
    }
}

impl From<WireUsage> for Usage {
    /// Anthropic counts cached input beside `input_tokens`, we count it within.
    fn from(wire: WireUsage) -> Self {
        let parts = [wire.input, wire.cache_write, wire.cache_read];
        let known = parts.iter().any(Option::is_some);
        Self {
            input: known.then(|| parts.iter().flatten().fold(0_u64, |sum, part| sum.saturating_add(*part))),
            output: wire.output,
            cache_read: wire.cache_read,
            cache_write: wire.cache_write,
            reasoning: wire.reasoning,
        }
    }
}
