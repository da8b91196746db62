//! The two metrics of the conventions, kept along the run: histograms of tokens and of seconds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::otlp::{self, Clean, Resource};
use super::spans::{Attributes, CLIENT, Finished};

/// Maximum number of sets of attributes; further ones are not measured.
const MOST_SERIES: usize = 200;
/// Number of bounds, and the first bound and the factor between bounds, as the conventions ask for.
const BOUNDS: usize = 14;
const TOKENS: (f64, f64) = (1.0, 4.0);
const SECONDS: (f64, f64) = (0.01, 2.0);

/// Attributes of a call of a model that metrics share with its span.
const SHARED: [&str; 4] =
    ["gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"];
const USAGE: [(&str, &str); 2] =
    [("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")];

#[derive(Debug)]
pub(super) struct Metrics {
    began: Timestamp,
    delta: bool,
    tokens: Series,
    seconds: Series,
}

#[derive(Debug)]
struct Series {
    bounds: [f64; BOUNDS],
    histograms: Vec<(Attributes, Histogram)>,
}

#[derive(Debug, Default)]
struct Histogram {
    count: u64,
    sum: f64,
    least: f64,
    most: f64,
    /// One more than there are bounds.
    buckets: [u64; BOUNDS + 1],
}

impl Metrics {
    /// With `delta` the metrics hold what was added since the last time they were taken, not since the beginning.
    pub(super) fn new(now: Timestamp, delta: bool) -> Self {
        Self { began: now, delta, tokens: Series::new(TOKENS), seconds: Series::new(SECONDS) }
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
            attributes.extend(span.error.map(|error| ("error.type", json!(error))));
            self.seconds.observe(attributes, span.ended.saturating_sub(span.began) as f64 / 1e9);
        }
    }

    /// Returns the body of a request to `/v1/metrics`.
    pub(super) fn body(&mut self, now: Timestamp, resource: &Resource, clean: Clean<'_>) -> Value {
        let tokens = ("gen_ai.client.token.usage", "{token}", "Number of input and output tokens used.");
        let seconds = ("gen_ai.client.operation.duration", "s", "GenAI operation duration.");
        let mut metrics = Vec::new();
        for ((name, unit, description), series) in [(tokens, &self.tokens), (seconds, &self.seconds)] {
            let points = series.histograms.iter();
            let points = points.map(|(attributes, histogram)| {
                json!({
                    "attributes": otlp::attributes(attributes, clean),
                    "startTimeUnixNano": self.began.as_nanosecond().to_string(),
                    "timeUnixNano": now.as_nanosecond().to_string(), "count": histogram.count.to_string(),
                    "sum": histogram.sum, "min": histogram.least, "max": histogram.most,
                    "bucketCounts": histogram.buckets.map(|count| count.to_string()), "explicitBounds": series.bounds,
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

impl Series {
    fn new((first, factor): (f64, f64)) -> Self {
        let mut bounds = [first; BOUNDS];
        for at in 1..BOUNDS {
            bounds[at] = bounds[at - 1] * factor;
        }
        Self { bounds, histograms: Vec::new() }
    }

    fn observe(&mut self, attributes: Attributes, value: f64) {
        let known = self.histograms.iter().position(|(known, _)| *known == attributes);
        let at = known.unwrap_or(self.histograms.len());
        if known.is_none() && at < MOST_SERIES {
            self.histograms.push((attributes, Histogram { least: value, ..Histogram::default() }));
        }
        let Some((_, histogram)) = self.histograms.get_mut(at) else { return };
        histogram.least = histogram.least.min(value);
        histogram.most = histogram.most.max(value);
        histogram.count += 1;
        histogram.sum += value;
        // A bucket holds what is over the bound before it, and its own bound.
        histogram.buckets[self.bounds.partition_point(|bound| *bound < value)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_bucket_below_it() {
        let mut series = Series::new(TOKENS);
        for value in [0.0, 1.0, 1.5, 4.0, 5.0, 1e9] {
            series.observe(vec![], value);
        }
        let (_, histogram) = &series.histograms[0];
        assert_eq!(histogram.buckets, [2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!((histogram.count, histogram.least, histogram.most), (6, 0.0, 1e9));
        for n in 0..1000 {
            series.observe(vec![("gen_ai.provider.name", json!(n))], 1.0);
        }
        assert_eq!(series.histograms.len(), MOST_SERIES);
    }

    #[test]
    fn bounds_are_those_of_the_conventions() {
        let tokens = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576, 4_194_304, 16_777_216];
        assert_eq!(Series::new(TOKENS).bounds[..13], tokens.map(f64::from));
        assert_eq!(Series::new(TOKENS).bounds[13], 67_108_864.0);
        assert_eq!(
            Series::new(SECONDS).bounds,
            [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
        );
    }
}
