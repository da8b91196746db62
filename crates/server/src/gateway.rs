//! The state that all clients share: the roster, the limits and the shutdown.

#![expect(deprecated, reason = "clients in use still read logging")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use converse_canister::{Blobs, InvocationId, TurnId};
use converse_engine::Sink;
use converse_ensemble::Roster;
use parking_lot::Mutex;
use rmcp::model::LoggingLevel;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::counters::Counters;
use crate::queue::Queue;
use crate::served_tools::{NameConflict, ServedTools};

/// Minimum time between two checks of the upstream servers for changed tools.
const REFRESH: Duration = Duration::from_secs(1);

/// What a gateway is built from.
pub struct GatewayParts {
    pub roster: Roster,
    pub audit: Arc<dyn Audit>,
    /// Content of results, such as images and audio.
    pub blobs: Arc<dyn Blobs>,
    /// Whether tools are served without the prefix `ensemble__`.
    pub bare_names: bool,
    /// Maximum number of calls that run at once; further calls wait.
    pub max_calls: usize,
    /// The version of the program.
    pub version: String,
}

/// Gives each caller a sink for the records of its calls.
pub trait Audit: Send + Sync {
    fn sink_for(&self, caller: &Caller) -> Arc<dyn Sink>;
}

/// The roster as an MCP server, for any number of clients. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
    /// The lowest level of log messages that this client receives.
    level: Arc<AtomicU8>,
}

pub(crate) struct Shared {
    pub(crate) parts: GatewayParts,
    /// The same tools for clients that are not the user who runs the server: the kept answers are that user's.
    pub(crate) for_others: Roster,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Queue,
    /// All open calls, including waiting calls.
    pub(crate) calls: TaskTracker,
    /// Cancelled when no more calls are accepted.
    closing: CancellationToken,
    /// Cancelled when running calls must stop.
    pub(crate) cancel: CancellationToken,
    turns: AtomicU64,
    served: Mutex<Arc<ServedTools>>,
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// Number of changes of the tools so far.
    changes: watch::Sender<u64>,
}

impl Gateway {
    /// Creates a gateway.
    ///
    /// # Errors
    ///
    /// Fails if two tools would have the same name.
    pub fn new(parts: GatewayParts) -> Result<Self, NameConflict> {
        let (served, conflicts) = ServedTools::of(parts.roster.offer(), parts.bare_names);
        if let Some(conflict) = conflicts.into_iter().next() {
            return Err(conflict);
        }
        let calls = TaskTracker::new();
        calls.close();
        let rules = parts.roster.rules().only(|rule| !rule.is_bound());
        let shared = Shared {
            for_others: parts.roster.judged_by(rules),
            counters: Arc::default(),
            queue: Queue::new(parts.max_calls),
            calls,
            closing: CancellationToken::new(),
            cancel: CancellationToken::new(),
            turns: AtomicU64::new(0),
            served: Mutex::new(Arc::new(served)),
            refreshed: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            parts,
        };
        Ok(Self { shared: Arc::new(shared), level: Arc::default() })
    }

    /// Returns a gateway for another client, with its own log level.
    #[must_use]
    pub fn for_client(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), level: Arc::default() }
    }

    /// Stops accepting calls. Running calls continue.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }

    pub fn is_closing(&self) -> bool {
        self.shared.closing.is_cancelled()
    }

    /// Resolves when no more calls are accepted.
    pub async fn closing(&self) {
        self.shared.closing.cancelled().await;
    }

    /// Number of running and waiting calls.
    pub fn running(&self) -> usize {
        self.shared.calls.len()
    }

    /// Resolves when no call is running or waiting.
    pub async fn idle(&self) {
        self.shared.calls.wait().await;
    }

    /// Cancels the running calls. Each call is answered within seconds.
    pub fn cancel_calls(&self) {
        self.shared.cancel.cancel();
    }

    /// The counters for all clients.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    pub(crate) fn max_calls(&self) -> usize {
        self.shared.parts.max_calls
    }

    pub(crate) fn version(&self) -> &str {
        &self.shared.parts.version
    }

    /// Returns ids that no other call of this gateway has.
    pub(crate) fn next_ids(&self) -> (TurnId, InvocationId) {
        let turn = TurnId(self.shared.turns.fetch_add(1, Ordering::Relaxed) + 1);
        (turn, InvocationId::of(turn, 0))
    }

    /// Sets the lowest level of log messages for the client.
    pub(crate) fn set_log_level(&self, level: LoggingLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn wants_log(&self, level: LoggingLevel) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    /// The tools that are served now.
    pub(crate) fn served_tools(&self) -> Arc<ServedTools> {
        let GatewayParts { roster, bare_names, .. } = &self.shared.parts;
        let offer = roster.offer();
        let mut served = self.shared.served.lock();
        if !served.is_from(&offer) {
            let (new, conflicts) = ServedTools::of(offer, *bare_names);
            for conflict in conflicts {
                tracing::warn!("{conflict}; neither tool is served");
            }
            *served = Arc::new(new);
        }
        Arc::clone(&served)
    }

    /// Updates the tools after changes of upstream servers, at most once a second.
    pub async fn refresh(&self) {
        let Ok(mut refreshed) = self.shared.refreshed.try_lock() else { return };
        if refreshed.is_none_or(|last| last.elapsed() >= REFRESH) {
            self.refresh_roster(&mut refreshed).await;
        }
    }

    /// Updates the tools at once, after a call found a change. A client that only calls tools never lists them.
    pub(crate) async fn refresh_now(&self) {
        self.refresh_roster(&mut *self.shared.refreshed.lock().await).await;
    }

    async fn refresh_roster(&self, refreshed: &mut Option<Instant>) {
        let roster = &self.shared.parts.roster;
        let before = roster.offer();
        roster.refresh().await;
        *refreshed = Some(Instant::now());
        if !Arc::ptr_eq(&before, &roster.offer()) {
            self.shared.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Calls `notify` after each change of the tools, until it fails, `is_gone` returns true or the gateway closes.
    pub(crate) async fn notify_changes<F: Future<Output = bool>>(
        &self,
        notify: impl Fn() -> F,
        is_gone: impl Fn() -> bool,
    ) {
        let mut changes = self.shared.changes.subscribe();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() || !notify().await {
                        return;
                    }
                }
                () = tokio::time::sleep(REFRESH) => {
                    if is_gone() || self.is_closing() {
                        return;
                    }
                    self.refresh().await;
                }
            }
        }
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("running", &self.running()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backing").field("roster", &self.roster).finish_non_exhaustive()
    }
}
