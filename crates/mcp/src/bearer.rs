//! Who we are to a server over HTTP, beside the headers that its descriptor declares.

use futures_util::future::BoxFuture;

/// Gives each request its token, and has it renewed when the server no longer takes it.
pub(crate) trait Bearer: std::fmt::Debug + Send + Sync {
    /// What to send; `None`: nothing is known yet, the server will say what it wants.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>>;

    /// The server refused `sent` (401, or 403 for want of a scope) with this `WWW-Authenticate`. Another token, to try
    /// once more with, or why there is none: in words for the user, free of secrets.
    fn challenged<'a>(
        &'a self,
        status: u16,
        sent: Option<&'a str>,
        challenge: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;
}
