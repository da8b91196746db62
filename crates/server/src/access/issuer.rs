//! An authorization server, and the claims that its tokens must have.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use thiserror::Error;

use super::claims::{Claims, RequiredClaims, all_claims};
use super::keyring::{KeyFetcher, Keyring, Report};
use super::oauth_url::OauthUrl;
use super::signature::SignedToken;
use super::{Admission, Denied};

/// The well-known name of protected resource metadata (RFC 9728).
pub(super) const RESOURCE: &str = "oauth-protected-resource";

/// An authorization server whose tokens (signed JWTs) give access.
#[derive(Debug)]
pub struct Issuer {
    required: RequiredClaims,
    place: OauthUrl,
    keyring: Keyring,
}

/// Why an issuer or a resource cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AccessError {
    #[error(
        "`{0}` is not a URL of an authorization server: expected https://HOST[/PATH], or http:// on this machine"
    )]
    Issuer(String),
    #[error("`{0}` is not a URL of a resource: expected https://HOST/PATH, or http:// on this machine")]
    Resource(String),
    #[error("`{0}` is not a scope: expected visible ASCII without quotes and `\\`")]
    Scope(String),
}

impl Issuer {
    /// Accepts tokens of `issuer` for `resource` that have all `scopes`.
    ///
    /// # Errors
    ///
    /// Fails if a URL or a scope is not valid.
    pub fn new(
        issuer: &str,
        resource: &str,
        scopes: Vec<String>,
        keys: Arc<dyn KeyFetcher>,
    ) -> Result<Self, AccessError> {
        let home = OauthUrl::read(issuer).ok_or_else(|| AccessError::Issuer(issuer.to_owned()))?;
        let place = OauthUrl::read(resource).ok_or_else(|| AccessError::Resource(resource.to_owned()))?;
        if let Some(bad) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AccessError::Scope(bad.clone()));
        }
        let keyring = Keyring::new(issuer.to_owned(), home, keys);
        let required = RequiredClaims { issuer: issuer.to_owned(), audience: resource.to_owned(), scopes };
        Ok(Self { required, place, keyring })
    }

    /// Reports when the keys of the issuer are no longer available, and when they are again, in one line each.
    #[must_use]
    pub fn with_report(mut self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.keyring.report = Report(Arc::new(report));
        self
    }

    pub(super) async fn admit(&self, token: &str) -> Result<Admission, Denied> {
        let signed = SignedToken::read(token).ok_or(Denied::Invalid)?;
        // The claims come first, so that no keys are fetched for a token that is refused in any case.
        let claims = Claims::read(&signed.payload).ok_or(Denied::Invalid)?;
        self.required.check(&claims, now())?;
        let keys = self.keyring.keys_for(&signed).await?;
        if !keys.iter().any(|key| signed.is_signed_by(key)) {
            return Err(Denied::Invalid);
        }
        self.required.check_scopes(&claims)?;
        let holder = claims.holder(&signed.payload);
        let all = all_claims(&signed.payload);
        Ok(Admission::by_issuer(&claims.who(), &holder, claims.left(now()), all))
    }

    pub(crate) fn scopes(&self) -> &[String] {
        &self.required.scopes
    }

    pub(super) fn metadata_url(&self) -> String {
        self.place.well_known(RESOURCE)
    }

    /// Returns whether the path is one of the two well-known paths of the metadata.
    pub(crate) fn is_metadata(&self, path: &str) -> bool {
        let rest = path.strip_prefix("/.well-known/").and_then(|rest| rest.strip_prefix(RESOURCE));
        rest.is_some_and(|rest| rest.is_empty() || rest == self.place.path)
    }

    /// Protected resource metadata. <https://www.rfc-editor.org/rfc/rfc9728#section-2> (checked 2026-11)
    pub(crate) fn metadata(&self) -> Value {
        json!({
            "resource": self.required.audience,
            "authorization_servers": [self.required.issuer],
            "scopes_supported": self.required.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "converse",
        })
    }
}

/// `scope-token` of RFC 6749. Other characters would also break the `WWW-Authenticate` header.
fn is_scope(scope: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !scope.is_empty() && scope.bytes().all(is_good)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
