//! What happens in a turn, for the program that began it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Canister, Cost, Decision, InvocationId, Outcome, Usage};
use converse_engine::{Event as Happened, Sink, SinkError};
use converse_ensemble::ToolProgress;
use converse_provider::Delta;
use parking_lot::Mutex;
use serde_json::Value;

use converse_text::wording::tool_name;

/// What happens in a turn, in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of the reply.
    TextDelta(String),
    /// A piece of what the model thinks.
    ReasoningDelta(String),
    /// The model is asked again. With `discard`, the text of this reply so far is void.
    Retried {
        reason: String,
        discard: bool,
    },
    /// A tool is about to run with these arguments.
    ToolStarted {
        id: InvocationId,
        tool: String,
        arguments: Value,
    },
    /// A tool has answered, or its call was refused.
    ToolFinished {
        id: InvocationId,
        tool: String,
        outcome: Outcome,
        elapsed: Duration,
    },
    /// What a running tool reports.
    ToolProgress {
        id: InvocationId,
        progress: ToolProgress,
    },
    /// A message has joined the conversation.
    Appended(Box<Canister>),
    /// A call was decided about.
    Decided {
        id: InvocationId,
        decision: Decision,
    },
    Warning(String),
    /// A reply is whole. `cost` is `None` where prices are unknown.
    Used {
        usage: Usage,
        cost: Option<Cost>,
        /// The provider's name of the model.
        model: String,
        /// The provider that served the reply.
        provider: String,
    },
}

/// Events that are not read yet; `None` if nobody reads. Written and read by one task, so nobody is woken.
pub(crate) type Unread = Arc<Mutex<Option<VecDeque<Event>>>>;

pub(crate) struct EventSink(pub(crate) Unread);

impl Sink for EventSink {
    fn emit(&self, event: &Happened<'_>) -> Result<(), SinkError> {
        let mut unread = self.0.lock();
        // A turn that is only finished has no reader.
        let Some(unread) = unread.as_mut() else { return Ok(()) };
        let mut send = |event| unread.push_back(event);
        match event {
            Happened::Delta(Delta::Text(text)) => send(Event::TextDelta(text.clone())),
            Happened::Delta(Delta::Reasoning(text)) => send(Event::ReasoningDelta(text.clone())),
            Happened::Restarted(restart) => {
                send(Event::Retried { reason: restart.reason.to_owned(), discard: restart.discard });
            }
            Happened::Started { invocations, .. } => invocations.iter().for_each(|invocation| {
                let (id, tool) = (invocation.id.clone(), tool_name(&invocation.tool));
                let arguments = Value::Object(invocation.arguments.object.clone());
                send(Event::ToolStarted { id, tool, arguments });
            }),
            Happened::Finished { invocation, result, elapsed } => {
                let (id, tool) = (invocation.id.clone(), tool_name(&invocation.tool));
                send(Event::ToolFinished { id, tool, outcome: result.outcome, elapsed: *elapsed });
            }
            Happened::ToolProgress { id, word } => {
                send(Event::ToolProgress { id: (*id).clone(), progress: (*word).clone() });
            }
            Happened::Appended(canister) => send(Event::Appended(Box::new(Canister::clone(canister)))),
            Happened::Decided { id, decision } => {
                send(Event::Decided { id: (*id).clone(), decision: (*decision).clone() });
            }
            Happened::Warned(text) => send(Event::Warning((*text).to_owned())),
            Happened::Used { usage, cost, model, provider, .. } => send(Event::Used {
                usage: *usage,
                cost: *cost,
                model: (*model).to_owned(),
                provider: (*provider).to_owned(),
            }),
            _ => {}
        }
        Ok(())
    }
}
