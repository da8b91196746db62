//! The shared runs of equal calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use converse_canister::{Arguments, Content, InvocationResult, Outcome, canonical, json_length};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::is_repeatable;
use crate::tool::Tool;
use crate::{Answer, CRASHED, Context, InvokeError, PausableClock};

/// Maximum bytes of kept answers. A call whose answer is not kept is not run again.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// The runs of all models that are compared. Cheap to clone.
#[derive(Clone, Default)]
pub struct SharedRuns(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By the call, and the number of equal calls that one model made before it.
    runs: HashMap<(String, usize), Arc<Run>>,
    /// Number of equal calls that each model has made.
    made: HashMap<(usize, String), usize>,
    /// Number of a model's calls that another model's run answered, and that are not reported yet.
    shared: HashMap<(usize, String), usize>,
    bytes: usize,
}

/// One run, for all callers that wait for it.
#[derive(Debug, Default)]
pub(super) struct Run {
    outcome: OnceCell<Result<Answer, InvokeError>>,
    /// The error for other callers if the run was started and never finished.
    abandoned: Mutex<Option<InvokeError>>,
}

impl SharedRuns {
    /// Returns the run that answers this call.
    pub(super) fn join(&self, context: &Context, definition: &str, arguments: &Arguments) -> Arc<Run> {
        self.joined(context.host.caller(), key(&json!([context.invoker, definition]), arguments))
    }

    /// Returns the run that answers the next equal call of this model.
    pub(super) fn joined(&self, caller: usize, key: String) -> Arc<Run> {
        let mut state = self.state();
        let made = state.made.entry((caller, key.clone())).or_default();
        let place = *made;
        *made += 1;
        Arc::clone(state.runs.entry((key, place)).or_default())
    }

    /// Records that another model's run answered a call of this model.
    pub(super) fn shared(&self, caller: usize, shown: &str, arguments: &Arguments) {
        *self.state().shared.entry((caller, key(&json!(shown), arguments))).or_default() += 1;
    }

    /// Returns whether another model's run answered this call, once for each call.
    pub fn take_shared(&self, caller: usize, shown: &str, arguments: &Arguments) -> bool {
        let mut state = self.state();
        let Some(count) = state.shared.get_mut(&(caller, key(&json!(shown), arguments))) else {
            return false;
        };
        let was = *count > 0;
        *count = count.saturating_sub(1);
        was
    }

    /// Counts the size of an answer. Returns whether it may be kept.
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

pub(super) fn key(about: &Value, arguments: &Arguments) -> String {
    canonical(&json!([about, arguments.object]))
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text { text, .. } | Content::Reasoning { text, .. } => text.len(),
        Content::Structured { value } => json_length(value),
        Content::Resource { uri, .. } => uri.len(),
        Content::Blob { .. } => 0,
    }
}

impl Run {
    /// Waits for the run, or makes it. `first` returns the shared outcome, or an error for its caller only: then the next
    /// waiting caller makes the run.
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
                    let text = "it has run for another model, and its answer was too large to be kept";
                    Err(InvokeError::Failed(text.to_owned()))
                }
                outcome => outcome,
            })
        };
        let outcome = self.outcome.get_or_try_init(|| kept).await?.clone();
        own.map_or(outcome, Ok)
    }

    /// Sets the outcome, if there is none.
    pub(super) fn end(&self, outcome: Result<Answer, InvokeError>) {
        let _ = self.outcome.set(outcome);
    }

    pub(super) fn abandoned(&self) -> Option<InvokeError> {
        self.abandoned.lock().clone()
    }
}

/// A run in progress. If it is dropped before it has an outcome, it sets the error for the other callers.
pub(super) struct Unfinished<'r> {
    pub(super) run: &'r Run,
    pub(super) deadline: Instant,
    pub(super) clock: PausableClock,
    pub(super) repeatable: bool,
}

/// How a run was given up.
pub(super) struct Abandonment {
    /// Whether its time limit had passed. Otherwise the turn of its model has ended.
    pub(super) timed_out: bool,
    /// The error for the other callers, or `None` if one of them may run the call.
    pub(super) error: Option<InvokeError>,
}

impl Unfinished<'_> {
    pub(super) fn abandonment(&self) -> Abandonment {
        let timed_out = self.clock.now().into_std() >= self.deadline;
        let error = match (timed_out, self.repeatable) {
            (true, _) => Some(InvokeError::Timeout("no answer in time; it was stopped".to_owned())),
            (false, true) => None,
            (false, false) => Some(InvokeError::Interrupted(
                "the call ran for another model and was stopped, so its outcome is unknown".to_owned(),
            )),
        };
        Abandonment { timed_out, error }
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        let error = match std::thread::panicking() {
            true => Some(InvokeError::Failed(CRASHED.to_owned())),
            false => self.abandonment().error,
        };
        // Of no meaning once there is an outcome.
        *self.run.abandoned.lock() = error;
    }
}

impl SharedRuns {
    /// Takes in the result of a call that a model made earlier. Call it for the calls of each model in their order.
    pub(crate) fn recall(
        &self,
        caller: usize,
        tool: &Tool,
        arguments: &Arguments,
        result: &InvocationResult,
    ) {
        let digest = tool.digest().to_string();
        let run = self.joined(caller, key(&json!([tool.qualified, digest]), arguments));
        let answer = |is_error| Ok(Answer::new(result.content.clone(), is_error));
        run.end(match result.outcome {
            Outcome::Success => answer(false),
            Outcome::Failed => answer(true),
            // An equal call runs it again.
            _ if is_repeatable(tool) => return,
            _ => {
                let text = "the call ran for another model and was stopped, so its outcome is unknown";
                Err(InvokeError::Interrupted(text.to_owned()))
            }
        });
    }
}
