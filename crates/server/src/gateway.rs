//! What all clients share: the roster, the limits, and how it ends.

#![expect(deprecated, reason = "logging is what the clients of today read")]

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
use crate::offer::{Clash, Shelf};
use crate::queue::Queue;

/// Upstream servers are asked whether their tools have changed at most this often.
const REFRESH: Duration = Duration::from_secs(1);

/// What stands behind a gateway.
pub struct Backing {
    pub roster: Roster,
    pub audit: Arc<dyn Audit>,
    /// Pictures and sounds of results.
    pub blobs: Arc<dyn Blobs>,
    /// Without `ensemble__`.
    pub bare_names: bool,
    /// Calls that may run at once; more wait.
    pub max_calls: usize,
    /// Of the program.
    pub version: String,
}

/// Where it is written down what is done for whom.
pub trait Audit: Send + Sync {
    fn of(&self, caller: &Caller) -> Arc<dyn Sink>;
}

/// The roster as an MCP server, for any number of clients. Cheap to clone: a clone is the same one.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) shared: Arc<Shared>,
    /// What of its tools' logs this client wants to hear.
    level: Arc<AtomicU8>,
}

pub(crate) struct Shared {
    pub(crate) backing: Backing,
    pub(crate) counters: Arc<Counters>,
    pub(crate) queue: Queue,
    /// Every call, those that wait among them.
    pub(crate) calls: TaskTracker,
    /// Ended when no more calls are taken.
    closing: CancellationToken,
    /// Ended when calls that run must stop.
    pub(crate) cut: CancellationToken,
    turns: AtomicU64,
    shelf: Mutex<Arc<Shelf>>,
    refreshed: tokio::sync::Mutex<Option<Instant>>,
    /// How often the tools have changed.
    changes: watch::Sender<u64>,
}

impl Gateway {
    /// Fails if two tools would be served by one name.
    pub fn new(backing: Backing) -> Result<Self, Clash> {
        let (shelf, clashes) = Shelf::of(backing.roster.offer(), backing.bare_names);
        if let Some(clash) = clashes.into_iter().next() {
            return Err(clash);
        }
        let calls = TaskTracker::new();
        calls.close();
        let shared = Shared {
            counters: Arc::default(),
            queue: Queue::new(backing.max_calls),
            calls,
            closing: CancellationToken::new(),
            cut: CancellationToken::new(),
            turns: AtomicU64::new(0),
            shelf: Mutex::new(Arc::new(shelf)),
            refreshed: tokio::sync::Mutex::default(),
            changes: watch::Sender::new(0),
            backing,
        };
        Ok(Self { shared: Arc::new(shared), level: Arc::default() })
    }

    /// For a client of its own: what it sets for itself, another's does not hear of.
    #[must_use]
    pub fn for_client(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), level: Arc::default() }
    }

    /// Takes no more calls; those that run go on.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }

    pub fn is_closing(&self) -> bool {
        self.shared.closing.is_cancelled()
    }

    /// Resolves once no more calls are taken.
    pub async fn closing(&self) {
        self.shared.closing.cancelled().await;
    }

    /// Calls that run and wait, now.
    pub fn running(&self) -> usize {
        self.shared.calls.len()
    }

    /// Resolves when no call runs or waits.
    pub async fn idle(&self) {
        self.shared.calls.wait().await;
    }

    /// Cancels what runs: each call is answered, within seconds.
    pub fn cut(&self) {
        self.shared.cut.cancel();
    }

    /// What was counted of all clients.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    pub(crate) fn max_calls(&self) -> usize {
        self.shared.backing.max_calls
    }

    pub(crate) fn version(&self) -> &str {
        &self.shared.backing.version
    }

    /// An id that no other call of this gateway has.
    pub(crate) fn next(&self) -> (TurnId, InvocationId) {
        let turn = TurnId(self.shared.turns.fetch_add(1, Ordering::Relaxed) + 1);
        (turn, InvocationId::of(turn, 0))
    }

    /// The client's choice of what it hears.
    pub(crate) fn hear_from(&self, level: LoggingLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    pub(crate) fn hears(&self, level: LoggingLevel) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed)
    }

    /// The tools as they are served now.
    pub(crate) fn shelf(&self) -> Arc<Shelf> {
        let Backing { roster, bare_names, .. } = &self.shared.backing;
        let offer = roster.offer();
        let mut shelf = self.shared.shelf.lock();
        if !shelf.is_of(&offer) {
            let (new, clashes) = Shelf::of(offer, *bare_names);
            for clash in clashes {
                tracing::warn!("{clash}; neither is");
            }
            *shelf = Arc::new(new);
        }
        Arc::clone(&shelf)
    }

    /// Takes over what has changed upstream; not oftener than once a second.
    pub async fn refresh(&self) {
        let Ok(mut refreshed) = self.shared.refreshed.try_lock() else { return };
        if refreshed.is_none_or(|last| last.elapsed() >= REFRESH) {
            self.take_over(&mut refreshed).await;
        }
    }

    /// The same at once, for when a call has met a change: who only calls never asks what there is.
    pub(crate) async fn refresh_now(&self) {
        self.take_over(&mut *self.shared.refreshed.lock().await).await;
    }

    async fn take_over(&self, refreshed: &mut Option<Instant>) {
        let roster = &self.shared.backing.roster;
        let before = roster.offer();
        roster.refresh().await;
        *refreshed = Some(Instant::now());
        if !Arc::ptr_eq(&before, &roster.offer()) {
            self.shared.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Tells a client each time that the tools have changed, until it cannot be told or `gone` says so.
    pub(crate) async fn tell_changes<F: Future<Output = bool>>(
        &self,
        tell: impl Fn() -> F,
        gone: impl Fn() -> bool,
    ) {
        let mut changes = self.shared.changes.subscribe();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() || !tell().await {
                        return;
                    }
                }
                () = tokio::time::sleep(REFRESH) => {
                    if gone() || self.is_closing() {
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

impl std::fmt::Debug for Backing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backing").field("roster", &self.roster).finish_non_exhaustive()
    }
}
