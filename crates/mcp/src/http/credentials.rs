//! Who we are with each request, and again when the server does not believe it.

use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response};

use super::client::Inner;
use super::error::ClientError;

/// Times that another token is asked for, for one request.
const MAX_CHALLENGES: u32 = 4;
const MAX_CHALLENGE: usize = 4096;

impl Inner {
    /// The answer, if it is one to who we are. `request` is built anew for each try.
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
        .map_err(|_| ClientError::Denied("the token it gave is none that a header can hold".to_owned()))?;
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
