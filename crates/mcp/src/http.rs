//! A server reached by streamable HTTP, and what its errors mean.
//!
//! Headers and the address may hold secrets: no message here shows a header's value, nor user, password or query of an
//! address, and what the library says of either is not repeated.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11).

mod backoff;
mod client;
mod credentials;
mod error;
mod events;
mod parameters;
mod response;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use converse_config::SecretRef;
use http::header::{AUTHORIZATION, PROXY_AUTHORIZATION};
use http::{HeaderName, HeaderValue, Uri};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::Surroundings;
use crate::error::Failure;
use crate::handler::ToolListChanged;
use crate::sanitize;
pub(crate) use client::{Client, MAX_WAIT};
pub(crate) use credentials::Bearer;
pub(crate) use error::{DeliveryError, delivery_error, is_lost};
pub(crate) use parameters::Parameters;

/// Calls that may run at once; more wait.
const MAX_CALLS: usize = 64;
const MAX_RESUMES: usize = 8;
const MAX_RESUME_DELAY: Duration = Duration::from_secs(30);

/// An address as planned.
#[derive(Debug, Clone)]
pub(crate) struct HttpEndpoint {
    pub(crate) url: SecretRef,
    pub(crate) headers: Vec<(String, SecretRef)>,
    /// Who we are there beside that; `None`: nobody else.
    pub(crate) bearer: Option<Arc<dyn Bearer>>,
    /// Which arguments its tools want to see in headers.
    pub(crate) parameters: Arc<Parameters>,
}

/// The way to a server, and what no message may show.
pub(crate) struct Route {
    pub(crate) transport: StreamableHttpClientTransport<Client>,
    pub(crate) secrets: Vec<String>,
}

impl HttpEndpoint {
    /// `changed` is marked when the server has begun another session, and may be another version of itself.
    pub(crate) fn route(
        &self,
        surroundings: &Surroundings,
        changed: Arc<ToolListChanged>,
    ) -> Result<Route, Failure> {
        let address = self.url.read(&surroundings.environment)?;
        let uri: Uri = address.parse().map_err(|_| {
            Failure::Unusable("its `url` is not an address like `https://host/mcp`".to_owned())
        })?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => {
                return Err(Failure::Unusable(
                    "its `url` must begin with `http://` or `https://`".to_owned(),
                ));
            }
        };
        let mut secrets = secrets_of(&uri);
        let mut headers = HashMap::new();
        for (name, secret) in &self.headers {
            let value = secret.read(&surroundings.environment)?;
            let (name, sealed) = header(name, &value)?;
            secrets.extend(secrets_of_header(&name, &value));
            headers.insert(name, sealed);
        }
        let client = (surroundings.http)(https).map_err(Failure::Unusable)?;
        let client = Client::new(client, self.bearer.clone(), Arc::clone(&self.parameters), changed);
        let mut config = StreamableHttpClientTransportConfig::with_uri(address).custom_headers(headers);
        config.max_concurrent_requests = MAX_CALLS;
        config.retry_config = Arc::new(retries());
        Ok(Route { transport: StreamableHttpClientTransport::with_client(client, config), secrets })
    }
}

/// How often a broken event stream is taken up again: the library's default has no limit.
fn retries() -> ExponentialBackoff {
    let mut retries = ExponentialBackoff::default();
    retries.max_times = Some(MAX_RESUMES);
    retries.max_delay = Some(MAX_RESUME_DELAY);
    retries
}

fn secrets_of(uri: &Uri) -> Vec<String> {
    let user = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
    let user = user.into_iter().flat_map(|(user, _)| user.split(':'));
    let query = uri.query().into_iter().flat_map(|query| query.split('&'));
    let values = query.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    user.chain(values).map(str::to_owned).collect()
}

/// The words of a value, but for the scheme that credentials begin with: `Bearer` is an ordinary word.
fn secrets_of_header(name: &HeaderName, value: &str) -> Vec<String> {
    let mut words: Vec<_> = value.split_whitespace().map(str::to_owned).collect();
    if words.len() > 1 && (name == AUTHORIZATION || name == PROXY_AUTHORIZATION) {
        words.remove(0);
    }
    words
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let bad = |what: &str| Failure::Unusable(format!("the header `{}` {what}", sanitize::clean(name, 80)));
    let name = HeaderName::try_from(name).map_err(|_| bad("is not a header's name"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| bad("has a value that no header can have"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod secrecy {
    use super::*;

    #[test]
    fn ordinary_words_are_no_secrets() {
        for (name, value, secrets) in [
            ("authorization", "Bearer abcdefgh", vec!["abcdefgh"]),
            ("Authorization", "abcdefgh", vec!["abcdefgh"]),
            ("proxy-authorization", "Negotiate a b", vec!["a", "b"]),
            ("x-api-key", "one two", vec!["one", "two"]),
        ] {
            let name = HeaderName::try_from(name).unwrap();
            assert_eq!(secrets_of_header(&name, value), secrets, "{name}: {value}");
        }
        let uri: Uri = "https://somebody:password@host/mcp?api-key=abcdefgh&flag&x=a=b".parse().unwrap();
        assert_eq!(secrets_of(&uri), ["somebody", "password", "abcdefgh", "flag", "a=b"]);
    }
}
