//! `POST /v1/chat/completions`: the whole response, an object `chat.completion`.
//!
//! Source: `types/chat/chat_completion.py`, PyPI `openai` 3.54.0, November 2026. Extensions: `message.reasoning_content`
//! (DeepSeek's key), `message.events` and `usage.cost`.

use converse_canister::Outcome;
use serde::Serialize;
use serde_json::{Map, Value};

use super::usage::ChatUsage;
use super::{ApiError, ClientCall, Finish, Spent, ToolCall, TurnEvent};

/// What a response and all chunks of a stream say about themselves.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatHead {
    pub id: String,
    /// Unix time in seconds.
    pub created: u64,
    /// The model as the client named it.
    pub model: String,
    pub metadata: Map<String, Value>,
    /// The answer is JSON: text that the model wrote before its last reply is left out.
    pub last_reply_only: bool,
}

/// Collects the events of a turn.
#[derive(Debug)]
pub struct ChatResponse {
    head: ChatHead,
    text: Text,
    reasoning: String,
    events: Vec<OwnedToolEvent>,
    calls: Vec<ClientCall>,
    spent: Spent,
    end: Option<Result<Finish, ApiError>>,
}

/// The text of the answer, which grows by replies.
#[derive(Debug)]
pub(super) struct Text {
    text: String,
    /// Where the reply begins.
    start: usize,
    /// The reply is whole: the next text begins another one.
    ended: bool,
    last_reply_only: bool,
}

impl Text {
    pub(super) fn new(last_reply_only: bool) -> Self {
        Self { text: String::new(), start: 0, ended: false, last_reply_only }
    }

    /// Returns what separates this piece from the text before.
    pub(super) fn push(&mut self, piece: &str) -> &'static str {
        let mut between = "";
        if self.ended && !piece.is_empty() {
            self.ended = false;
            if self.last_reply_only {
                self.text.clear();
            } else if !self.text.is_empty() && !self.text.ends_with('\n') {
                between = "\n\n";
                self.text.push_str(between);
            }
            self.start = self.text.len();
        }
        self.text.push_str(piece);
        between
    }

    pub(super) fn end_reply(&mut self) {
        self.ended = true;
    }

    /// Removes the text of the reply; returns whether there was any.
    pub(super) fn discard(&mut self) -> bool {
        let had = !self.ended && self.text.len() > self.start;
        if had {
            self.text.truncate(self.start);
        }
        had
    }

    /// The reply calls tools of the client: text that is held back is not the answer.
    pub(super) fn stop_holding(&mut self) {
        if self.last_reply_only {
            self.text.clear();
            self.start = 0;
        }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl ChatResponse {
    pub fn new(head: ChatHead) -> Self {
        let text = Text::new(head.last_reply_only);
        let (events, calls) = (Vec::new(), Vec::new());
        Self { head, text, reasoning: String::new(), events, calls, spent: Spent::default(), end: None }
    }

    /// Adds an event. Events after the end of the turn are left out.
    pub fn push(&mut self, event: TurnEvent) {
        if self.end.is_some() {
            return;
        }
        match event {
            TurnEvent::TextDelta(piece) => {
                self.text.push(&piece);
            }
            TurnEvent::ReasoningDelta(piece) => self.reasoning.push_str(&piece),
            TurnEvent::Discard => {
                self.text.discard();
            }
            TurnEvent::ToolStarted { call, arguments } => {
                self.text.end_reply();
                self.events.push(OwnedToolEvent { call, arguments, end: Progress::Running });
            }
            TurnEvent::ToolFinished { call, outcome, text } => {
                self.text.end_reply();
                let end = Progress::Ended(outcome, text);
                match self.events.iter_mut().find(|event| event.call.id == call.id) {
                    Some(event) => event.end = end,
                    None => self.events.push(OwnedToolEvent { call, arguments: Value::Null, end }),
                }
            }
            TurnEvent::ApprovalNeeded { call, arguments } => {
                self.text.end_reply();
                self.events.push(OwnedToolEvent { call, arguments, end: Progress::Waiting });
            }
            TurnEvent::ClientCalls(calls) => {
                self.text.stop_holding();
                self.calls.extend(calls);
            }
            TurnEvent::Usage { usage, cost } => {
                self.text.end_reply();
                self.spent.add(usage, cost);
            }
            TurnEvent::Done(finish) => self.end = Some(Ok(finish)),
            TurnEvent::Failed(error) => self.end = Some(Err(error)),
        }
    }

    /// Returns the body.
    ///
    /// # Errors
    /// The turn failed, or its end did not come.
    pub fn body(self) -> Result<Vec<u8>, ApiError> {
        let unended = || ApiError::failure(super::FailureKind::Internal, "the turn did not end");
        let finish = self.end.unwrap_or_else(|| Err(unended()))?;
        let text = self.text.as_str();
        let message = Message {
            role: "assistant",
            // OpenAI's content is null beside calls.
            content: (!text.is_empty() || self.calls.is_empty()).then_some(text),
            refusal: None,
            reasoning_content: Some(self.reasoning.as_str()).filter(|text| !text.is_empty()),
            annotations: [],
            tool_calls: self.calls.iter().map(ToolCallObject::whole).collect(),
            events: self.events.iter().map(OwnedToolEvent::object).collect(),
        };
        let finish_reason = reason(finish, !self.calls.is_empty());
        let object = Completion {
            id: &self.head.id,
            object: "chat.completion",
            created: self.head.created,
            model: &self.head.model,
            choices: [Choice { index: 0, message, logprobs: None, finish_reason }],
            usage: self.spent.chat(),
            metadata: Some(&self.head.metadata).filter(|metadata| !metadata.is_empty()),
        };
        Ok(serde_json::to_vec(&object).unwrap_or_default())
    }
}

/// Returns `finish_reason`. A reply with calls has ended for them, whatever the provider says.
pub(super) fn reason(finish: Finish, has_calls: bool) -> &'static str {
    match finish {
        _ if has_calls => "tool_calls",
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolCalls => "tool_calls",
        Finish::ContentFilter => "content_filter",
    }
}

#[derive(Serialize)]
struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<ChatUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: &'static str,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    refusal: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    annotations: [(); 0],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCallObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<ToolEvent<'a>>,
}

/// A call for the client; in a stream with its number.
#[derive(Serialize)]
pub(super) struct ToolCallObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionObject<'a>,
}

#[derive(Serialize)]
struct FunctionObject<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> ToolCallObject<'a> {
    fn whole(call: &'a ClientCall) -> Self {
        let function = FunctionObject { name: &call.name, arguments: &call.arguments };
        Self { index: None, id: &call.id, kind: "function", function }
    }

    pub(super) fn numbered(index: usize, call: &'a ClientCall) -> Self {
        Self { index: Some(index), ..Self::whole(call) }
    }
}

#[derive(Debug)]
struct OwnedToolEvent {
    call: ToolCall,
    arguments: Value,
    end: Progress<String>,
}

/// How far an invocation is.
#[derive(Debug)]
pub(super) enum Progress<T> {
    /// It waits for an approval.
    Waiting,
    Running,
    /// What the model reads.
    Ended(Outcome, T),
}

impl OwnedToolEvent {
    fn object(&self) -> ToolEvent<'_> {
        let end = match &self.end {
            Progress::Waiting => Progress::Waiting,
            Progress::Running => Progress::Running,
            Progress::Ended(outcome, text) => Progress::Ended(*outcome, text.as_str()),
        };
        ToolEvent::new(&self.call, Some(&self.arguments), end)
    }
}

/// An invocation of a tool of this server. Not OpenAI's: Open WebUI forwards `event` members to its page.
#[derive(Serialize)]
pub(super) struct ToolEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    status: &'static str,
    id: &'a str,
    ensemble: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

impl<'a> ToolEvent<'a> {
    pub(super) fn new(call: &'a ToolCall, arguments: Option<&'a Value>, progress: Progress<&'a str>) -> Self {
        let (status, end) = match progress {
            Progress::Waiting => ("waiting", None),
            Progress::Running => ("running", None),
            Progress::Ended(outcome, text) if outcome.is_success() => ("done", Some((outcome, text))),
            Progress::Ended(outcome, text) => ("error", Some((outcome, text))),
        };
        Self {
            kind: "tool",
            status,
            id: &call.id,
            ensemble: &call.ensemble,
            name: &call.tool,
            arguments: arguments.filter(|arguments| !arguments.is_null()),
            outcome: end.map(|(outcome, _)| outcome.label()),
            result: end.map(|(_, text)| text),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
