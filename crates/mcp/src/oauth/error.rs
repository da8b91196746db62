//! Why there is no token, in words for the user and free of secrets.

use std::error::Error as _;

use rmcp::transport::auth::AuthError;

use super::scopes;
use crate::sanitize;

const MOST: usize = 600;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OauthError {
    /// It cannot even be tried: the descriptor, or this program, lacks something.
    #[error("{0}")]
    Unusable(String),
    #[error("it asks who you are{why}: `converse ensembles login {ensemble}`")]
    LoggedOut { ensemble: String, why: &'static str },
    #[error("it wants more than was granted: `converse ensembles login {ensemble}{}", scopes::command_end(.scopes))]
    Narrow { ensemble: String, scopes: Vec<String> },
    /// Nobody knows whether it passes.
    #[error("{why}; should that stay so: `converse ensembles login {ensemble}`")]
    Unrenewed { why: Box<OauthError>, ensemble: String },
    #[error("{0}")]
    Failed(String),
}

impl OauthError {
    /// The library's error; `secrets` are those that may stand in it: servers repeat what they refuse.
    pub(super) fn of(error: &AuthError, secrets: &[String]) -> Self {
        let message = match error {
            AuthError::AuthorizationServerMismatch { expected_issuer, received_issuer } => format!(
                "its authorization server should be {expected_issuer} and calls itself {received_issuer}; nothing was \
                 sent to it"
            ),
            AuthError::AuthorizationServerMissingIssuer { expected_issuer } => {
                format!("its authorization server should say that it is {expected_issuer}, and does not")
            }
            AuthError::PkceUnsupported => {
                "its authorization server does not take PKCE with S256, without which nothing is asked of it"
                    .to_owned()
            }
            AuthError::DiscoveryRequestFailed { source, .. } => {
                format!("its authorization server could not be found out: {source}")
            }
            AuthError::ProtectedResourceMetadataInvalid { .. } => {
                format!("what it says of its authorization cannot be used: {error}")
            }
            AuthError::InvalidScope(what) if what == "code" => {
                "its authorization server grants nothing by a browser".to_owned()
            }
            other => match other.source() {
                Some(cause) => format!("{other}: {cause}"),
                None => other.to_string(),
            },
        };
        Self::failed(&message, secrets)
    }

    pub(super) fn failed(message: &str, secrets: &[String]) -> Self {
        Self::Failed(sanitize::clean(&sanitize::redact(secrets, message.to_owned()), MOST))
    }
}
