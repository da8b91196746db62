//! Somebody who was let in, and for how long.

use std::sync::Arc;
use std::time::Duration;

use super::tokens::{Digest, Tokens, named};

/// Somebody who was let in.
#[derive(Debug, Clone)]
pub(crate) struct Admitted {
    /// Who it is, as far as that is known; for records, not a secret.
    pub(crate) who: Option<Arc<str>>,
    pass: Pass,
}

#[derive(Debug, Clone)]
enum Pass {
    Open,
    Agreed { tokens: Arc<Tokens>, digest: Digest },
    Issued { left: Duration },
}

impl Admitted {
    pub(super) fn open() -> Self {
        Self { who: None, pass: Pass::Open }
    }

    pub(super) fn agreed(tokens: &Arc<Tokens>, digest: Digest) -> Self {
        let pass = Pass::Agreed { tokens: Arc::clone(tokens), digest };
        Self { who: Some(named(&digest).into()), pass }
    }

    /// By a token that is good for so long from now on.
    pub(super) fn issued(who: &str, left: Duration) -> Self {
        Self { who: Some(who.into()), pass: Pass::Issued { left } }
    }

    /// When it would not be let in any more: what goes on without an end must not outlive its token.
    pub(crate) async fn over(&self) {
        match &self.pass {
            Pass::Open => std::future::pending().await,
            Pass::Agreed { tokens, digest } => tokens.gone(digest).await,
            Pass::Issued { left } => tokio::time::sleep(*left).await,
        }
    }
}
