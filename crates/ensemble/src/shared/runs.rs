//! What was run, and for whom.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use converse_canister::{Arguments, Content, canonical};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{Answer, CRASHED, Context, InvokeError, PausableClock};

/// Bytes of answers that are held at most. What is more was run all the same, and is not run again.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// Of all models that are compared. Cheap to share.
#[derive(Clone, Default)]
pub struct SharedRuns(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By the call, and how many alike one model had made before it.
    runs: HashMap<(String, usize), Arc<Run>>,
    /// How many calls of this kind each model has made.
    made: HashMap<(usize, String), usize>,
    /// How many of a model's calls were answered by another's, and not yet told.
    shared: HashMap<(usize, String), usize>,
    bytes: usize,
}

/// One run, for all who wait for it.
#[derive(Debug, Default)]
pub(super) struct Run {
    outcome: OnceCell<Result<Answer, InvokeError>>,
    /// What is said of it if it was begun and never finished.
    abandoned: Mutex<Option<InvokeError>>,
}

impl SharedRuns {
    /// The run that answers this call.
    pub(super) fn join(&self, context: &Context, definition: &str, arguments: &Arguments) -> Arc<Run> {
        let key = key(&json!([context.invoker, definition]), arguments);
        let mut state = self.state();
        let made = state.made.entry((context.host.caller(), key.clone())).or_default();
        let place = *made;
        *made += 1;
        Arc::clone(state.runs.entry((key, place)).or_default())
    }

    /// A call of this model was answered by a run that was another's.
    pub(super) fn shared(&self, caller: usize, shown: &str, arguments: &Arguments) {
        *self.state().shared.entry((caller, key(&json!(shown), arguments))).or_default() += 1;
    }

    /// Whether it was so, of a call that has just been answered. Each is told once.
    pub fn take_shared(&self, caller: usize, shown: &str, arguments: &Arguments) -> bool {
        let mut state = self.state();
        let Some(count) = state.shared.get_mut(&(caller, key(&json!(shown), arguments))) else {
            return false;
        };
        let was = *count > 0;
        *count = count.saturating_sub(1);
        was
    }

    /// Counts what it takes.
    fn has_room_for(&self, answer: &Answer) -> bool {
        let size: usize = answer.content.iter().map(size).sum();
        let mut state = self.state();
        let fits = state.bytes.saturating_add(size) <= MOST_HELD;
        state.bytes += if fits { size } else { 0 };
        fits
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl std::fmt::Debug for SharedRuns {
    /// Without what was answered: results may hold anything.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedRuns").finish_non_exhaustive()
    }
}

fn key(about: &Value, arguments: &Arguments) -> String {
    canonical(&json!([about, arguments.object]))
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => text.len(),
        Content::Structured { value } => value.to_string().len(),
        Content::Resource { uri, .. } => uri.len(),
        Content::Blob { .. } => 0,
    }
}

impl Run {
    /// Waits for it, or makes it. `first` gives what is shared, or an error that is for its caller alone: then the
    /// next one who waits makes it.
    pub(super) async fn outcome<F>(
        &self,
        all: &SharedRuns,
        first: impl FnOnce() -> F,
    ) -> Result<Answer, InvokeError>
    where
        F: Future<Output = Result<Result<Answer, InvokeError>, InvokeError>>,
    {
        let mut own = None;
        let kept = async {
            Ok(match first().await? {
                Ok(answer) if !all.has_room_for(&answer) => {
                    own = Some(answer);
                    let told = "it has run for another model, and its answer was too large to be kept";
                    Err(InvokeError::Failed(told.to_owned()))
                }
                outcome => outcome,
            })
        };
        let outcome = self.outcome.get_or_try_init(|| kept).await?.clone();
        own.map_or(outcome, Ok)
    }

    pub(super) fn abandoned(&self) -> Option<InvokeError> {
        self.abandoned.lock().clone()
    }
}

/// A run that goes on. Dropped before it has an outcome, it says what the others are told.
pub(super) struct Unfinished<'r> {
    pub(super) run: &'r Run,
    pub(super) deadline: Instant,
    pub(super) clock: PausableClock,
    pub(super) repeatable: bool,
}

/// Of a run that was given up.
pub(super) struct Fate {
    /// Its own time was over; else the turn of its model has ended.
    pub(super) too_late: bool,
    /// What the others are told; nothing if one of them may run it.
    pub(super) told: Option<InvokeError>,
}

impl Unfinished<'_> {
    pub(super) fn fate(&self) -> Fate {
        let too_late = self.clock.now().into_std() >= self.deadline;
        let told = match (too_late, self.repeatable) {
            (true, _) => Some(InvokeError::Timeout("no answer in time; it was stopped".to_owned())),
            (false, true) => None,
            (false, false) => Some(InvokeError::Interrupted(
                "it was begun for another model and stopped: what came of it is not known".to_owned(),
            )),
        };
        Fate { too_late, told }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let told = match std::thread::panicking() {
            true => Some(InvokeError::Failed(CRASHED.to_owned())),
            false => self.fate().told,
        };
        // Of no meaning once there is an outcome.
        *self.run.abandoned.lock() = told;
    }
}
