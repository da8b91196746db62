//! What a turn is run with.

use converse_canister::{Blobs, TranscriptError};
use converse_ensemble::Roster;
use tokio::time::Instant;

use crate::{AnswerCheck, CompactionPolicy, ExchangeError, RetryPolicy, Route, SinkError, Timeouts};

/// Which model is asked, how, and with which tools.
pub struct Engine<'a> {
    pub route: Route<'a>,
    /// Taken in their order when the one before fails for good; see [`Route`].
    pub fallbacks: Vec<Route<'a>>,
    pub roster: &'a Roster,
    pub blobs: &'a dyn Blobs,
    /// What the model is told of this run beside the conversation, such as ensembles that could not be connected. It
    /// is no part of the transcript: the next run may tell something else.
    pub note: Option<String>,
    /// What the last words of the turn must be.
    pub answer: Option<&'a dyn AnswerCheck>,
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
    /// What fits into the window, and how it is made to.
    pub compaction: CompactionPolicy,
    /// Can half-shown text be taken back (a terminal, JSONL records), or not (a pipe)?
    pub can_take_back: bool,
    pub deadline: Option<Instant>,
}

impl<'a> Engine<'a> {
    /// The one that is asked now, and the one after it.
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

/// Why a turn has no ending. The transcript is lawful and durable as far as it came.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Exchange(Box<ExchangeError>),
    #[error(transparent)]
    Sink(#[from] SinkError),
    #[error("internal: {0}")]
    Transcript(#[from] TranscriptError),
}
