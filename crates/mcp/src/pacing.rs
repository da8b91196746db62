//! [`Pacing`]: the delays between attempts to connect a server that was lost.

use std::time::Duration;

use tokio::time::Instant;

/// The first delay. It doubles with each attempt up to [`MAX`].
const FIRST: Duration = Duration::from_millis(200);
const MAX: Duration = Duration::from_secs(30);
/// Longest delay before an attempt that a call asks for.
const MAX_FOR_CALL: Duration = Duration::from_secs(1);
/// A connection that lasted this long is not one of a server that ends whenever it is started.
const STEADY: Duration = MAX;

/// Returns a number in [0, 1) that spreads the attempts of several processes.
pub type Jitter = fn() -> f64;

/// Counts the attempts since the last answered call. There is no last attempt: the delay only grows.
#[derive(Debug)]
pub(crate) struct Pacing {
    attempts: u32,
    /// When the last attempt began, and the delay after it.
    last: Option<(Instant, Duration)>,
    jitter: Jitter,
}

impl Pacing {
    pub(crate) fn new(jitter: Jitter) -> Self {
        Self { attempts: 0, last: None, jitter }
    }

    /// Records that an attempt begins now.
    pub(crate) fn begin(&mut self) {
        let doubled = FIRST.saturating_mul(1 << self.attempts.min(16)).min(MAX);
        // Between half the delay and the whole.
        let delay = doubled.mul_f64((self.jitter)().clamp(0.0, 1.0).midpoint(1.0));
        self.last = Some((Instant::now(), delay));
        self.attempts = self.attempts.saturating_add(1);
    }

    /// Records an answered call: the server works, and the next delay is the first one again.
    pub(crate) fn answered(&mut self) {
        if self.attempts > 0 {
            self.attempts = 0;
            if let Some((_, delay)) = &mut self.last {
                *delay = FIRST.min(*delay);
            }
        }
    }

    /// Records the end of a connection. One that lasted counts like an answered call.
    pub(crate) fn lost(&mut self, lasted: Duration) {
        if lasted >= STEADY {
            self.answered();
        }
    }

    /// Returns when the next attempt may begin.
    pub(crate) fn due(&self) -> Instant {
        self.after(MAX)
    }

    /// Returns when the next attempt may begin if a call waits for it.
    pub(crate) fn due_for_call(&self) -> Instant {
        self.after(MAX_FOR_CALL)
    }

    fn after(&self, longest: Duration) -> Instant {
        self.last.map_or_else(Instant::now, |(begun, delay)| begun + delay.min(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delays in milliseconds before the next attempts, for the keeper and for a call.
    async fn delays(pacing: &mut Pacing, count: usize) -> Vec<(u128, u128)> {
        let mut delays = Vec::new();
        for _ in 0..count {
            pacing.begin();
            let now = Instant::now();
            delays.push(((pacing.due() - now).as_millis(), (pacing.due_for_call() - now).as_millis()));
            tokio::time::sleep_until(pacing.due()).await;
        }
        delays
    }

    #[tokio::test(start_paused = true)]
    async fn delays_double_to_half_a_minute_and_never_end() {
        let mut pacing = Pacing::new(|| 1.0);
        assert_eq!(pacing.due(), Instant::now(), "the first attempt waits for nothing");
        let delays = delays(&mut pacing, 40).await;
        let first = [(200, 200), (400, 400), (800, 800), (1600, 1000), (3200, 1000), (6400, 1000)];
        assert_eq!(delays[..6], first);
        assert_eq!(delays[6..9], [(12_800, 1000), (25_600, 1000), (30_000, 1000)]);
        assert!(delays[9..].iter().all(|delay| *delay == (30_000, 1000)));
    }

    #[tokio::test(start_paused = true)]
    async fn answered_calls_and_long_connections_give_the_count_back() {
        let mut pacing = Pacing::new(|| 0.0);
        assert_eq!(
            delays(&mut pacing, 4).await,
            [(100, 100), (200, 200), (400, 400), (800, 800)],
            "half of each"
        );
        pacing.lost(STEADY - Duration::from_millis(1));
        assert_eq!(delays(&mut pacing, 1).await, [(1600, 1000)]);
        pacing.answered();
        assert_eq!(delays(&mut pacing, 2).await, [(100, 100), (200, 200)]);
        pacing.lost(STEADY);
        assert_eq!(delays(&mut pacing, 1).await, [(100, 100)]);
    }
}
