//! The counters of a gateway, in the text format of Prometheus.
//!
//! No label has a value that a client chooses. Format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format> (checked 2026-11)

mod histogram;
mod page;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use converse_canister::Outcome;
use parking_lot::{Mutex, MutexGuard};

use self::histogram::DurationHistogram;

/// The content type of `Counters::text`.
pub(crate) const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Maximum number of tools with their own counters; further tools count as [`OTHER`].
const MAX_TOOLS: usize = 512;
const OTHER: &str = "other";

/// The counters since the start of the program.
#[derive(Debug)]
pub struct Counters {
    since: SystemTime,
    began: Instant,
    running: AtomicU64,
    open: AtomicU64,
    accepted: AtomicU64,
    totals: Mutex<Totals>,
}

#[derive(Debug, Default)]
struct Totals {
    calls: BTreeMap<(Box<str>, &'static str), u64>,
    tools: usize,
    durations: DurationHistogram,
    refused: BTreeMap<&'static str, u64>,
}

/// Why a request was not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalReason {
    /// The `Host` is not allowed.
    Host,
    /// The `Origin` is not allowed.
    Origin,
    /// The token is missing or not valid.
    Token,
    /// The token is valid but lacks a scope.
    Scope,
    /// The token cannot be verified, because the keys of the issuer are not available.
    Issuer,
    TooLarge,
    TooSlow,
    /// Other requests take all the room for bodies.
    Busy,
}

impl RefusalReason {
    const fn label(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Token => "token",
            Self::Scope => "scope",
            Self::Issuer => "issuer",
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Busy => "busy",
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
            totals: Mutex::default(),
        }
    }
}

impl Counters {
    /// Counts a call that starts. `tool` must be a name of the roster, never one that a client chose.
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

    /// Number of running calls.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    pub(crate) fn connection(self: &Arc<Self>) -> Connection {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::clone(self))
    }

    pub(crate) fn refused(&self, reason: RefusalReason) {
        *self.totals().refused.entry(reason.label()).or_default() += 1;
    }

    fn ended(&self, tool: &str, outcome: Outcome, took: Duration) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        let mut totals = self.totals();
        totals.durations.add(took);
        let mut of_tool = totals.calls.range((tool.into(), "")..);
        let is_known = of_tool.next().is_some_and(|((name, _), _)| &**name == tool);
        let is_fresh = !is_known && totals.tools < MAX_TOOLS;
        totals.tools += usize::from(is_fresh);
        let tool = if is_known || is_fresh { tool } else { OTHER };
        *totals.calls.entry((tool.into(), outcome.label())).or_default() += 1;
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.totals.lock()
    }
}

/// A running call. If it is dropped without [`Call::ended`], it counts as cancelled.
#[derive(Debug)]
pub struct Call {
    counters: Arc<Counters>,
    tool: Box<str>,
    began: Instant,
    outcome: Outcome,
}

impl Call {
    /// Ends the call with this outcome.
    pub fn ended(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.counters.ended(&self.tool, self.outcome, self.began.elapsed());
    }
}

/// An open connection; it counts as closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection(Arc<Counters>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
