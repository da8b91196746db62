//! [`OauthError`]: why there is no token, for the user and without secrets.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use super::scopes;
use crate::sanitize;

/// Bytes of a message.
const MAX_MESSAGE: usize = 600;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OauthError {
    /// The login cannot be tried: the descriptor or the run lacks something.
    #[error("{0}")]
    Unusable(String),
    #[error("the server requires a login{why}: run `converse ensembles login {ensemble}`")]
    LoggedOut { ensemble: String, why: &'static str },
    #[error("the server requires more scopes than were granted: run `converse ensembles login {ensemble}{}", scopes::command_end(.scopes))]
    Narrow { ensemble: String, scopes: Vec<String> },
    /// The renewal failed; a later one may succeed.
    #[error("{why}; if this persists, run `converse ensembles login {ensemble}`")]
    Unrenewed { why: Box<OauthError>, ensemble: String },
    #[error("{0}")]
    Failed(String),
}

impl OauthError {
    /// Describes an error of the library. `secrets` are redacted, because servers repeat what they refuse.
    pub(super) fn of(error: &AuthError, secrets: &[String]) -> Self {
        let message = match error {
            AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => format!(
                "expected the authorization server {expected_issuer}, found {received_issuer}; nothing was sent to it"
            ),
            AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
                format!("the authorization server names no issuer, expected {expected_issuer}")
            }
            AuthError::PkceUnsupported => {
                "the authorization server does not support PKCE with S256, which is required".to_owned()
            }
            AuthError::DiscoveryRequestFailed { source, .. } => {
                format!("the authorization server could not be discovered: {source}")
            }
            AuthError::ProtectedResourceMetadataInvalid { .. } => {
                format!("the server's authorization metadata is not valid: {error}")
            }
            AuthError::InvalidScope(what) if what == "code" => {
                "the authorization server does not support the authorization code flow".to_owned()
            }
            other => match other.source() {
                Some(cause) => format!("{other}: {cause}"),
                None => other.to_string(),
            },
        };
        Self::failed(&message, secrets)
    }

    pub(super) fn failed(message: &str, secrets: &[String]) -> Self {
        Self::Failed(sanitize::clean(&sanitize::redact(secrets, message.to_owned()), MAX_MESSAGE))
    }
}
