//! Reads invocations out of the text of a reply that another decoder has read.

use converse_canister::{Arguments, Assistant, Canister, Content, Stop};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::splitter::{Segment, Splitter};
use crate::compose::{Piece, canisters};
use crate::lenient::LenientStr;
use crate::{DecodeError, Decoder, Delta, Reply, ReplyError, ReplyOrigin};

/// More calls than any reply has; what comes after them is text no more and call no more.
const MAX_CALLS: usize = 1024;

pub(super) struct PromptedDecoder {
    inner: Box<dyn Decoder>,
    origin: ReplyOrigin,
    /// Splits the deltas that are shown while the reply arrives.
    shown: Splitter,
    calls: usize,
    raw: Vec<Delta>,
    flushed: bool,
}

impl PromptedDecoder {
    pub(super) fn new(inner: Box<dyn Decoder>, origin: ReplyOrigin) -> Self {
        let shown = Splitter::default();
        Self { inner, origin, shown, calls: 0, raw: Vec::new(), flushed: false }
    }
}

impl Decoder for PromptedDecoder {
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let fed = self.inner.feed(bytes, &mut self.raw);
        let Self { shown, calls, raw, .. } = self;
        for delta in raw.drain(..) {
            match delta {
                Delta::Text(text) => shown.feed(&text, &mut |segment| show(segment, calls, out)),
                Delta::Reasoning(_) => out.push(delta),
                // A server that finds calls by itself numbers them by itself.
                Delta::InvocationStarted { .. } | Delta::Arguments { .. } => {}
            }
        }
        if self.inner.is_complete() && !std::mem::replace(&mut self.flushed, true) {
            let Self { shown, calls, .. } = self;
            shown.finish(&mut |segment| show(segment, calls, out));
        }
        fed
    }

    fn is_complete(&self) -> bool {
        self.inner.is_complete()
    }

    fn finish(self: Box<Self>) -> Result<Reply, ReplyError> {
        match self.inner.finish() {
            Ok(reply) => Ok(read(reply, &self.origin)),
            Err(ReplyError::CutShort { partial }) => {
                Err(ReplyError::CutShort { partial: Box::new(read(*partial, &self.origin)) })
            }
            Err(other) => Err(other),
        }
    }
}

/// A block is never shown; that the model calls something is.
fn show(segment: Segment, calls: &mut usize, out: &mut Vec<Delta>) {
    match segment {
        Segment::Words(text) => out.push(Delta::Text(text)),
        Segment::Block { text, whole: true } => {
            if let Piece::Call { tool, arguments, .. } = call(&text) {
                let index = *calls;
                out.push(Delta::InvocationStarted { index, tool });
                out.push(Delta::Arguments { index, fragment: arguments.raw.into() });
                *calls += 1;
            }
        }
        Segment::Block { whole: false, .. } => {}
    }
}

/// The reply with its blocks made invocations.
fn read(mut reply: Reply, origin: &ReplyOrigin) -> Reply {
    let mut pieces = Vec::new();
    let mut splitter = Splitter::default();
    for canister in std::mem::take(&mut reply.canisters) {
        match canister {
            Canister::Assistant(assistant) => {
                for content in assistant.content {
                    match content {
                        Content::Text { text, .. } => {
                            splitter.feed(&text, &mut |segment| take(segment, &mut pieces))
                        }
                        Content::Reasoning { text, .. } => {
                            pieces.push(Piece::Words(Content::Reasoning { text, seal: None }));
                        }
                        other => pieces.push(Piece::Words(other)),
                    }
                }
            }
            Canister::Invocation(invocation) => pieces.push(Piece::Call {
                id: invocation.wire_id,
                tool: invocation.tool,
                arguments: invocation.arguments,
            }),
            _ => {}
        }
    }
    splitter.finish(&mut |segment| take(segment, &mut pieces));
    let acts = !matches!(reply.stop, Stop::Cut | Stop::Refused { .. });
    pieces.retain(|piece| acts || matches!(piece, Piece::Words(_)));
    let (turn, stop) = (origin.turn, reply.stop.clone());
    let first = Assistant { turn, content: Vec::new(), native: None, stop, response_id: None };
    reply.canisters = canisters(pieces, first, origin);
    reply
}

/// Neighbouring words are one piece.
fn take(segment: Segment, pieces: &mut Vec<Piece>) {
    match segment {
        Segment::Words(more) => match pieces.last_mut() {
            Some(Piece::Words(Content::Text { text, .. })) => text.push_str(&more),
            _ => pieces.push(Piece::Words(Content::text(more))),
        },
        Segment::Block { text, .. } => {
            if pieces.len() < MAX_CALLS {
                pieces.push(call(&text));
            }
        }
    }
}

/// A call as the model writes it.
#[derive(Deserialize)]
struct WrittenCall<'a> {
    #[serde(borrow, default)]
    name: LenientStr<'a>,
    /// Llama calls them `parameters`.
    #[serde(borrow, alias = "parameters")]
    arguments: Option<&'a RawValue>,
}

/// Reads the call in a block. Text that is not such JSON becomes malformed arguments of the tool that it names.
fn call(block: &str) -> Piece {
    let block = block.trim();
    let (tool, arguments) = match serde_json::from_str::<WrittenCall<'_>>(block) {
        Ok(written) => {
            let raw = written.arguments.map(RawValue::get).unwrap_or_default();
            let unpacked = if raw.starts_with('"') { serde_json::from_str::<String>(raw).ok() } else { None };
            let arguments = Arguments::parse(unpacked.as_deref().unwrap_or(raw));
            (written.name.text().unwrap_or_default().to_owned(), arguments)
        }
        Err(_) => (name(block), Arguments::parse(block)),
    };
    Piece::Call { id: None, tool, arguments }
}

/// Finds the tool name in JSON that cannot be parsed.
fn name(block: &str) -> String {
    let named = || {
        let rest = block.split_once("\"name\"")?.1.trim_start().strip_prefix(':')?.trim_start();
        Some(rest.strip_prefix('"')?.split_once('"')?.0)
    };
    named().unwrap_or_default().to_owned()
}
