//! `-o jsonl`: a record as each thing happens, and last always `done`.
//!
//! The records are types of their own, apart from the engine's events: scripts depend on them. Version 1; keys are only
//! ever added. Described by `docs/reference/events.schema.json`, against which the tests check every record.

use std::sync::{Arc, Mutex};

use converse_canister::{Arguments, Canister, Cost, Decision, Invocation, Usage};
use converse_engine::{Event, Sink, SinkError};
use converse_ensemble::ToolProgress;
use converse_provider::Delta;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::render::output::{printable, write_stdout};
use crate::render::{End, Renderer, lock_state, result_text};
use converse_host::secrets::Redactor;

pub struct JsonlRenderer {
    redactor: Redactor,
    /// The number of the next record.
    next: Arc<Mutex<u64>>,
    /// The model whose records these are, where several are compared.
    route: Option<String>,
    /// Another than was asked for gave the last reply.
    instead: Mutex<Option<String>>,
}

converse_host::opaque_debug!(JsonlRenderer);

#[derive(Serialize)]
struct Line<'a> {
    v: u8,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    #[serde(flatten)]
    record: Record<'a>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
pub enum Record<'a> {
    #[serde(rename = "session.started")]
    SessionStarted {
        session: Option<&'a str>,
        model: &'a str,
        ensembles: Vec<EnsembleRecord<'a>>,
        errors: &'a [String],
        quarantined: &'a [String],
    },
    #[serde(rename = "message.delta")]
    MessageDelta { text: &'a str },
    #[serde(rename = "reasoning.delta")]
    ReasoningDelta { text: &'a str },
    #[serde(rename = "message.completed")]
    MessageCompleted { turn: u64, text: String },
    #[serde(rename = "invocation.requested")]
    InvocationRequested {
        id: &'a str,
        turn: u64,
        tool: &'a str,
        arguments: &'a Map<String, Value>,
        malformed: Option<String>,
    },
    #[serde(rename = "invocation.decided")]
    InvocationDecided { id: &'a str, decision: &'static str, rule: Option<&'a str>, comment: Option<&'a str> },
    #[serde(rename = "invocation.started")]
    InvocationStarted { id: &'a str },
    #[serde(rename = "invocation.progress")]
    InvocationProgress { id: &'a str, done: Option<f64>, total: Option<f64>, message: Option<&'a str> },
    #[serde(rename = "invocation.finished")]
    InvocationFinished {
        id: &'a str,
        outcome: &'static str,
        text: String,
        truncated: bool,
        cost: Option<f64>,
    },
    #[serde(rename = "retry")]
    Retry { reason: &'a str, attempt: u32, delay_ms: u64, discard: bool },
    #[serde(rename = "usage")]
    Usage {
        model: &'a str,
        #[serde(flatten)]
        usage: Usage,
        cost: Option<f64>,
        /// The reply broke off: it took at least so much.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        /// A fallback gave it, as `provider/model`.
        #[serde(skip_serializing_if = "Option::is_none")]
        instead: Option<&'a str>,
    },
    #[serde(rename = "warning")]
    Warning { message: &'a str },
    /// Tokens of a request, by estimate.
    #[serde(rename = "context.condensed")]
    ContextCondensed { covers: usize, tokens_before: u64, tokens_after: u64 },
    #[serde(rename = "answer")]
    Answer { value: &'a Value },
    #[serde(rename = "turn.committed")]
    TurnCommitted { turn: u64 },
    /// Of one of several models; `done` is for all.
    #[serde(rename = "model.done")]
    ModelDone {
        exit: u8,
        reason: &'a str,
        session: Option<&'a str>,
        error: Option<Value>,
        time_ms: u64,
        path: &'a [String],
    },
    #[serde(rename = "done")]
    Done {
        exit: u8,
        reason: &'a str,
        session: Option<&'a str>,
        error: Option<Value>,
        /// The model of the last reply, if known.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<&'a str>,
        /// The model that was asked, if it is another one.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<&'a str>,
    },
}

converse_host::opaque_debug!(Record<'_>);

#[derive(Serialize)]
pub struct EnsembleRecord<'a> {
    pub name: &'a str,
    pub tools: usize,
}

converse_host::opaque_debug!(EnsembleRecord<'_>);

impl JsonlRenderer {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, next: Arc::default(), route: None, instead: Mutex::default() }
    }

    /// The records of one of several models, in one count with those of all.
    pub fn routed(&self, route: &str) -> Self {
        let (redactor, next) = (self.redactor.clone(), Arc::clone(&self.next));
        Self { redactor, next, route: Some(route.to_owned()), instead: Mutex::default() }
    }

    pub fn write(&self, record: Record<'_>) -> Result<(), SinkError> {
        let mut next = lock_state(&self.next)?;
        let line = Line { v: 1, seq: *next, route: self.route.as_deref(), record };
        let mut value = serde_json::to_value(&line).map_err(|error| SinkError::Output(error.to_string()))?;
        self.redactor.clean_json(&mut value);
        *next += 1;
        write_stdout(&(printable(&value.to_string()) + "\n"))
    }

    fn appended(&self, canister: &Canister) -> Result<(), SinkError> {
        match canister {
            Canister::Assistant(assistant) => {
                let (turn, text) = (assistant.turn.0, assistant.words());
                if text.is_empty() { Ok(()) } else { self.write(Record::MessageCompleted { turn, text }) }
            }
            Canister::Invocation(invocation) => self.write(requested(invocation)),
            Canister::Result(result) => self.write(Record::InvocationFinished {
                id: result.id.as_str(),
                outcome: result.outcome.label(),
                text: result_text(result),
                truncated: result.truncated.is_some(),
                cost: result.cost.map(Cost::dollars),
            }),
            Canister::User(_) | Canister::Supervisor(_) | Canister::Document(_) => Ok(()),
        }
    }
}

fn requested(invocation: &Invocation) -> Record<'_> {
    let Arguments { object, malformed, .. } = &invocation.arguments;
    Record::InvocationRequested {
        id: invocation.id.as_str(),
        turn: invocation.turn.0,
        tool: &invocation.tool,
        arguments: object,
        malformed: malformed.as_ref().map(ToString::to_string),
    }
}

fn decided<'a>(id: &'a str, decision: &'a Decision) -> Record<'a> {
    let (decision, rule, comment) = match decision {
        Decision::Allow { rule } => ("allow", Some(rule.as_str()), None),
        Decision::AllowEdited { .. } => ("allow_edited", None, None),
        Decision::Deny { rule, comment } => ("deny", Some(rule.as_str()), comment.as_deref()),
        Decision::Remember { pattern } => ("remember", Some(pattern.as_str()), None),
    };
    Record::InvocationDecided { id, decision, rule, comment }
}

impl Sink for JsonlRenderer {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Delta(Delta::Text(text)) => self.write(Record::MessageDelta { text }),
            Event::Delta(Delta::Reasoning(text)) => self.write(Record::ReasoningDelta { text }),
            Event::Appended(canister) => self.appended(canister),
            Event::Decided { id, decision } => self.write(decided(id.as_str(), decision)),
            Event::Started { invocations, .. } => invocations.iter().try_for_each(|invocation| {
                self.write(Record::InvocationStarted { id: invocation.id.as_str() })
            }),
            Event::ToolProgress { id, word } => {
                let id = id.as_str();
                self.write(match word {
                    ToolProgress::Progress { done, total, message } => {
                        let message = message.as_deref();
                        Record::InvocationProgress { id, done: Some(*done), total: *total, message }
                    }
                    ToolProgress::Log { message } => {
                        Record::InvocationProgress { id, done: None, total: None, message: Some(message) }
                    }
                    // For people who look on; the result has what counts of it.
                    ToolProgress::Output { .. } => return Ok(()),
                })
            }
            Event::Warned(message) | Event::Noted(message) => self.write(Record::Warning { message }),
            Event::Restarted(restart) => self.write(Record::Retry {
                reason: restart.reason,
                attempt: restart.attempt,
                delay_ms: u64::try_from(restart.delay.as_millis()).unwrap_or(u64::MAX),
                discard: restart.discard,
            }),
            Event::Used { usage, cost, model, cut, instead, .. } => {
                *lock_state(&self.instead)? = instead.map(str::to_owned);
                let (usage, cost) = (*usage, cost.map(Cost::dollars));
                self.write(Record::Usage { model, usage, cost, cut: *cut, instead: *instead })
            }
            Event::Condensed { condensed, before, after } => self.write(Record::ContextCondensed {
                covers: condensed.covers,
                tokens_before: *before,
                tokens_after: *after,
            }),
            Event::Answered(value) => self.write(Record::Answer { value }),
            Event::Committed { turn, .. } => self.write(Record::TurnCommitted { turn: turn.0 }),
            Event::Delta(_)
            | Event::Stalled
            | Event::Requested { .. }
            | Event::Deciding(_)
            | Event::Finished { .. }
            | Event::Done(_) => Ok(()),
        }
    }
}

impl Renderer for JsonlRenderer {
    fn finish(&self, end: End<'_>) -> Result<(), SinkError> {
        let error = end.failure.map(converse_host::failure::Failure::json);
        let instead = lock_state(&self.instead)?.clone();
        self.write(Record::Done {
            exit: end.exit,
            reason: end.reason,
            session: end.session,
            error,
            model: instead.as_deref().or(end.model),
            asked: end.model.filter(|_| instead.is_some()),
        })
    }
}
