//! [`Upstream`]: the state of the connection to one server, for programs that serve its tools for a long time.

use std::time::SystemTime;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// The state of one connection. The keeper of the connection writes it; everybody else reads it.
#[derive(Debug)]
pub struct Upstream {
    state: watch::Sender<UpstreamState>,
    wanted: Notify,
}

/// What is known of a connection at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamState {
    pub phase: Phase,
    /// When the phase began.
    pub since: SystemTime,
    begun: Instant,
    /// Whether its tools are known, also from an earlier run.
    pub has_tools: bool,
    /// Number of connections that were opened so far.
    pub opened: u64,
    /// Number of attempts that have ended.
    pub attempts: u64,
    /// Why it is not connected; foreign text, cleaned. Empty if it is connected or was never tried.
    pub reason: String,
}

/// Where a connection is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The first attempt is under way.
    Connecting,
    Connected,
    /// The last attempt failed, or the connection was lost. Attempts go on.
    Down,
    /// Its first call connects it.
    Idle,
}

impl Phase {
    /// Returns the name in metrics and output.
    pub fn label(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Down => "down",
            Self::Idle => "idle",
        }
    }
}

impl UpstreamState {
    /// Returns whether calls can be sent, at once or after a start on demand.
    pub fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Connected | Phase::Idle)
    }

    /// Returns whether it is known which tools there are: from a list, or because the first attempt failed.
    pub fn is_settled(&self) -> bool {
        self.has_tools || self.phase != Phase::Connecting
    }

    /// Returns how long the phase has lasted.
    pub fn lasted(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// Returns how often it was connected again.
    pub fn restarts(&self) -> u64 {
        self.opened.saturating_sub(1)
    }

    fn enter(&mut self, phase: Phase) -> bool {
        let is_new = self.phase != phase;
        if is_new {
            (self.phase, self.since, self.begun) = (phase, SystemTime::now(), Instant::now());
        }
        is_new
    }
}

impl Default for Upstream {
    fn default() -> Self {
        let state = UpstreamState {
            phase: Phase::Connecting,
            since: SystemTime::now(),
            begun: Instant::now(),
            has_tools: false,
            opened: 0,
            attempts: 0,
            reason: String::new(),
        };
        Self { state: watch::Sender::new(state), wanted: Notify::new() }
    }
}

impl Upstream {
    /// Returns the state now.
    pub fn state(&self) -> UpstreamState {
        self.state.borrow().clone()
    }

    /// Returns a receiver of all later states.
    pub fn watch(&self) -> watch::Receiver<UpstreamState> {
        self.state.subscribe()
    }

    /// Waits until it is known which tools there are.
    pub async fn settled(&self) {
        // The sender lives as long as `self`.
        let _ = self.watch().wait_for(UpstreamState::is_settled).await;
    }

    /// Asks the keeper for an attempt soon, because a call needs the connection.
    pub fn want(&self) {
        self.wanted.notify_one();
    }

    /// Resolves after [`Upstream::want`]. For the keeper.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Records that its tools are known from an earlier run. Without attempts, it waits for its first call.
    pub fn remembered(&self, is_lazy: bool) {
        self.state.send_modify(|state| {
            state.has_tools = true;
            if is_lazy {
                state.enter(Phase::Idle);
            }
        });
    }

    /// Records an attempt that succeeded. Returns the state before.
    pub fn connected(&self) -> UpstreamState {
        let before = self.state();
        self.state.send_modify(|state| {
            state.enter(Phase::Connected);
            state.has_tools = true;
            state.opened += 1;
            state.attempts += 1;
            state.reason = String::new();
        });
        before
    }

    /// Records an attempt that failed. Returns whether it was not down before.
    pub fn failed(&self, reason: String) -> bool {
        self.ended(Phase::Down, reason, 1)
    }

    /// Records that the connection was lost. Returns whether this is news. A server that its next call starts is idle.
    pub fn lost(&self, reason: String, is_lazy: bool) -> bool {
        self.ended(if is_lazy { Phase::Idle } else { Phase::Down }, reason, 0)
    }

    fn ended(&self, phase: Phase, reason: String, attempts: u64) -> bool {
        let mut is_new = false;
        self.state.send_modify(|state| {
            is_new = state.enter(phase);
            state.attempts += attempts;
            state.reason = reason;
        });
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_phase_begins_once_and_says_why() {
        let upstream = Upstream::default();
        assert!(!upstream.state().is_settled());
        assert!(upstream.failed("no such host".to_owned()));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(!upstream.failed("still none".to_owned()), "it was down before");
        let down = upstream.state();
        assert_eq!((down.lasted().as_secs(), down.reason.as_str(), down.attempts), (5, "still none", 2));
        assert!(down.is_settled() && !down.is_usable());
        assert_eq!(upstream.connected().phase, Phase::Down);
        let up = upstream.state();
        assert_eq!(
            (up.phase, up.reason.as_str(), up.restarts(), up.is_usable()),
            (Phase::Connected, "", 0, true)
        );
        assert!(upstream.lost("killed".to_owned(), false));
        assert_eq!(upstream.connected().reason, "killed");
        assert_eq!(upstream.state().restarts(), 1);
    }

    #[tokio::test]
    async fn remembered_tools_are_waited_for_by_nobody() {
        let upstream = Upstream::default();
        upstream.remembered(false);
        upstream.settled().await;
        assert_eq!((upstream.state().phase, upstream.state().is_usable()), (Phase::Connecting, false));
        upstream.remembered(true);
        assert_eq!((upstream.state().phase, upstream.state().is_usable()), (Phase::Idle, true));
    }
}
