//! Where to and how: the variables that every OpenTelemetry program reads.
//!
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>,
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>,
//! <https://opentelemetry.io/docs/specs/otel/context/env-carriers/>, checked 2026-11.

use std::time::Duration;

use converse_text::trace_context::TraceContext;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

use super::Variables;

const TIMEOUT: Duration = Duration::from_secs(10);
/// The time between two exports of spans, and of metrics, while a program runs for long.
const SPANS_EVERY: Duration = Duration::from_secs(5);
const METRICS_EVERY: Duration = Duration::from_secs(60);
/// The endpoint of both signals.
const BASE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

#[derive(Debug, Default)]
pub(super) struct Target {
    /// `None` if spans without a caller of their own are not sampled.
    pub(super) traces: Option<Endpoint>,
    pub(super) metrics: Option<Endpoint>,
    /// Where spans are sent whose own caller is sampled.
    pub(super) traces_of_callers: Option<Endpoint>,
    /// The caller of this process.
    pub(super) parent: Option<TraceContext>,
    sampler: Sampler,
    pub(super) spans_every: Duration,
    pub(super) metrics_every: Duration,
    /// Metrics tell what was added since the last time, not since the beginning.
    pub(super) delta: bool,
    pub(super) notices: Vec<SetupNotice>,
}

/// Which spans are recorded.
#[derive(Debug, Default)]
struct Sampler {
    /// By default, sampling follows the parent.
    by_parent: bool,
    otherwise: bool,
}

/// Where one signal is sent.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub url: Url,
    /// Values are marked as secrets.
    pub headers: HeaderMap,
    /// For one request.
    pub timeout: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SetupNotice {
    Warning(String),
    /// Shown only with more verbosity.
    Remark(String),
}

impl Target {
    /// `None` if telemetry is not enabled.
    pub(super) fn of(variables: &Variables<'_>) -> Option<Self> {
        let names = [BASE, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"];
        let is_disabled =
            variables("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_disabled || names.iter().all(|name| variables(name).is_none()) {
            return None;
        }
        let parent = variables("TRACEPARENT");
        let parent = parent.and_then(|parent| TraceContext::parse(parent, variables("TRACESTATE")));
        let mut target = Self { parent, ..Self::default() };
        let preference = variables("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").unwrap_or_default();
        target.delta = preference.eq_ignore_ascii_case("delta");
        let [traces, metrics] = ["TRACES", "METRICS"].map(|signal| target.endpoint(signal, variables));
        let sampler = variables("OTEL_TRACES_SAMPLER").unwrap_or("parentbased_always_on");
        let (by_parent, otherwise) = (sampler.starts_with("parentbased"), !sampler.ends_with("always_off"));
        target.sampler = Sampler { by_parent, otherwise };
        target.traces = traces.clone().filter(|_| target.samples(target.parent.as_ref()));
        target.traces_of_callers = traces.filter(|_| by_parent || otherwise);
        target.metrics = metrics;
        let every = |name, default| {
            let set = variables(name).and_then(|ms| ms.parse().ok()).filter(|ms| *ms > 0);
            set.map_or(default, Duration::from_millis)
        };
        target.spans_every = every("OTEL_BSP_SCHEDULE_DELAY", SPANS_EVERY);
        target.metrics_every = every("OTEL_METRIC_EXPORT_INTERVAL", METRICS_EVERY);
        Some(target)
    }

    /// Returns whether a span below this parent is recorded.
    pub(super) fn samples(&self, parent: Option<&TraceContext>) -> bool {
        let followed = parent.filter(|_| self.sampler.by_parent);
        followed.map_or(self.sampler.otherwise, TraceContext::is_sampled)
    }

    pub(super) fn is_any(&self) -> bool {
        self.traces.is_some() || self.metrics.is_some()
    }

    /// Values of headers: most of them are keys.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let headers = [&self.traces, &self.metrics]
            .into_iter()
            .flatten()
            .flat_map(|endpoint| endpoint.headers.values());
        let values = headers.filter_map(|value| Some(value.to_str().ok()?.to_owned()));
        // Of `Bearer x`, the key alone is a secret too.
        values.flat_map(|value| {
            value.split_whitespace().map(str::to_owned).chain([value.clone()]).collect::<Vec<_>>()
        })
    }

    fn endpoint(&mut self, signal: &str, variables: &Variables<'_>) -> Option<Endpoint> {
        let exporters = variables(&format!("OTEL_{signal}_EXPORTER")).unwrap_or("otlp");
        if !exporters.split(',').any(|exporter| exporter.trim() == "otlp") {
            return None;
        }
        let own = |name: &str| format!("OTEL_EXPORTER_OTLP_{signal}_{name}");
        let set =
            |name: &str| variables(&own(name)).or_else(|| variables(&format!("OTEL_EXPORTER_OTLP_{name}")));
        let (given, url) = match variables(&own("ENDPOINT")) {
            Some(url) => (own("ENDPOINT"), url.to_owned()),
            None => {
                let base = variables(BASE)?.trim_end_matches('/');
                (BASE.to_owned(), format!("{base}/v1/{}", signal.to_lowercase()))
            }
        };
        match set("PROTOCOL") {
            None | Some("http/json") => {}
            Some("http/protobuf") => self.tell(SetupNotice::Remark(
                "OTLP is sent as JSON, which every collector accepts at the same URL".to_owned(),
            )),
            Some(other) => {
                self.tell(SetupNotice::Warning(format!(
                    "OTLP by `{other}` is not spoken here, so nothing is told to the collector: \
                     set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json` and the address of its HTTP port (4318)"
                )));
                return None;
            }
        }
        let url =
            Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            // Not what it holds: there may be a password in it.
            self.tell(SetupNotice::Warning(format!(
                "`{given}` is not an http URL, so no data is sent to the collector"
            )));
        }
        let timeout = set("TIMEOUT").and_then(|ms| ms.parse().ok()).filter(|ms| *ms > 0);
        let timeout = timeout.map_or(TIMEOUT, Duration::from_millis).min(TIMEOUT);
        let headers = self.headers(set("HEADERS").unwrap_or_default());
        url.map(|url| Endpoint { url, headers, timeout })
    }

    /// `name=value,name=value`, values percent-encoded.
    fn headers(&mut self, text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let header = pair.split_once('=').and_then(|(name, value)| {
                let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
                let mut value =
                    HeaderValue::from_bytes(&Vec::from_iter(percent_decode_str(value.trim()))).ok()?;
                value.set_sensitive(true);
                Some((name, value))
            });
            match header {
                Some((name, value)) => drop(headers.append(name, value)),
                None => self.tell(SetupNotice::Warning(
                    "a header in `OTEL_EXPORTER_OTLP_HEADERS` is not `name=value`".to_owned(),
                )),
            }
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers
    }

    /// The same goes for both signals.
    fn tell(&mut self, told: SetupNotice) {
        if !self.notices.contains(&told) {
            self.notices.push(told);
        }
    }
}

#[cfg(test)]
mod tests;
