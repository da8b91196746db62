//! Blocking work on threads of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::JoinHandle;

/// Runs the work on a blocking thread. Returns `None` if no thread can be started. The work may still run later, when a
/// thread is free, so it must check whether it is still wanted.
pub fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    // The runtime has no call that fails: this one panics, when all is in order again.
    catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_cannot_be_begun_nothing_crashes() {
        // Outside of a runtime there is no thread to be had.
        assert!(spawn_blocking(|| 1).is_none());
    }
}
