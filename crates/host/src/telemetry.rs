//! OpenTelemetry: durations of models and tools, exported by OTLP over HTTP if the environment names a collector.
//!
//! Spans are built from the loop's events when a turn has ended, and sent on a separate thread. Only the end of the
//! program waits for the collector, at most two seconds. Spans that cannot be sent are dropped. Texts, arguments,
//! results and keys are never exported.

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
/// Limit for the export at the end of the program.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The exporter. Costs nothing if no collector is configured.
#[derive(Debug, Default)]
pub struct Telemetry(Option<Box<Exporter>>);

#[derive(Debug)]
struct Exporter {
    target: Target,
    resource: Resource,
    redactor: Redactor,
    metrics: Mutex<Metrics>,
    /// Started by the first turn.
    sender: OnceLock<Sender>,
}

impl Telemetry {
    /// Reads the environment. Keys of the collector are added to the redactor.
    pub fn of(world: &World, redactor: &Redactor) -> Self {
        let Some(target) = Target::of(world) else { return Self(None) };
        redactor.learn(target.secrets().map(Secret::new));
        let resource = Resource::of(world);
        let metrics = Mutex::new(Metrics::new(World::now(), target.delta));
        let redactor = redactor.clone();
        Self(Some(Box::new(Exporter { target, resource, redactor, metrics, sender: OnceLock::new() })))
    }

    /// Returns warnings about the configuration, for the first turn.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.notices().filter_map(|told| match told {
            SetupNotice::Warning(text) => Some(format!("warning: {text}")),
            SetupNotice::Remark(_) => None,
        })
    }

    /// Returns remarks about the configuration, for verbose output.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        self.notices().filter_map(|told| match told {
            SetupNotice::Warning(_) => None,
            SetupNotice::Remark(text) => Some(format!("note: {text}")),
        })
    }

    fn notices(&self) -> impl Iterator<Item = &SetupNotice> {
        self.0.iter().flat_map(|exporter| &exporter.target.notices)
    }

    /// Returns the sink for one turn with this model (`provider/model`) in this session.
    pub fn turn(&self, model: &str, session: Option<&str>) -> Option<Listener<'_>> {
        let exporter = self.0.as_deref().filter(|exporter| exporter.target.is_any())?;
        let trace = Trace::begin(model, session, exporter.target.parent.as_ref());
        Some(Listener { exporter, trace: Mutex::new(trace) })
    }

    /// Sends the rest at the end of the program. Returns a warning if the time was not enough.
    pub fn settle(&self) -> Option<String> {
        let sender = self.0.as_ref().and_then(|exporter| exporter.sender.get())?;
        let problem = sender.settle(LAST_WORDS)?;
        Some(format!("warning: not all data was sent to the OpenTelemetry collector: {problem}"))
    }
}

/// A sink that builds the trace of one turn.
#[derive(Debug)]
pub struct Listener<'a> {
    exporter: &'a Exporter,
    trace: Mutex<Trace>,
}

impl Listener<'_> {
    /// Ends the turn and exports its trace.
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
    /// Never fails, because a turn does not depend on telemetry.
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        self.trace().hear(event);
        Ok(())
    }
}
