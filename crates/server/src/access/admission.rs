//! The admission of a request, and how long it is valid.

use std::sync::Arc;
use std::time::Duration;

use super::tokens::{Digest, Tokens, label};

/// Whose sessions a request sees.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Principal {
    /// The user who runs the server.
    Owner,
    /// A digest of the token, or of issuer and subject: 64 hexadecimal digits.
    Other(Arc<str>),
}

impl Principal {
    fn of(digest: &Digest) -> Self {
        Self::Other(digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }
}

/// The admission of a request.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub(crate) principal: Principal,
    /// A label of the token for records; not a secret.
    pub(crate) who: Option<Arc<str>>,
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
        Self { principal: Principal::Owner, who: None, validity: Validity::Open }
    }

    pub(super) fn by_token(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        let validity = Validity::Listed { tokens: Arc::clone(tokens), digest };
        Self { principal: Principal::of(&digest), who: Some(label(&digest).into()), validity }
    }

    /// Admission by the token of the user who runs the server.
    pub(super) fn of_owner(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        Self { principal: Principal::Owner, ..Self::by_token(tokens, digest) }
    }

    /// Admission by a token that is valid for the duration `left`. `digest` identifies its subject.
    pub(super) fn by_issuer(who: &str, digest: &Digest, left: Duration) -> Self {
        Self { principal: Principal::of(digest), who: Some(who.into()), validity: Validity::Issued { left } }
    }

    /// Resolves when the token is no longer valid. A stream must not outlive its token.
    pub(crate) async fn expired(&self) {
        match &self.validity {
            Validity::Open => std::future::pending().await,
            Validity::Listed { tokens, digest } => tokens.removed(digest).await,
            Validity::Issued { left } => tokio::time::sleep(*left).await,
        }
    }
}
