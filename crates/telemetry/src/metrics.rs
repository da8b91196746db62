//! The metrics of the conventions, kept along the run: histograms of tokens and of seconds.

use converse_session::stats::HistogramSeries;
use serde_json::{Value, json};

use super::otlp::{self, Clean, Resource};
use super::spans::{Attributes, CLIENT, Finished};

/// Number of bounds, and the first bound and the factor between bounds, as the conventions ask for.
const BOUNDS: usize = 14;
const TOKENS: (f64, f64) = (1.0, 4.0);
const SECONDS: (f64, f64) = (0.01, 2.0);
const CALLS: [f64; BOUNDS] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Attributes of a call of a model that metrics share with its span.
const SHARED: [&str; 4] =
    ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"];
const USAGE: [(&str, &str); 2] =
    [("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")];

#[derive(Debug)]
pub(super) struct Metrics {
    /// In nanoseconds since 1970.
    began: u64,
    delta: bool,
    tokens: HistogramSeries<Attributes, BOUNDS>,
    seconds: HistogramSeries<Attributes, BOUNDS>,
    /// Of calls that clients make.
    calls: HistogramSeries<Attributes, BOUNDS>,
}

impl Metrics {
    /// With `delta` the metrics hold what was added since the last time they were taken, not since the beginning.
    pub(super) fn new(now: u64, delta: bool) -> Self {
        let [tokens, seconds] = [TOKENS, SECONDS].map(|scale| HistogramSeries::new(bounds(scale)));
        let calls = HistogramSeries::new(CALLS);
        Self { began: now, delta, tokens, seconds, calls }
    }

    pub(super) fn add(&mut self, turn: &Finished) {
        for span in turn.spans.iter().filter(|span| span.kind == CLIENT) {
            let shared = span.attributes.iter().filter(|(name, _)| SHARED.contains(name)).cloned();
            let mut attributes: Attributes = shared.collect();
            for (kind, name) in USAGE {
                let count = span.attributes.iter().find(|(known, _)| *known == name);
                let Some(count) = count.and_then(|(_, count)| count.as_f64()) else { continue };
                let kind = ("gen_ai.token.type", json!(kind));
                self.tokens.observe([attributes.clone(), vec![kind]].concat(), count);
            }
            attributes.extend(span.error.as_ref().map(|error| ("error.type", json!(error))));
            self.seconds.observe(attributes, span.ended.saturating_sub(span.began) as f64 / 1e9);
        }
    }

    pub(super) fn add_call(&mut self, attributes: Attributes, seconds: f64) {
        self.calls.observe(attributes, seconds);
    }

    /// Returns the body of a request to `/v1/metrics`.
    pub(super) fn body(&mut self, now: u64, resource: &Resource, clean: Clean<'_>) -> Value {
        let tokens = ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.");
        let seconds = ("gen_ai.client.operation.duration", "s", "GenAI operation duration.");
        let calls = (
            "mcp.server.operation.duration",
            "s",
            "Duration of MCP requests, with the time in which they waited.",
        );
        let all = [(tokens, &self.tokens), (seconds, &self.seconds), (calls, &self.calls)];
        let mut metrics = Vec::new();
        for ((name, unit, description), series) in all {
            let points = series.histograms();
            let points = points.map(|(attributes, histogram)| {
                json!({
                    "attributes": otlp::attributes(attributes, clean),
                    "startTimeUnixNano": self.began.to_string(),
                    "timeUnixNano": now.to_string(), "count": histogram.count.to_string(),
                    "sum": histogram.sum, "min": histogram.least, "max": histogram.most,
                    "bucketCounts": histogram.buckets().map(|count| count.to_string()).collect::<Vec<_>>(), "explicitBounds": series.bounds(),
                })
            });
            let points: Vec<Value> = points.collect();
            if !points.is_empty() {
                metrics.push(json!({
                    "name": name, "unit": unit, "description": description,
                    // 1 is delta, 2 cumulative.
                    "histogram": { "aggregationTemporality": if self.delta { 1 } else { 2 }, "dataPoints": points },
                }));
            }
        }
        if self.delta {
            *self = Self::new(now, true);
        }
        json!({ "resourceMetrics": [{
            "resource": resource.json(),
            "scopeMetrics": [{ "scope": otlp::scope(), "metrics": metrics }],
        }] })
    }
}

fn bounds((first, factor): (f64, f64)) -> [f64; BOUNDS] {
    let mut bounds = [first; BOUNDS];
    for at in 1..BOUNDS {
        bounds[at] = bounds[at - 1] * factor;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_conventions() {
        let tokens = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576, 4_194_304, 16_777_216];
        assert_eq!(bounds(TOKENS)[..13], tokens.map(f64::from));
        assert_eq!(bounds(TOKENS)[13], 67_108_864.0);
        assert_eq!(
            bounds(SECONDS),
            [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
        );
    }
}
