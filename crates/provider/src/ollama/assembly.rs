//! Collects one reply, streamed or whole.
//!
//! Each call arrives whole. Two equal calls are two calls. The end is `done: true` and nothing
//! else. What a model thinks comes under `thinking`, or, where its template is not known to the server, between
//! `<think>` tags in front of the text.

use converse_canister::{Arguments, Content, Stop, Usage};
use serde_json::{Value, json};

use super::chunk::{Chunk, Message};
use crate::body::{Assembly, Fault};
use crate::compose::{Piece, ReplyParts};
use crate::head::Head;
use crate::lenient::{count, read, value};
use crate::openai_chat::ThinkSplitter;
use crate::sse::Event;
use crate::{Delta, Reply, ReplyError, ReplyOrigin};

/// More calls than any reply has.
const MAX_CALLS: usize = 1024;

#[derive(Debug)]
pub(super) struct ChatAssembly {
    origin: ReplyOrigin,
    text: String,
    reasoning: String,
    /// It came under the key of its own, and goes back there.
    keyed: bool,
    think: ThinkSplitter,
    calls: Vec<Call>,
    usage: Usage,
    model: Option<String>,
    reason: Option<String>,
    done: bool,
}

#[derive(Debug)]
struct Call {
    id: Option<String>,
    tool: String,
    arguments: String,
}

impl ChatAssembly {
    pub(super) fn new(origin: ReplyOrigin) -> Self {
        Self {
            origin,
            text: String::new(),
            reasoning: String::new(),
            keyed: false,
            think: ThinkSplitter::default(),
            calls: Vec::new(),
            usage: Usage::default(),
            model: None,
            reason: None,
            done: false,
        }
    }

    fn take(&mut self, line: &str, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let mut repaired = None;
        let chunk: Chunk<'_> = read(line, &mut repaired)?;
        let done = chunk.done().unwrap_or(false);
        self.absorb(chunk, done, out)
    }

    fn absorb(&mut self, chunk: Chunk<'_>, done: bool, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if let Some(error) = chunk.error {
            return Err(refused(value(Some(error))));
        }
        if self.model.is_none() {
            self.model = chunk.model.text().map(str::to_owned);
        }
        if let Some(message) = chunk.message {
            self.message(message, out)?;
        }
        self.usage.input = count(chunk.prompt_eval_count).or(self.usage.input);
        self.usage.output = count(chunk.eval_count).or(self.usage.output);
        if done {
            self.done = true;
            self.reason = chunk.done_reason.text().map(str::to_owned);
            let (text, reasoning) = (&mut self.text, &mut self.reasoning);
            self.think.finish(|segment| segment.append_to(text, reasoning, out));
        }
        Ok(())
    }

    fn message(&mut self, message: Message<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if let Some(thought) = message.thinking.into_text() {
            self.keyed = true;
            self.reasoning.push_str(&thought);
            out.push(Delta::Reasoning(thought.into_owned()));
        }
        if let Some(text) = message.content.text() {
            let (all, reasoning) = (&mut self.text, &mut self.reasoning);
            self.think.feed(text, |segment| segment.append_to(all, reasoning, out));
        }
        for piece in message.tool_calls.into_iter().flatten() {
            if self.calls.len() >= MAX_CALLS {
                return Err(Fault::Malformed("more calls than are read".to_owned()));
            }
            let (tool, arguments) = match &piece.function {
                Some(function) => {
                    (function.name.text().unwrap_or_default().to_owned(), function.arguments().into_owned())
                }
                None => Default::default(),
            };
            let index = self.calls.len();
            out.push(Delta::InvocationStarted { index, tool: tool.clone() });
            out.push(Delta::Arguments { index, fragment: arguments.clone() });
            self.calls.push(Call { id: piece.id.text().map(str::to_owned), tool, arguments });
        }
        Ok(())
    }

    /// `None`: it is whole and gives no reason.
    fn stop(&self) -> Option<Stop> {
        Some(match self.reason.as_deref() {
            _ if !self.done => Stop::Cut,
            None => return None,
            Some("stop") => Stop::End,
            Some("length") => Stop::Truncated,
            Some(other) => Stop::Other(other.to_owned()),
        })
    }
}

/// Once a reply has begun with a 200, an error is the server's: a request that is wrong is refused by status.
fn refused(error: Option<Value>) -> Fault {
    Fault::Refused(match error {
        Some(Value::String(message)) => json!({ "error": { "message": message, "code": 500 } }),
        error => json!({ "error": error }),
    })
}

impl Assembly for ChatAssembly {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.take(event.data, out)
    }

    /// One object, or lines if the content type does not announce lines.
    fn whole(&mut self, body: &str) -> Result<(), Fault> {
        let mut repaired = None;
        let mut unseen = Vec::new();
        match read::<Chunk<'_>>(body, &mut repaired) {
            Ok(chunk) if chunk.message.is_none() && chunk.error.is_none() => Err(Fault::Nonsense),
            Ok(chunk) => {
                let done = chunk.done().unwrap_or(true);
                self.absorb(chunk, done, &mut unseen)
            }
            Err(error) if error.is_eof() => Err(error.into()),
            Err(_) => {
                let lines = body.lines().filter(|line| !line.trim().is_empty());
                for line in lines {
                    if self.done {
                        break;
                    }
                    self.take(line, &mut unseen)?;
                }
                Ok(())
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(mut self: Box<Self>, head: &Head) -> Result<Reply, ReplyError> {
        // The buffer of a truncated reply may contain half a tag.
        let mut think = std::mem::take(&mut self.think);
        think.finish(|segment| segment.append_to(&mut self.text, &mut self.reasoning, &mut Vec::new()));
        let stop = self.stop();
        let native = if self.keyed { vec![json!({ "thinking": self.reasoning })] } else { Vec::new() };
        let mut pieces = Vec::new();
        if !self.reasoning.is_empty() {
            pieces.push(Piece::Words(Content::Reasoning { text: self.reasoning, seal: None }));
        }
        if !self.text.is_empty() {
            pieces.push(Piece::Words(Content::text(self.text)));
        }
        pieces.extend(self.calls.into_iter().map(|call| Piece::Call {
            id: call.id,
            tool: call.tool,
            arguments: Arguments::parse(&call.arguments),
        }));
        let collected =
            ReplyParts { pieces, native, usage: self.usage, model: self.model, ..ReplyParts::default() };
        collected.into_reply(stop, &self.origin, head)
    }
}
