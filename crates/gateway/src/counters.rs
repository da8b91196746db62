//! The counters of a gateway, in the text format of Prometheus.
//!
//! No label has a value that a client chooses. Format:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format> (checked 2026-11)

mod histogram;
mod page;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use converse_canister::{Outcome, ViewName};
use parking_lot::{Mutex, MutexGuard};

use self::histogram::DurationHistogram;
use crate::gateway::Audit;
use crate::upstreams::Upstreams;

/// The content type of `Counters::text`.
pub const TEXT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Maximum number of tools (in each view) with their own counters; further tools count as [`OTHER`].
const MAX_TOOLS: usize = 512;
const OTHER: &str = "other";

/// The counters since the start of the program.
pub struct Counters {
    since: SystemTime,
    began: Instant,
    running: AtomicU64,
    open: AtomicU64,
    accepted: AtomicU64,
    sessions: AtomicU64,
    totals: Mutex<Totals>,
    upstreams: Upstreams,
    audit: Option<Arc<dyn Audit>>,
}

#[derive(Debug, Default)]
struct Totals {
    /// By tool, view (empty for all tools) and outcome.
    calls: BTreeMap<(Box<str>, Box<str>, &'static str), u64>,
    tools: usize,
    durations: DurationHistogram,
    refused: BTreeMap<&'static str, u64>,
    /// Calls that were answered at once, by the limit.
    not_accepted: BTreeMap<&'static str, u64>,
    /// Changed configurations, by what became of them.
    reloads: BTreeMap<&'static str, u64>,
}

/// Why a request was not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalReason {
    /// The `Host` is not allowed.
    Host,
    /// The `Origin` is not allowed.
    Origin,
    /// The token is missing or not valid.
    Token,
    /// The token is valid but lacks a scope.
    Scope,
    /// The token is valid, but no view is for it, or only views are.
    View,
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
            Self::View => "view",
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
            sessions: AtomicU64::new(0),
            totals: Mutex::default(),
            upstreams: Upstreams::default(),
            audit: None,
        }
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").field("totals", &self.totals).finish_non_exhaustive()
    }
}

impl Counters {
    /// Counters of a gateway in front of these servers.
    pub fn new(upstreams: Upstreams) -> Self {
        Self { upstreams, ..Self::default() }
    }

    /// The same, of a gateway with this audit log.
    pub(crate) fn with_audit(self, audit: Arc<dyn Audit>) -> Self {
        Self { audit: Some(audit), ..self }
    }

    /// Returns whether calls can be recorded, and every required server is connected or starts on demand.
    pub fn is_ready(&self) -> bool {
        self.upstreams.is_ready() && self.audit.as_ref().is_none_or(|audit| audit.is_writable())
    }

    /// The servers behind the gateway.
    pub fn upstreams(&self) -> &Upstreams {
        &self.upstreams
    }

    /// Counts a call that starts. `tool` must be a name of the roster, never one that a client chose.
    #[must_use = "the call ends when this is dropped"]
    pub fn call(self: &Arc<Self>, tool: &str, view: Option<&ViewName>) -> Call {
        self.running.fetch_add(1, Ordering::Relaxed);
        Call {
            counters: Arc::clone(self),
            tool: tool.into(),
            view: view.map(ViewName::as_str).unwrap_or_default().into(),
            began: Instant::now(),
            outcome: Outcome::Cancelled,
        }
    }

    /// Number of running calls.
    pub fn running(&self) -> u64 {
        self.running.load(Ordering::Relaxed)
    }

    /// Counts a connection that opens.
    #[must_use = "the connection ends when this is dropped"]
    pub fn connection(self: &Arc<Self>) -> Connection {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(1, Ordering::Relaxed);
        Connection(Arc::clone(self))
    }

    /// Takes the number of open MCP sessions.
    pub(crate) fn sessions(&self, open: usize) {
        self.sessions.store(open as u64, Ordering::Relaxed);
    }

    /// Counts a request that was not served.
    pub fn refused(&self, reason: RefusalReason) {
        *self.totals().refused.entry(reason.label()).or_default() += 1;
    }

    /// Counts a configuration that was taken over, or refused.
    pub fn reloaded(&self, is_taken_over: bool) {
        let outcome = if is_taken_over { "applied" } else { "refused" };
        *self.totals().reloads.entry(outcome).or_default() += 1;
    }

    pub(crate) fn not_accepted(&self, limit: &'static str) {
        *self.totals().not_accepted.entry(limit).or_default() += 1;
    }

    fn ended(&self, tool: &str, view: &str, outcome: Outcome, took: Duration) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        let mut totals = self.totals();
        totals.durations.add(took);
        let mut of_tool = totals.calls.range((tool.into(), view.into(), "")..);
        let is_known = of_tool.next().is_some_and(|((name, of, _), _)| &**name == tool && &**of == view);
        let is_fresh = !is_known && totals.tools < MAX_TOOLS;
        totals.tools += usize::from(is_fresh);
        let tool = if is_known || is_fresh { tool } else { OTHER };
        *totals.calls.entry((tool.into(), view.into(), outcome.label())).or_default() += 1;
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
    view: Box<str>,
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
        self.counters.ended(&self.tool, &self.view, self.outcome, self.began.elapsed());
    }
}

/// An open connection; it counts as closed when this is dropped.
#[derive(Debug)]
pub struct Connection(Arc<Counters>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
