//! Errors of requests over HTTP, classified by whether the request may have run.

use std::error::Error;
use std::time::Duration;

use converse_process::{NO_DESCRIPTORS, lacks_descriptors};
use rmcp::model::ErrorData;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::error::Failure;
use crate::sanitize;

pub(super) type HttpError = StreamableHttpError<ClientError>;

/// Why [`Client`](super::Client) has no answer. Texts are cleaned but may still contain secrets.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("the request failed")]
    Request(#[from] reqwest::Error),
    /// Why there is no token that the server accepts.
    #[error("{0}")]
    Denied(String),
    #[error("unauthorized ({0})")]
    Unauthorized(u16),
    /// The server accepts no requests now.
    #[error("busy ({status})")]
    Busy { status: u16, after: Option<Duration> },
    #[error("HTTP {status}")]
    Status { status: u16, message: String },
    /// The server does not know the session, with the text of its answer.
    #[error("the session is gone")]
    Gone(String),
    /// Nothing was received, or something that is not an answer.
    #[error("{0}")]
    Lost(String),
    #[error("{0}")]
    Unsendable(String),
}

impl From<ClientError> for HttpError {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// Why the transport has no answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeliveryError {
    /// The request did not reach the server.
    NotSent(String),
    /// The same, because this process has no file descriptor left.
    NoDescriptors,
    /// The request cannot be sent; a retry is useless.
    Unsendable(String),
    /// The server does not know the session, with the text of its answer. If it knew the session before, the request
    /// did not run.
    Gone(String),
    /// The server accepts no requests now; a later retry may succeed.
    Busy { status: u16, after: Option<Duration> },
    /// The server refused the request with status 401 or 403, and there is no source of tokens.
    Unauthorized(u16),
    /// Why there is no token, for the user.
    Denied(String),
    /// The server refused the request, which did not run.
    Refused(String),
    /// The request may have run.
    Lost(String),
}

impl DeliveryError {
    /// Describes [`ClientError::Busy`], for example `HTTP 503, retry after 5 s`.
    pub(crate) fn busy(status: u16, after: Option<Duration>) -> String {
        let pause = after.map(|after| format!(", retry after {} s", after.as_secs()));
        format!("HTTP {status}{}", pause.unwrap_or_default())
    }
}

/// Describes why a handshake got no answer. Returns `None` if it is not an error of this transport.
pub(crate) fn handshake_failure(error: &DynamicTransportError) -> Option<Failure> {
    let failure = Failure::from(delivery_error(error)?);
    // The statuses after which a server may be one of the old transport (revision 2025-03-26, backwards compatibility).
    let is_refused = matches!(
        error.error.downcast_ref(),
        Some(HttpError::Client(ClientError::Status { status: 400 | 404 | 405, .. }))
    );
    Some(match failure {
        Failure::Nonsense(text) if is_refused => Failure::NoHandshake(text),
        failure => failure,
    })
}

/// Classifies an error. Returns `None` if it is not an error of this transport.
pub(crate) fn delivery_error(error: &DynamicTransportError) -> Option<DeliveryError> {
    let error = error.error.downcast_ref::<HttpError>()?;
    Some(match error {
        StreamableHttpError::Client(error) => known(error),
        StreamableHttpError::ReservedHeaderConflict(name) => DeliveryError::Unsendable(format!(
            "the header `{name}` is reserved by the protocol: remove it from `headers`"
        )),
        StreamableHttpError::SessionExpired => {
            DeliveryError::Refused("the session expired and no new session could be started".to_owned())
        }
        StreamableHttpError::ReinitializationFailed(error) => DeliveryError::Refused(format!(
            "the session expired and the server refused a new one: {}",
            sanitize::clean(&error.message, sanitize::MAX_ERROR)
        )),
        StreamableHttpError::TransportChannelClosed => {
            DeliveryError::NotSent("the connection is closed".to_owned())
        }
        _ => DeliveryError::Lost("the connection broke".to_owned()),
    })
}

pub(super) fn known(error: &ClientError) -> DeliveryError {
    match error {
        ClientError::Request(error) => failed(error),
        ClientError::Denied(words) => DeliveryError::Denied(words.clone()),
        ClientError::Unauthorized(status) => DeliveryError::Unauthorized(*status),
        ClientError::Busy { status, after } => DeliveryError::Busy { status: *status, after: *after },
        ClientError::Status { status: status @ 300..=399, .. } => DeliveryError::Refused(format!(
            "the server redirects (HTTP {status}), which is not followed: put the new address into `url`"
        )),
        ClientError::Status { status: status @ 500.., .. } => {
            // The server may have failed after the request ran.
            DeliveryError::Lost(format!("the server answered HTTP {status}"))
        }
        ClientError::Status { status, message } if message.is_empty() => {
            DeliveryError::Refused(format!("the server answered HTTP {status}"))
        }
        ClientError::Status { status, message } => {
            DeliveryError::Refused(format!("the server answered HTTP {status}: {message}"))
        }
        ClientError::Gone(text) => DeliveryError::Gone(text.clone()),
        ClientError::Lost(text) => DeliveryError::Lost(text.clone()),
        ClientError::Unsendable(text) => DeliveryError::Unsendable(text.clone()),
    }
}

fn failed(error: &reqwest::Error) -> DeliveryError {
    let text = innermost(error);
    let or = |other: &str| if text.is_empty() { other.to_owned() } else { text.clone() };
    if lacks_descriptors(error) {
        DeliveryError::NoDescriptors
    } else if error.is_connect() {
        DeliveryError::NotSent(or("no connection"))
    } else if error.is_builder() {
        DeliveryError::Unsendable("`url` cannot be requested".to_owned())
    } else if error.is_redirect() {
        DeliveryError::Refused("the server redirects, which is not followed".to_owned())
    } else {
        DeliveryError::Lost(or("the connection broke"))
    }
}

/// Returns the text of the innermost cause; the outer ones contain the whole address.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = if std::ptr::eq(cause, error as &dyn Error) { String::new() } else { cause.to_string() };
    sanitize::clean(&text, sanitize::MAX_ERROR)
}

impl From<DeliveryError> for Failure {
    fn from(fault: DeliveryError) -> Self {
        match fault {
            DeliveryError::NotSent(text) => Self::Unreachable(text),
            DeliveryError::NoDescriptors => Self::NoDescriptors(NO_DESCRIPTORS.to_owned()),
            DeliveryError::Unsendable(text) => Self::Unusable(text),
            DeliveryError::Unauthorized(status) => Self::Unauthorized(status),
            DeliveryError::Denied(words) => Self::Denied(words),
            DeliveryError::Busy { status, after } => Self::Busy {
                message: format!("the server answered {}", DeliveryError::busy(status, after)),
                after,
            },
            DeliveryError::Gone(_) => {
                Self::Nonsense("the server does not know the session that it has just started".to_owned())
            }
            DeliveryError::Refused(text) | DeliveryError::Lost(text) => Self::Nonsense(text),
        }
    }
}

/// Prefix that marks an answer lost with its event stream; the library has no other place for that mark.
const LOST: &str = "the answer was lost: ";

/// Builds an error response for a request whose answer was lost.
pub(super) fn lost(why: &str) -> ErrorData {
    ErrorData::internal_error(format!("{LOST}{why}"), None)
}

/// Returns whether the error was built by [`lost`] or is the library's error for an answer lost with its session.
pub(crate) fn is_lost(error: &ErrorData) -> bool {
    error.message.starts_with(LOST)
        || error.message.contains("session was re-initialized before the response arrived")
}
