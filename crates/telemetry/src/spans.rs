//! What a turn did, as spans: one for the turn, below it one for each call of a model and each run of a tool.
//!
//! The names of attributes are those of the semantic conventions for generative AI, which are in development:
//! <https://github.com/open-telemetry/semantic-conventions-genai/tree/main/docs/gen-ai>, checked 2026-11. Names that begin
//! with `converse.` are ours.

use std::collections::HashMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use converse_canister::{Canister, Cost, InvocationId, InvocationResult, Stop, Usage};
use converse_engine::Event;
use converse_session::stats::tool_name;
use converse_text::trace_context::TraceContext;
use serde_json::{Value, json};

/// Maximum number of spans of one turn below its own; further ones are counted only.
const MOST_SPANS: usize = 1000;
/// Maximum number of open calls whose names are kept.
const MOST_OPEN: usize = 1000;

/// Names and plain values, in their order.
pub(super) type Attributes = Vec<(&'static str, Value)>;

/// Kinds of spans, by the numbers of OTLP.
pub(super) const INTERNAL: u8 = 1;
pub(super) const SERVER: u8 = 2;
pub(super) const CLIENT: u8 = 3;

/// A finished span. Times are nanoseconds since 1970.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) kind: u8,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// The kind of error with which it ended.
    pub(super) error: Option<String>,
    pub(super) attributes: Attributes,
}

/// A turn that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) trace: String,
    /// The caller's `TRACESTATE`.
    pub(super) state: String,
    /// The span of the turn is the first.
    pub(super) spans: Vec<Span>,
}

/// Collects the spans of a turn that runs.
#[derive(Debug)]
pub(super) struct Trace {
    /// As `provider/model`.
    model: String,
    session: Option<String>,
    id: String,
    /// Id of the span of the turn.
    root: String,
    parent: Option<TraceContext>,
    began: (u64, Instant),
    chat: Option<Chat>,
    usage: Usage,
    finished: Vec<Span>,
    dropped: u32,
    asked: HashMap<InvocationId, String>,
    started: HashMap<InvocationId, u64>,
}

/// A call of a model with all its attempts.
#[derive(Debug, Default)]
struct Chat {
    provider: String,
    asked: String,
    answered: Option<String>,
    id: Option<String>,
    usage: Usage,
    /// `None`: not known, or only in part.
    cost: Option<Cost>,
    /// Whether any usage was reported.
    paid: bool,
    reasons: Vec<&'static str>,
    began: u64,
}

impl Trace {
    pub(super) fn begin(model: &str, session: Option<&str>, parent: Option<&TraceContext>) -> Self {
        Self {
            model: model.to_owned(),
            session: session.map(str::to_owned),
            id: parent.map_or_else(|| random_hex(16), TraceContext::trace_id),
            root: random_hex(8),
            parent: parent.cloned(),
            began: (now(), Instant::now()),
            chat: None,
            usage: Usage::default(),
            finished: Vec::new(),
            dropped: 0,
            asked: HashMap::new(),
            started: HashMap::new(),
        }
    }

    fn now(&self) -> u64 {
        let (began, since) = self.began;
        began.saturating_add(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn hear(&mut self, event: &Event<'_>) {
        let now = self.now();
        match event {
            Event::Requested { model, .. } => {
                // The last one never came to an end: another model is asked.
                self.close(now, Some("failed"));
                let (provider, asked) = (halves(&self.model).0, (*model).to_owned());
                self.chat =
                    Some(Chat { provider, asked, cost: Some(Cost(0)), began: now, ..Chat::default() });
            }
            Event::Appended(canister) => self.appended(canister, now),
            Event::Used { usage, cost, model, cut, instead, .. } => {
                self.usage += *usage;
                let Some(chat) = &mut self.chat else { return };
                chat.usage += *usage;
                chat.cost = chat.cost.zip(*cost).map(|(sum, cost)| sum.plus(cost));
                chat.paid = true;
                chat.answered = Some((*model).to_owned());
                if let Some(instead) = instead {
                    chat.provider = halves(instead).0;
                }
                if !cut {
                    self.close(now, None);
                }
            }
            Event::Started { invocations, .. } => {
                for invocation in invocations.iter().take(MOST_OPEN) {
                    self.started.insert(invocation.id.clone(), now);
                }
            }
            Event::Finished { invocation, result, elapsed } => {
                self.asked.remove(&invocation.id);
                let spent = u64::try_from(elapsed.as_nanos()).unwrap_or_default();
                let began = self.started.remove(&invocation.id).unwrap_or_else(|| now.saturating_sub(spent));
                self.tool(&tool_name(&invocation.tool), result, began, now);
            }
            _ => {}
        }
    }

    fn appended(&mut self, canister: &Canister, now: u64) {
        match canister {
            Canister::Assistant(assistant) => {
                let Some(chat) = &mut self.chat else { return };
                if chat.id.is_none() {
                    chat.id.clone_from(&assistant.response_id);
                }
                if chat.reasons.is_empty() {
                    chat.reasons.push(reason(&assistant.stop));
                }
            }
            Canister::Invocation(invocation) => {
                if let Some(chat) = &mut self.chat {
                    chat.reasons = vec!["tool_call"];
                }
                if self.asked.len() < MOST_OPEN {
                    self.asked.insert(invocation.id.clone(), tool_name(&invocation.tool));
                }
            }
            // Nothing ran: no such tool, bad arguments, a refusal.
            Canister::Result(result) => {
                if let Some(name) = self.asked.remove(&result.id) {
                    self.tool(&name, result, now, now);
                }
            }
            _ => {}
        }
    }

    fn tool(&mut self, name: &str, result: &InvocationResult, began: u64, ended: u64) {
        let outcome = result.outcome;
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("execute_tool")),
            ("gen_ai.tool.name", json!(name)),
            ("gen_ai.tool.call.id", json!(result.id.as_str())),
            ("gen_ai.tool.type", json!("function")),
            ("converse.tool.outcome", json!(outcome.label())),
        ];
        attributes.extend(result.cost.map(|cost| ("converse.cost.usd", json!(cost.dollars()))));
        let error = (!outcome.is_success()).then(|| outcome.label());
        self.add(INTERNAL, format!("execute_tool {name}"), (began, ended), error, attributes);
    }

    fn close(&mut self, now: u64, error: Option<&'static str>) {
        let Some(chat) = self.chat.take() else { return };
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("chat")),
            ("gen_ai.provider.name", json!(chat.provider)),
            ("gen_ai.request.model", json!(chat.asked)),
        ];
        attributes.extend(chat.answered.map(|model| ("gen_ai.response.model", json!(model))));
        attributes.extend(chat.id.map(|id| ("gen_ai.response.id", json!(id))));
        if !chat.reasons.is_empty() {
            attributes.push(("gen_ai.response.finish_reasons", json!(chat.reasons)));
        }
        attributes.extend(used(&chat.usage));
        let cost = chat.cost.filter(|_| chat.paid);
        attributes.extend(cost.map(|cost| ("converse.cost.usd", json!(cost.dollars()))));
        self.add(CLIENT, format!("chat {}", chat.asked), (chat.began, now), error, attributes);
    }

    fn add(
        &mut self,
        kind: u8,
        name: String,
        times: (u64, u64),
        error: Option<&'static str>,
        attributes: Attributes,
    ) {
        if self.finished.len() >= MOST_SPANS {
            self.dropped += 1;
            return;
        }
        let mut span = self.span(kind, name, times, error, attributes);
        span.parent = Some(self.root.clone());
        self.finished.push(span);
    }

    fn span(
        &self,
        kind: u8,
        name: String,
        (began, ended): (u64, u64),
        error: Option<&'static str>,
        mut attributes: Attributes,
    ) -> Span {
        attributes.extend(self.session.as_ref().map(|session| ("gen_ai.conversation.id", json!(session))));
        attributes.extend(error.map(|error| ("error.type", json!(error))));
        let error = error.map(str::to_owned);
        Span { id: random_hex(8), parent: None, name, kind, began, ended, error, attributes }
    }

    /// Ends the turn; `error` is the kind of failure with which it ended.
    pub(super) fn end(mut self, error: Option<&'static str>) -> Finished {
        let now = self.now();
        self.close(now, error.or(Some("cancelled")));
        let (provider, model) = halves(&self.model);
        let mut attributes = vec![
            ("gen_ai.operation.name", json!("invoke_agent")),
            ("gen_ai.agent.name", json!("converse")),
            ("gen_ai.provider.name", json!(provider)),
            ("gen_ai.request.model", json!(model)),
        ];
        attributes.extend(used(&self.usage));
        if self.dropped > 0 {
            attributes.push(("converse.spans.dropped", json!(self.dropped)));
        }
        let name = "invoke_agent converse".to_owned();
        let mut turn = self.span(INTERNAL, name, (self.began.0, now), error, attributes);
        let (parent, state) = self.parent.map(|parent| (parent.span_id(), parent.state().to_owned())).unzip();
        (turn.id, turn.parent) = (self.root, parent);
        let spans = [turn].into_iter().chain(self.finished).collect();
        Finished { trace: self.id, state: state.unwrap_or_default(), spans }
    }
}

fn used(usage: &Usage) -> Attributes {
    let all = [
        ("gen_ai.usage.input_tokens", usage.input),
        ("gen_ai.usage.output_tokens", usage.output),
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write),
    ];
    all.into_iter().filter_map(|(name, count)| Some((name, json!(count?)))).collect()
}

/// Nanoseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

pub(super) fn random() -> u64 {
    // Without random numbers of the system the id is zero, and a collector drops the span.
    getrandom::u64().unwrap_or_default()
}

/// Returns so many random bytes as hex.
pub(super) fn random_hex(bytes: usize) -> String {
    let mut hex: String = (0..bytes.div_ceil(8)).map(|_| format!("{:016x}", random())).collect();
    hex.truncate(bytes * 2);
    hex
}

/// The provider, by its well-known name if it has one, and the model.
fn halves(id: &str) -> (String, String) {
    let (provider, model) = id.split_once('/').unwrap_or(("", id));
    let provider = match provider {
        "openai-chat" | "openai-responses" => "openai",
        "gemini" => "gcp.gemini",
        "azure" => "azure.ai.openai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "ollama-native" => "ollama",
        ours => ours,
    };
    (provider.to_owned(), model.to_owned())
}

/// The reason by its name in the conventions' schema of messages.
fn reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::Truncated => "length",
        Stop::Refused { .. } => "content_filter",
        Stop::Cut => "error",
        Stop::End | Stop::Sequence | Stop::Paused | Stop::Other(_) => "stop",
    }
}
