//! OpenTelemetry: what models and tools took, told to a collector by OTLP over HTTP, where the environment names one.
//!
//! The spans are made of the loop's own events when a turn has ended, and sent by a thread of their own: nothing waits for
//! a collector but the very end of the program, and that two seconds at most. What cannot be sent is not kept. Never told:
//! what anybody said, arguments, results, keys.

mod metrics;
mod otlp;
mod parent;
mod sending;
mod spans;
mod target;

use std::sync::OnceLock;
use std::time::Duration;

use converse_engine::{Event, Sink, SinkError};
use parking_lot::{Mutex, MutexGuard};

use crate::failure::Failure;
use crate::secrets::{Redactor, Secret};
use crate::world::World;

use metrics::Metrics;
use otlp::Resource;
use sending::Sender;
use spans::Trace;
use target::{SetupNotice, Target};

/// Characters of a text: models invent names.
const LONGEST: usize = 200;
/// What the end of the program may take longer for it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Where it is told, if anywhere. Costs nothing if nowhere.
#[derive(Debug, Default)]
pub struct Telemetry(Option<Box<Exporter>>);

#[derive(Debug)]
struct Exporter {
    target: Target,
    resource: Resource,
    redactor: Redactor,
    metrics: Mutex<Metrics>,
    /// Begun with the first turn.
    sender: OnceLock<Sender>,
}

impl Telemetry {
    /// What the environment says; the keys of the collector become known to the redactor.
    pub fn of(world: &World, redactor: &Redactor) -> Self {
        let Some(target) = Target::of(world) else { return Self(None) };
        redactor.learn(target.secrets().map(Secret::new));
        let resource = Resource::of(world);
        let metrics = Mutex::new(Metrics::new(World::now(), target.delta));
        let redactor = redactor.clone();
        Self(Some(Box::new(Exporter { target, resource, redactor, metrics, sender: OnceLock::new() })))
    }

    /// What is wrong with how it is set up: warnings, for the first turn.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.told().filter_map(|told| match told {
            SetupNotice::Warning(text) => Some(format!("warning: {text}")),
            SetupNotice::Remark(_) => None,
        })
    }

    /// Remarks on how it is set up, for users who asked for more words.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.told().filter_map(|told| match told {
            SetupNotice::Warning(_) => None,
            SetupNotice::Remark(text) => Some(format!("note: {text}")),
        })
    }

    fn told(&self) -> impl Iterator<Item = &SetupNotice> {
        self.0.iter().flat_map(|exporter| &exporter.target.told)
    }

    /// Hears one turn with this model (`provider/model`), in this session.
    pub fn turn(&self, model: &str, session: Option<&str>) -> Option<Listener<'_>> {
        let exporter = self.0.as_deref().filter(|exporter| exporter.target.is_any())?;
        let trace = Trace::begin(model, session, exporter.target.parent.as_ref());
        Some(Listener { exporter, trace: Mutex::new(trace) })
    }

    /// The program ends: what was not sent by now has a little time. Gives a warning if that was not enough.
    pub fn settle(&self) -> Option<String> {
        let sender = self.0.as_ref().and_then(|exporter| exporter.sender.get())?;
        let problem = sender.settle(LAST_WORDS)?;
        Some(format!("warning: not all was told to the OpenTelemetry collector: {problem}"))
    }
}

/// A sink that makes a trace of one turn.
#[derive(Debug)]
pub struct Listener<'a> {
    exporter: &'a Exporter,
    trace: Mutex<Trace>,
}

impl Listener<'_> {
    /// The turn has ended; from here on it is told.
    pub fn end(self, failure: Option<&Failure>) {
        let Exporter { target, resource, redactor, metrics, sender } = self.exporter;
        let trace = self.trace.into_inner();
        let finished = trace.end(failure.map(|failure| failure.code));
        let mut metrics = metrics.lock();
        metrics.add(&finished);
        let clean = |text: &str| redactor.clean(text).chars().take(LONGEST).collect();
        let sender = sender.get_or_init(Sender::begin);
        if let Some(endpoint) = &target.traces {
            sender.send(endpoint, otlp::traces(&finished, resource, &clean));
        }
        if let Some(endpoint) = &target.metrics {
            sender.send(endpoint, metrics.body(World::now(), resource, &clean));
        }
    }

    fn trace(&self) -> MutexGuard<'_, Trace> {
        self.trace.lock()
    }
}

impl Sink for Listener<'_> {
    /// Never fails: a turn does not depend on who watches it.
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        self.trace().hear(event);
        Ok(())
    }
}
