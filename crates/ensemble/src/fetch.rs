//! The port to HTTP for tools. The adapter is the program's: it knows proxies and certificates; here nothing opens a
//! socket.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::Request;

/// HTTP for tools, one request at a time. Follows no redirect and repeats nothing.
pub trait Fetch: Send + Sync {
    /// Reads at most `limit` bytes of the (decompressed) body and leaves the rest. The caller drops the future when it
    /// has waited long enough; the adapter bounds the time to connect.
    fn fetch<'a>(
        &'a self,
        request: Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>>;
}

/// What a server answered, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    pub status: u16,
    /// The header as it was sent.
    pub content_type: Option<String>,
    pub body: Bytes,
    /// There was more than `body`.
    pub truncated: bool,
    /// Where a redirect points to; not followed.
    pub location: Option<String>,
    /// Each `WWW-Authenticate`, as it was sent.
    pub challenges: Vec<String>,
}

/// Why there is no answer. The texts name no header's value and no query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// Nothing was sent: no address, no connection, no handshake.
    #[error("{0}")]
    Unreachable(String),
    /// It may have been sent, and nobody knows what came of it.
    #[error("{0}")]
    Broken(String),
    /// Nothing was sent, and nothing would be at another try: the request itself cannot be made.
    #[error("{0}")]
    Refused(String),
}
