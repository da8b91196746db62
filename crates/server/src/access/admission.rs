//! The admission of a request, and how long it is valid.

use std::sync::Arc;
use std::time::Duration;

use converse_gateway::Principal;
use serde_json::{Map, Value};

use super::tokens::{Digest, Tokens, label};
use super::views::Reach;

/// The admission of a request.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub(crate) principal: Principal,
    /// A label of the token for records; not a secret.
    pub(crate) who: Option<Arc<str>>,
    /// What the client may use.
    pub(crate) reach: Reach,
    /// The claims of a token of an issuer.
    pub(super) claims: Option<Arc<Map<String, Value>>>,
    validity: Validity,
}

#[derive(Debug, Clone)]
enum Validity {
    Open,
    Listed { tokens: Arc<Tokens>, digest: Digest },
    Issued { left: Duration },
}

impl Admission {
    /// Admission of the server itself, for what it does in the name of a principal.
    pub(crate) fn of(principal: Principal) -> Self {
        Self { principal, ..Self::open() }
    }

    pub(super) fn open() -> Self {
        Self {
            principal: Principal::Owner,
            who: None,
            reach: Reach::Everything,
            claims: None,
            validity: Validity::Open,
        }
    }

    pub(super) fn by_token(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        let validity = Validity::Listed { tokens: Arc::clone(tokens), digest };
        let (principal, who) = (Principal::of_digest(&digest), Some(label(&digest).into()));
        Self { principal, who, validity, ..Self::open() }
    }

    /// Admission by the token of the user who runs the server.
    pub(super) fn of_owner(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        Self { principal: Principal::Owner, ..Self::by_token(tokens, digest) }
    }

    /// Admission by a token with these claims that is valid for the duration `left`. `digest` identifies its subject.
    pub(super) fn by_issuer(who: &str, digest: &Digest, left: Duration, claims: Map<String, Value>) -> Self {
        Self {
            principal: Principal::of_digest(digest),
            who: Some(who.into()),
            claims: Some(Arc::new(claims)),
            validity: Validity::Issued { left },
            ..Self::open()
        }
    }

    /// Returns the SHA-256 of the token in hexadecimal digits, if it is from a list.
    pub(super) fn token_digest(&self) -> Option<String> {
        match &self.validity {
            Validity::Listed { digest, .. } => Some(converse_canister::Digest(*digest).to_string()),
            Validity::Open | Validity::Issued { .. } => None,
        }
    }

    /// Resolves when the token is no longer valid. A stream must not outlive its token.
    pub(crate) async fn expired(&self) {
        match &self.validity {
            Validity::Open => std::future::pending().await,
            Validity::Listed { tokens, digest } => tokens.removed(digest).await,
            Validity::Issued { left } => tokio::time::sleep(*left).await,
        }
    }

    /// Resolves when the token is removed from its list.
    pub(crate) async fn revoked(&self) {
        match &self.validity {
            Validity::Open | Validity::Issued { .. } => std::future::pending().await,
            Validity::Listed { tokens, digest } => tokens.removed(digest).await,
        }
    }
}
