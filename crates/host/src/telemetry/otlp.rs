//! OTLP as JSON: ids in hex, whole numbers of 64 bits as strings, kinds and states as numbers.
//!
//! <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>, version 1.10, checked 2026-11.

use serde_json::{Value, json};

use super::histogram::{Attributes, Histogram, Measured};
use super::names::{self, SECOND_BOUNDS, TOKEN_BOUNDS};
use super::spans::{Chat, Finished, Kind, Span, random};
use super::target::decoded;
use crate::world::World;

const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const ERROR: u8 = 2;
const DELTA: u8 = 1;
const CUMULATIVE: u8 = 2;
/// Characters of a text: models invent names.
const LONGEST: usize = 200;

/// Who tells it.
#[derive(Debug)]
pub(super) struct Resource(Vec<(String, String)>);

impl Resource {
    pub(super) fn of(world: &World) -> Self {
        let mut attributes = vec![
            ("service.name".to_owned(), "converse".to_owned()),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
            ("service.instance.id".to_owned(), random(16)),
        ];
        let mut set = |name: &str, value: String| {
            attributes.retain(|(known, _)| known != name);
            attributes.push((name.to_owned(), value));
        };
        for pair in world.var("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default().split(',') {
            if let Some((name, value)) = pair.split_once('=')
                && !name.trim().is_empty()
            {
                set(name.trim(), String::from_utf8_lossy(&decoded(value.trim())).into_owned());
            }
        }
        if let Some(name) = world.var("OTEL_SERVICE_NAME") {
            set("service.name", name.to_owned());
        }
        Self(attributes)
    }

    fn json(&self) -> Value {
        let attributes = self.0.iter().map(|(key, value)| attribute(key, json!({ "stringValue": value })));
        json!({ "attributes": attributes.collect::<Vec<_>>() })
    }
}

fn scope() -> Value {
    json!({ "name": "converse", "version": env!("CARGO_PKG_VERSION") })
}

fn attribute(key: &str, value: Value) -> Value {
    json!({ "key": key, "value": value })
}

/// The attributes of one span.
struct List<'a> {
    attributes: Vec<Value>,
    clean: &'a dyn Fn(&str) -> String,
}

impl List<'_> {
    fn text(&mut self, key: &str, text: impl AsRef<str>) {
        let text: String = (self.clean)(text.as_ref()).chars().take(LONGEST).collect();
        self.attributes.push(attribute(key, json!({ "stringValue": text })));
    }

    fn number(&mut self, key: &str, number: Option<u64>) {
        let number = number.map(|number| attribute(key, json!({ "intValue": number.to_string() })));
        self.attributes.extend(number);
    }

    fn dollars(&mut self, cost: Option<converse_canister::Cost>) {
        let dollars = cost.map(crate::wording::dollars);
        self.attributes
            .extend(dollars.map(|dollars| attribute(names::COST, json!({ "doubleValue": dollars }))));
    }

    fn usage(&mut self, usage: &converse_canister::Usage) {
        self.number(names::INPUT_TOKENS, usage.input);
        self.number(names::OUTPUT_TOKENS, usage.output);
        self.number(names::CACHE_READ, usage.cache_read);
        self.number(names::CACHE_WRITE, usage.cache_write);
    }

    fn chat(&mut self, chat: &Chat) {
        self.text(names::OPERATION, names::CHAT);
        self.text(names::PROVIDER, &chat.provider);
        self.text(names::REQUEST_MODEL, &chat.asked);
        chat.answered.iter().for_each(|model| self.text(names::RESPONSE_MODEL, model));
        chat.id.iter().for_each(|id| self.text(names::RESPONSE_ID, id));
        if !chat.reasons.is_empty() {
            let values: Vec<_> = chat.reasons.iter().map(|reason| json!({ "stringValue": reason })).collect();
            self.attributes
                .push(attribute(names::FINISH_REASONS, json!({ "arrayValue": { "values": values } })));
        }
        self.usage(&chat.usage);
        self.dollars(chat.price());
    }
}

/// The body of a request to `/v1/traces`. `clean` takes secrets out of names.
pub(super) fn traces(turn: &Finished, resource: &Resource, clean: &dyn Fn(&str) -> String) -> Value {
    let spans: Vec<Value> = turn.spans.iter().map(|one| span(one, turn, clean)).collect();
    json!({ "resourceSpans": [{
        "resource": resource.json(),
        "scopeSpans": [{ "scope": scope(), "spans": spans }],
    }] })
}

fn span(span: &Span, turn: &Finished, clean: &dyn Fn(&str) -> String) -> Value {
    let about = &turn.about;
    let mut list = List { attributes: Vec::new(), clean };
    let mut parent = Some(about.span.as_str());
    let (kind, name) = match &span.kind {
        Kind::Agent { provider, model, usage } => {
            parent = about.parent.as_ref().map(|parent| parent.span.as_str());
            list.text(names::OPERATION, names::INVOKE_AGENT);
            list.text(names::AGENT, "converse");
            list.text(names::PROVIDER, provider);
            list.text(names::REQUEST_MODEL, model);
            list.usage(usage);
            list.number(names::DROPPED, Some(turn.dropped).filter(|dropped| *dropped > 0).map(u64::from));
            (INTERNAL, format!("{} converse", names::INVOKE_AGENT))
        }
        Kind::Chat(chat) => {
            list.chat(chat);
            (CLIENT, format!("{} {}", names::CHAT, chat.asked))
        }
        Kind::Tool { name, call, outcome, cost } => {
            list.text(names::OPERATION, names::EXECUTE_TOOL);
            list.text(names::TOOL_NAME, name);
            list.text(names::TOOL_CALL_ID, call);
            list.text(names::TOOL_TYPE, "function");
            list.text(names::OUTCOME, outcome.label());
            list.dollars(*cost);
            (INTERNAL, format!("{} {name}", names::EXECUTE_TOOL))
        }
    };
    about.session.iter().for_each(|session| list.text(names::CONVERSATION, session));
    span.error.iter().for_each(|error| list.text(names::ERROR_TYPE, error));
    let name: String = clean(&name).chars().take(LONGEST).collect();
    let mut object = json!({
        "traceId": about.trace, "spanId": span.id, "name": name, "kind": kind,
        "startTimeUnixNano": span.began.to_string(), "endTimeUnixNano": span.ended.to_string(),
        "attributes": list.attributes, "flags": 1,
        "status": span.error.map_or_else(|| json!({}), |error| json!({ "code": ERROR, "message": error })),
    });
    let state = about.parent.as_ref().map(|parent| parent.state.as_str()).filter(|state| !state.is_empty());
    if let Value::Object(object) = &mut object {
        object.extend(parent.map(|parent| ("parentSpanId".to_owned(), parent.into())));
        object.extend(state.map(|state| ("traceState".to_owned(), state.into())));
    }
    object
}

/// The body of a request to `/v1/metrics`.
pub(super) fn metrics(measured: &Measured, resource: &Resource, clean: &dyn Fn(&str) -> String) -> Value {
    let temporality = if measured.delta { DELTA } else { CUMULATIVE };
    let metric = |name: &str, unit: &str, description: &str, points: Vec<Value>| {
        json!({
            "name": name, "unit": unit, "description": description,
            "histogram": { "aggregationTemporality": temporality, "dataPoints": points },
        })
    };
    let points = |series: &std::collections::BTreeMap<Attributes, Histogram>, bounds: &[f64]| {
        let points = series
            .iter()
            .map(|(attributes, histogram)| point(measured, attributes, histogram, bounds, clean));
        points.collect::<Vec<_>>()
    };
    let all = [
        (
            names::TOKEN_USAGE,
            "{token}",
            "Number of input and output tokens used.",
            points(&measured.tokens, &TOKEN_BOUNDS),
        ),
        (names::DURATION, "s", "GenAI operation duration.", points(&measured.seconds, &SECOND_BOUNDS)),
    ];
    let all = all.into_iter().filter(|(.., points)| !points.is_empty());
    let metrics: Vec<_> = all.map(|(name, unit, told, points)| metric(name, unit, told, points)).collect();
    json!({ "resourceMetrics": [{
        "resource": resource.json(),
        "scopeMetrics": [{ "scope": scope(), "metrics": metrics }],
    }] })
}

fn point(
    measured: &Measured,
    attributes: &Attributes,
    histogram: &Histogram,
    bounds: &[f64],
    clean: &dyn Fn(&str) -> String,
) -> Value {
    let mut list = List { attributes: Vec::new(), clean };
    attributes.iter().for_each(|(key, value)| list.text(key, value));
    let buckets: Vec<String> = histogram.buckets.iter().map(u64::to_string).collect();
    json!({
        "attributes": list.attributes, "startTimeUnixNano": measured.began.to_string(),
        "timeUnixNano": measured.now.to_string(), "count": histogram.count.to_string(), "sum": histogram.sum,
        "min": histogram.least, "max": histogram.most, "bucketCounts": buckets, "explicitBounds": bounds,
    })
}
