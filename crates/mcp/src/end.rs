//! How a connection ended, said once: whoever notices first is right, and everybody who waits learns of it at once.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// The server closed its side, or its process ended: its exit status tells more than this.
    Closed,
    /// It does not take what is sent to it.
    NotReading,
    /// We gave it up, for this reason.
    GivenUp(String),
}

/// The end of one connection. Clone = the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionEnd {
    cause: Arc<Mutex<Option<EndCause>>>,
    over: CancellationToken,
}

impl ConnectionEnd {
    /// The first cause is kept.
    pub(crate) fn set_cause(&self, cause: EndCause) {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        self.over.cancel();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Waits for the end. Never resolves while the connection lives.
    pub(crate) async fn over(&self) {
        self.over.cancelled().await;
    }

    pub(crate) fn cause(&self) -> Option<EndCause> {
        self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
