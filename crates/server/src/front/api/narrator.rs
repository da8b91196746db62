//! The events of a turn as AG-UI events.
//!
//! Source: `@ag-ui/core` 1.0.0 (npm, November 2026). What AG-UI has no event for is a `CUSTOM` event whose name begins with
//! `converse.`.
//!
//! Each event has a [`Position`]: how many messages of the session are whole, and how much of the next one was sent. From a
//! position and the messages of a session follows what a client has not seen, also after a restart ([`missed`]).

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use converse_canister::{Arguments, Canister, Content, Invocation, InvocationId, Stop, TurnId};
use converse_ensemble::{SharedRuns, ToolProgress};
use converse_host::Event;
use converse_host::failure::{Failure, Kind};
use converse_text::wording::tool_name;
use serde_json::{Value, json};

use super::message::{Markdown, decision_json, parts, result_json, words};

/// Time between two versions of the HTML of an answer that grows.
const HTML_INTERVAL: Duration = Duration::from_millis(250);
/// Bytes of an answer whose HTML is made while it grows: making it takes time in proportion to the whole text.
const MAX_LIVE_HTML: usize = 64 * 1024;

/// How much of a session a client has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// Whole messages.
    pub(super) messages: usize,
    /// 0, or 1 more than the characters of the next answer.
    pub(super) sent: usize,
    /// Events since.
    pub(super) events: usize,
    /// Whether the end of the run was seen.
    pub(super) ended: bool,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { messages, sent, events, ended } = self;
        write!(f, "{messages}.{sent}.{events}{}", if *ended { "e" } else { "" })
    }
}

impl FromStr for Position {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (text, ended) = text.strip_suffix('e').map_or((text, false), |text| (text, true));
        let mut numbers = text.split('.').map(|number| number.parse().map_err(drop));
        let mut next = || numbers.next().unwrap_or(Err(()));
        let (messages, sent, events) = (next()?, next()?, next()?);
        if numbers.next().is_some() { Err(()) } else { Ok(Self { messages, sent, events, ended }) }
    }
}

/// Events that a client gets together, as the bytes of a stream, and the position after them.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) position: Position,
    pub(super) bytes: Bytes,
}

fn batch(position: Position, events: &[Value]) -> Batch {
    let mut text = String::new();
    for (index, event) in events.iter().enumerate() {
        // Only the last one has an id: a client that got a part asks for all of them again.
        if index + 1 == events.len() {
            let _ = writeln!(text, "id: {position}");
        }
        let _ = write!(text, "data: {event}\n\n");
    }
    Batch { position, bytes: text.into() }
}

fn custom(name: &str, value: Value) -> Value {
    json!({ "type": "CUSTOM", "name": format!("converse.{name}"), "value": value })
}

/// Follows a run.
pub(super) struct Narrator {
    session: String,
    run: String,
    markdown: Markdown,
    at: Position,
    /// The text of the answer so far, and the message that it will be.
    text: String,
    in_reasoning: bool,
    html_made: Option<Instant>,
    elapsed: HashMap<InvocationId, Duration>,
    /// Results that other models share, the number of this one, and the calls that run.
    shared: Option<(SharedRuns, usize)>,
    running: HashMap<InvocationId, (String, Arguments)>,
    /// Calls that another model's run has answered.
    pub(super) answered_elsewhere: Vec<InvocationId>,
}

impl Narrator {
    pub(super) fn new(session: String, run: String, messages: usize, markdown: Markdown) -> Self {
        let at = Position { messages, ..Position::default() };
        let (text, elapsed, running) = (String::new(), HashMap::new(), HashMap::new());
        Self {
            session,
            run,
            markdown,
            at,
            text,
            in_reasoning: false,
            html_made: None,
            elapsed,
            shared: None,
            running,
            answered_elsewhere: Vec::new(),
        }
    }

    /// For a model of a comparison: results of equal calls of the others are marked. `open` are calls that have waited.
    pub(super) fn sharing(mut self, shared: Option<(SharedRuns, usize)>, open: &[&Invocation]) -> Self {
        self.shared = shared;
        self.running
            .extend(open.iter().map(|call| (call.id.clone(), (call.tool.clone(), call.arguments.clone()))));
        self
    }

    /// Returns whether the result of a call is that of another model's equal call.
    fn is_shared(&mut self, id: &InvocationId) -> bool {
        let (Some((runs, caller)), Some((tool, arguments))) = (&self.shared, self.running.remove(id)) else {
            return false;
        };
        runs.take_shared(*caller, &tool, &arguments)
    }

    fn emit(&mut self, events: &[Value]) -> Option<Batch> {
        if events.is_empty() {
            return None;
        }
        self.at.events += 1;
        Some(batch(self.at, events))
    }

    pub(super) fn started(&mut self) -> Option<Batch> {
        self.emit(&[run_started(&self.session, &self.run)])
    }

    /// Returns how much of the session a client has seen that has all events so far.
    pub(super) fn position(&self) -> Position {
        self.at
    }

    /// Returns the events that follow from an event of the turn.
    pub(super) fn event(&mut self, event: Event) -> Option<Batch> {
        match event {
            Event::TextDelta(text) => self.text_delta(&text),
            Event::ReasoningDelta(text) => self.reasoning_delta(&text),
            Event::Appended(canister) => self.appended(&canister),
            Event::ToolStarted { id, arguments, .. } => {
                if let (Some((_, run)), Value::Object(object)) = (self.running.get_mut(&id), &arguments) {
                    *run = Arguments::from_object(object.clone());
                }
                self.emit(&[custom(
                    "started",
                    json!({ "toolCallId": id.to_string(), "arguments": arguments }),
                )])
            }
            Event::ToolFinished { id, elapsed, .. } => {
                self.elapsed.insert(id, elapsed);
                None
            }
            Event::ToolProgress { id, progress } => {
                let mut value = match progress {
                    ToolProgress::Progress { done, total, message } => {
                        json!({ "progress": done, "total": total, "message": message })
                    }
                    ToolProgress::Log { message } => json!({ "message": message }),
                    ToolProgress::Output { line } => json!({ "message": line }),
                };
                value["toolCallId"] = json!(id.to_string());
                self.emit(&[custom("progress", value)])
            }
            Event::Decided { id, decision } => {
                let mut value = decision_json(&decision);
                value["toolCallId"] = json!(id.to_string());
                self.emit(&[custom("decision", value)])
            }
            Event::Used { usage, cost, model, provider } => {
                let value = json!({
                    "model": model,
                    "provider": provider,
                    "input_tokens": usage.input,
                    "cached_input_tokens": usage.cache_read,
                    "output_tokens": usage.output,
                    "reasoning_tokens": usage.reasoning,
                    "cost": cost.map(|cost| json!({ "dollars": cost.dollars().to_string() })),
                });
                self.emit(&[custom("usage", value)])
            }
            Event::Retried { reason, discard } => {
                self.emit(&[custom("retry", json!({ "reason": reason, "discard": discard }))])
            }
            Event::Warning(text) => self.emit(&[custom("warning", json!({ "text": text }))]),
            _ => None,
        }
    }

    fn id(&self) -> String {
        format!("m{}", self.at.messages)
    }

    fn text_delta(&mut self, text: &str) -> Option<Batch> {
        let id = self.id();
        let mut events = self.end_reasoning();
        if self.at.sent == 0 {
            events.push(json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
            self.at.sent = 1;
        }
        events.push(json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": text }));
        self.text.push_str(text);
        self.at.sent += text.chars().count();
        let is_due = self.html_made.is_none_or(|made| made.elapsed() >= HTML_INTERVAL);
        if is_due && self.text.len() <= MAX_LIVE_HTML {
            events.push(custom("html", json!({ "messageId": id, "html": (self.markdown)(&self.text) })));
            self.html_made = Some(Instant::now());
        }
        self.emit(&events)
    }

    fn reasoning_delta(&mut self, text: &str) -> Option<Batch> {
        let id = format!("r{}", self.at.messages);
        let mut events = Vec::new();
        if !self.in_reasoning {
            self.in_reasoning = true;
            events.push(json!({ "type": "REASONING_START", "messageId": id }));
            events.push(json!({ "type": "REASONING_MESSAGE_START", "messageId": id, "role": "reasoning" }));
        }
        events.push(json!({ "type": "REASONING_MESSAGE_CONTENT", "messageId": id, "delta": text }));
        self.emit(&events)
    }

    fn end_reasoning(&mut self) -> Vec<Value> {
        if !std::mem::take(&mut self.in_reasoning) {
            return Vec::new();
        }
        let id = format!("r{}", self.at.messages);
        vec![
            json!({ "type": "REASONING_MESSAGE_END", "messageId": id }),
            json!({ "type": "REASONING_END", "messageId": id }),
        ]
    }

    fn appended(&mut self, canister: &Canister) -> Option<Batch> {
        let mut events = self.end_reasoning();
        let (index, sent) = (self.at.messages, self.at.sent);
        let elapsed = match canister {
            Canister::Result(result) => self.elapsed.remove(&result.id),
            _ => None,
        };
        events.extend(whole(canister, index, sent, elapsed, &self.session, self.markdown));
        match canister {
            Canister::Invocation(call) if self.shared.is_some() => {
                let run = (call.tool.clone(), call.arguments.clone());
                self.running.insert(call.id.clone(), run);
            }
            Canister::Result(result) if self.is_shared(&result.id) => {
                mark_shared(&mut events);
                self.answered_elsewhere.push(result.id.clone());
            }
            _ => {}
        }
        self.at = Position { messages: index + 1, ..Position::default() };
        self.text.clear();
        self.html_made = None;
        self.emit(&events)
    }

    /// Returns the end of the run, with its last event.
    pub(super) fn ended(&mut self, last: &Value) -> Option<Batch> {
        let mut events = self.end_reasoning();
        if self.at.sent > 0 {
            events.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": self.id() }));
        }
        events.push(last.clone());
        self.at.ended = true;
        self.emit(&events)
    }
}

fn run_started(session: &str, run: &str) -> Value {
    json!({ "type": "RUN_STARTED", "threadId": session, "runId": run })
}

/// Returns the beginning of a run that runs elsewhere, after so many messages.
pub(super) fn begun(session: &str, run: &str, messages: usize) -> Batch {
    let position = Position { messages, events: 1, ..Position::default() };
    batch(position, &[run_started(session, run)])
}

/// Returns the last event of a run. `interrupts` are the approvals that it waits for.
pub(super) fn last_event(
    session: &str,
    run: &str,
    ended: &Result<(), Failure>,
    interrupts: &[Value],
) -> Value {
    let finished = |outcome: Value| json!({ "type": "RUN_FINISHED", "threadId": session, "runId": run, "outcome": outcome });
    match ended {
        _ if !interrupts.is_empty() => finished(json!({ "type": "interrupt", "interrupts": interrupts })),
        Ok(()) => finished(json!({ "type": "success" })),
        Err(failure) if failure.answered => finished(json!({ "type": "success" })),
        Err(failure) => match failure.kind {
            Kind::Unapproved => finished(json!({ "type": "success" })),
            Kind::Signal(2) => finished(json!({ "type": "cancelled" })),
            _ => json!({ "type": "RUN_ERROR", "message": failure.message, "code": failure.code }),
        },
    }
}

/// Returns the events of a whole message; of an answer, what follows after the part that was `sent`.
fn whole(
    canister: &Canister,
    index: usize,
    sent: usize,
    elapsed: Option<Duration>,
    session: &str,
    markdown: Markdown,
) -> Vec<Value> {
    let id = format!("m{index}");
    match canister {
        Canister::User(user) => {
            vec![custom("user", json!({ "index": index, "content": parts(&user.content, session) }))]
        }
        Canister::Assistant(assistant) => {
            let text: String = assistant.content.iter().filter_map(Content::as_text).collect();
            let mut events = Vec::new();
            if sent == 0 && text.is_empty() {
                return events;
            }
            if sent == 0 {
                events.push(json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
            }
            let rest: String = text.chars().skip(sent.saturating_sub(1)).collect();
            if !rest.is_empty() {
                events.push(json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": rest }));
            }
            events.push(custom("html", json!({ "messageId": id, "html": markdown(&text) })));
            events.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": id }));
            events
        }
        Canister::Invocation(call) => {
            let call_id = call.id.to_string();
            let name = tool_name(&call.tool);
            let arguments = Value::Object(call.arguments.object.clone()).to_string();
            vec![
                json!({ "type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, "parentMessageId": parent(call.turn) }),
                json!({ "type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": arguments }),
                json!({ "type": "TOOL_CALL_END", "toolCallId": call_id }),
            ]
        }
        Canister::Result(result) => {
            let mut value = result_json(result, session);
            value["toolCallId"] = json!(result.id.to_string());
            if let Some(elapsed) = elapsed {
                value["elapsed_ms"] = json!(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX));
            }
            vec![
                json!({
                    "type": "TOOL_CALL_RESULT",
                    "messageId": id,
                    "toolCallId": result.id.to_string(),
                    "role": "tool",
                    "content": words(&result.content),
                }),
                custom("result", value),
            ]
        }
        Canister::Supervisor(_) | Canister::Document(_) => Vec::new(),
    }
}

/// AG-UI wants the message that a call belongs to; several calls of one reply have the same one.
fn parent(turn: TurnId) -> String {
    format!("t{}", turn.0)
}

/// Marks the result of a call that another model's run has answered.
fn mark_shared(events: &mut [Value]) {
    if let Some(last) = events.last_mut() {
        last["value"]["shared"] = json!(true);
    }
}

/// Returns what a client has not seen of these messages. `shared` are the calls that another model's run has answered.
pub(super) fn missed(
    canisters: &[Canister],
    from: Position,
    session: &str,
    markdown: Markdown,
    shared: &[InvocationId],
) -> Vec<Batch> {
    let mut batches = Vec::new();
    for (index, canister) in canisters.iter().enumerate().skip(from.messages) {
        let sent = if index == from.messages { from.sent } else { 0 };
        let mut events = whole(canister, index, sent, None, session, markdown);
        if matches!(canister, Canister::Result(result) if shared.contains(&result.id)) {
            mark_shared(&mut events);
        }
        let position = Position { messages: index + 1, events: 1, ..Position::default() };
        if !events.is_empty() {
            batches.push(batch(position, &events));
        }
    }
    batches
}

/// Returns the end of the last run, for a client that has not seen it. `last` is its last event, if this server has run it.
pub(super) fn missed_end(
    canisters: &[Canister],
    from: Position,
    session: &str,
    last: Option<Value>,
    interrupts: &[Value],
) -> Option<Batch> {
    if from.ended && from.messages >= canisters.len() {
        return None;
    }
    // A cut reply is not an answer: its turn was interrupted.
    let is_whole = |last: &Canister| matches!(last, Canister::Assistant(reply) if reply.stop != Stop::Cut);
    let is_answered = canisters.last().is_none_or(is_whole);
    let interrupted = || Failure::new(Kind::Signal(15), "interrupted", "the turn was interrupted");
    let derived = || {
        let ended = if is_answered { Ok(()) } else { Err(interrupted()) };
        last_event(session, "", &ended, interrupts)
    };
    let position = Position { messages: canisters.len(), events: 2, ended: true, ..Position::default() };
    Some(batch(position, &[last.unwrap_or_else(derived)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_is_written() {
        let position = Position { messages: 12, sent: 40, events: 3, ended: false };
        for (position, text) in [(position, "12.40.3"), (Position { ended: true, ..position }, "12.40.3e")] {
            assert_eq!((position.to_string().as_str(), text.parse()), (text, Ok(position)));
        }
        for wrong in ["", "1", "1.2", "1.2.3.4", "1.2.x", "-1.0.0", "1.2.3ee"] {
            assert_eq!(wrong.parse::<Position>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn a_run_whose_reply_was_cut_was_not_successful() {
        let reply = |stop| {
            let content = vec![Content::text("half of")];
            [Canister::Assistant(converse_canister::Assistant {
                turn: TurnId(1),
                content,
                native: None,
                stop,
                response_id: None,
            })]
        };
        let end = |stop| {
            let last = missed_end(&reply(stop), Position::default(), "s", None, &[]).unwrap();
            String::from_utf8_lossy(&last.bytes).into_owned()
        };
        assert!(end(Stop::End).contains("success"));
        assert!(end(Stop::Cut).contains("RUN_ERROR") && end(Stop::Cut).contains("interrupted"));
    }

    #[test]
    fn the_rest_of_a_text_follows_what_was_sent() {
        let reply = converse_canister::Assistant {
            turn: TurnId(1),
            content: vec![Content::text("één twee")],
            native: None,
            stop: converse_canister::Stop::End,
            response_id: None,
        };
        let reply = Canister::Assistant(reply);
        let rest = |sent| {
            let events = whole(&reply, 1, sent, None, "s", |text| text.to_owned());
            let started = events.iter().any(|event| event["type"] == "TEXT_MESSAGE_START");
            let text: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
            (started, text)
        };
        assert_eq!(rest(0), (true, "één twee".to_owned()));
        assert_eq!(rest(1), (false, "één twee".to_owned()));
        assert_eq!(rest(5), (false, "twee".to_owned()));
        assert_eq!(rest(9), (false, String::new()));
    }
}
