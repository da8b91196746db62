//! [`Upstreams`]: the servers behind the gateway, and whether they are connected.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::EnsembleName;
use converse_ensemble::{Phase, Roster, Upstream};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Longest wait for the first attempts to connect, so that a first list is complete. Shorter than the patience of
/// clients with `tools/list`, of which 10 s is the shortest known (codex, checked 2026-11).
const FIRST_ATTEMPTS: Duration = Duration::from_secs(8);
/// Longest wait for the tool of a server that was never connected.
const TOOL_WAIT: Duration = Duration::from_secs(10);

/// A server behind the gateway.
#[derive(Debug, Clone)]
pub struct ServedUpstream {
    pub ensemble: EnsembleName,
    /// Whether the gateway is not ready without it.
    pub is_required: bool,
    pub upstream: Arc<Upstream>,
}

/// The servers behind the gateway. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Upstreams(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    all: watch::Sender<Arc<[ServedUpstream]>>,
    /// Cancelled when the roster has the tools of the first attempts.
    settled: CancellationToken,
}

impl Upstreams {
    pub fn new(all: Vec<ServedUpstream>) -> Self {
        let (all, settled) = (watch::Sender::new(all.into()), CancellationToken::new());
        Self(Arc::new(Shared { all, settled }))
    }

    /// Returns the servers as they are now.
    pub fn all(&self) -> Arc<[ServedUpstream]> {
        Arc::clone(&self.0.all.borrow())
    }

    /// Replaces the servers, wherever these are shared.
    pub fn replace(&self, all: Vec<ServedUpstream>) {
        self.0.all.send_replace(all.into());
    }

    /// Runs `follow` for the servers, and anew for those after each change, until the future is dropped.
    pub(crate) async fn follow<F: Future<Output = ()>>(&self, follow: impl Fn(ServedUpstream) -> F) {
        let mut changes = self.0.all.subscribe();
        loop {
            let all = Arc::clone(&changes.borrow_and_update());
            let following = join_all(all.iter().cloned().map(&follow));
            tokio::select! {
                // The sender lives as long as `self`.
                _ = changes.changed() => {}
                _ = following => drop(changes.changed().await),
            }
        }
    }

    /// Returns whether every required server is connected, or starts on demand.
    pub fn is_ready(&self) -> bool {
        self.all().iter().filter(|one| one.is_required).all(|one| one.upstream.state().is_usable())
    }

    /// Returns why a server is down; foreign text, cleaned. `None` if it is not.
    pub fn failure_of(&self, ensemble: &str) -> Option<String> {
        let all = self.all();
        let one = all.iter().find(|one| one.ensemble.as_str() == ensemble)?;
        let state = one.upstream.state();
        (state.phase == Phase::Down).then_some(state.reason)
    }

    /// Returns the state of every server, without texts of servers: they may hold secrets.
    pub fn to_json(&self) -> Value {
        let all = self.all();
        let states = all.iter().map(|one| {
            let state = one.upstream.state();
            json!({
                "ensemble": one.ensemble.as_str(),
                "state": state.phase.label(),
                "required": one.is_required,
                "seconds": state.lasted().as_secs(),
                "restarts": state.restarts(),
            })
        });
        states.collect()
    }

    /// Waits until the first attempts have ended and the tools are served, a bounded time after the start.
    pub async fn settled(&self) {
        if !self.all().is_empty() {
            let _ = timeout(FIRST_ATTEMPTS, self.0.settled.cancelled()).await;
        }
    }

    /// Waits until the first attempts have ended, a bounded time.
    pub(crate) async fn first_attempts(&self) {
        let all = self.all();
        let _ = timeout(FIRST_ATTEMPTS, join_all(all.iter().map(|one| one.upstream.settled()))).await;
    }

    /// Records that the roster has the tools of the first attempts.
    pub(crate) fn settle(&self) {
        self.0.settled.cancel();
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.all().is_empty() || self.0.settled.is_cancelled()
    }

    /// Returns whether a list of the server costs no start and no wait.
    pub(crate) fn is_connected(&self, ensemble: &str) -> bool {
        let all = self.all();
        let one = all.iter().find(|one| one.ensemble.as_str() == ensemble);
        one.is_none_or(|one| one.upstream.state().phase == Phase::Connected)
    }

    /// Asks for an attempt to connect the servers that could have this tool and were never connected, and waits for
    /// it. Returns whether one of them is connected now.
    pub(crate) async fn tool_wanted(&self, roster: &Roster, tool: &str, bare: bool) -> bool {
        let (all, ensembles) = (self.all(), roster.ensembles());
        let could_have = |one: &&ServedUpstream| {
            let mut ensembles = ensembles.iter();
            !one.upstream.state().has_tools
                && ensembles.any(|of| of.name == one.ensemble && (bare || of.is_prefix_of(tool)))
        };
        let attempts = all.iter().filter(could_have).map(|one| attempt(&one.upstream));
        join_all(attempts).await.contains(&true)
    }
}

async fn attempt(upstream: &Upstream) -> bool {
    let mut states = upstream.watch();
    let before = states.borrow_and_update().attempts;
    upstream.want();
    let _ = timeout(TOOL_WAIT, states.wait_for(|state| state.attempts != before)).await;
    upstream.state().has_tools
}
