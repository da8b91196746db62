//! [`Failure`]: why a server could not be connected or listed.

use std::time::Duration;

use converse_config::UnsetVariable;
use converse_process::{ProgramNotFound, SpawnError};

use crate::sanitize;

/// Texts of servers in it are bounded and contain no control characters and no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Unset(#[from] UnsetVariable),
    /// Connecting is impossible: a bad command, address or header.
    #[error("{0}")]
    Unusable(String),
    /// The server cannot be reached.
    #[error("it could not be reached: {0}")]
    Unreachable(String),
    #[error("it asks for authorization ({0}): put a token in `headers`, or say `auth = \"oauth\"`")]
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
    #[error("it answered with an error: {0}")]
    Refused(String),
    /// The server sent something that is not an answer.
    #[error("{0}")]
    Nonsense(String),
    /// The modern-era probe or a first attempt got no answer in its share of the time.
    #[error("it did not answer `{request}` within {} s", limit.as_secs_f64())]
    Silent { request: &'static str, limit: Duration },
    #[error("it was not connected within {} s (`connect_timeout`){words}", limit.as_secs_f64())]
    Slow { limit: Duration, words: String },
    #[error("it speaks version {0} of the protocol, which is not known here")]
    Version(String),
    #[error("it speaks none of our versions of the protocol, but {0}")]
    Versions(String),
    #[error("it lists its {what} for ever: {why}")]
    Endless { what: &'static str, why: String },
}

impl Failure {
    /// Returns whether the other era would fail in the same way.
    pub(crate) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Unset(_)
                | Self::Unusable(_)
                | Self::Unreachable(_)
                | Self::Unauthorized(_)
                | Self::Denied(_)
                | Self::Busy { .. }
                | Self::Version(_)
                | Self::Slow { .. }
        )
    }
}

impl Failure {
    /// Returns how long to wait before a retry, `None` if a retry is useless. `pause` is the default.
    pub(crate) fn passes(&self, pause: Duration) -> Option<Duration> {
        match self {
            Self::Unreachable(_) => Some(pause),
            Self::Busy { after, .. } => Some(after.unwrap_or(pause)),
            _ => None,
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
        Self::Unusable(error.to_string())
    }
}
