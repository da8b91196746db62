//! What is under way on one connection, for whoever answers the server's questions: whose clocks stand still meanwhile,
//! who pays, and whether anybody waits for the answer at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use converse_ensemble::{Context, Host, Patience, Paused, Tab, Word};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::questions::Questions;

/// One thing that is asked of a server, in one request or in several rounds.
#[derive(Debug, Clone)]
pub(crate) struct Errand {
    pub(crate) cancel: CancellationToken,
    /// By the clock of `patience`.
    pub(crate) deadline: Instant,
    /// How long the server may say nothing.
    pub(crate) idle: Duration,
    pub(crate) patience: Patience,
    pub(crate) tab: Tab,
    pub(crate) host: Host,
    pub(crate) questions: Questions,
}

impl Errand {
    pub(crate) fn of(context: &Context, idle: Duration, deadline: Instant) -> Self {
        Self {
            cancel: context.cancel.clone(),
            deadline,
            idle,
            patience: context.patience.clone(),
            tab: context.tab.clone(),
            host: context.host.clone(),
            questions: Questions::default(),
        }
    }

    /// One of nobody's call: it may take so long.
    pub(crate) fn within(limit: Duration) -> Self {
        Self {
            cancel: CancellationToken::new(),
            deadline: Instant::now() + limit,
            idle: limit,
            patience: Patience::default(),
            tab: Tab::default(),
            host: Host::default(),
            questions: Questions::default(),
        }
    }
}

/// All that runs. Clone = the same ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct Errands(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// One has ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    running: BTreeMap<u64, Entry>,
    /// Questions that are open.
    open: usize,
}

#[derive(Debug)]
struct Entry {
    errand: Errand,
    paused: Option<Paused>,
}

/// It runs as long as this lives.
#[derive(Debug)]
pub(crate) struct Running {
    errands: Errands,
    number: u64,
}

/// A question is open, and no clock of those that run goes on.
#[derive(Debug)]
pub(crate) struct Open(Errands);

impl Errands {
    pub(crate) fn begin(&self, errand: &Errand) -> Running {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        let paused = (state.open > 0).then(|| errand.patience.pause());
        state.running.insert(number, Entry { errand: errand.clone(), paused });
        Running { errands: self.clone(), number }
    }

    pub(crate) fn any(&self) -> bool {
        !self.lock().running.is_empty()
    }

    /// Resolves once nothing runs any more.
    pub(crate) async fn over(&self) {
        loop {
            let ended = self.0.ended.notified();
            if !self.any() {
                return;
            }
            ended.await;
        }
    }

    /// A server does not say for which of them it asks: all of them wait.
    pub(crate) fn open(&self) -> Open {
        let mut state = self.lock();
        state.open += 1;
        for entry in state.running.values_mut() {
            entry.paused.get_or_insert_with(|| entry.errand.patience.pause());
        }
        Open(self.clone())
    }

    /// The first of them: it pays what a question costs, and answers for how many there are.
    pub(crate) fn first(&self) -> Option<Errand> {
        self.lock().running.values().next().map(|entry| entry.errand.clone())
    }

    /// Told to the one that runs; of several, nobody knows which is meant.
    pub(crate) fn say(&self, word: impl FnOnce() -> Word) {
        let state = self.lock();
        if let (1, Some(entry)) = (state.running.len(), state.running.values().next()) {
            entry.errand.host.say(word());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.errands.lock().running.remove(&self.number);
        self.errands.0.ended.notify_waiters();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.open -= 1;
        if state.open == 0 {
            state.running.values_mut().for_each(|entry| entry.paused = None);
        }
    }
}
