//! Requests of ours that are in flight on one connection: their clocks pause while the user is asked, and a question is
//! charged to one of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{Context, CostMeter, Host, PausableClock, PauseGuard};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::question_limit::QuestionLimit;

/// One request to a server, in one or several rounds.
#[derive(Debug, Clone)]
pub(crate) struct InFlightRequest {
    pub(crate) cancel: CancellationToken,
    /// Measured by `clock`, which can pause.
    pub(crate) deadline: Instant,
    /// How long the server may be silent.
    pub(crate) idle: Duration,
    pub(crate) clock: PausableClock,
    pub(crate) cost: CostMeter,
    pub(crate) host: Host,
    pub(crate) questions: QuestionLimit,
}

impl InFlightRequest {
    pub(crate) fn for_call(context: &Context, idle: Duration, deadline: Instant) -> Self {
        Self {
            cancel: context.cancel.clone(),
            deadline,
            idle,
            clock: context.clock.clone(),
            cost: context.cost.clone(),
            host: context.host.clone(),
            questions: QuestionLimit::default(),
        }
    }

    /// A request that belongs to no tool call, with this time limit.
    pub(crate) fn within(limit: Duration) -> Self {
        Self {
            cancel: CancellationToken::new(),
            deadline: Instant::now() + limit,
            idle: limit,
            clock: PausableClock::default(),
            cost: CostMeter::default(),
            host: Host::default(),
            questions: QuestionLimit::default(),
        }
    }
}

/// All requests in flight on one connection. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlightRequests(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Notified when a request ends.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    running: BTreeMap<u64, Entry>,
    /// Number of open questions.
    open: usize,
    /// For whom the connection has had calls of clients so far.
    principals: Principals,
}

/// For whom a connection has had calls of clients. A message that names no call may belong to a call that has ended.
#[derive(Debug, Default)]
enum Principals {
    #[default]
    None,
    One(Arc<str>),
    Several,
}

/// Who gets a log message of a server, which does not say to which call it belongs.
#[derive(Debug)]
pub(crate) enum LogReader {
    /// The only request in flight.
    Call(Host),
    /// It belongs to no call, or to one of several calls for the same principal.
    Anyone,
    /// The connection has had calls for several principals, so nobody gets it.
    Unknown,
}

#[derive(Debug)]
struct Entry {
    request: InFlightRequest,
    paused: Option<PauseGuard>,
}

/// Keeps a request registered while it lives.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    requests: InFlightRequests,
    number: u64,
}

/// Keeps all clocks paused while a question is open.
#[derive(Debug)]
pub(crate) struct OpenQuestion(InFlightRequests);

impl InFlightRequests {
    pub(crate) fn register(&self, request: &InFlightRequest) -> InFlightGuard {
        let mut state = self.lock();
        if let Some(client) = request.host.client() {
            state.principals.add(client.principal());
        }
        let number = state.next;
        state.next += 1;
        let paused = (state.open > 0).then(|| request.clock.pause());
        state.running.insert(number, Entry { request: request.clone(), paused });
        InFlightGuard { requests: self.clone(), number }
    }

    pub(crate) fn is_any_running(&self) -> bool {
        !self.lock().running.is_empty()
    }

    /// Resolves once no request is in flight.
    pub(crate) async fn all_finished(&self) {
        loop {
            let ended = self.0.ended.notified();
            if !self.is_any_running() {
                return;
            }
            ended.await;
        }
    }

    /// Pauses all clocks: a legacy server does not say which request its question belongs to.
    pub(crate) fn open_question(&self) -> OpenQuestion {
        let mut state = self.lock();
        state.open += 1;
        for entry in state.running.values_mut() {
            entry.paused.get_or_insert_with(|| entry.request.clock.pause());
        }
        OpenQuestion(self.clone())
    }

    /// Returns the oldest request: questions are counted and charged to it.
    pub(crate) fn first(&self) -> Option<InFlightRequest> {
        self.lock().running.values().next().map(|entry| entry.request.clone())
    }

    /// Returns what `of` finds for the oldest request, if it finds something for each request.
    pub(crate) fn first_if_all<T>(&self, of: impl Fn(&InFlightRequest) -> Option<T>) -> Option<T> {
        let found: Option<Vec<T>> = self.lock().running.values().map(|entry| of(&entry.request)).collect();
        found?.into_iter().next()
    }

    /// Returns who gets a log message that arrives now.
    pub(crate) fn log_reader(&self) -> LogReader {
        let state = self.lock();
        let mut running = state.running.values();
        match (&state.principals, running.next(), running.next()) {
            (Principals::Several, ..) => LogReader::Unknown,
            (_, Some(only), None) => LogReader::Call(only.request.host.clone()),
            _ => LogReader::Anyone,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Principals {
    fn add(&mut self, principal: Arc<str>) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(principal),
            Self::One(known) if known == principal => Self::One(known),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        self.requests.lock().running.remove(&self.number);
        self.requests.0.ended.notify_waiters();
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            state.running.values_mut().for_each(|entry| entry.paused = None);
        }
    }
}
