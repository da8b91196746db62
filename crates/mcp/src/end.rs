//! The end of a connection: the first cause is kept, and all waiters are notified at once.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Why a connection is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// The server closed its side or its process ended; the exit status says more.
    Closed,
    /// The server does not read its input.
    NotReading,
    /// We gave up the connection for this reason.
    GivenUp(String),
}

/// The end of one connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionEnd {
    cause: Arc<Mutex<Option<EndCause>>>,
    over: CancellationToken,
}

impl ConnectionEnd {
    /// Ends the connection. The first cause is kept.
    pub(crate) fn set_cause(&self, cause: EndCause) {
        self.cause.lock().get_or_insert(cause);
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
        self.cause.lock().clone()
    }
}
