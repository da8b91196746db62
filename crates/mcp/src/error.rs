//! [`Failure`]: why a server could not be connected or listed. [`ConnectionEnd`]: how a connection ended.

use std::sync::Arc;
use std::time::Duration;

use converse_config::UnsetVariable;
use converse_ensemble::InvokeError;
use converse_process::{ProgramNotFound, SpawnError};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::sanitize;

/// Texts of servers in it are bounded and contain no control characters and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Unset(#[from] UnsetVariable),
    /// Connecting is impossible: a bad command, address or header.
    #[error("{0}")]
    Unusable(String),
    /// This process has no file descriptor left for the connection.
    #[error("{0}")]
    NoDescriptors(String),
    /// The server cannot be reached.
    #[error("the server could not be reached: {0}")]
    Unreachable(String),
    #[error(
        "the server requires authorization (HTTP {0}): put a token into `headers` or set `auth = \"oauth\"`"
    )]
    Unauthorized(u16),
    /// There is no token that the server accepts, for this reason.
    #[error("{0}")]
    Denied(String),
    /// The server accepts no requests now but may do so soon.
    #[error("{message}")]
    Busy { message: String, after: Option<Duration> },
    /// The server ended or was given up.
    #[error("{0}")]
    Ended(String),
    #[error("the server answered with an error: {0}")]
    Refused(String),
    /// The server sent something that is not an answer.
    #[error("{0}")]
    Nonsense(String),
    /// The server refuses `initialize` as one of the old HTTP+SSE transport does.
    #[error(
        "{0}, and the address opens no event stream of the old HTTP+SSE transport: the path of `url` may be wrong, it \
         often ends in `/mcp`"
    )]
    NoHandshake(String),
    /// A request got no answer in time.
    #[error("the server did not answer `{request}` within {} s", limit.as_secs_f64())]
    Silent { request: &'static str, limit: Duration },
    #[error("the server was not connected within {} s (`connect_timeout`){words}", limit.as_secs_f64())]
    Slow { limit: Duration, words: String },
    #[error("the server uses protocol version {0}, which converse does not support")]
    Version(String),
    #[error("no common protocol version: the server supports {0}")]
    Versions(String),
    /// The keeper connects it later.
    #[error("the server is being connected")]
    Pending,
    #[error("the server's list of {what} does not end: {why}")]
    Endless { what: &'static str, why: String },
}

impl Failure {
    /// Returns whether the other era would fail in the same way.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Unset(_)
                | Self::Unusable(_)
                | Self::NoDescriptors(_)
                | Self::Unreachable(_)
                | Self::Unauthorized(_)
                | Self::Denied(_)
                | Self::Busy { .. }
                | Self::Version(_)
                | Self::Slow { .. }
        )
    }

    /// Returns the failure that says more about a server that could not be connected: `self`, or that of the attempt in
    /// the other era after it.
    pub(crate) fn or_later(self, later: Self) -> Self {
        match (&self, &later) {
            (Self::Versions(_), _) | (Self::Ended(_), Self::Refused(_)) => self,
            _ => later,
        }
    }

    /// Returns how long to wait before a retry, `None` if a retry is useless. `pause` is the default.
    pub(crate) fn passes(&self, pause: Duration) -> Option<Duration> {
        match self {
            Self::Unreachable(_) => Some(pause),
            Self::Busy { after, .. } => Some(after.unwrap_or(pause)),
            _ => None,
        }
    }

    /// Returns the error of a call that was not sent, because its server could not be connected.
    pub(crate) fn unsent(&self, because: &str) -> InvokeError {
        let message = format!("not sent: {because}{self}");
        match self {
            Self::NoDescriptors(_) => InvokeError::NoDescriptors(message),
            _ => InvokeError::Unreachable { message, sent: false },
        }
    }

    /// Redacts the secrets.
    pub(crate) fn without(self, secrets: &[String]) -> Self {
        let clean = |text| sanitize::redact(secrets, text);
        match self {
            Self::Unusable(text) => Self::Unusable(clean(text)),
            Self::Unreachable(text) => Self::Unreachable(clean(text)),
            Self::Ended(text) => Self::Ended(clean(text)),
            Self::Refused(text) => Self::Refused(clean(text)),
            Self::Nonsense(text) => Self::Nonsense(clean(text)),
            Self::NoHandshake(text) => Self::NoHandshake(clean(text)),
            other => other,
        }
    }
}

impl From<ProgramNotFound> for Failure {
    fn from(error: ProgramNotFound) -> Self {
        Self::Unusable(error.to_string())
    }
}

impl From<SpawnError> for Failure {
    fn from(error: SpawnError) -> Self {
        let is_lack = error.lacks_descriptors;
        let kind = if is_lack { Self::NoDescriptors } else { Self::Unusable };
        kind(error.to_string())
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// The server closed its side or its process ended; the exit status says more.
    Closed,
    /// The server does not read its input.
    NotReading,
    /// We gave up the connection for this reason.
    GivenUp(String),
}

/// The end of one connection. Clones share it, the first cause is kept, and all waiters are notified at once.
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
