//! Forgotten here first, whoever else holds things up; then given back.

use tokio_util::sync::CancellationToken;

use super::authority::Authority;
use super::trouble::Trouble;

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
    pub(super) async fn log_out(&self, enough: &CancellationToken) -> Result<LoggedOut, Trouble> {
        let _asking = self.asking.lock().await;
        // What cannot be read any more is forgotten as well.
        let kept = self.kept();
        self.forget().await?;
        let grant = match kept {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(LoggedOut::Nothing),
            Err(trouble) => return Ok(LoggedOut::Unrevoked(trouble.to_string())),
        };
        let revoked = tokio::select! {
            biased;
            () = enough.cancelled() => Err(Trouble::Failed("it was not waited for".to_owned())),
            revoked = self.revoked(&grant) => revoked,
        };
        Ok(revoked.map_or_else(
            |trouble| {
                LoggedOut::Unrevoked(Trouble::failed(&trouble.to_string(), &grant.secrets()).to_string())
            },
            |()| LoggedOut::Forgotten,
        ))
    }
}
