//! Turns of all clients: a bounded number at once, each with its own session, settings and approver.
//!
//! A turn is not tied to the request that began it: it goes on if its client leaves, unless [`TurnJob::left`] ends it. Turns
//! are not `Send`, so they run on the task of [`TurnQueue::run`], and requests hand them over through a queue. A turn whose
//! session or audit log is in a database has a thread instead: it waits for statements on that thread, and holds up nothing
//! else.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Blobs as _, Canister, Decision, Transcript};
use converse_ensemble::{Artefacts as _, Pending, Roster};
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::routes::Wires;
use converse_host::runtime::denied;
use converse_host::settings::Settings;
use converse_host::turn::sessions;
use converse_host::wiring::Connected;
use converse_host::world::World;
use converse_host::{Approver, Event, History, HostParts};
use converse_session::{Contents, Uuid, digests};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::by_hand::CallJob;

/// Time in which interrupted turns are recorded at shutdown.
const LAST_LINES: Duration = Duration::from_secs(5);

/// More turns at once than any machine runs.
const MAX_PLACES: u32 = 1 << 20;

/// What a turn is run with.
pub(crate) struct TurnJob {
    pub(crate) settings: Settings,
    pub(crate) roster: Roster,
    pub(crate) wires: Wires,
    /// The directories of the principal.
    pub(crate) world: Arc<World>,
    pub(crate) start: Start,
    /// Whether the user's message is on disk before the observer learns of it.
    pub(crate) durable: bool,
    /// Messages of this turn; none to continue with invocations that wait.
    pub(crate) said: Vec<Canister>,
    /// Bytes that the messages refer to.
    pub(crate) attachments: Vec<Arc<[u8]>>,
    /// Where the content of a conversation without a session is kept.
    pub(crate) contents: Option<Contents>,
    pub(crate) approver: Arc<dyn Approver>,
    pub(crate) observer: Box<dyn Observer>,
    pub(crate) interrupt: Interrupt,
    /// Resolves when the turn is interrupted because its clients have left. `None`: it goes on without them.
    pub(crate) left: Option<BoxFuture<'static, ()>>,
    #[allow(dead_code, reason = "freed when dropped")]
    pub(crate) place: Place,
}

/// What waits for [`TurnQueue::run`].
enum Job {
    Turn(Box<TurnJob>),
    Call(Box<CallJob>),
}

/// The conversation that a turn continues.
pub(crate) enum Start {
    /// A conversation that the client keeps.
    Transcript(Transcript),
    /// A saved session, without its messages from `rewind` on.
    Session { id: Uuid, rewind: Option<usize> },
    /// A new session with this id.
    New(Uuid),
}

impl Default for Start {
    fn default() -> Self {
        Self::Transcript(Transcript::new())
    }
}

/// Receives what happens in a turn.
pub(crate) trait Observer: Send {
    /// The conversation before the messages of this turn.
    fn began(&mut self, _transcript: &Transcript) {}
    fn event(&mut self, event: Event);
    /// Called once, last.
    fn ended(&mut self, ended: Result<(), Failure>);
}

/// A place among the turns that run at once.
#[derive(Debug)]
pub(crate) struct Place(#[allow(dead_code, reason = "freed when dropped")] OwnedSemaphorePermit);

/// Where requests hand over their turns.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    jobs: UnboundedSender<Job>,
    places: Arc<Semaphore>,
    stop: CancellationToken,
    over: CancellationToken,
}

/// Why a turn cannot begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPlace {
    Full,
    Stopping,
}

impl Turns {
    pub(crate) fn place(&self) -> Result<Place, NoPlace> {
        if self.stop.is_cancelled() {
            return Err(NoPlace::Stopping);
        }
        Arc::clone(&self.places).try_acquire_owned().map(Place).map_err(|_| NoPlace::Full)
    }

    /// Waits for a place; `None` at shutdown.
    pub(crate) async fn place_when_free(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).acquire_owned();
        self.stop.run_until_cancelled(place).await?.ok().map(Place)
    }

    /// Resolves at shutdown, when all turns have ended.
    pub(crate) fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        self.over.clone().cancelled_owned()
    }

    pub(crate) fn begin(&self, job: TurnJob) {
        if let Err(SendError(Job::Turn(mut job))) = self.jobs.send(Job::Turn(Box::new(job))) {
            job.observer.ended(Err(stopping()));
        }
    }

    /// Hands over a call. After the end of the queue, its answer is dropped.
    pub(crate) fn call(&self, job: CallJob) {
        let _ = self.jobs.send(Job::Call(Box::new(job)));
    }
}

fn stopping() -> Failure {
    Failure::new(Kind::Signal(15), "interrupted", "the server is shutting down")
}

/// The turns that wait for [`TurnQueue::run`].
#[derive(Debug)]
pub struct TurnQueue {
    jobs: UnboundedReceiver<Job>,
    /// All of them, with those that requests have taken.
    places: Arc<Semaphore>,
    most: u32,
    /// Ends the streams that wait for turns.
    #[allow(dead_code, reason = "cancelled when dropped")]
    over: DropGuard,
}

/// What all turns share.
#[derive(Debug, Clone)]
pub struct TurnParts {
    pub context: Arc<RunContext>,
    pub connected: Arc<Connected>,
    /// Where servers put pictures and other bytes.
    pub contents: Kept,
}

impl TurnQueue {
    /// Returns the queue for at most `most` turns at once. After `stop`, no turn begins.
    pub(crate) fn new(most: usize, stop: CancellationToken) -> (Turns, Self) {
        let (sender, jobs) = unbounded_channel();
        let over = CancellationToken::new();
        let most = u32::try_from(most).unwrap_or(u32::MAX).min(MAX_PLACES);
        let places = Arc::new(Semaphore::new(most as usize));
        let queue = Self { jobs, places: Arc::clone(&places), most, over: over.clone().drop_guard() };
        (Turns { jobs: sender, places, stop, over }, queue)
    }

    /// Runs turns until `stop`, and then for at most `drain` those that have a place, begun or not. What still runs then is
    /// interrupted, which its session records.
    pub async fn run(mut self, parts: TurnParts, stop: CancellationToken, drain: Duration) {
        let mut running: FuturesUnordered<LocalBoxFuture<'_, ()>> = FuturesUnordered::new();
        let interrupts = CancellationToken::new();
        let end = async {
            stop.cancelled().await;
            tokio::time::sleep(drain).await;
        };
        let mut end = std::pin::pin!(end);
        let places = Arc::clone(&self.places);
        let mut all_back = std::pin::pin!(all_back(&places, self.most, &stop));
        loop {
            tokio::select! {
                job = self.jobs.recv() => match job {
                    Some(Job::Turn(job)) => {
                        let stop = interrupts.child_token();
                        running.push(match job.world.database.is_some() {
                            true => turn_on_a_thread(parts.clone(), job, stop).boxed_local(),
                            false => guarded(&parts, job, stop).boxed_local(),
                        });
                    }
                    Some(Job::Call(job)) => {
                        let stop = interrupts.child_token();
                        running.push(match job.world.database.is_some() {
                            true => call_on_a_thread(Arc::clone(&parts.context), job, stop).boxed_local(),
                            false => job.run(&parts.context, stop).boxed_local(),
                        });
                    }
                    None => break,
                },
                Some(()) = running.next(), if !running.is_empty() => {}
                () = &mut all_back => break,
                () = &mut end => break,
            }
        }
        self.jobs.close();
        interrupts.cancel();
        let _ = tokio::time::timeout(LAST_LINES, async { while running.next().await.is_some() {} }).await;
    }
}

/// Resolves after `stop`, when no turn and no request that will begin one has a place.
async fn all_back(places: &Semaphore, most: u32, stop: &CancellationToken) {
    stop.cancelled().await;
    let _ = places.acquire_many(most).await;
}

/// Stack of the thread of a turn: that of the first thread.
const STACK: usize = 8 * 1024 * 1024;

/// Runs a turn on a thread of its own.
async fn turn_on_a_thread(parts: TurnParts, job: Box<TurnJob>, stop: CancellationToken) {
    let turn = move |job| async move { guarded(&parts, job, stop).await };
    if let Err((mut job, error)) = on_a_thread(job, turn).await {
        job.observer.ended(Err(denied("turn", &error)));
    }
}

/// Runs a call on a thread of its own. If there is none, whoever waits for the answer learns of it.
async fn call_on_a_thread(context: Arc<RunContext>, job: Box<CallJob>, stop: CancellationToken) {
    let call = move |job: Box<CallJob>| async move { job.run(&context, stop).await };
    if let Err((job, error)) = on_a_thread(job, call).await {
        let _ = job.answer.send(Err(denied("call", &error)));
    }
}

/// Runs a job on a thread of its own, or returns it with why there is none. Its place bounds the threads.
async fn on_a_thread<J: Send + 'static, F: Future<Output = ()>>(
    job: J,
    run: impl FnOnce(J) -> F + Send + 'static,
) -> Result<(), (J, std::io::Error)> {
    let (done, ended) = oneshot::channel::<()>();
    let waiting = Arc::new(Mutex::new(Some(job)));
    let (runtime, taken) = (Handle::current(), Arc::clone(&waiting));
    let thread = move || {
        let _done = done;
        let job = taken.lock().take();
        if let Some(job) = job {
            runtime.block_on(run(job));
        }
    };
    let error = match std::thread::Builder::new().name("turn".to_owned()).stack_size(STACK).spawn(thread) {
        Ok(_) => {
            drop(ended.await);
            return Ok(());
        }
        Err(error) => error,
    };
    let job = waiting.lock().take();
    job.map_or(Ok(()), |job| Err((job, error)))
}

/// Runs a turn; one that panics fails alone.
async fn guarded(parts: &TurnParts, mut job: Box<TurnJob>, stop: CancellationToken) {
    let mut observer = std::mem::replace(&mut job.observer, Box::new(Nobody));
    let interrupt = job.interrupt.clone();
    let ended = {
        // `left` may keep the stream of a client open, so it is dropped before the observer learns of the end.
        let left = job.left.take().unwrap_or_else(|| std::future::pending().boxed());
        let turn = turn(parts, job, observer.as_mut()).boxed_local();
        let mut turn = AssertUnwindSafe(turn).catch_unwind();
        tokio::select! {
            ended = &mut turn => ended,
            () = stop.cancelled() => {
                interrupt.tell(15);
                turn.await
            }
            () = left => {
                interrupt.tell(2);
                turn.await
            }
        }
    };
    let crashed = || Failure::new(Kind::Internal, "internal", "the turn crashed");
    observer.ended(ended.unwrap_or_else(|_| Err(crashed())));
}

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: Event) {}
    fn ended(&mut self, _: Result<(), Failure>) {}
}

/// The job stays in its box, and what begins the turn in functions of its own, so that the state of a turn is small.
async fn turn(parts: &TurnParts, mut job: Box<TurnJob>, observer: &mut dyn Observer) -> Result<(), Failure> {
    let TurnParts { context, connected, contents: shared } = parts;
    let said = std::mem::take(&mut job.said);
    let contents = Kept::over(shared);
    let (history, session) = begun(&mut job, said.is_empty(), context, &contents, observer)?;
    let TurnJob { settings, world, interrupt, .. } = &*job;
    let roster = job.roster.keeping(Arc::new(contents.clone()));
    let host = HostParts { world, context, settings, connected, contents: &contents, interrupt };
    let conversation = host.conversation().approver(SharedApprover(Arc::clone(&job.approver)));
    let conversation = conversation.roster(&roster).wires(job.wires.clone()).caller(roster.caller());
    let mut conversation = conversation.can_take_back(false).durable(job.durable).resume(history);
    let mut turn = conversation.say(said);
    while let Some(event) = turn.next().await {
        if let (Event::Appended(canister), Some(session)) = (&event, &session) {
            keep_media(canister, session, shared);
        }
        observer.event(event);
    }
    turn.finish().await.map(drop)
}

/// Returns the conversation that a turn continues, and where its content is kept.
fn begun(
    job: &mut TurnJob,
    resumes: bool,
    context: &RunContext,
    contents: &Kept,
    observer: &mut dyn Observer,
) -> Result<(History, Option<Contents>), Failure> {
    let (own, start) = (job.contents.take(), std::mem::take(&mut job.start));
    // Only a turn without a message continues with invocations that wait.
    let history = started(start, resumes, &job.settings, context, &job.world)?;
    observer.began(history.transcript());
    contents.settle(own.clone());
    let session = history.contents().or(own);
    for bytes in std::mem::take(&mut job.attachments) {
        keep(&bytes, session.as_ref(), contents)?;
    }
    Ok((history, session))
}

fn started(
    start: Start,
    resumes: bool,
    settings: &Settings,
    context: &RunContext,
    world: &World,
) -> Result<History, Failure> {
    match start {
        Start::Transcript(transcript) => {
            let mut history = History::new(settings.audit, context, world);
            history.replace(transcript, None);
            Ok(history)
        }
        Start::New(id) => {
            let session = sessions::begin(id, World::now(), context, world)?;
            Ok(History::of(session, settings.audit, context, world))
        }
        Start::Session { id, rewind } => {
            let session = match rewind {
                None if resumes => sessions::resume(id, context, world)?,
                _ => sessions::open(id, context, world)?,
            };
            let mut history = History::of(session, settings.audit, context, world);
            if let Some(messages) = rewind {
                history.rewind(messages)?;
            }
            Ok(history)
        }
    }
}

fn keep(bytes: &[u8], session: Option<&Contents>, contents: &Kept) -> Result<(), Failure> {
    let failed = |why: String| {
        Failure::new(Kind::Output, "not-kept", format!("an attachment could not be saved: {why}"))
    };
    match session {
        Some(session) => session.put(bytes).map(drop).map_err(|error| failed(error.to_string())),
        None => contents.shown().keep(bytes).map(drop).ok_or_else(|| failed("too large".to_owned())),
    }
}

/// Copies pictures and other bytes that a server returned into the session that refers to them.
fn keep_media(canister: &Canister, session: &Contents, shared: &Kept) {
    for digest in digests(canister) {
        if let Some(bytes) = shared.bytes(&digest)
            && let Err(error) = session.put(&bytes)
        {
            tracing::warn!(%error, "the content of a result was not saved");
        }
    }
}

struct SharedApprover(Arc<dyn Approver>);

impl Approver for SharedApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        self.0.decide(pending)
    }

    fn can_ask(&self) -> bool {
        self.0.can_ask()
    }

    fn postpones(&self, pending: &[Pending]) -> bool {
        self.0.postpones(pending)
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        self.0.redacted(arguments)
    }
}

/// Has nobody to ask: calls that need an approval are refused.
pub(crate) struct NobodyToAsk;

impl Approver for NobodyToAsk {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let deny = |_| Decision::Deny { rule: "nobody can be asked".to_owned(), comment: None };
        std::future::ready(pending.iter().map(deny).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_has_a_place_begins_its_turn_also_at_shutdown() {
        let stop = CancellationToken::new();
        let (turns, queue) = TurnQueue::new(2, stop.clone());
        let place = turns.place().unwrap();
        let mut end = all_back(&queue.places, queue.most, &stop).boxed_local();
        assert!(end.as_mut().now_or_never().is_none(), "not before the stop");
        stop.cancel();
        assert!(end.as_mut().now_or_never().is_none(), "a place is taken");
        assert!(turns.place().is_err(), "no other request gets one");
        drop(place);
        assert!(end.as_mut().now_or_never().is_some());
    }
}
