//! `POST /v1/chat/completions` with `stream: true`: chunks as Server-Sent Events.
//!
//! Source: `types/chat/chat_completion_chunk.py` and `_streaming.py`, PyPI `openai` 3.54.0, November 2026. Extensions:
//! `delta.reasoning_content` (DeepSeek's key), `event` beside the choices for tools of this server, and `usage.cost`. An
//! error is a chunk with `error` only, which the libraries raise as an exception; `[DONE]` follows.

use serde::Serialize;

use super::chat_response::{ChatHead, Progress, Text, ToolCallObject, ToolEvent, reason};
use super::error::ErrorObject;
use super::usage::ChatUsage;
use super::{ApiError, DONE, FailureKind, Finish, Spent, TurnEvent, sse};

/// Turns the events of a turn into the bytes of a stream.
#[derive(Debug)]
pub struct ChatStream {
    head: ChatHead,
    include_usage: bool,
    begun: bool,
    text: Text,
    calls: usize,
    spent: Spent,
    over: bool,
}

impl ChatStream {
    pub fn new(head: ChatHead, include_usage: bool) -> Self {
        let text = Text::new(head.last_reply_only);
        Self { head, include_usage, begun: false, text, calls: 0, spent: Spent::default(), over: false }
    }

    /// Returns whether the last bytes of the stream are written.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Appends the first chunk, which has the role. [`push`](Self::push) does it if it was not done.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            self.chunk(out, Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, None);
        }
    }

    /// Appends the bytes of an event. Events after the end of the turn are left out.
    pub fn push(&mut self, event: &TurnEvent, out: &mut Vec<u8>) {
        if self.over {
            return;
        }
        self.begin(out);
        match event {
            TurnEvent::TextDelta(piece) => {
                let between = self.text.push(piece);
                if !self.head.last_reply_only {
                    self.words(between, out);
                    self.words(piece, out);
                }
            }
            TurnEvent::ReasoningDelta(piece) if !piece.is_empty() => {
                self.chunk(out, Delta { reasoning_content: Some(piece), ..Delta::default() }, None);
            }
            TurnEvent::ReasoningDelta(_) => {}
            TurnEvent::Discard => {
                if self.text.discard() && !self.head.last_reply_only {
                    let message = "the model was asked again after a part of its answer was sent";
                    self.fail(&ApiError::failure(FailureKind::ProviderUnreachable, message), out);
                }
            }
            TurnEvent::ToolStarted { call, arguments } => {
                self.text.end_reply();
                self.event(ToolEvent::new(call, Some(arguments), Progress::Running), out);
            }
            TurnEvent::ToolFinished { call, outcome, text } => {
                self.text.end_reply();
                self.event(ToolEvent::new(call, None, Progress::Ended(*outcome, text)), out);
            }
            TurnEvent::ApprovalNeeded { call, arguments } => {
                self.text.end_reply();
                self.event(ToolEvent::new(call, Some(arguments), Progress::Waiting), out);
            }
            TurnEvent::ClientCalls(calls) => {
                self.text.stop_holding();
                let first = self.calls;
                self.calls += calls.len();
                let numbered = calls.iter().enumerate();
                let tool_calls =
                    numbered.map(|(at, call)| ToolCallObject::numbered(first + at, call)).collect();
                self.chunk(out, Delta { tool_calls, ..Delta::default() }, None);
            }
            TurnEvent::Usage { usage, cost } => {
                self.text.end_reply();
                self.spent.add(*usage, *cost);
            }
            TurnEvent::Done(finish) => self.end(*finish, out),
            TurnEvent::Failed(error) => self.fail(error, out),
        }
    }

    fn words(&self, piece: &str, out: &mut Vec<u8>) {
        if !piece.is_empty() {
            self.chunk(out, Delta { content: Some(piece), ..Delta::default() }, None);
        }
    }

    fn end(&mut self, finish: Finish, out: &mut Vec<u8>) {
        if self.head.last_reply_only {
            self.words(self.text.as_str(), out);
        }
        self.chunk(out, Delta::default(), Some(reason(finish, self.calls > 0)));
        if let Some(usage) = self.spent.chat().filter(|_| self.include_usage) {
            sse::data(out, &Chunk { choices: &[], usage: Some(Some(usage)), ..self.empty() });
        }
        out.extend_from_slice(DONE);
        self.over = true;
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        sse::data(out, &Failure { error: error.object() });
        out.extend_from_slice(DONE);
        self.over = true;
    }

    fn chunk(&self, out: &mut Vec<u8>, delta: Delta<'_>, finish_reason: Option<&'static str>) {
        let choices = [Choice { index: 0, delta, logprobs: None, finish_reason }];
        sse::data(out, &Chunk { choices: &choices, ..self.empty() });
    }

    /// The choice is there with an empty delta, because clients read `choices[0]` of every chunk but the last.
    fn event(&self, event: ToolEvent<'_>, out: &mut Vec<u8>) {
        let choices = [Choice { index: 0, delta: Delta::default(), logprobs: None, finish_reason: None }];
        sse::data(out, &Chunk { choices: &choices, event: Some(event), ..self.empty() });
    }

    fn empty(&self) -> Chunk<'_> {
        let ChatHead { id, created, model, .. } = &self.head;
        let usage = self.include_usage.then_some(None);
        Chunk {
            id,
            object: "chat.completion.chunk",
            created: *created,
            model,
            choices: &[],
            usage,
            event: None,
        }
    }
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    /// If usage was asked for, all chunks but the last have `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<ChatUsage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<ToolEvent<'a>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCallObject<'a>>,
}

#[derive(Serialize)]
struct Failure<'a> {
    error: ErrorObject<'a>,
}

#[cfg(test)]
mod tests;
