//! The driver: executes each [`Step`] of the state machine.

mod calling;
mod condensing;
mod deciding;
mod edit_note;
mod summarising;

use std::collections::HashMap;

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult, Outcome};
use converse_ensemble::{Approved, CancelScope};
use converse_provider::KeptMessages;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::context::Sums;
use crate::invocations::{Batch, Finished};
use crate::withheld_reasoning::WithheldReasoning;
use crate::{Act, Conversation, Ending, Engine, EngineError, Event, Limit, Ports, Step};

pub use condensing::{CondenseOutcome, condense_now, ledger};
pub use deciding::NOBODY;

/// Runs a turn of the user to its end. `cancel` ends it at once: open invocations get the result `cancelled`.
///
/// # Errors
///
/// A model call that failed after all retries and fallbacks, or a sink that did not accept an event.
pub async fn converse(
    conversation: &mut Conversation,
    engine: &Engine<'_>,
    ports: Ports<'_>,
    cancel: &CancellationToken,
) -> Result<Ending, EngineError> {
    conversation.expect_answer(engine.answer.is_some());
    let mut driver = Driver::new(conversation, engine, ports, cancel);
    let ending = driver.run().await?;
    if let Some(value) = &driver.answer {
        ports.emit(&Event::Answered(value))?;
    }
    if let Some(warning) = driver.conversation.cost_limit_warning() {
        ports.emit(&Event::Warned(&warning))?;
    }
    ports.emit(&Event::Done(&ending))?;
    Ok(ending)
}

struct Driver<'a> {
    conversation: &'a mut Conversation,
    engine: &'a Engine<'a>,
    ports: Ports<'a>,
    cancel: &'a CancellationToken,
    /// Index of the current route; see [`crate::Route`].
    route: usize,
    approved: HashMap<InvocationId, Approved>,
    /// Notes for the model about invocations that the user has changed.
    edited: HashMap<InvocationId, String>,
    /// Number of calls of tools in this turn, by their name for models. Counted here for those with a limit of their own.
    calls: HashMap<String, u32>,
    /// The value of the checked answer.
    answer: Option<Value>,
    withheld: WithheldReasoning,
    /// What the current route was sent in this turn.
    kept: Mutex<KeptMessages>,
    /// The size of the transcript on the current route.
    sums: Sums,
    /// Whether a summary failed. No other summary is requested in this turn.
    unsummarised: bool,
    /// Number of summaries in this turn.
    summaries: u32,
}

impl<'a> Driver<'a> {
    fn new(
        conversation: &'a mut Conversation,
        engine: &'a Engine<'a>,
        ports: Ports<'a>,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            calls: conversation.calls_so_far(),
            conversation,
            engine,
            ports,
            cancel,
            route: 0,
            approved: HashMap::new(),
            edited: HashMap::new(),
            answer: None,
            withheld: WithheldReasoning::default(),
            kept: Mutex::default(),
            sums: Sums::default(),
            unsummarised: false,
            summaries: 0,
        }
    }
}

impl Driver<'_> {
    async fn run(&mut self) -> Result<Ending, EngineError> {
        loop {
            let step = self.conversation.step();
            let begins = matches!(step, Step::CallModel | Step::Decide(_) | Step::Invoke(_));
            if begins && let Some(ending) = halted(self.engine, self.cancel).now_or_never() {
                // A tool may have noticed before we did: nothing new begins.
                self.conversation.end(ending);
                continue;
            }
            let act = match &step {
                Step::CallModel => Some(Act::CallModel),
                Step::Invoke(_) => Some(Act::Invoke),
                Step::Decide(_) | Step::Answer(_) | Step::Check(_) | Step::Done(_) => None,
            };
            if let Some((runner, act)) = self.ports.runner.zip(act) {
                tokio::select! {
                    begun = runner.begin(act) => begun?,
                    ending = halted(self.engine, self.cancel) => {
                        self.conversation.end(ending);
                        continue;
                    }
                }
            }
            match step {
                Step::CallModel => {
                    self.steer()?;
                    self.call_model().await?;
                }
                Step::Decide(undecided) => {
                    if let Some(postponed) = self.decide(&undecided).await? {
                        return Ok(postponed);
                    }
                }
                Step::Invoke(approved) => self.invoke(&approved).await?,
                Step::Answer(results) => {
                    results.into_iter().try_for_each(|result| self.append_result(result))?;
                    self.commit(false)?;
                }
                Step::Check(words) => self.check(&words)?,
                Step::Done(ending) => return Ok(ending),
            }
        }
    }

    /// Appends what the user says to the running turn, if the model is called with results.
    fn steer(&mut self) -> Result<(), EngineError> {
        let Some(steering) = self.ports.steering.filter(|_| self.conversation.may_be_steered()) else {
            return Ok(());
        };
        while let Some(user) = steering.take() {
            let said = Canister::User(user);
            self.ports.append(&said)?;
            self.conversation.say(said)?;
        }
        Ok(())
    }

    /// Checks the final answer. An invalid answer is followed by a message to the model, like one of the user.
    fn check(&mut self, words: &str) -> Result<(), EngineError> {
        match self.engine.answer.map(|check| check.check(words)) {
            None => self.conversation.accept_answer(),
            Some(Ok(value)) => {
                self.answer = Some(value);
                self.conversation.accept_answer();
            }
            Some(Err(errors)) => {
                let Some(repair) = self.conversation.reject_answer(&errors) else { return Ok(()) };
                self.ports.append(&repair)?;
                self.conversation.say(repair)?;
                let warning = format!("the answer does not match the schema: {errors}; asking again");
                self.ports.emit(&Event::Warned(&warning))?;
            }
        }
        Ok(())
    }

    /// Reports that the last reply and all its results are complete.
    fn commit(&mut self, durable: bool) -> Result<(), EngineError> {
        let last = self.conversation.transcript().as_slice().iter().rev().find_map(Canister::turn);
        last.map_or(Ok(()), |turn| Ok(self.ports.emit(&Event::Committed { turn, durable })?))
    }

    fn append_result(&mut self, result: InvocationResult) -> Result<(), EngineError> {
        append_result(self.conversation, self.ports, result)
    }

    async fn invoke(&mut self, invocations: &[Invocation]) -> Result<(), EngineError> {
        let Self { conversation, engine, ports, cancel, approved, edited, .. } = self;
        let (approved, mut edited) = (std::mem::take(approved), std::mem::take(edited));
        let batch = Batch { roster: engine.roster, ports: *ports, scope: CancelScope::below(cancel) };
        let scope = batch.scope.clone();
        let mut stopped = None;
        let on_finished = |invocation: &Invocation, finished: Finished| {
            let Finished { result, elapsed, lacks_descriptors } = finished;
            let result = match edited.remove(&result.id) {
                Some(note) => edit_note::with_note(result, note),
                None => result,
            };
            ports.emit(&Event::Finished { invocation, result: &result, elapsed })?;
            let stops = approved.get(&result.id).filter(|approved| approved.stops_on_failure());
            if let Some(stops) = stops.filter(|_| !result.outcome.is_success()) {
                stopped.get_or_insert_with(|| Ending::Stopped {
                    id: result.id.clone(),
                    tool: stops.tool().to_owned(),
                });
                scope.hold.cancel();
            }
            if lacks_descriptors {
                conversation.count_unstarted();
            }
            // Whatever was approved and is refused all the same wants a sandbox.
            if result.outcome == Outcome::Refused {
                conversation.count_unsandboxed();
            }
            // Written to disk as it arrives, independently of the other invocations.
            append_result(conversation, *ports, result)
        };
        let mut ending = None;
        {
            let mut run = std::pin::pin!(batch.run(invocations, &approved, on_finished));
            tokio::select! {
                ran = &mut run => ran?,
                halted = halted(engine, cancel) => {
                    // Running tools are cancelled, get a grace period, and are answered as cancelled.
                    ending = Some(halted);
                    batch.scope.now.cancel();
                    run.await?;
                }
            }
        }
        if let Some(ending) = ending.or(stopped) {
            self.conversation.end(ending);
        }
        // What follows is synced with the next call that has effects, or at the end of the turn.
        self.commit(false)
    }
}

/// Appends a result once every sink has accepted it.
fn append_result(
    conversation: &mut Conversation,
    ports: Ports<'_>,
    result: InvocationResult,
) -> Result<(), EngineError> {
    let canister = Canister::Result(result);
    ports.emit(&Event::Appended(&canister))?;
    if let Canister::Result(result) = canister {
        conversation.push_result(result)?;
    }
    Ok(())
}

/// Resolves when the run must end before it is done.
async fn halted(engine: &Engine<'_>, cancel: &CancellationToken) -> Ending {
    let deadline = async {
        match engine.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = cancel.cancelled() => Ending::Cancelled,
        () = deadline => Ending::Limit(Limit::Deadline),
    }
}
