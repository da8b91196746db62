//! Turns events of the host into those of the OpenAI API.

use std::collections::HashMap;

use converse_canister::{Canister, Content, Invocation, InvocationId, Stop, Transcript};
use converse_host::Event;
use converse_host::failure::{Failure, Kind};

use converse_openai::{ApiError, ClientCall, FailureKind, Finish, ToolCall, TurnEvent};

/// Follows a turn.
#[derive(Debug, Default)]
pub(super) struct Narrator {
    /// Calls of this server's tools that run.
    calls: HashMap<InvocationId, ToolCall>,
    /// Calls without a result so far, in order. With tools of the client these are for it.
    open: Vec<(InvocationId, ClientCall)>,
    /// How the last reply ended.
    stop: Option<Stop>,
    /// Ids of the requests for approval that the client has answered.
    approvals: HashMap<InvocationId, String>,
}

impl Narrator {
    /// `approvals` has the ids of the requests for approval that the client has answered.
    pub(super) fn approved(approvals: HashMap<InvocationId, String>) -> Self {
        Self { approvals, ..Self::default() }
    }

    /// Notes the calls of an earlier turn that still have no result.
    pub(super) fn continues(&mut self, transcript: &Transcript) {
        let open = transcript.open().into_iter().cloned();
        open.for_each(|call| self.invoked(call));
    }

    /// Calls `emit` for each event of the API that this one becomes.
    pub(super) fn event(&mut self, event: Event, mut emit: impl FnMut(TurnEvent)) {
        match event {
            Event::TextDelta(text) => emit(TurnEvent::TextDelta(text)),
            Event::ReasoningDelta(text) => emit(TurnEvent::ReasoningDelta(text)),
            Event::Retried { discard: true, .. } => emit(TurnEvent::Discard),
            Event::ToolStarted { id, tool, arguments } => {
                let call = self.call(&id, &tool);
                self.calls.insert(id, call.clone());
                emit(TurnEvent::ToolStarted { call, arguments });
            }
            Event::Appended(canister) => self.appended(*canister, emit),
            Event::Used { usage, cost, .. } => emit(TurnEvent::Usage { usage, cost }),
            _ => {}
        }
    }

    fn appended(&mut self, canister: Canister, mut emit: impl FnMut(TurnEvent)) {
        match canister {
            Canister::Assistant(assistant) => self.stop = Some(assistant.stop),
            Canister::Invocation(call) => self.invoked(call),
            Canister::Result(result) => {
                let open = self.open.iter().position(|(id, _)| *id == result.id);
                let name = open.map(|at| self.open.remove(at).1.name).unwrap_or_default();
                let started = self.calls.remove(&result.id);
                let call = started
                    .unwrap_or_else(|| self.call(&result.id, &converse_text::wording::tool_name(&name)));
                let texts: Vec<String> = result.content.iter().filter_map(words).collect();
                emit(TurnEvent::ToolFinished { call, outcome: result.outcome, text: texts.join("\n") });
            }
            _ => {}
        }
    }

    fn invoked(&mut self, call: Invocation) {
        let id = call.wire_id.unwrap_or_else(|| call.id.to_string());
        let arguments = serde_json::to_string(&call.arguments.object).unwrap_or_default();
        self.open.push((call.id, ClientCall { id, name: call.tool, arguments }));
    }

    fn call(&self, id: &InvocationId, tool: &str) -> ToolCall {
        let (ensemble, tool) = tool.split_once('.').unwrap_or(("", tool));
        let approval = self.approvals.get(id).cloned();
        ToolCall { id: id.to_string(), ensemble: ensemble.to_owned(), tool: tool.to_owned(), approval }
    }

    /// Calls `emit` for the end of the turn.
    pub(super) fn ended(self, ended: Result<(), Failure>, mut emit: impl FnMut(TurnEvent)) {
        let Err(failure) = ended else { return emit(TurnEvent::Done(Finish::Stop)) };
        let truncated = self.stop == Some(Stop::Truncated);
        let last = match (failure.kind, failure.code) {
            (Kind::Unapproved, "waiting") => {
                emit(TurnEvent::ClientCalls(self.open.into_iter().map(|(_, call)| call).collect()));
                TurnEvent::Done(Finish::ToolCalls)
            }
            _ if failure.answered => TurnEvent::Done(Finish::Stop),
            (Kind::Limit, "limit") if truncated => TurnEvent::Done(Finish::Length),
            (_, "model-refused") => TurnEvent::Done(Finish::ContentFilter),
            _ => TurnEvent::Failed(api_error(&failure)),
        };
        emit(last);
    }
}

fn words(content: &Content) -> Option<String> {
    match content {
        Content::Structured { value } => Some(value.to_string()),
        content => content.as_text().map(str::to_owned),
    }
}

/// Returns a failure of a turn as an error of the API.
pub(super) fn api_error(failure: &Failure) -> ApiError {
    let kind = match failure.kind {
        Kind::Usage | Kind::Configuration | Kind::Ensemble => FailureKind::Configuration,
        Kind::ProviderRefused => FailureKind::ProviderRefused,
        Kind::ProviderUnreachable => FailureKind::ProviderUnreachable,
        Kind::ProviderNonsense => FailureKind::ProviderNonsense,
        Kind::Unapproved => FailureKind::Unapproved,
        Kind::Limit => FailureKind::Limit,
        Kind::Signal(_) => FailureKind::Interrupted,
        Kind::Internal | Kind::Output | Kind::Closed => FailureKind::Internal,
    };
    ApiError::failure(kind, converse_text::safe(&failure.message).into_owned())
}
