//! HTTP for tools, by reqwest: one request, no redirects, a limited body.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use converse_ensemble::{Fetch, FetchError, Fetched};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _};
use http::Request;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, WWW_AUTHENTICATE};
use reqwest::Client;

use crate::client::{Cause, CauseKind, ClientPlan, Clients, Redirects, Reuse, cause_of};

#[derive(Debug)]
pub struct HttpFetch(Clients);

impl HttpFetch {
    pub fn new(connect_timeout: Duration) -> Self {
        Self(Clients::new(ClientPlan { connect_timeout, redirects: Redirects::Never, reuse: Reuse::Never }))
    }
}

impl Fetch for HttpFetch {
    fn fetch<'a>(
        &'a self,
        request: Request<Bytes>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        async move {
            let client = self.0.to(request.uri()).map_err(unbuilt)?;
            exchange(client, request, limit).await
        }
        .boxed()
    }
}

/// Sends a request with any client.
pub async fn exchange(client: &Client, request: Request<Bytes>, limit: usize) -> Result<Fetched, FetchError> {
    let request = reqwest::Request::try_from(request).map_err(|error| failed(&error))?;
    let response = client.execute(request).await.map_err(|error| failed(&error))?;
    let status = response.status().as_u16();
    let content_type = header(response.headers(), CONTENT_TYPE);
    let location = header(response.headers(), LOCATION);
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenges = challenges.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect();
    let mut pieces = response.bytes_stream();
    let mut body = BytesMut::new();
    let mut truncated = false;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| failed(&error))?;
        let wanted = piece.len().min(limit - body.len());
        body.extend_from_slice(&piece[..wanted]);
        if wanted < piece.len() {
            truncated = true;
            break;
        }
    }
    Ok(Fetched { status, content_type, body: body.freeze(), truncated, location, challenges })
}

/// There is no client for the request.
pub(crate) fn unbuilt(cause: Cause) -> FetchError {
    FetchError::Refused(cause.message)
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn failed(error: &reqwest::Error) -> FetchError {
    let cause = cause_of(error);
    match cause.kind {
        CauseKind::Request => FetchError::Refused(cause.message),
        CauseKind::Tls | CauseKind::Unreachable | CauseKind::NoSuchHost => {
            FetchError::Unreachable(cause.message)
        }
        CauseKind::NoDescriptors => FetchError::NoDescriptors(cause.message),
        CauseKind::Broken => FetchError::Broken(cause.message),
    }
}
