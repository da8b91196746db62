//! The audit log as a sink: what is decided about an invocation, that it starts, what came of it.
//!
//! It hears the same events as the journal, in the loop and in `ensembles call`, so that there is one log and one form.
//! It is opened at the first record: a run that invokes nothing touches no file. Where there is no place for a log (no
//! home, a read-only one) the run goes on with a warning, as it does without a session; a log that is there and cannot
//! be written ends the run before anything is invoked.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use converse_canister::{Canister, Invocation, InvocationId, InvocationResult};
use converse_engine::{Event, Sink, SinkError};
use converse_session::{AuditError, AuditLog, Happened, Record};
use serde_json::{Map, Value};

use crate::manners::Manners;
use crate::world::World;

/// Where the log is; `None` without a home.
pub(crate) fn place(world: &World) -> Option<PathBuf> {
    world.state_dir().map(|dir| dir.join("audit.jsonl"))
}

pub(crate) struct AuditSink<'a> {
    place: Option<PathBuf>,
    session: Option<String>,
    manners: &'a Manners,
    state: Mutex<State>,
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
        let log = if enabled { Log::Unopened } else { Log::Without };
        let state = Mutex::new(State { log, open: HashMap::new() });
        Self { place: place(world), session, manners, state }
    }

    fn opened(&self) -> Result<Log, SinkError> {
        let Some(path) = &self.place else {
            self.manners.warn("warning: no home directory: what tools do is not audited");
            return Ok(Log::Without);
        };
        let redactor = self.manners.redactor.clone();
        match AuditLog::open(path, Box::new(move |text| redactor.clean(text))) {
            Ok(log) => Ok(Log::Open(log)),
            Err(error @ AuditError::Unavailable { .. }) => {
                self.manners.warn(&format!("warning: what tools do is not audited: {error}"));
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
        let written = log.append(records, World::now());
        written.and_then(|()| if durable { log.commit() } else { Ok(()) }).map_err(|error| failed(&error))
    }

    fn record(&self, id: &InvocationId, tool: &str, happened: Happened) -> Record {
        let (session, invocation) = (self.session.clone(), id.clone());
        Record { session, invocation, tool: tool.to_owned(), happened }
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
        let State { log, open } = &mut *self.state.lock().map_err(crashed)?;
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
                self.append(log, &[record], false)
            }
            Event::Started(invocations) => {
                let records: Vec<_> = invocations.iter().map(|invocation| self.started(invocation)).collect();
                self.append(log, &records, true)
            }
            Event::Finished { invocation, result, elapsed } => {
                open.remove(&invocation.id);
                let happened = Happened::finished(result.outcome, &result.content, Some(*elapsed));
                self.append(log, &[self.record(&invocation.id, &invocation.tool, happened)], false)
            }
            Event::Appended(Canister::Result(result)) => match open.remove(&result.id) {
                Some(asked) => self.append(log, &[self.answered(&asked, result)], false),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
