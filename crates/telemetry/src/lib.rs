//! OpenTelemetry: durations of models and tools, exported by OTLP over HTTP if the environment names a collector.
//!
//! Spans are built from the loop's events when a turn has ended. Calls of other programs are exported together, every few
//! seconds. Only the end of the program waits for the collector, at most two seconds. Texts, arguments, results and keys
//! are never exported. The crate sends nothing itself: the host does, through a [`Transport`].

mod calls;
mod metrics;
mod otlp;
mod spans;
mod target;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use converse_engine::{CallSpans, Event, Sink, SinkError};
use parking_lot::{Mutex, MutexGuard};

pub use target::Endpoint;

use calls::Calls;
use metrics::Metrics;
use otlp::Resource;
use spans::{Finished, Trace, now};
use target::{SetupNotice, Target};

/// Characters of a text: models invent names.
const LONGEST: usize = 200;
/// Limit for the export at the end of the program.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Returns the value of a variable of the environment that is set and not empty.
pub type Variables<'a> = dyn Fn(&str) -> Option<&'a str> + 'a;

/// The port to the collector.
pub trait Transport: Debug + Send + Sync {
    /// Returns the text without secrets.
    fn redacted(&self, text: &str) -> String;

    /// Sends a body by POST. Never waits. What cannot be sent is dropped.
    fn send(&self, endpoint: &Endpoint, body: String);

    /// Waits until all is sent, but not longer than this. Returns the first problem.
    fn settle(&self, timeout: Duration) -> Option<String>;
}

/// The exporter. Costs nothing if no collector is configured.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Option<Arc<Exporter>>);

#[derive(Debug)]
struct Exporter {
    target: Target,
    resource: Resource,
    metrics: Mutex<Metrics>,
    calls: Calls,
    transport: Box<dyn Transport>,
}

impl Telemetry {
    /// Reads the environment. The transport must not show the [secrets](Self::secrets).
    pub fn of(variables: &Variables<'_>, transport: impl Transport + 'static) -> Self {
        let Some(target) = Target::of(variables) else { return Self(None) };
        let resource = Resource::of(variables);
        let metrics = Mutex::new(Metrics::new(now(), target.delta));
        let (calls, transport) = (Calls::default(), Box::new(transport));
        Self(Some(Arc::new(Exporter { target, resource, metrics, calls, transport })))
    }

    /// Returns the keys of the collector.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|exporter| exporter.target.secrets())
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
        let problem = exporter.transport.settle(LAST_WORDS)?;
        Some(format!("warning: not all data was sent to the OpenTelemetry collector: {problem}"))
    }
}

impl Exporter {
    fn send_spans(&self, endpoint: Option<&Endpoint>, finished: &[Finished]) {
        if let Some(endpoint) = endpoint {
            let body = otlp::traces(finished, &self.resource, &|text| self.clean(text));
            self.transport.send(endpoint, body.to_string());
        }
    }

    fn send_metrics(&self) {
        if let Some(endpoint) = &self.target.metrics {
            let body = self.metrics.lock().body(now(), &self.resource, &|text| self.clean(text));
            self.transport.send(endpoint, body.to_string());
        }
    }

    fn clean(&self, text: &str) -> String {
        self.transport.redacted(text).chars().take(LONGEST).collect()
    }
}

/// A sink that builds the trace of one turn.
#[derive(Debug)]
pub struct Listener<'a> {
    exporter: &'a Exporter,
    trace: Mutex<Trace>,
}

impl Listener<'_> {
    /// Ends the turn and exports its trace. `error` is the kind of failure with which it ended.
    pub fn end(self, error: Option<&'static str>) {
        let finished = self.trace.into_inner().end(error);
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
