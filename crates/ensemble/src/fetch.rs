//! The ports to HTTP for tools. The host implements them, because it knows proxies and certificates. Nothing here opens a
//! socket.
//!
//! [`Fetch`] goes to places that the user's settings name, [`Reach`] to places that a model names. In `Reach`, resolving and
//! connecting are two steps, so that this crate decides between them which addresses may be connected to.

use std::net::IpAddr;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Uri};

/// HTTP for tools, one request at a time. Follows no redirect and repeats nothing.
pub trait Fetch: Send + Sync {
    /// Sends a request and reads at most `limit` bytes of the (decompressed) body. The caller drops the future when it
    /// has waited long enough; the implementation limits the time to connect.
    fn fetch<'a>(
        &'a self,
        request: Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// A response of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    /// The header as it was sent.
    pub content_type: Option<String>,
    pub body: Bytes,
    /// Whether there was more than `body`.
    pub truncated: bool,
    /// Target of a redirect, which is not followed.
    pub location: Option<String>,
    /// Each `WWW-Authenticate` header, as it was sent.
    pub challenges: Vec<String>,
}

/// Why there is no response. The texts contain no header values and no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Nothing was sent: no address, no connection, no handshake.
    #[error("{0}")]
    Unreachable(String),
    /// The same, because this process has no file descriptor left.
    #[error("{0}")]
    NoDescriptors(String),
    /// The request may have been sent, and its effect is unknown.
    #[error("{0}")]
    Broken(String),
    /// Nothing was sent, and a retry would not help: the request itself cannot be made.
    #[error("{0}")]
    Refused(String),
}

/// HTTP to places that a model names, one request at a time. Follows no redirect, repeats nothing, sends no cookie.
pub trait Reach: Send + Sync {
    /// Returns all addresses of a name, as this machine resolves it. The implementation limits the time.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Vec<IpAddr>, FetchError>>;

    /// Returns whether a proxy of the user handles requests to this URI.
    fn has_proxy(&self, uri: &Uri) -> bool;

    /// The same as [`Fetch::fetch`], but only on the given way.
    fn fetch_by<'a>(
        &'a self,
        request: Request<Bytes>,
        way: Way,
        limit: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// How a request travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// To one of these addresses, without resolving the name again.
    Direct(Vec<IpAddr>),
    /// To the user's proxy, which resolves the name itself.
    Proxy,
}
