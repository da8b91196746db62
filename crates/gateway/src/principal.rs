//! For whom a request is answered, and for how long.

use std::fmt;
use std::sync::Arc;

use converse_canister::Digest;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::Extensions;
use rmcp::service::RequestContext;
use tokio::task::unconstrained;

/// For whom a request is answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// The user who runs the server.
    Owner,
    /// A digest of the token, or of issuer and subject: 64 hexadecimal digits.
    Other(Arc<str>),
}

impl Principal {
    /// The principal whose token, or whose issuer and subject, have this SHA-256.
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        Self::Other(Digest(*digest).to_string().into())
    }

    /// The principal of a request: over stdio always the owner.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        Self::among(&context.extensions)
    }

    /// The principal of a message with these extensions.
    pub(crate) fn among(extensions: &Extensions) -> Self {
        Admitted::among(extensions).map_or(Self::Owner, |admitted| admitted.principal.clone())
    }
}

/// The end of streams that would be endless.
pub trait StreamEnd: Send + Sync {
    /// Resolves at shutdown, or when the token of the request is no longer valid or no longer leads here.
    fn reached(&self) -> BoxFuture<'_, ()>;

    /// Resolves when the token of the request is taken back or no longer leads here; never at the end of its time, after
    /// which a client uses a new one.
    fn revoked(&self) -> BoxFuture<'_, ()>;
}

/// An admitted request. An extension of the HTTP request.
#[derive(Clone)]
pub struct Admitted {
    pub principal: Principal,
    pub end: Arc<dyn StreamEnd>,
}

impl Admitted {
    fn of(context: &RequestContext<RoleServer>) -> Option<&Self> {
        Self::among(&context.extensions)
    }

    fn among(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<http::request::Parts>()?.extensions.get()
    }

    /// Resolves when a stream that answers the request must end. Never resolves for a request over stdio.
    pub(crate) async fn stream_end(context: &RequestContext<RoleServer>) {
        match Self::of(context) {
            Some(admitted) => admitted.end.reached().await,
            None => std::future::pending().await,
        }
    }

    /// Returns whether the token of a request was taken back since. That of a request over stdio cannot be.
    pub(crate) fn is_revoked(context: &RequestContext<RoleServer>) -> bool {
        // A task that has used up its budget would see a pending future.
        let is_revoked = |admitted: &Self| unconstrained(admitted.end.revoked()).now_or_never().is_some();
        Self::of(context).is_some_and(is_revoked)
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitted").field("principal", &self.principal).finish_non_exhaustive()
    }
}
