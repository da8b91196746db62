//! The streamable HTTP transport: its configuration, its errors and the secrets in both.
//!
//! Headers and the address may contain secrets. No message shows the value of a header, or the user, password or query
//! of an address, and error texts of the HTTP library that could contain them are not repeated.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11).

mod backoff;
mod client;
mod credentials;
mod error;
mod events;
mod listening;
mod old;
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
pub(crate) use error::{DeliveryError, delivery_error, handshake_failure, is_lost};
use old::EventStreamAddress;
pub(crate) use parameters::Parameters;

/// Number of requests in flight; further ones wait.
const MAX_CALLS: usize = 64;
const MAX_RESUMES: usize = 8;
const MAX_RESUME_DELAY: Duration = Duration::from_secs(30);

/// The planned address of a server and its request headers.
#[derive(Debug, Clone)]
pub(crate) struct HttpEndpoint {
    pub(crate) url: SecretRef,
    pub(crate) headers: Vec<(String, SecretRef)>,
    /// Source of access tokens; `None` without `auth = "oauth"`.
    pub(crate) bearer: Option<Arc<dyn Bearer>>,
    /// Arguments that tools require as headers.
    pub(crate) parameters: Arc<Parameters>,
}

/// A transport to a server, and the secrets that messages must not contain.
pub(crate) struct Route {
    pub(crate) transport: StreamableHttpClientTransport<Client>,
    pub(crate) secrets: Vec<String>,
    /// For a server that does not answer on `transport`.
    pub(crate) old: EventStreamAddress,
}

impl HttpEndpoint {
    /// Creates the transport. `changed` is marked when a new session starts, because the server may have been updated.
    pub(crate) fn route(
        &self,
        surroundings: &Surroundings,
        changed: Arc<ToolListChanged>,
    ) -> Result<Route, Failure> {
        let address = self.url.read(&surroundings.environment)?;
        let uri: Uri = address.parse().map_err(|_| {
            Failure::Unusable("`url` is not an address such as `https://host/mcp`".to_owned())
        })?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => {
                return Err(Failure::Unusable("`url` must begin with `http://` or `https://`".to_owned()));
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
        let old =
            EventStreamAddress { client: client.clone(), url: address.clone(), headers: headers.clone() };
        let mut config = StreamableHttpClientTransportConfig::with_uri(address).custom_headers(headers);
        config.max_concurrent_requests = MAX_CALLS;
        // The default of the library resumes a broken event stream without limit.
        let mut retries = ExponentialBackoff::default();
        (retries.max_times, retries.max_delay) = (Some(MAX_RESUMES), Some(MAX_RESUME_DELAY));
        config.retry_config = Arc::new(retries);
        Ok(Route { transport: StreamableHttpClientTransport::with_client(client, config), secrets, old })
    }
}

fn secrets_of(uri: &Uri) -> Vec<String> {
    let user = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
    let user = user.into_iter().flat_map(|(user, _)| user.split(':'));
    let query = uri.query().into_iter().flat_map(|query| query.split('&'));
    let values = query.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    user.chain(values).map(str::to_owned).collect()
}

/// Returns the words of a header value without the authentication scheme, because `Bearer` is not a secret.
fn secrets_of_header(name: &HeaderName, value: &str) -> Vec<String> {
    let mut words: Vec<_> = value.split_whitespace().map(str::to_owned).collect();
    if words.len() > 1 && (name == AUTHORIZATION || name == PROXY_AUTHORIZATION) {
        words.remove(0);
    }
    words
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let bad = |what: &str| Failure::Unusable(format!("the header `{}` {what}", sanitize::clean(name, 80)));
    let name = HeaderName::try_from(name).map_err(|_| bad("has a name that is not valid"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| bad("has a value that is not valid"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod secrecy {
    use super::*;

    #[test]
    fn an_authentication_scheme_is_not_a_secret() {
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
