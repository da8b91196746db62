//! Work on much data, beside the turns.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Runs a bounded number of works at once; others wait.
#[derive(Debug)]
pub(super) struct HeavyWork(Arc<Semaphore>);

impl HeavyWork {
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Returns the result of the work; `None` if it crashed. Work whose client leaves goes on and keeps its place.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let place = Arc::clone(&self.0).acquire_owned().await.ok()?;
        let placed = move || {
            let _place = place;
            work()
        };
        spawn_blocking(placed).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::task::Poll;

    use futures_util::poll;

    use super::*;

    #[tokio::test]
    async fn work_whose_client_left_keeps_its_place() {
        let heavy = HeavyWork::new(1);
        let (go, may_go) = channel::<()>();
        let mut left = Box::pin(heavy.run(move || may_go.recv()));
        assert!(matches!(poll!(left.as_mut()), Poll::Pending));
        drop(left);
        assert_eq!(heavy.0.available_permits(), 0, "two works at once");
        go.send(()).unwrap();
        assert_eq!(heavy.run(|| 1).await, Some(1));
    }
}
