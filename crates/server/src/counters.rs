//! What a gateway counts of itself, as Prometheus reads it.
//!
//! Written by hand: a few lines of text, and no label that a client could fill. Format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format> (checked 2026-11)

mod page;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use converse_canister::Outcome;
use parking_lot::{Mutex, MutexGuard};

use self::tally::Tally;

/// The type of `Counters::text`.
pub(crate) const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Tools that are told apart; what comes after them is counted as [`OTHER`].
const MAX_TOOLS: usize = 512;
const OTHER: &str = "other";

/// Everything that is counted, from the start of the program.
#[derive(Debug)]
pub struct Counters {
    since: SystemTime,
    began: Instant,
    running: AtomicU64,
    open: AtomicU64,
    accepted: AtomicU64,
    tallies: Mutex<Tallies>,
}

#[derive(Debug, Default)]
struct Tallies {
    calls: BTreeMap<(Box<str>, &'static str), u64>,
    tools: usize,
    durations: Tally,
    refused: BTreeMap<&'static str, u64>,
}

/// Why a request was not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The host it asked for is none of ours.
    Host,
    /// A web page that may not call.
    Origin,
    /// No token, or one that is not let in.
    Token,
    /// A good token that lacks a scope.
    Scope,
    /// Nobody could say whether the token is good.
    Issuer,
    TooLarge,
    TooSlow,
}

impl Reason {
    const fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Token => "token",
            Self::Scope => "scope",
            Self::Issuer => "issuer",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
        }
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            since: SystemTime::now(),
            began: Instant::now(),
            running: AtomicU64::new(0),
            open: AtomicU64::new(0),
            accepted: AtomicU64::new(0),
            tallies: Mutex::default(),
        }
    }
}

impl Counters {
    /// A call that begins. `tool` is a name of the roster, never one that a client made up.
    #[must_use = "the call ends when this is dropped"]
    pub fn call(self: &Arc<Self>, tool: &str) -> Call {
        self.running.fetch_add(1, Ordering::Relaxed);
        Call {
            counters: Arc::clone(self),
            tool: tool.into(),
            began: Instant::now(),
            outcome: Outcome::Cancelled,
        }
    }

    /// Calls that run now.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::clone(self))
    }

    pub(crate) fn refused(&self, reason: Reason) {
        *self.tallies().refused.entry(reason.word()).or_default() += 1;
    }

    fn ended(&self, tool: &str, outcome: Outcome, took: Duration) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        let mut tallies = self.tallies();
        tallies.durations.add(took);
        let mut of_tool = tallies.calls.range((tool.into(), "")..);
        let is_known = of_tool.next().is_some_and(|((name, _), _)| &**name == tool);
        let is_fresh = !is_known && tallies.tools < MAX_TOOLS;
        tallies.tools += usize::from(is_fresh);
        let tool = if is_known || is_fresh { tool } else { OTHER };
        *tallies.calls.entry((tool.into(), outcome.label())).or_default() += 1;
    }

    fn tallies(&self) -> MutexGuard<'_, Tallies> {
        self.tallies.lock()
    }
}

/// A call that runs. Dropped without [`Call::ended`] it was cancelled.
#[derive(Debug)]
pub struct Call {
    counters: Arc<Counters>,
    tool: Box<str>,
    began: Instant,
    outcome: Outcome,
}

impl Call {
    /// It came to this.
    pub fn ended(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.counters.ended(&self.tool, self.outcome, self.began.elapsed());
    }
}

/// A connection that is open as long as this lives.
#[derive(Debug)]
pub(crate) struct Connection(Arc<Counters>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
