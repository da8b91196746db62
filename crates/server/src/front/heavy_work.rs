//! Work on much data, beside the turns.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Runs a bounded number of works at once; others wait, for a while.
#[derive(Debug)]
pub(super) struct HeavyWork {
    places: Arc<Semaphore>,
    patience: Duration,
}

/// Why work has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undone {
    /// It did not begin: other work, which may wait for a database, had all places.
    NoPlace,
    Crashed,
}

impl HeavyWork {
    /// `patience` is the time for which work waits for one of `most` places.
    pub(super) fn new(most: usize, patience: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), patience }
    }

    /// Returns the result of the work. Work whose client leaves goes on and keeps its place.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Undone> {
        let place = timeout(self.patience, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.ok().and_then(Result::ok).ok_or(Undone::NoPlace)?;
        let placed = move || {
            let _place = place;
            work()
        };
        spawn_blocking(placed).await.map_err(|_| Undone::Crashed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_whose_client_left_keeps_its_place_and_others_wait_for_a_while() {
        let heavy = HeavyWork::new(1, Duration::from_secs(5));
        let (go, may_go) = channel::<()>();
        let mut left = Box::pin(heavy.run(move || may_go.recv()));
        assert!(matches!(poll!(left.as_mut()), Poll::Pending));
        drop(left);
        assert_eq!(heavy.places.available_permits(), 0, "two works at once");
        let mut late = Box::pin(heavy.run(|| 1));
        assert!(matches!(poll!(late.as_mut()), Poll::Pending));
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(late.await, Err(Undone::NoPlace));
        go.send(()).unwrap();
        assert_eq!(heavy.run(|| 1).await, Ok(1));
    }
}
