//! The audit log as a sink: what is decided about an invocation, that it starts, what came of it.
//!
//! It hears the same events as the journal, in the loop and in `ensembles call`, so that there is one log and one form.
//! It is opened at the first record: a run that invokes nothing touches no file. Where there is no place for a log (no
//! home, a read-only one) the run goes on with a warning, as it does without a session; a log that is there and cannot
//! be written ends the run before anything is invoked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult};
use converse_engine::{Event, Sink, SinkError};
use converse_session::{AuditError, AuditLog, Happened, Record};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::adapters::secrets::Redactor;
use crate::manners::Manners;
use crate::world::World;

mod gathering;

use gathering::Gathering;

/// Where the log is; `None` without a home.
pub(crate) fn place(world: &World) -> Option<PathBuf> {
    world.state_dir().map(|dir| dir.join("audit.jsonl"))
}

/// One log, for whoever hears it; see [`AuditSink::for_client`].
pub(crate) struct AuditSink<'a> {
    book: Arc<Book<'a>>,
    /// For whom, if somebody calls through us.
    client: Option<String>,
}

struct Book<'a> {
    place: Option<PathBuf>,
    session: Option<String>,
    redactor: Redactor,
    warn: Box<dyn Fn(&str) + Send + Sync + 'a>,
    state: Mutex<State>,
    /// Of many calls at once: brings the lines of all of them to the disk together.
    gathering: Option<Gathering>,
}

struct State {
    log: Log,
    /// What was asked for and has no answer yet.
    open: HashMap<InvocationId, Asked>,
}

enum Log {
    Unopened,
    Open(AuditLog),
    Without,
}

struct Asked {
    tool: String,
    arguments: Map<String, Value>,
}

impl<'a> AuditSink<'a> {
    pub(crate) fn new(enabled: bool, session: Option<String>, manners: &'a Manners, world: &World) -> Self {
        let warn = Box::new(|text: &str| manners.warn(text));
        let (redactor, place) = (manners.redactor.clone(), place(world));
        let state = State::new(enabled);
        let book = Book { place, session, redactor, warn, state, gathering: None };
        Self { book: Arc::new(book), client: None }
    }
}

impl AuditSink<'static> {
    /// Of many calls at once, for others. `warn` is told what the user should know.
    pub(crate) fn gathering(
        enabled: bool,
        session: String,
        redactor: Redactor,
        warn: impl Fn(&str) + Send + Sync + 'static,
        world: &World,
    ) -> Self {
        let (warn, state) = (Box::new(warn), State::new(enabled));
        let gathering = Some(Gathering::default());
        let book = Book { place: place(world), session: Some(session), redactor, warn, state, gathering };
        Self { book: Arc::new(book), client: None }
    }

    /// The same log, for what this client calls.
    pub(crate) fn for_client(&self, client: Option<String>) -> Self {
        Self { book: Arc::clone(&self.book), client }
    }
}

impl State {
    fn new(enabled: bool) -> Mutex<Self> {
        let log = if enabled { Log::Unopened } else { Log::Without };
        Mutex::new(Self { log, open: HashMap::new() })
    }
}

impl Book<'_> {
    fn opened(&self) -> Result<Log, SinkError> {
        let Some(path) = &self.place else {
            (self.warn)("warning: no home directory: what tools do is not audited");
            return Ok(Log::Without);
        };
        let redactor = self.redactor.clone();
        match AuditLog::open(path, Box::new(move |text| redactor.clean(text))) {
            Ok(log) => {
                if let Some(gathering) = &self.gathering {
                    gathering.begin(&log).map_err(|error| failed(&error))?;
                }
                Ok(Log::Open(log))
            }
            Err(error @ AuditError::Unavailable { .. }) => {
                (self.warn)(&format!("warning: what tools do is not audited: {error}"));
                Ok(Log::Without)
            }
            Err(error) => Err(failed(&error)),
        }
    }

    fn append(&self, log: &mut Log, records: &[Record], durable: bool) -> Result<(), SinkError> {
        if let Log::Unopened = log {
            *log = self.opened()?;
        }
        let Log::Open(log) = log else { return Ok(()) };
        log.append(records, World::now()).map_err(|error| failed(&error))?;
        match &self.gathering {
            _ if !durable => Ok(()),
            Some(gathering) => {
                gathering.note();
                Ok(())
            }
            None => log.commit().map_err(|error| failed(&error)),
        }
    }
}

impl AuditSink<'_> {
    fn record(&self, id: &InvocationId, tool: &str, happened: Happened) -> Record {
        let (session, client) = (self.book.session.clone(), self.client.clone());
        Record { session, client, invocation: id.clone(), tool: tool.to_owned(), happened }
    }

    fn started(&self, invocation: &Invocation) -> Record {
        let arguments = invocation.arguments.object.clone();
        self.record(&invocation.id, &invocation.tool, Happened::Started { arguments })
    }

    /// An answer that no tool gave: no such tool, bad arguments, a limit. A refusal has been recorded as a decision.
    fn answered(&self, asked: &Asked, result: &InvocationResult) -> Record {
        let happened = Happened::finished(result.outcome, &result.content, None);
        self.record(&result.id, &asked.tool, happened)
    }
}

fn failed(error: &AuditError) -> SinkError {
    SinkError::Audit(error.to_string())
}

impl Sink for AuditSink<'_> {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let crashed = |_| SinkError::Audit("its writer crashed".to_owned());
        let State { log, open } = &mut *self.book.state.lock().map_err(crashed)?;
        if let Log::Without = log {
            return Ok(());
        }
        match event {
            Event::Appended(Canister::Invocation(Invocation { id, tool, arguments, .. })) => {
                open.insert(id.clone(), Asked { tool: tool.clone(), arguments: arguments.object.clone() });
                Ok(())
            }
            Event::Decided { id, decision } => {
                let Some(asked) = open.get(id) else { return Ok(()) };
                let happened = Happened::decided(decision, &asked.arguments);
                let record = self.record(id, &asked.tool, happened);
                if !decision.allows() {
                    open.remove(id);
                }
                self.book.append(log, &[record], false)
            }
            Event::Started(invocations) => {
                let records: Vec<_> = invocations.iter().map(|invocation| self.started(invocation)).collect();
                self.book.append(log, &records, true)
            }
            Event::Finished { invocation, result, elapsed } => {
                open.remove(&invocation.id);
                let happened = Happened::finished(result.outcome, &result.content, Some(*elapsed));
                self.book.append(log, &[self.record(&invocation.id, &invocation.tool, happened)], false)
            }
            Event::Appended(Canister::Result(result)) => match open.remove(&result.id) {
                Some(asked) => self.book.append(log, &[self.answered(&asked, result)], false),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn settle(&self) -> BoxFuture<'_, Result<(), SinkError>> {
        match &self.book.gathering {
            Some(gathering) => gathering.settle().boxed(),
            None => std::future::ready(Ok(())).boxed(),
        }
    }
}
