//! Forgotten here first, whoever else holds things up; then given back.

use tokio_util::sync::CancellationToken;

use super::authority::Authority;
use super::error::OauthError;

/// What became of what was granted. Nothing of it is here any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was nothing.
    Nothing,
    Forgotten,
    /// The authorization server may still take it: why.
    Unrevoked(String),
}

impl Authority {
    pub(super) async fn log_out(&self, enough: &CancellationToken) -> Result<LoggedOut, OauthError> {
        let _attempts = self.attempts.lock().await;
        // What cannot be read any more is forgotten as well.
        let stored = self.stored();
        self.forget().await?;
        let grant = match stored {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(LoggedOut::Nothing),
            Err(error) => return Ok(LoggedOut::Unrevoked(error.to_string())),
        };
        let revoked = tokio::select! {
            biased;
            () = enough.cancelled() => Err(OauthError::Failed("it was not waited for".to_owned())),
            revoked = self.revoked(&grant) => revoked,
        };
        Ok(revoked.map_or_else(
            |error| {
                LoggedOut::Unrevoked(OauthError::failed(&error.to_string(), &grant.secrets()).to_string())
            },
            |()| LoggedOut::Forgotten,
        ))
    }
}
