//! Where to and how: the variables that every OpenTelemetry program reads.
//!
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>,
//! <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>, checked 2026-11.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::parent::Parent;
use crate::world::World;

const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Default)]
pub(super) struct Target {
    pub(super) traces: Option<Endpoint>,
    pub(super) metrics: Option<Endpoint>,
    pub(super) parent: Option<Parent>,
    /// Metrics tell what was added since the last time, not since the beginning.
    pub(super) delta: bool,
    pub(super) told: Vec<SetupNotice>,
}

#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) url: reqwest::Url,
    /// Values are marked as secrets.
    pub(super) headers: HeaderMap,
    pub(super) timeout: Duration,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum SetupNotice {
    Warning(String),
    /// For who asks for more.
    Remark(String),
}

impl Target {
    /// `None`: nobody asks for it.
    pub(super) fn of(world: &World) -> Option<Self> {
        let names = ["OTEL_EXPORTER_OTLP_ENDPOINT", SIGNALS[0].endpoint, SIGNALS[1].endpoint];
        let is_disabled =
            world.var("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_disabled || names.iter().all(|name| world.var(name).is_none()) {
            return None;
        }
        let mut target = Self { parent: Parent::of(world), ..Self::default() };
        let preference = world.var("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").unwrap_or_default();
        target.delta = preference.eq_ignore_ascii_case("delta");
        let [traces, metrics] = SIGNALS.map(|signal| target.endpoint(&signal, world));
        // By default who is called does as the caller does.
        let sampler = world.var("OTEL_TRACES_SAMPLER").unwrap_or("parentbased_always_on");
        let by_parent = sampler.starts_with("parentbased").then_some(target.parent.as_ref()).flatten();
        let sampled = by_parent.map_or(!sampler.ends_with("always_off"), |parent| parent.sampled);
        (target.traces, target.metrics) = (traces.filter(|_| sampled), metrics);
        Some(target)
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
        // `Bearer x`: the key alone is one too.
        values.flat_map(|value| {
            value.split_whitespace().map(str::to_owned).chain([value.clone()]).collect::<Vec<_>>()
        })
    }

    fn endpoint(&mut self, signal: &Signal, world: &World) -> Option<Endpoint> {
        let exporters = world.var(signal.exporter).unwrap_or("otlp");
        if !exporters.split(',').any(|exporter| exporter.trim() == "otlp") {
            return None;
        }
        let own = |name: &str| world.var(&name.replace("OTLP_", signal.own)).or_else(|| world.var(name));
        let (given, url) = match world.var(signal.endpoint) {
            Some(url) => (signal.endpoint, url.to_owned()),
            None => {
                let base = world.var("OTEL_EXPORTER_OTLP_ENDPOINT")?;
                ("OTEL_EXPORTER_OTLP_ENDPOINT", format!("{}/{}", base.trim_end_matches('/'), signal.path))
            }
        };
        match own("OTEL_EXPORTER_OTLP_PROTOCOL") {
            None | Some("http/json") => {}
            Some("http/protobuf") => self.tell(SetupNotice::Remark(
                "OTLP is sent as JSON, which every collector takes at the same address".to_owned(),
            )),
            Some(other) => {
                self.tell(SetupNotice::Warning(format!(
                    "OTLP by `{other}` is not spoken here, so nothing is told to the collector: \
                     set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json` and the address of its HTTP port (4318)"
                )));
                return None;
            }
        }
        let url = reqwest::Url::parse(&url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            // Not what it holds: there may be a password in it.
            self.tell(SetupNotice::Warning(format!(
                "`{given}` is no http address, so nothing is told to the collector"
            )));
        }
        let timeout = own("OTEL_EXPORTER_OTLP_TIMEOUT").and_then(|ms| ms.parse().ok()).filter(|ms| *ms > 0);
        let timeout = timeout.map_or(TIMEOUT, Duration::from_millis).min(TIMEOUT);
        let headers = self.headers(own("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default());
        url.map(|url| Endpoint { url, headers, timeout })
    }

    /// `name=value,name=value`, values percent-encoded.
    fn headers(&mut self, text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
            let header = pair.split_once('=').and_then(|(name, value)| {
                let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
                let mut value = HeaderValue::from_bytes(&decoded(value.trim())).ok()?;
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
        if !self.told.contains(&told) {
            self.told.push(told);
        }
    }
}

struct Signal {
    endpoint: &'static str,
    exporter: &'static str,
    /// What stands in its own variables where the common ones have `OTLP_`.
    own: &'static str,
    path: &'static str,
}

const SIGNALS: [Signal; 2] = [
    Signal {
        endpoint: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        exporter: "OTEL_TRACES_EXPORTER",
        own: "OTLP_TRACES_",
        path: "v1/traces",
    },
    Signal {
        endpoint: "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
        exporter: "OTEL_METRICS_EXPORTER",
        own: "OTLP_METRICS_",
        path: "v1/metrics",
    },
];

/// What stands behind a `%` that is no code stays as it is.
pub(super) fn decoded(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    bytes
}

#[cfg(test)]
mod tests;
