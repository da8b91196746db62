//! The turns of this process. They are not `Send`, so they run on the task of [`TurnQueue::run`], and requests of Restate hand
//! over their steps through a queue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use converse_batch::{Durable, Outcome, Shared};
use converse_host::failure::Kind;
use converse_session::Uuid;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::approver::LaterApprover;
use crate::message::{Advanced, Answers, Ended, Request};
use crate::steps::{Later, Reply, Steps};

/// Steps that may wait to be taken from the queue.
const QUEUE: usize = 1024;

/// Time in which steps that are interrupted at the end are recorded.
const LAST_LINES: Duration = Duration::from_secs(5);

/// A step that Restate wants.
pub(crate) struct Command {
    session: Uuid,
    request: Arc<Request>,
    answers: Answers,
    reply: Reply,
}

/// Where the handlers of Restate hand over their steps.
#[derive(Debug, Clone)]
pub(crate) struct Turns(mpsc::Sender<Command>);

impl Turns {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Command>) {
        let (sender, commands) = mpsc::channel(QUEUE);
        (Self(sender), commands)
    }

    /// Carries out the next step of a session, which may be another one than the caller believes: what is done is in its
    /// journal.
    pub(crate) async fn advance(
        &self,
        session: Uuid,
        request: Arc<Request>,
        answers: Answers,
    ) -> Result<Advanced, Later> {
        let (reply, outcome) = oneshot::channel();
        let ending = || Later("the worker is ending".to_owned());
        self.0.send(Command { session, request, answers, reply }).await.map_err(|_| ending())?;
        outcome.await.unwrap_or_else(|_| Err(Later("another request has taken this step".to_owned())))
    }
}

/// Runs the turns.
pub(crate) struct TurnQueue<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) commands: mpsc::Receiver<Command>,
    /// Turns at once.
    pub(crate) places: Semaphore,
}

impl TurnQueue<'_> {
    /// Runs turns until `stop`. Then no step begins, and those that run have this time to end. Those that still run then are
    /// interrupted.
    pub(crate) async fn run(mut self, stop: &CancellationToken, drain: Duration) {
        let Self { shared, commands, places } = &mut self;
        let (shared, places) = (*shared, &*places);
        let mut turns: HashMap<Uuid, Arc<Steps>> = HashMap::new();
        let mut running: FuturesUnordered<LocalBoxFuture<'_, Uuid>> = FuturesUnordered::new();
        let mut job = 0;
        loop {
            tokio::select! {
                command = commands.recv() => {
                    let Some(command) = command else { break };
                    let Some(command) = handed_on(&turns, command) else { continue };
                    let Command { session, request, answers, reply } = command;
                    let steps = Arc::new(Steps::new(reply));
                    turns.insert(session, Arc::clone(&steps));
                    job += 1;
                    let turn = turn(shared, places, job, (session, request, answers), steps);
                    running.push(turn.boxed_local());
                }
                Some(ended) = running.next(), if !running.is_empty() => {
                    turns.remove(&ended);
                }
                () = stop.cancelled() => break,
            }
        }
        commands.close();
        turns.values().for_each(|steps| steps.release());
        let mut ended = async || while running.next().await.is_some() {};
        if tokio::time::timeout(drain, ended()).await.is_err() {
            shared.interrupt.tell(15);
            let _ = tokio::time::timeout(LAST_LINES, ended()).await;
        }
    }
}

/// Hands a command on to the turn that this process runs. Gives back one of a turn that begins.
fn handed_on(turns: &HashMap<Uuid, Arc<Steps>>, command: Command) -> Option<Command> {
    let Some(steps) = turns.get(&command.session) else { return Some(command) };
    if let Err(reply) = steps.go_on(command.reply) {
        let _ = reply.send(Err(Later("the turn is being released".to_owned())));
    }
    None
}

async fn turn(
    shared: &Shared<'_>,
    places: &Semaphore,
    job: usize,
    (session, request, answers): (Uuid, Arc<Request>, Answers),
    steps: Arc<Steps>,
) -> Uuid {
    let _place = places.acquire().await;
    let approver = LaterApprover::new(request.approvals, answers, shared.context.redactor.clone());
    let durable = Durable { session, runner: &*steps, approver: &approver };
    let outcome = shared.run_durably(job, request.line.clone(), request.max_cost, Some(durable)).await;
    steps.end(advanced(outcome, &approver));
    session
}

/// What Restate is told about the end of a turn in this process. What another attempt may mend has no outcome.
fn advanced(outcome: Outcome, approver: &LaterApprover) -> Result<Advanced, Later> {
    let Outcome { line, failure, acts, .. } = outcome;
    let Some(failure) = failure else { return Ok(Advanced::Done(Ended { line, acts })) };
    match failure.code {
        "waiting" => Ok(Advanced::Waiting { questions: approver.asked() }),
        // The session is open elsewhere, or it cannot be read or written now.
        "released" | "session" | "save-failed" | "audit-failed" => Err(Later(failure.message)),
        _ if matches!(failure.kind, Kind::Signal(_)) => Err(Later(failure.message)),
        _ => Ok(Advanced::Done(Ended { line, acts })),
    }
}
