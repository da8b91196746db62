//! The door for people: access granted because somebody asked for it, and forgotten again.

use converse_ensemble::ConnectError;
use tokio_util::sync::CancellationToken;

use super::error::OauthError;
use super::grant::Grant;
use super::logout::LoggedOut;
use crate::McpConnection;

/// What a server's authorization server has granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// Who granted it, as it calls itself.
    pub issuer: Option<String>,
    pub scopes: Vec<String>,
    /// Seconds since 1970; `None`: nobody says.
    pub expires: Option<u64>,
    /// Then a new one is had without asking anybody.
    pub renewable: bool,
}

impl Login {
    pub(super) fn of(grant: &Grant) -> Self {
        Self {
            issuer: grant.issuer.clone(),
            scopes: grant.scopes.clone(),
            expires: grant.expires(),
            renewable: grant.refresh.is_some(),
        }
    }
}

impl McpConnection {
    /// Has access granted, whether it was before or not: these scopes, those that were granted, and what the server
    /// names. Takes as long as the person takes, ten minutes at most.
    pub async fn log_in(&self, scopes: &[String]) -> Result<Login, ConnectError> {
        let granted = match &self.authority {
            Some(authority) => authority.log_in(scopes).await,
            None => Err(OauthError::Unusable("it has no `auth = \"oauth\"`".to_owned())),
        };
        granted.map_err(|error| self.refused(&error))
    }

    /// Forgets what was granted; then tells the authorization server, where that wants to know, for five seconds at
    /// most, and not once nobody wants to wait any more.
    pub async fn log_out(&self, enough: &CancellationToken) -> Result<LoggedOut, ConnectError> {
        let forgotten = match &self.authority {
            Some(authority) => authority.log_out(enough).await,
            None => Err(OauthError::Unusable("it has no `auth = \"oauth\"`".to_owned())),
        };
        forgotten.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &OauthError) -> ConnectError {
        ConnectError { ensemble: self.name().to_owned(), reason: error.to_string() }
    }
}
