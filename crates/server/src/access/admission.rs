//! The admission of a request, and how long it is valid.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::ViewName;
use converse_gateway::Principal;
use serde_json::{Map, Value};

use super::tokens::{Digest, Tokens, label};
use super::views::{Reach, ViewAccess};

/// The admission of a request.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub(crate) principal: Principal,
    /// A label of the token for records; not a secret.
    pub(crate) who: Option<Arc<str>>,
    /// What the client may use.
    pub(crate) reach: Reach,
    /// The view that the request uses; `None` for all tools, and what is served beside MCP.
    pub(super) place: Option<ViewName>,
    /// The claims of a token of an issuer.
    pub(super) claims: Option<Arc<Map<String, Value>>>,
    /// Where a token leads at any time; `None` if all lead to everything.
    pub(super) views: Option<ViewAccess>,
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
            place: None,
            claims: None,
            views: None,
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

    /// Returns the admission of a request that uses this view, or with `None` all tools.
    pub(crate) fn at(self, place: Option<ViewName>) -> Self {
        Self { place, ..self }
    }

    /// Returns the SHA-256 of the token in hexadecimal digits, if it is from a list.
    pub(super) fn token_digest(&self) -> Option<String> {
        match &self.validity {
            Validity::Listed { digest, .. } => Some(converse_canister::Digest(*digest).to_string()),
            Validity::Open | Validity::Issued { .. } => None,
        }
    }

    /// Resolves when the token is no longer valid, or no longer leads to what the request uses. A stream must not outlive it.
    pub(crate) async fn expired(&self) {
        let over = async {
            match &self.validity {
                Validity::Issued { left } => tokio::time::sleep(*left).await,
                Validity::Open | Validity::Listed { .. } => std::future::pending().await,
            }
        };
        tokio::select! {
            () = over => {}
            () = self.revoked() => {}
        }
    }

    /// Resolves when the token is removed from its list, or no longer leads to what the request uses.
    pub(crate) async fn revoked(&self) {
        let removed = async {
            match &self.validity {
                Validity::Listed { tokens, digest } => tokens.removed(digest).await,
                Validity::Open | Validity::Issued { .. } => std::future::pending().await,
            }
        };
        let lost = async {
            match &self.views {
                Some(views) => views.lost(self, self.place.as_ref()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = removed => {}
            () = lost => {}
        }
    }
}
