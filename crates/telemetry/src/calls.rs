//! Calls that other programs make: one span each, and one histogram. They are exported together, every few seconds.
//!
//! <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md>, checked 2026-11.

use std::time::{Duration, Instant};

use converse_engine::{CallSpan, CallSpans};
use converse_text::trace_context::TraceContext;
use parking_lot::Mutex;
use serde_json::json;

use super::Exporter;
use super::spans::{Attributes, Finished, SERVER, Span, now, random};

/// Spans that are exported at once. More are not kept: the export then does not wait.
const BATCH: usize = 512;

/// The calls that were not exported yet.
#[derive(Debug)]
pub(super) struct Calls(Mutex<Waiting>);

#[derive(Debug)]
struct Waiting {
    spans: Vec<Finished>,
    /// Whether a call has ended since the last export of metrics.
    measured: bool,
    spans_sent: Instant,
    metrics_sent: Instant,
}

impl Default for Calls {
    fn default() -> Self {
        let now = Instant::now();
        let waiting = Waiting { spans: Vec::new(), measured: false, spans_sent: now, metrics_sent: now };
        Self(Mutex::new(waiting))
    }
}

impl CallSpans for Exporter {
    fn begin(&self, caller: Option<&TraceContext>) -> Option<TraceContext> {
        let parent = caller.or(self.target.parent.as_ref());
        let recorded = self.target.traces_of_callers.is_some() && self.target.samples(parent);
        recorded.then(|| match parent {
            Some(parent) => parent.child(random()),
            None => TraceContext::root(u128::from(random()) << 64 | u128::from(random()), random()),
        })
    }

    fn end(&self, call: CallSpan) {
        let seconds = call.elapsed.as_secs_f64();
        self.metrics.lock().add_call(attributes(&call), seconds);
        let full = {
            let mut calls = self.calls.0.lock();
            calls.measured = true;
            calls.spans.extend(self.finished(call));
            calls.spans.len() >= BATCH
        };
        if full {
            self.export_spans();
        }
    }
}

impl Exporter {
    fn finished(&self, call: CallSpan) -> Option<Finished> {
        let context = call.context.as_ref()?;
        let parent = call.caller.as_ref().or(self.target.parent.as_ref());
        let ended = now();
        let span = Span {
            id: context.span_id(),
            parent: parent.map(TraceContext::span_id),
            name: call.tool.as_ref().map_or("tools/call".to_owned(), |tool| format!("tools/call {tool}")),
            kind: SERVER,
            began: ended.saturating_sub(u64::try_from(call.elapsed.as_nanos()).unwrap_or_default()),
            ended,
            attributes: attributes(&call),
            error: call.error,
        };
        Some(Finished { trace: context.trace_id(), state: context.state().to_owned(), spans: vec![span] })
    }

    /// Exports what is due.
    pub(super) fn export_due(&self) {
        let due = |sent: Instant, every: Duration| sent.elapsed() >= every;
        let (spans, metrics) = {
            let calls = self.calls.0.lock();
            (
                due(calls.spans_sent, self.target.spans_every),
                due(calls.metrics_sent, self.target.metrics_every),
            )
        };
        if spans {
            self.export_spans();
        }
        if metrics {
            self.export_metrics();
        }
    }

    pub(super) fn export_spans(&self) {
        let spans = {
            let mut calls = self.calls.0.lock();
            calls.spans_sent = Instant::now();
            std::mem::take(&mut calls.spans)
        };
        if !spans.is_empty() {
            self.send_spans(self.target.traces_of_callers.as_ref(), &spans);
        }
    }

    pub(super) fn export_metrics(&self) {
        let measured = {
            let mut calls = self.calls.0.lock();
            calls.metrics_sent = Instant::now();
            std::mem::take(&mut calls.measured)
        };
        if measured {
            self.send_metrics();
        }
    }
}

fn attributes(call: &CallSpan) -> Attributes {
    let mut attributes = vec![
        ("mcp.method.name", json!("tools/call")),
        ("gen_ai.operation.name", json!("execute_tool")),
        ("network.transport", json!(if call.over_http { "tcp" } else { "pipe" })),
    ];
    attributes.extend(call.tool.as_ref().map(|tool| ("gen_ai.tool.name", json!(tool))));
    attributes.extend(call.error.as_ref().map(|error| ("error.type", json!(error))));
    attributes
}
