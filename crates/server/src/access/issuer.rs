//! An authorization server, and what its tokens must say to be let in here.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use thiserror::Error;

use super::claims::{Claims, Wanted};
use super::keyring::{Keyring, Keys};
use super::place::Place;
use super::signature::Signed;
use super::{Admitted, Denied};

/// The well-known name of what is said about a resource (RFC 9728).
pub(super) const RESOURCE: &str = "oauth-protected-resource";

/// An authorization server whose tokens (signed JWTs) are let in.
#[derive(Debug)]
pub struct Issuer {
    wanted: Wanted,
    place: Place,
    keyring: Keyring,
}

/// Why an issuer or a resource cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AccessError {
    #[error(
        "`{0}` is no address of an authorization server: https://HOST[/PATH], or http:// on this machine"
    )]
    Issuer(String),
    #[error("`{0}` is no address of a resource: https://HOST/PATH, or http:// on this machine")]
    Resource(String),
    #[error("`{0}` is no scope")]
    Scope(String),
}

impl Issuer {
    /// Tokens of `issuer` that are meant for `resource` and have all of the scopes.
    pub fn new(
        issuer: &str,
        resource: &str,
        scopes: Vec<String>,
        keys: Arc<dyn Keys>,
    ) -> Result<Self, AccessError> {
        let home = Place::read(issuer).ok_or_else(|| AccessError::Issuer(issuer.to_owned()))?;
        let place = Place::read(resource).ok_or_else(|| AccessError::Resource(resource.to_owned()))?;
        if let Some(bad) = scopes.iter().find(|scope| !is_scope(scope)) {
            return Err(AccessError::Scope(bad.clone()));
        }
        let keyring = Keyring::new(issuer.to_owned(), home, keys);
        let wanted = Wanted { issuer: issuer.to_owned(), audience: resource.to_owned(), scopes };
        Ok(Self { wanted, place, keyring })
    }

    pub(super) async fn admit(&self, token: &str) -> Result<Admitted, Denied> {
        let signed = Signed::read(token).ok_or(Denied::Invalid)?;
        // Its claims first: keys are not fetched for a token that could not be let in whoever signed it.
        let claims = Claims::read(&signed.payload).ok_or(Denied::Invalid)?;
        self.wanted.judge(&claims, now())?;
        let keys = self.keyring.keys_for(&signed).await?;
        if !keys.iter().any(|key| signed.is_by(key)) {
            return Err(Denied::Invalid);
        }
        self.wanted.judge_scopes(&claims)?;
        Ok(Admitted::issued(&claims.who(), claims.left(now())))
    }

    pub(crate) fn scopes(&self) -> &[String] {
        &self.wanted.scopes
    }

    pub(super) fn metadata_url(&self) -> String {
        self.place.well_known(RESOURCE)
    }

    /// Is it one of the two addresses that say what is protected here?
    pub(crate) fn is_metadata(&self, path: &str) -> bool {
        let rest = path.strip_prefix("/.well-known/").and_then(|rest| rest.strip_prefix(RESOURCE));
        rest.is_some_and(|rest| rest.is_empty() || rest == self.place.path)
    }

    /// Protected resource metadata. <https://www.rfc-editor.org/rfc/rfc9728#section-2> (checked 2026-11)
    pub(crate) fn metadata(&self) -> Value {
        json!({
            "resource": self.wanted.audience,
            "authorization_servers": [self.wanted.issuer],
            "scopes_supported": self.wanted.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "converse",
        })
    }
}

/// `scope-token` of RFC 6749; anything else would also break the header it stands in.
fn is_scope(scope: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    !scope.is_empty() && scope.bytes().all(is_good)
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
