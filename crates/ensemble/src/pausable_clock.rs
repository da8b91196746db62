//! A clock that is paused while a person is asked something for an invocation, so that its timeouts do not run meanwhile.
//!
//! The code that asks holds a [`PauseGuard`]. The code with a timeout uses [`PausableClock::sleep_until`]. The code that asks
//! limits the time of one question; this clock limits the time of all questions together.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Limit of all pauses of one invocation together. After that the clock runs on.
const MOST: Duration = Duration::from_secs(3600);

/// The clock of one invocation. A clone is the same clock.
#[derive(Debug, Clone)]
pub struct PausableClock(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// Number of open questions.
    open: usize,
    /// Start of the current pause.
    since: Option<Instant>,
    /// Time of earlier pauses.
    spent: Duration,
}

/// Pauses the clock while it exists.
#[derive(Debug)]
pub struct PauseGuard(PausableClock);

impl Default for PausableClock {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }
}

impl State {
    fn lost(&self, now: Instant) -> Duration {
        let open = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        MOST.min(self.spent + open)
    }
}

impl PausableClock {
    /// Pauses the clock until the guard is dropped. There may be several guards.
    #[must_use]
    pub fn pause(&self) -> PauseGuard {
        self.0.send_modify(|state| {
            state.open += 1;
            state.since.get_or_insert_with(Instant::now);
        });
        PauseGuard(self.clone())
    }

    /// Returns the current time without all pauses.
    pub fn now(&self) -> Instant {
        let now = Instant::now();
        now.checked_sub(self.0.borrow().lost(now)).unwrap_or(now)
    }

    /// Waits until this clock shows `counted`.
    pub async fn sleep_until(&self, counted: Instant) {
        let mut changes = self.0.subscribe();
        loop {
            let state = *changes.borrow_and_update();
            let now = Instant::now();
            let due = counted + state.lost(now);
            if due <= now {
                return;
            }
            // A paused clock runs on when the limit of all pauses is reached.
            let wake = if state.open > 0 { due + MOST.saturating_sub(state.lost(now)) } else { due };
            tokio::select! {
                () = sleep_until(wake) => {}
                // The sender lives in `self`.
                _ = changes.changed() => {}
            }
        }
    }
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| {
            state.open -= 1;
            if state.open == 0 {
                state.spent = state.lost(Instant::now());
                state.since = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How long a limit of ten seconds takes when it is paused from each first number of seconds to the second.
    async fn takes(pauses: &'static [(u64, u64)]) -> u64 {
        let (clock, begun) = (PausableClock::default(), Instant::now());
        for (from, to) in pauses {
            let clock = clock.clone();
            tokio::spawn(async move {
                tokio::time::sleep_until(begun + SECOND * u32::try_from(*from).unwrap()).await;
                let _paused = clock.pause();
                tokio::time::sleep_until(begun + SECOND * u32::try_from(*to).unwrap()).await;
            });
        }
        clock.sleep_until(begun + SECOND * 10).await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_questions_does_not_count() {
        for (pauses, seconds) in [
            (&[][..], 10),
            (&[(2, 5)], 13),
            (&[(0, 600)], 610),
            (&[(2, 5), (5, 9)], 17),
            (&[(2, 8), (4, 6)], 16),
            (&[(2, 6), (4, 8)], 16),
            (&[(12, 20)], 10),
            (&[(0, 10_000)], 3610),
            (&[(0, 3000), (3001, 9000)], 3610),
        ] {
            assert_eq!(takes(pauses).await, seconds, "{pauses:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn now_is_what_has_counted() {
        let (clock, begun) = (PausableClock::default(), Instant::now());
        tokio::time::advance(SECOND).await;
        let paused = clock.pause();
        tokio::time::advance(SECOND * 100).await;
        assert_eq!(clock.now() - begun, SECOND, "while it stands");
        drop(paused);
        tokio::time::advance(SECOND * 2).await;
        assert_eq!(clock.now() - begun, SECOND * 3);
    }
}
