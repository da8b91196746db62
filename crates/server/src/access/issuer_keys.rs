//! The keys of an authorization server, fetched over HTTP.

use std::time::Duration;

use bytes::Bytes;
use converse_host::client::{ClientPlan, Clients, Redirects, Reuse};
use converse_host::fetch::exchange;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Request;
use http::header::ACCEPT;

use super::keyring::KeyFetcher;

/// The time for a request of issuer keys.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer with issuer keys, in bytes.
const MAX_BYTES: usize = 256 * 1024;

/// Fetches the keys of an authorization server over HTTP.
#[derive(Debug)]
pub struct IssuerKeys(Clients);

impl Default for IssuerKeys {
    fn default() -> Self {
        Self(Clients::new(ClientPlan {
            connect_timeout: TIMEOUT,
            redirects: Redirects::Never,
            reuse: Reuse::Never,
        }))
    }
}

impl IssuerKeys {
    async fn get(&self, url: &str) -> Result<Vec<u8>, String> {
        let request = Request::get(url).header(ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|error| error.to_string())?;
        let client = self.0.to(request.uri()).map_err(|cause| cause.message)?;
        let exchanged = tokio::time::timeout(TIMEOUT, exchange(client, request, MAX_BYTES));
        let fetched = exchanged.await.map_err(|_| format!("{url} did not answer in time"))?;
        let fetched = fetched.map_err(|error| error.to_string())?;
        match fetched.status {
            200 if fetched.truncated => Err(format!("{url} answered with more than {MAX_BYTES} bytes")),
            200 => Ok(fetched.body.into()),
            status => Err(format!("{url} answered {status}")),
        }
    }
}

impl KeyFetcher for IssuerKeys {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        self.get(url).boxed()
    }
}
