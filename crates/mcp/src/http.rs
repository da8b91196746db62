//! A server reached by streamable HTTP, and what its errors mean.
//!
//! Headers and the address may hold secrets: no message here shows a header's value, nor user, password or query of an
//! address, and what the library says of either is not repeated.
//! <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11).

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use converse_config::SecretRef;
use http::header::{AUTHORIZATION, PROXY_AUTHORIZATION};
use http::{HeaderName, HeaderValue, Uri};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};

use crate::Surroundings;
use crate::error::Failure;
use crate::words;

/// Bytes of one event of a stream.
const MAX_EVENT: usize = 16 * 1024 * 1024;
/// Calls that may run at once; more wait.
const MAX_CALLS: usize = 64;
const MAX_RESUMES: usize = 8;
const MAX_RESUME_DELAY: Duration = Duration::from_secs(30);

/// An address as planned.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub(crate) url: SecretRef,
    pub(crate) headers: Vec<(String, SecretRef)>,
}

/// The way to a server, and what no message may show.
pub(crate) struct Route {
    pub(crate) transport: StreamableHttpClientTransport<reqwest::Client>,
    pub(crate) secrets: Vec<String>,
}

impl Site {
    pub(crate) fn route(&self, surroundings: &Surroundings) -> Result<Route, Failure> {
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
        let mut config = StreamableHttpClientTransportConfig::with_uri(address)
            .custom_headers(headers)
            .max_sse_event_size(MAX_EVENT);
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
    let bad = |what: &str| Failure::Unusable(format!("the header `{}` {what}", words::cleaned(name, 80)));
    let name = HeaderName::try_from(name).map_err(|_| bad("is not a header's name"))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| bad("has a value that no header can have"))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// What became of a request that the transport could not deliver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It did not even get there.
    NotSent(String),
    /// The server said so.
    Unauthorized(u16),
    /// The server refused it: it was not run.
    Refused(String),
    /// It may have been run.
    Lost(String),
}

/// `None`: the error is not of this transport.
pub(crate) fn fault(error: &DynamicTransportError) -> Option<Fault> {
    let error = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>()?;
    Some(match error {
        StreamableHttpError::AuthRequired(_) => Fault::Unauthorized(401),
        StreamableHttpError::InsufficientScope(_) => Fault::Unauthorized(403),
        StreamableHttpError::Client(error) => client_fault(error),
        StreamableHttpError::HttpStatus(error) => {
            Fault::Refused(format!("it answered HTTP {}", error.status))
        }
        StreamableHttpError::UnexpectedServerResponse(text) => unexpected(text),
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = words::cleaned(kind.as_deref().unwrap_or("no content type"), 100);
            Fault::Lost(format!("it answered with {kind} instead of JSON or an event stream"))
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => {
            Fault::Lost(format!("it answered with more than {max_size} bytes"))
        }
        StreamableHttpError::ReservedHeaderConflict(name) => {
            Fault::NotSent(format!("the header `{name}` is the protocol's own: take it out of `headers`"))
        }
        StreamableHttpError::SessionExpired => {
            Fault::Refused("its session had ended and a new one could not be had".to_owned())
        }
        StreamableHttpError::ReinitializationFailed(error) => Fault::Refused(format!(
            "its session had ended, and it refused a new one: {}",
            words::cleaned(&error.message, words::ERROR)
        )),
        StreamableHttpError::TransportChannelClosed => Fault::NotSent("the connection is closed".to_owned()),
        StreamableHttpError::Sse(_) => {
            Fault::Lost("its event stream broke, or an event was too long".to_owned())
        }
        _ => Fault::Lost("the exchange broke off".to_owned()),
    })
}

fn client_fault(error: &reqwest::Error) -> Fault {
    if let Some(status) = error.status() {
        return match status.as_u16() {
            status @ (401 | 403) => Fault::Unauthorized(status),
            status => Fault::Refused(format!("it answered HTTP {status}")),
        };
    }
    // The outermost words would show the whole address.
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let said = if std::ptr::eq(cause, error as &dyn Error) { String::new() } else { cause.to_string() };
    let said = words::cleaned(&said, words::ERROR);
    if error.is_connect() {
        Fault::NotSent(if said.is_empty() { "no connection".to_owned() } else { said })
    } else if error.is_builder() {
        Fault::NotSent("its `url` cannot be requested".to_owned())
    } else if error.is_redirect() {
        Fault::Refused("it redirects to where requests may not be sent".to_owned())
    } else {
        Fault::Lost(if said.is_empty() { "the exchange broke off".to_owned() } else { said })
    }
}

/// The library's words for a status it has no name for: `HTTP 404 Not Found: …`.
fn unexpected(text: &str) -> Fault {
    let status = text.strip_prefix("HTTP ").and_then(|rest| rest.get(..3)).and_then(|code| code.parse().ok());
    match status {
        Some(status @ (401 | 403)) => Fault::Unauthorized(status),
        Some(_) => Fault::Refused(format!("it answered {}", words::cleaned(text, 300))),
        None => {
            Fault::Lost(format!("it answered with what could not be read: {}", words::cleaned(text, 300)))
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotSent(text) => Self::Unreachable(text),
            Fault::Unauthorized(status) => Self::Unauthorized(status),
            Fault::Refused(text) | Fault::Lost(text) => Self::Nonsense(text),
        }
    }
}

#[cfg(test)]
mod tests {
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
