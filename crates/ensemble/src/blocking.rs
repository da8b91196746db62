//! Blocking work on threads of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::task::{JoinHandle, spawn_blocking};

use crate::InvokeError;

/// Runs the work on a blocking thread. Returns `None` if no thread can be started. The work may still run later, when a
/// thread is free, so it must check whether it is still wanted.
pub(crate) fn spawn<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<JoinHandle<T>> {
    // The runtime has no call that fails: this one panics, when all is in order again.
    catch_unwind(AssertUnwindSafe(|| spawn_blocking(work))).ok()
}

/// The same for a tool: if no thread can be started, the error is `Unreachable`.
pub(crate) fn spawn_or_unreachable<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, InvokeError> {
    spawn(work).ok_or_else(|| InvokeError::Unreachable {
        message: "no thread can be started for it: there are too many processes and threads".to_owned(),
        sent: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_cannot_be_begun_nothing_crashes() {
        // Outside of a runtime there is no thread to be had either.
        assert!(spawn(|| 1).is_none());
        let refused = spawn_or_unreachable(|| 1).unwrap_err();
        assert!(matches!(refused, InvokeError::Unreachable { sent: false, .. }), "{refused:?}");
    }

    #[tokio::test]
    async fn it_is_done() {
        assert_eq!(spawn(|| 1).unwrap().await.unwrap(), 1);
    }
}
