//! OpenTelemetry: durations of models and tools, exported by OTLP over HTTP if the environment names a collector.
//!
//! Spans are built from the loop's events when a turn has ended, and sent on a separate thread. Calls of other programs
//! are exported together, every few seconds. Only the end of the
//! program waits for the collector, at most two seconds. Spans that cannot be sent are dropped. Texts, arguments,
//! results and keys are never exported.

mod calls;
mod metrics;
mod otlp;
mod sending;
mod spans;
mod target;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_engine::{CallSpans, Event, Sink, SinkError};
use parking_lot::{Mutex, MutexGuard};

use crate::failure::Failure;
use crate::secrets::{Redactor, Secret};
use crate::world::World;

use calls::Calls;
use metrics::Metrics;
use otlp::Resource;
use sending::Sender;
use spans::{Finished, Trace};
use target::{Endpoint, SetupNotice, Target};

/// Characters of a text: models invent names.
const LONGEST: usize = 200;
/// Limit for the export at the end of the program.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The exporter. Costs nothing if no collector is configured.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Option<Arc<Exporter>>);

#[derive(Debug)]
struct Exporter {
    target: Target,
    resource: Resource,
    redactor: Redactor,
    metrics: Mutex<Metrics>,
    calls: Calls,
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
        let (redactor, calls, sender) = (redactor.clone(), Calls::default(), OnceLock::new());
        Self(Some(Arc::new(Exporter { target, resource, redactor, metrics, calls, sender })))
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

    /// Returns the receiver of the calls that other programs make, if they are exported.
    pub fn calls(&self) -> Option<Arc<dyn CallSpans>> {
        let exporter = self.0.as_ref()?;
        let wanted = exporter.target.traces_of_callers.is_some() || exporter.target.metrics.is_some();
        wanted.then(|| Arc::clone(exporter) as Arc<dyn CallSpans>)
    }

    /// Exports the calls of the last seconds, if it is time. A program that runs for long calls it every second or so.
    pub fn export_due(&self) {
        if let Some(exporter) = &self.0 {
            exporter.export_due();
        }
    }

    /// Sends the rest at the end of the program. Returns a warning if the time was not enough.
    pub fn settle(&self) -> Option<String> {
        let exporter = self.0.as_ref()?;
        exporter.export_spans();
        exporter.export_metrics();
        let sender = exporter.sender.get()?;
        let problem = sender.settle(LAST_WORDS)?;
        Some(format!("warning: not all data was sent to the OpenTelemetry collector: {problem}"))
    }
}

impl Exporter {
    fn send_spans(&self, endpoint: Option<&Endpoint>, finished: &[Finished]) {
        if let Some(endpoint) = endpoint {
            self.sender().send(endpoint, otlp::traces(finished, &self.resource, &|text| self.clean(text)));
        }
    }

    fn send_metrics(&self) {
        if let Some(endpoint) = &self.target.metrics {
            let body = self.metrics.lock().body(World::now(), &self.resource, &|text| self.clean(text));
            self.sender().send(endpoint, body);
        }
    }

    fn sender(&self) -> &Sender {
        self.sender.get_or_init(Sender::begin)
    }

    fn clean(&self, text: &str) -> String {
        self.redactor.clean(text).chars().take(LONGEST).collect()
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
        let finished = self.trace.into_inner().end(failure.map(|failure| failure.code));
        self.exporter.metrics.lock().add(&finished);
        self.exporter.send_spans(self.exporter.target.traces.as_ref(), &[finished]);
        self.exporter.send_metrics();
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
