//! Logging out: the stored token is deleted first, then revoked at the authorization server (<https://www.rfc-editor.org/rfc/rfc7009>,
//! checked 2026-11).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use converse_ensemble::ConnectError;
use http::Request;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::Url;
use rmcp::transport::auth::AuthorizationMetadata;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::authority::Authority;
use super::error::OauthError;
use super::grant::Grant;
use crate::McpConnection;

/// Time limit of a revocation.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The result of a logout. The stored token is deleted in every case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedOut {
    /// There was no token.
    Nothing,
    Forgotten,
    /// Why the authorization server may still accept the token.
    Unrevoked(String),
}

impl McpConnection {
    /// Deletes the stored token and revokes it at the authorization server. The revocation takes at most five seconds and
    /// stops when `enough` is cancelled.
    ///
    /// # Errors
    ///
    /// The connection has no `auth = "oauth"`, or the token could not be deleted.
    pub async fn log_out(&self, enough: &CancellationToken) -> Result<LoggedOut, ConnectError> {
        let logout = async { self.oauth()?.log_out(enough).await };
        logout.await.map_err(|error| self.oauth_failed(&error))
    }
}

impl Authority {
    pub(super) async fn log_out(&self, enough: &CancellationToken) -> Result<LoggedOut, OauthError> {
        let _attempts = self.attempts.lock().await;
        // A token that cannot be read is deleted as well.
        let stored = self.stored();
        self.forget().await?;
        let grant = match stored {
            Ok(Some(grant)) => grant,
            Ok(None) => return Ok(LoggedOut::Nothing),
            Err(error) => return Ok(LoggedOut::Unrevoked(error.to_string())),
        };
        let revoked = tokio::select! {
            biased;
            () = enough.cancelled() => Err(OauthError::Failed("the revocation was cancelled".to_owned())),
            revoked = self.revoked(&grant) => revoked,
        };
        Ok(revoked.map_or_else(
            |error| {
                LoggedOut::Unrevoked(OauthError::failed(&error.to_string(), &grant.secrets()).to_string())
            },
            |()| LoggedOut::Forgotten,
        ))
    }

    pub(super) async fn revoked(&self, grant: &Grant) -> Result<(), OauthError> {
        let late =
            |_| OauthError::Failed(format!("the token was not revoked within {} s", TIMEOUT.as_secs()));
        tokio::time::timeout(TIMEOUT, self.revoke(grant)).await.map_err(late)?
    }

    /// Revokes the refresh token, which includes its access tokens, or else the access token.
    async fn revoke(&self, grant: &Grant) -> Result<(), OauthError> {
        let server = self.discover(None).await?;
        let endpoint = server.metadata.additional_fields.get("revocation_endpoint").and_then(Value::as_str);
        // The server now uses another issuer, or the issuer has no revocation endpoint.
        let Some(endpoint) = endpoint.filter(|_| server.metadata.issuer == grant.issuer) else {
            return Ok(());
        };
        let secret = self.secret_of(&grant.client)?;
        let (token, hint) = match &grant.refresh {
            Some(refresh) => (refresh, "refresh_token"),
            None => (&grant.access, "access_token"),
        };
        let pairs = [("token", token.as_str()), ("token_type_hint", hint), ("client_id", &grant.client.id)];
        let in_form = secret.is_some() && wants_secret_in_form(&server.metadata);
        let header = secret.as_ref().filter(|_| !in_form).map(|secret| {
            let words = format!("{}:{}", encoded(&[("", &grant.client.id)]), encoded(&[("", secret)]));
            format!("Basic {}", STANDARD.encode(words))
        });
        let request = |with_secret: bool| {
            let secret = with_secret.then(|| ("client_secret", secret.as_deref().unwrap_or_default()));
            let pairs: Vec<_> = pairs.into_iter().chain(secret).collect();
            let mut request =
                Request::post(endpoint).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
            if let Some(header) = &header {
                request = request.header(AUTHORIZATION, header);
            }
            let request = request.body(encoded(&pairs).into_bytes());
            request.map_err(|_| OauthError::Failed("the revocation endpoint is not an address".to_owned()))
        };
        let exchange = |request| server.guarded_http.exchange(request);
        let mut answer = exchange(request(in_form)?).await.map_err(OauthError::Failed)?;
        // The Python SDK requires `client_secret` in the form, also of clients that have none or send a header
        // (`mcp.server.auth.handlers.revoke`, mcp 2.3.0, checked 2026-11).
        if !in_form && matches!(answer.status().as_u16(), 400 | 401) {
            answer = exchange(request(true)?).await.map_err(OauthError::Failed)?;
        }
        if answer.status().is_success() {
            return Ok(());
        }
        let code = server.guarded_http.refusal().map(|code| format!(" ({code})")).unwrap_or_default();
        let status = answer.status().as_u16();
        Err(OauthError::Failed(format!("the authorization server answered HTTP {status}{code}")))
    }
}

/// Returns whether the server takes a client secret only in the form; the header is the default (RFC 8414).
fn wants_secret_in_form(metadata: &AuthorizationMetadata) -> bool {
    let of = |endpoint: &str| {
        metadata.additional_fields.get(&format!("{endpoint}_endpoint_auth_methods_supported"))
    };
    let methods = of("revocation").or_else(|| of("token")).and_then(Value::as_array);
    let has = |method: &str| methods.is_some_and(|all| all.iter().any(|one| one == method));
    has("client_secret_post") && !has("client_secret_basic")
}

/// Encodes pairs as a form; with an empty name, only the value.
fn encoded(pairs: &[(&str, &str)]) -> String {
    let Ok(mut url) = Url::parse("http://form/") else { return String::new() };
    url.query_pairs_mut().extend_pairs(pairs);
    let query = url.query().unwrap_or_default();
    query.strip_prefix('=').unwrap_or(query).to_owned()
}
