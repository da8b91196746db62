//! The audit log as an event sink: decisions about invocations, their starts and their results.
//!
//! The sink receives the same events as the journal, in the loop and in `ensembles call`, so that there is one log in
//! one form. The log is opened at the first record, so a run without invocations writes no file. If there is no place
//! for a log (no home, a read-only one), the run continues with a warning, as it does without a session. Any other
//! error in opening or writing it ends the run before anything is invoked.
//!
//! If the sessions are in a database, the log is there too: see [`AuditPlace`].
//!
//! `serve` opens the log at its start and writes lines beside the calls. A log that fails later is resumed as soon as that
//! is possible: see `scribe`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult};
use converse_engine::{Event, Sink, SinkError};
use converse_session::{AuditError, Happened, Record};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::context::RunContext;
use crate::secrets::Redactor;
use crate::world::World;

mod gathering;
mod health;
mod open_log;
mod place;
mod reports;
mod scribe;

use gathering::Gathering;
use health::Health;
use open_log::OpenLog;
use reports::Slip;
use scribe::Scribe;

pub use place::{AuditPlace, Verification, place, verify};

/// A log, shared by the sinks of several clients and sessions; see [`AuditSink::for_client`] and [`AuditSink::for_session`].
pub struct AuditSink {
    book: Arc<Book>,
    session: Option<String>,
    /// The client that calls, if not converse itself.
    client: Option<String>,
    /// Requested invocations without an answer.
    open: Mutex<HashMap<InvocationId, OpenCall>>,
    slip: Arc<Slip>,
}

crate::opaque_debug!(AuditSink);

type Warn = Arc<dyn Fn(&str) + Send + Sync>;

struct Book {
    place: Option<AuditPlace>,
    redactor: Redactor,
    warn: Warn,
    /// Whether tools are replayed from a cassette.
    replayed: bool,
    log: Mutex<Log>,
    /// Of a log for many concurrent calls.
    health: Option<Arc<Health>>,
}

enum Log {
    Unopened,
    Open(OpenLog),
    Handed(Scribe),
    Without,
}

struct OpenCall {
    tool: String,
    arguments: Map<String, Value>,
}

impl AuditSink {
    pub fn new(enabled: bool, session: Option<String>, context: &RunContext, world: &World) -> Self {
        let warn = Arc::new(context.warner());
        let (redactor, place) = (context.redactor.clone(), place(world));
        let (log, replayed) = (Log::new(enabled), context.cassette.answers_for_tools());
        Self::of(Arc::new(Book { place, redactor, warn, replayed, log, health: None }), session, None)
    }

    fn of(book: Arc<Book>, session: Option<String>, client: Option<String>) -> Self {
        Self { book, session, client, open: Mutex::default(), slip: Slip::new() }
    }

    /// Opens the log for many concurrent calls of clients, at once so that `serve` fails at its start and not at the
    /// first call. `warn` gets warnings for the user.
    pub fn gathering(
        enabled: bool,
        session: String,
        redactor: Redactor,
        warn: impl Fn(&str) + Send + Sync + 'static,
        world: &World,
    ) -> Result<Self, SinkError> {
        let warn: Warn = Arc::new(warn);
        let (place, log) = (place(world), Log::new(enabled));
        let health = Some(Arc::new(Health::new(Arc::clone(&warn))));
        let book = Book { place, redactor, warn, replayed: false, log, health };
        book.open(&mut *book.log()?)?;
        Ok(Self::of(Arc::new(book), Some(session), None))
    }

    /// Returns a sink for one call of this client, which writes to the same log.
    pub fn for_client(&self, client: Option<String>) -> Self {
        Self::of(Arc::clone(&self.book), self.session.clone(), client)
    }

    /// Returns a sink for one session, or for a conversation without a session, which writes to the same log.
    pub fn for_session(&self, session: Option<String>) -> Self {
        Self::of(Arc::clone(&self.book), session, self.client.clone())
    }

    /// Returns whether the log can be written, as far as known. A log that cannot is tried again once a second.
    pub fn is_writable(&self) -> bool {
        self.book.health.as_ref().is_none_or(|health| health.is_writable())
    }

    /// Number of times that the log failed.
    pub fn failures(&self) -> u64 {
        self.book.health.as_ref().map_or(0, |health| health.failures())
    }

    /// Waits until all events so far are written.
    pub async fn flush(&self) -> Result<(), SinkError> {
        self.book.append(Vec::new(), false, &self.slip)?;
        self.settle().await
    }
}

impl Log {
    fn new(enabled: bool) -> Mutex<Self> {
        Mutex::new(if enabled { Self::Unopened } else { Self::Without })
    }
}

impl Book {
    fn opened(&self) -> Result<Log, SinkError> {
        let Some(place) = &self.place else {
            (self.warn)("warning: no home directory: tool calls are not audited");
            return Ok(Log::Without);
        };
        let redactor = self.redactor.clone();
        match OpenLog::open(place, Box::new(move |text| redactor.clean(text))) {
            Ok(log) => match &self.health {
                Some(health) => handed(log, &self.warn, health).map_err(|error| failed(&error)),
                None => Ok(Log::Open(log)),
            },
            Err(error @ AuditError::Unavailable { .. }) => {
                (self.warn)(&format!("warning: tool calls are not audited: {error}"));
                Ok(Log::Without)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn open(&self, log: &mut Log) -> Result<(), SinkError> {
        if let Log::Unopened = log {
            *log = self.opened()?;
        }
        Ok(())
    }

    fn log(&self) -> Result<MutexGuard<'_, Log>, SinkError> {
        self.log.lock().map_err(|_| crashed())
    }

    /// Syncs a log that this run has written. That of many clients is synced by its scribe.
    fn commit(&self) -> Result<(), SinkError> {
        match &mut *self.log()? {
            Log::Open(log) => log.commit().map_err(|error| failed(&error)),
            Log::Handed(_) | Log::Without | Log::Unopened => Ok(()),
        }
    }

    fn append(&self, records: Vec<Record>, durable: bool, slip: &Arc<Slip>) -> Result<(), SinkError> {
        let mut log = self.log()?;
        self.open(&mut log)?;
        match &mut *log {
            Log::Handed(scribe) => scribe.hand(records, durable, slip),
            Log::Open(log) => {
                append(log, &[(&records, World::now())], &self.warn).map_err(|error| failed(&error))?;
                if durable { log.commit().map_err(|error| failed(&error)) } else { Ok(()) }
            }
            Log::Without | Log::Unopened => Ok(()),
        }
    }
}

fn handed(log: OpenLog, warn: &Warn, health: &Arc<Health>) -> Result<Log, AuditError> {
    log.check()?;
    let gathering = Gathering::begin(log.syncer()?);
    let book = SharedLog { log, warn: Arc::clone(warn) };
    Ok(Log::Handed(Scribe::begin(book, gathering, Arc::clone(health))))
}

/// A log that a scribe writes.
struct SharedLog {
    log: OpenLog,
    warn: Warn,
}

impl scribe::Book for SharedLog {
    fn append(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError> {
        append(&mut self.log, batches, &self.warn)
    }

    fn resume(&mut self, reason: &str) -> Result<Gathering, AuditError> {
        self.log.resume(reason, World::now())?;
        tell_repairs(&mut self.log, &self.warn);
        Ok(Gathering::begin(self.log.syncer()?))
    }
}

/// Appends the records, and says what had to be repaired for that.
fn append(log: &mut OpenLog, batches: &[(&[Record], Timestamp)], warn: &Warn) -> Result<(), AuditError> {
    log.append_all(batches)?;
    tell_repairs(log, warn);
    Ok(())
}

fn tell_repairs(log: &mut OpenLog, warn: &Warn) {
    log.repaired().into_iter().for_each(|repaired| warn(&format!("note: {repaired}")));
}

impl AuditSink {
    fn record(&self, id: &InvocationId, tool: &str, happened: Happened) -> Record {
        let (session, client) = (self.session.clone(), self.client.clone());
        let replayed = self.book.replayed;
        Record { session, client, replayed, invocation: id.clone(), tool: tool.to_owned(), happened }
    }

    fn append(&self, records: Vec<Record>, durable: bool) -> Result<(), SinkError> {
        self.book.append(records, durable, &self.slip)
    }

    fn started(&self, invocation: &Invocation) -> Record {
        let arguments = invocation.arguments.object.clone();
        self.record(&invocation.id, &invocation.tool, Happened::Started { arguments })
    }

    /// Handles an answer without a tool: an unknown tool, bad arguments, a limit. Refusals are recorded as decisions.
    fn answered(&self, asked: &OpenCall, result: &InvocationResult) -> Record {
        let happened = Happened::finished(result, None);
        self.record(&result.id, &asked.tool, happened)
    }
}

fn gone() -> SinkError {
    SinkError::Audit("the writer has ended or could not be started".to_owned())
}

fn too_many() -> SinkError {
    SinkError::Audit("too many lines are waiting".to_owned())
}

fn failed(error: &AuditError) -> SinkError {
    SinkError::Audit(error.to_string())
}

fn crashed() -> SinkError {
    SinkError::Audit("the writer crashed".to_owned())
}

impl Sink for AuditSink {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        if let Log::Without = *self.book.log()? {
            return Ok(());
        }
        let mut open = self.open.lock().map_err(|_| crashed())?;
        match event {
            Event::Appended(Canister::Invocation(Invocation { id, tool, arguments, .. })) => {
                open.insert(id.clone(), OpenCall { tool: tool.clone(), arguments: arguments.object.clone() });
                Ok(())
            }
            Event::Decided { id, decision } => {
                let Some(asked) = open.get(id) else { return Ok(()) };
                let happened = Happened::decided(decision, &asked.arguments);
                let record = self.record(id, &asked.tool, happened);
                if !decision.allows() {
                    open.remove(id);
                }
                self.append(vec![record], false)
            }
            Event::Started { invocations, has_effects } => {
                let records = invocations.iter().map(|invocation| self.started(invocation)).collect();
                self.append(records, *has_effects)
            }
            Event::Finished { invocation, result, elapsed } => {
                open.remove(&invocation.id);
                let happened = Happened::finished(result, Some(*elapsed));
                self.append(vec![self.record(&invocation.id, &invocation.tool, happened)], false)
            }
            Event::Appended(Canister::Result(result)) => match open.remove(&result.id) {
                Some(asked) => self.append(vec![self.answered(&asked, result)], false),
                None => Ok(()),
            },
            Event::Done(_) => self.book.commit(),
            _ => Ok(()),
        }
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), SinkError>> {
        match self.book.log().as_deref() {
            Ok(Log::Handed(_)) => self.slip.settle().boxed(),
            Ok(_) => std::future::ready(Ok(())).boxed(),
            Err(error) => std::future::ready(Err(error.clone())).boxed(),
        }
    }
}
