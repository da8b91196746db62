//! Equal calls of compared models run once: the first call runs, the others wait for its answer.
//!
//! Calls are equal if they have the same tool and the same arguments, defaults filled in. The second such call of one model
//! is equal to the second of another, so that a model which repeats a call (the state of a job, the time) gets a new
//! answer. Everything is shared, including failures and writes. The exception is a run that ended because its own model's
//! turn ended, of a tool that only reads or may be repeated: the next waiting call runs it. Any other tool that was started
//! and given up is never started again.

mod runs;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use converse_canister::Arguments;
use converse_config::Effects;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::ensemble::{ConnectError, Connection, Ensemble};
use crate::tool::Tool;
use crate::{Answer, Context, Instructions, Invocable, InvokeError, Relay, ToolProgress};

use runs::{Run, Unfinished};

pub use runs::SharedRuns;

/// A connection whose tools run equal calls of several models once.
pub struct Shared {
    pub inner: Box<dyn Connection>,
    pub runs: SharedRuns,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Shared {
    fn wrapped(&self, mut tools: Vec<Tool>) -> Vec<Tool> {
        tools.iter_mut().for_each(|tool| tool.invocable = shared(tool, &self.runs));
        tools
    }
}

/// Returns the implementation of a tool that runs equal calls of several models once.
pub(crate) fn shared(tool: &Tool, runs: &SharedRuns) -> Arc<dyn Invocable> {
    let (definition, shown) = (tool.digest().to_string(), tool.declaration.name.to_string());
    let inner = Arc::clone(&tool.invocable);
    Arc::new(SharedTool { inner, runs: runs.clone(), definition, shown, repeatable: is_repeatable(tool) })
}

fn is_repeatable(tool: &Tool) -> bool {
    tool.policy.effects <= Effects::Read || tool.policy.idempotent
}

impl Connection for Shared {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.inner.connect(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner.instructions()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.inner.relay()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}

struct SharedTool {
    inner: Arc<dyn Invocable>,
    runs: SharedRuns,
    /// Digest of the definition: a tool that has changed is another tool.
    definition: String,
    /// The name that models see.
    shown: String,
    /// Whether running the tool twice has the same effect as running it once.
    repeatable: bool,
}

impl Invocable for SharedTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let run = self.runs.join(&context, &self.definition, arguments);
            let (began, cancel) = (AtomicBool::new(false), context.cancel.clone());
            let host = context.host.clone();
            // Who runs it is given the time to tidy up; who only waits is not.
            let given_up = async {
                cancel.cancelled().await;
                if began.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
            };
            let outcome = tokio::select! {
                biased;
                outcome = run.outcome(&self.runs, || self.first(&run, &began, context, arguments)) => outcome,
                () = given_up => return Err(kept(InvokeError::Failed("cancelled".to_owned()))),
            };
            if began.load(Ordering::Relaxed) {
                return outcome;
            }
            self.runs.shared(host.caller(), &self.shown, arguments);
            host.say(ToolProgress::Log { message: "the answer to another model's equal call".to_owned() });
            outcome.map(|answer| Answer { kept: true, ..answer }).map_err(kept)
        }
        .boxed()
    }
}

fn kept(error: InvokeError) -> InvokeError {
    InvokeError::Kept(Box::new(error))
}

impl SharedTool {
    /// Runs the call for all callers. `Err` is for this caller only.
    async fn first(
        &self,
        run: &Run,
        began: &AtomicBool,
        context: Context,
        arguments: &Arguments,
    ) -> Result<Result<Answer, InvokeError>, InvokeError> {
        if let Some(error) = run.abandoned() {
            return Ok(Err(error));
        }
        began.store(true, Ordering::Relaxed);
        let (cancel, deadline, clock) = (context.cancel.clone(), context.deadline, context.clock.clone());
        let unfinished = Unfinished { run, deadline, clock, repeatable: self.repeatable };
        let outcome = self.inner.invoke(context, arguments).await;
        let given_up = cancel.is_cancelled();
        match (given_up.then(|| unfinished.abandonment()), outcome) {
            // In time, or the turn was ended just as it answered.
            (None, outcome) => Ok(outcome),
            (Some(abandonment), Ok(answer)) if !abandonment.timed_out => Ok(Ok(answer)),
            (Some(abandonment), outcome) => match abandonment.error {
                Some(error) => Ok(Err(error)),
                None => Err(outcome.err().unwrap_or_else(|| InvokeError::Failed("cancelled".to_owned()))),
            },
        }
    }
}
