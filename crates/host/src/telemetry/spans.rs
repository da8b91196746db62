//! What a turn did, as spans: one for the turn, below it one for each call of a model and each run of a tool.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Instant;

use converse_canister::{Canister, Cost, InvocationId, Outcome, Stop, Usage};
use converse_engine::Event;
use converse_session::stats::tool_name;

use super::names;
use super::parent::Parent;
use crate::world::World;

/// Of one turn; what comes after is counted only.
const MOST_SPANS: usize = 1000;
/// Calls whose names are kept in mind.
const MOST_OPEN: usize = 1000;

/// What is known when a turn begins.
#[derive(Debug)]
pub(super) struct About {
    /// As `provider/model`.
    model: String,
    pub(super) session: Option<String>,
    pub(super) trace: String,
    pub(super) span: String,
    pub(super) parent: Option<Parent>,
}

#[derive(Debug)]
pub(super) struct Trace {
    about: About,
    clock: Clock,
    began: u64,
    chat: Option<Chat>,
    usage: Usage,
    finished: Vec<Span>,
    dropped: u32,
    asked: HashMap<InvocationId, String>,
    started: HashMap<InvocationId, u64>,
}

/// A turn that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) about: About,
    /// The turn itself first.
    pub(super) spans: Vec<Span>,
    pub(super) dropped: u32,
}

/// Times are nanoseconds since 1970.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) id: String,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// What kind of error it ended with.
    pub(super) error: Option<&'static str>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Agent { provider: String, model: String, usage: Usage },
    Chat(Chat),
    Tool { name: String, call: String, outcome: Outcome, cost: Option<Cost> },
}

/// A call of a model with all its attempts.
#[derive(Debug, Clone)]
pub(super) struct Chat {
    pub(super) provider: String,
    pub(super) asked: String,
    pub(super) answered: Option<String>,
    pub(super) id: Option<String>,
    pub(super) usage: Usage,
    /// `None`: not known, or only in part.
    pub(super) cost: Option<Cost>,
    pub(super) reasons: Vec<&'static str>,
    began: u64,
    paid: bool,
}

#[derive(Debug)]
struct Clock {
    /// Nanoseconds since 1970, when it was set.
    set: u64,
    since: Instant,
}

impl Clock {
    fn now(&self) -> u64 {
        self.set.saturating_add(u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl About {
    pub(super) fn new(model: &str, session: Option<&str>, parent: Option<&Parent>) -> Self {
        Self {
            model: model.to_owned(),
            session: session.map(str::to_owned),
            trace: parent.map_or_else(|| random(16), |parent| parent.trace.clone()),
            span: random(8),
            parent: parent.cloned(),
        }
    }
}

/// So many bytes, as hex.
pub(super) fn random(bytes: usize) -> String {
    let mut hex = String::new();
    while hex.len() < bytes * 2 {
        for byte in World::random_bytes() {
            let _ = write!(hex, "{byte:02x}");
        }
    }
    hex.truncate(bytes * 2);
    hex
}

fn halves(id: &str) -> (String, String) {
    let (provider, model) = id.split_once('/').unwrap_or(("", id));
    (names::provider(provider).to_owned(), model.to_owned())
}

impl Trace {
    pub(super) fn begin(about: About) -> Self {
        let set = u64::try_from(World::now().as_nanosecond()).unwrap_or_default();
        let clock = Clock { set, since: Instant::now() };
        Self {
            about,
            clock,
            began: set,
            chat: None,
            usage: Usage::default(),
            finished: Vec::new(),
            dropped: 0,
            asked: HashMap::new(),
            started: HashMap::new(),
        }
    }

    pub(super) fn hear(&mut self, event: &Event<'_>) {
        let now = self.clock.now();
        match event {
            Event::Requested { model, .. } => {
                // The last one never came to an end: another model is asked.
                self.close(now, Some("failed"));
                let (provider, _) = halves(&self.about.model);
                let asked = (*model).to_owned();
                self.chat = Some(Chat {
                    provider,
                    asked,
                    answered: None,
                    id: None,
                    usage: Usage::default(),
                    cost: Some(Cost(0)),
                    reasons: Vec::new(),
                    began: now,
                    paid: false,
                });
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
            Event::Started(invocations) => {
                for invocation in invocations.iter().take(MOST_OPEN) {
                    self.started.insert(invocation.id.clone(), now);
                }
            }
            Event::Finished { invocation, result, elapsed } => {
                self.asked.remove(&invocation.id);
                let spent = u64::try_from(elapsed.as_nanos()).unwrap_or_default();
                let began = self.started.remove(&invocation.id).unwrap_or_else(|| now.saturating_sub(spent));
                self.tool(tool_name(&invocation.tool), result, began, now);
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
                    self.tool(name, result, now, now);
                }
            }
            _ => {}
        }
    }

    fn tool(&mut self, name: String, result: &converse_canister::InvocationResult, began: u64, ended: u64) {
        let (outcome, cost) = (result.outcome, result.cost);
        let error = (!outcome.is_success()).then(|| outcome.label());
        let call = result.id.as_str().to_owned();
        self.add(began, ended, error, Kind::Tool { name, call, outcome, cost });
    }

    fn close(&mut self, now: u64, error: Option<&'static str>) {
        let Some(chat) = self.chat.take() else { return };
        // A reply that says nothing of a stop broke off.
        self.add(chat.began, now, error, Kind::Chat(chat));
    }

    fn add(&mut self, began: u64, ended: u64, error: Option<&'static str>, kind: Kind) {
        if self.finished.len() < MOST_SPANS {
            self.finished.push(Span { id: random(8), began, ended, error, kind });
        } else {
            self.dropped += 1;
        }
    }

    /// `error`: the kind of failure that the turn ended with.
    pub(super) fn end(mut self, error: Option<&'static str>) -> Finished {
        let now = self.clock.now();
        self.close(now, error.or(Some("cancelled")));
        let (provider, model) = halves(&self.about.model);
        let kind = Kind::Agent { provider, model, usage: self.usage };
        let agent = Span { id: self.about.span.clone(), began: self.began, ended: now, error, kind };
        let spans = [agent].into_iter().chain(self.finished).collect();
        Finished { about: self.about, spans, dropped: self.dropped }
    }
}

impl Chat {
    /// Was anything said of what it took?
    pub(super) fn price(&self) -> Option<Cost> {
        self.cost.filter(|_| self.paid)
    }
}

/// As the conventions' schema of messages has them.
fn reason(stop: &Stop) -> &'static str {
    match stop {
        Stop::Truncated => "length",
        Stop::Refused { .. } => "content_filter",
        Stop::Cut => "error",
        Stop::End | Stop::Sequence | Stop::Paused | Stop::Other(_) => "stop",
    }
}
