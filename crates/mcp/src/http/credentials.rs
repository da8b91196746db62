//! Access tokens of requests, and their renewal after a challenge.

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response};

use super::client::Inner;
use super::error::ClientError;

/// Provides the bearer token of each HTTP request and renews it when the server rejects it.
pub(crate) trait Bearer: std::fmt::Debug + Send + Sync {
    /// Returns the token to send; `None` if none is known yet (the server's challenge will say what it needs).
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, String>>;

    /// Returns another token after the server refused `sent` with status 401, or 403 for a missing scope, and this
    /// `WWW-Authenticate` value.
    ///
    /// # Errors
    ///
    /// Why there is no token, as a message for the user without secrets.
    fn challenged<'a>(
        &'a self,
        status: u16,
        sent: Option<&'a str>,
        challenge: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;
}

/// Challenges answered per request.
const MAX_CHALLENGES: u32 = 4;
const MAX_CHALLENGE: usize = 4096;

impl Inner {
    /// Sends a request with a token and answers challenges. `request` builds the request of each attempt.
    pub(super) async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, ClientError> {
        let mut token = match &self.bearer {
            Some(bearer) => bearer.token().await.map_err(ClientError::Denied)?,
            None => None,
        };
        let mut challenges = 0;
        loop {
            let request = match &token {
                Some(token) => request().header(AUTHORIZATION, bearing(token)?),
                None => request(),
            };
            let response = request.send().await?;
            let challenge = challenge(&response);
            let status = match response.status() {
                StatusCode::UNAUTHORIZED => 401,
                StatusCode::FORBIDDEN if challenge.contains("insufficient_scope") => 403,
                _ => return Ok(response),
            };
            let bearer = self.bearer.as_ref().filter(|_| challenges < MAX_CHALLENGES);
            let bearer = bearer.ok_or(ClientError::Unauthorized(status))?;
            challenges += 1;
            drop(response);
            let another = bearer.challenged(status, token.as_deref(), &challenge).await;
            token = Some(another.map_err(ClientError::Denied)?);
        }
    }
}

pub(super) fn bearing(token: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| ClientError::Denied("the access token is not a valid header value".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn challenge(response: &Response) -> String {
    let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let mut challenge = values.join(", ");
    challenge.truncate(challenge.floor_char_boundary(MAX_CHALLENGE));
    challenge
}
