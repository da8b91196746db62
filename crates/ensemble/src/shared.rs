//! Calls that compared models make alike are run once: the first one runs, the others wait for its answer.
//!
//! Alike are calls of the same tool with the same arguments, defaults filled in; and the second such call of one model
//! is alike to the second of another, so that a model which asks again (a job's state, the time) is answered anew.
//! Everything is shared, failures and writes too: what two models want to write is written once. One thing is not: a
//! run that ended because its own model's turn did, of a tool that only reads or may be repeated; the next that waits
//! runs it. Any other tool that was begun and given up is never begun again.

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
use crate::{Answer, Context, Invocable, InvokeError, ToolProgress};

use runs::{Run, Unfinished};

pub use runs::SharedRuns;

/// A connection whose tools run once what several models ask for.
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
    fn wrapped(&self, tools: Vec<Tool>) -> Vec<Tool> {
        tools.into_iter().map(|tool| wrap(tool, &self.runs)).collect()
    }
}

fn wrap(mut tool: Tool, runs: &SharedRuns) -> Tool {
    let repeatable = tool.policy.effects <= Effects::Read || tool.policy.idempotent;
    let (definition, shown) = (tool.digest().to_string(), tool.declaration.name.to_string());
    let inner = Arc::clone(&tool.invocable);
    tool.invocable = Arc::new(SharedTool { inner, runs: runs.clone(), definition, shown, repeatable });
    tool
}

impl Connection for Shared {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.inner.connect(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble).map(|tools| tools.map(|tools| self.wrapped(tools))).boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}

struct SharedTool {
    inner: Arc<dyn Invocable>,
    runs: SharedRuns,
    /// A tool that has changed is another one.
    definition: String,
    /// By which name models know it.
    shown: String,
    /// To run it twice does what to run it once does.
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
    /// Runs it for all. `Err` is this caller's alone.
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
        match (given_up.then(|| unfinished.fate()), outcome) {
            // In time, or the turn was ended just as it answered.
            (None, outcome) => Ok(outcome),
            (Some(fate), Ok(answer)) if !fate.too_late => Ok(Ok(answer)),
            (Some(fate), outcome) => match fate.told {
                Some(told) => Ok(Err(told)),
                None => Err(outcome.err().unwrap_or_else(|| InvokeError::Failed("cancelled".to_owned()))),
            },
        }
    }
}
