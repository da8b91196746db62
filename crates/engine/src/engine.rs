//! The configuration of a turn, and how a turn ends.

use converse_canister::{Blobs, InvocationId, TranscriptError};
use converse_ensemble::Roster;
use tokio::time::Instant;

use crate::{
    AnswerCheck, CompactionPolicy, ExchangeError, Limit, Released, RetryPolicy, Route, SinkError, Timeouts,
};

/// The configuration of a turn: routes to models, tools, policies and timeouts.
pub struct Engine<'a> {
    pub route: Route<'a>,
    /// Routes that are tried in order when the one before has failed for good; see [`Route`].
    pub fallbacks: Vec<Route<'a>>,
    pub roster: &'a Roster,
    pub blobs: &'a dyn Blobs,
    /// A note for the model beside the conversation, such as ensembles that could not be connected. It is not part of
    /// the transcript: the next run may have another note.
    pub note: Option<String>,
    /// Checks the final answer of the turn, if it must have a form.
    pub answer: Option<&'a dyn AnswerCheck>,
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
    /// How the conversation is fitted into the context window.
    pub compaction: CompactionPolicy,
    /// Whether shown text can be retracted: at a terminal and in JSONL records, but not in a pipe.
    pub can_take_back: bool,
    pub deadline: Option<Instant>,
}

impl<'a> Engine<'a> {
    /// Returns the route at this index, and the one after it.
    pub(crate) fn routes_from(&self, at: usize) -> (&Route<'a>, Option<&Route<'a>>) {
        match at.checked_sub(1) {
            None => (&self.route, self.fallbacks.first()),
            Some(before) => (self.fallbacks.get(before).unwrap_or(&self.route), self.fallbacks.get(at)),
        }
    }
}

impl std::fmt::Debug for Engine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("route", &self.route).finish_non_exhaustive()
    }
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With an answer. `unapproved` invocations needed an approval without an approver, `unsandboxed` invocations a
    /// sandbox that is not available here, `unstarted` invocations a file descriptor.
    Finished {
        unapproved: usize,
        unsandboxed: usize,
        unstarted: usize,
    },
    /// The model's output limit or window cut the answer.
    Truncated,
    /// The model or its provider's filter declined.
    RefusedByModel {
        reason: Option<String>,
    },
    /// Without an answer, for an unknown stop reason; `word` is the provider's name of it.
    UnknownStop {
        word: String,
    },
    /// The answer did not pass its check, even after repairs; `errors` are those of the last answer.
    InvalidAnswer {
        errors: String,
    },
    Limit(Limit),
    /// Before an answer: these invocations wait for a decision that comes later. They are open in the transcript.
    Postponed {
        ids: Vec<InvocationId>,
    },
    /// An invocation failed whose descriptor says `on_failure = "stop"`.
    Stopped {
        id: InvocationId,
        /// `ensemble.invoker`.
        tool: String,
    },
    Cancelled,
}

/// An error that leaves a turn without an [`Ending`]. The transcript is valid and durable up to that point.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Exchange(Box<ExchangeError>),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error(transparent)]
    Released(#[from] Released),
    #[error("internal: {0}")]
    Transcript(#[from] TranscriptError),
}
