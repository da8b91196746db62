//! The admission of a request, and how long it is valid.

use std::sync::Arc;
use std::time::Duration;

use super::tokens::{Digest, Tokens, label};

/// The admission of a request.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
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
    pub(super) fn open() -> Self {
        Self { who: None, validity: Validity::Open }
    }

    pub(super) fn by_token(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        let validity = Validity::Listed { tokens: Arc::clone(tokens), digest };
        Self { who: Some(label(&digest).into()), validity }
    }

    /// Admission by a token that is valid for the duration `left`.
    pub(super) fn by_issuer(who: &str, left: Duration) -> Self {
        Self { who: Some(who.into()), validity: Validity::Issued { left } }
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
