//! [`GuardedHttp`]: the HTTP client that rmcp uses for OAuth. Every address is checked, its name is resolved here, and
//! only checked addresses are connected to. Redirects are not followed. A body has at most 1 MiB, and an exchange takes
//! at most 30 s.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_ensemble::{Fetched, Reach, Way};
use http::header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{Method, Request, Response, Uri};
use parking_lot::Mutex;
use reqwest::Url;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;

use super::destinations::{self, ServerOrigin};

const MAX_BODY: usize = 1024 * 1024;
const TIMEOUT: Duration = Duration::from_secs(30);
/// Limit of the first request to the server itself, which may answer with an endless stream instead of a challenge.
const PROBE: Duration = Duration::from_secs(10);

pub(super) struct GuardedHttp {
    reach: Arc<dyn Reach>,
    server_origin: ServerOrigin,
    /// Why the last request failed; the library does not report it.
    failed: Mutex<Option<String>>,
    /// The `error` field of the last response, if it was a client error.
    refused: Mutex<Option<String>>,
}

impl GuardedHttp {
    pub(super) fn new(reach: Arc<dyn Reach>, server_origin: ServerOrigin) -> Self {
        Self { reach, server_origin, failed: Mutex::default(), refused: Mutex::default() }
    }

    /// Returns the error code (RFC 6749) of the last response.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refused.lock().clone()
    }

    /// Returns why the last request got no answer.
    pub(super) fn failure(&self) -> Option<String> {
        self.failed.lock().clone()
    }

    /// Sends a request and returns the response with any status.
    pub(super) async fn exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let answered = self.checked_exchange(request).await;
        *self.failed.lock() = answered.as_ref().err().cloned();
        *self.refused.lock() = answered.as_ref().ok().and_then(code_of);
        answered
    }

    async fn checked_exchange(&self, request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let url = self.server_origin.check(&request.uri().to_string())?;
        let is_probe = request.method() == Method::GET && url == self.server_origin.url;
        let (limit, most) = if is_probe { (PROBE, 0) } else { (TIMEOUT, MAX_BODY) };
        let fetched = tokio::time::timeout(limit, async {
            let way = self.way(&url, request.uri()).await?;
            let fetching = self.reach.fetch_by(request.map(Into::into), way, most);
            fetching.await.map_err(|error| error.to_string())
        });
        let fetched = match fetched.await {
            Ok(fetched) => fetched?,
            Err(_) if is_probe => return response(204, None, &[], None, Vec::new()),
            Err(_) => return Err(format!("{} did not answer in time", place(&url))),
        };
        let Fetched { status, content_type, body, truncated, location, challenges } = fetched;
        if truncated && !is_probe {
            return Err(format!("{} answered with more than {MAX_BODY} bytes", place(&url)));
        }
        response(status, content_type, &challenges, location, body.to_vec())
    }

    async fn way(&self, url: &Url, uri: &Uri) -> Result<Way, String> {
        if self.reach.has_proxy(uri) {
            return Ok(Way::Proxy);
        }
        let addresses: Vec<IpAddr> = match (destinations::address(url), url.domain()) {
            (Some(address), _) => vec![address],
            (None, Some(name)) => self.reach.resolve(name).await.map_err(|error| error.to_string())?,
            (None, None) => return Err(format!("{} names no host", place(url))),
        };
        self.server_origin.check_addresses(url, &addresses)?;
        Ok(Way::Direct(addresses))
    }
}

impl OAuthHttpClient for GuardedHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move { self.exchange(request.request).await.map_err(OAuthHttpClientError::from) })
    }
}

fn code_of(answer: &Response<Vec<u8>>) -> Option<String> {
    let body: Value =
        answer.status().is_client_error().then(|| serde_json::from_slice(answer.body()).ok())??;
    body.get("error").and_then(Value::as_str).map(str::to_owned)
}

fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn response(
    status: u16,
    content_type: Option<String>,
    challenges: &[String],
    location: Option<String>,
    body: Vec<u8>,
) -> Result<Response<Vec<u8>>, String> {
    let mut response = Response::builder().status(status);
    for challenge in challenges {
        response = response.header(WWW_AUTHENTICATE, challenge);
    }
    for (name, value) in [(CONTENT_TYPE, content_type), (LOCATION, location)] {
        if let Some(value) = value {
            response = response.header(name, value);
        }
    }
    response.body(body).map_err(|_| "the answer could not be read".to_owned())
}
