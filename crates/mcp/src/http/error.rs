//! What became of a request over HTTP that has no answer, and what that means for whoever asked.

use std::error::Error;
use std::time::Duration;

use rmcp::model::ErrorData;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::error::Failure;
use crate::sanitize;

pub(super) type HttpError = StreamableHttpError<ClientError>;

/// Why our own client has no answer. Texts are cleaned; they may still hold what no message may show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("the request failed")]
    Request(#[from] reqwest::Error),
    /// There is no token, or none that is taken: why.
    #[error("{0}")]
    Denied(String),
    #[error("unauthorized ({0})")]
    Unauthorized(u16),
    /// It does not take requests now.
    #[error("busy ({status})")]
    Busy { status: u16, after: Option<Duration> },
    #[error("HTTP {status}")]
    Status { status: u16, message: String },
    /// It does not know the session, in its own words.
    #[error("the session is gone")]
    Gone(String),
    /// Something came that is no answer, or nothing.
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

/// What became of a request that the transport could not deliver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeliveryError {
    /// It did not even get there.
    NotSent(String),
    /// It cannot be sent as it is, however often that is tried.
    Unsendable(String),
    /// The server says that it has forgotten the session, in these words: in one that it knew before, nothing was run.
    Gone(String),
    /// The server takes no requests now: try again later.
    Busy { status: u16, after: Option<Duration> },
    /// The server said so, and nobody here can do anything about it.
    Unauthorized(u16),
    /// There is no token for it, in words for the user.
    Denied(String),
    /// The server refused it: it was not run.
    Refused(String),
    /// It may have been run.
    Lost(String),
}

impl DeliveryError {
    /// The message of [`ClientError::Busy`].
    pub(crate) fn busy(status: u16, after: Option<Duration>) -> String {
        let pause = after.map(|after| format!(", and asks to be left alone for {} s", after.as_secs()));
        format!("it answered HTTP {status}{}", pause.unwrap_or_default())
    }
}

/// `None`: the error is not of this transport.
pub(crate) fn delivery_error(error: &DynamicTransportError) -> Option<DeliveryError> {
    let error = error.error.downcast_ref::<HttpError>()?;
    Some(match error {
        StreamableHttpError::Client(error) => known(error),
        StreamableHttpError::ReservedHeaderConflict(name) => DeliveryError::Unsendable(format!(
            "the header `{name}` is the protocol's own: take it out of `headers`"
        )),
        StreamableHttpError::SessionExpired => {
            DeliveryError::Refused("its session had ended and a new one could not be had".to_owned())
        }
        StreamableHttpError::ReinitializationFailed(error) => DeliveryError::Refused(format!(
            "its session had ended, and it refused a new one: {}",
            sanitize::clean(&error.message, sanitize::MAX_ERROR)
        )),
        StreamableHttpError::TransportChannelClosed => {
            DeliveryError::NotSent("the connection is closed".to_owned())
        }
        _ => DeliveryError::Lost("the exchange broke off".to_owned()),
    })
}

fn known(error: &ClientError) -> DeliveryError {
    match error {
        ClientError::Request(error) => failed(error),
        ClientError::Denied(words) => DeliveryError::Denied(words.clone()),
        ClientError::Unauthorized(status) => DeliveryError::Unauthorized(*status),
        ClientError::Busy { status, after } => DeliveryError::Busy { status: *status, after: *after },
        ClientError::Status { status: status @ 300..=399, .. } => DeliveryError::Refused(format!(
            "it redirects (HTTP {status}) to where requests may not be sent: put that address into `url`"
        )),
        ClientError::Status { status: status @ 500.., .. } => {
            // Whatever broke there may have done so at the end.
            DeliveryError::Lost(format!("it answered HTTP {status}"))
        }
        ClientError::Status { status, message } if message.is_empty() => {
            DeliveryError::Refused(format!("it answered HTTP {status}"))
        }
        ClientError::Status { status, message } => {
            DeliveryError::Refused(format!("it answered HTTP {status}: {message}"))
        }
        ClientError::Gone(said) => DeliveryError::Gone(said.clone()),
        ClientError::Lost(text) => DeliveryError::Lost(text.clone()),
        ClientError::Unsendable(text) => DeliveryError::Unsendable(text.clone()),
    }
}

fn failed(error: &reqwest::Error) -> DeliveryError {
    let said = innermost(error);
    let or = |other: &str| if said.is_empty() { other.to_owned() } else { said.clone() };
    if error.is_connect() {
        DeliveryError::NotSent(or("no connection"))
    } else if error.is_builder() {
        DeliveryError::Unsendable("its `url` cannot be requested".to_owned())
    } else if error.is_redirect() {
        DeliveryError::Refused("it redirects to where requests may not be sent".to_owned())
    } else {
        DeliveryError::Lost(or("the exchange broke off"))
    }
}

/// The outermost words would show the whole address.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let said = if std::ptr::eq(cause, error as &dyn Error) { String::new() } else { cause.to_string() };
    sanitize::clean(&said, sanitize::MAX_ERROR)
}

impl From<DeliveryError> for Failure {
    fn from(fault: DeliveryError) -> Self {
        match fault {
            DeliveryError::NotSent(text) => Self::Unreachable(text),
            DeliveryError::Unsendable(text) => Self::Unusable(text),
            DeliveryError::Unauthorized(status) => Self::Unauthorized(status),
            DeliveryError::Denied(words) => Self::Denied(words),
            DeliveryError::Busy { status, after } => {
                Self::Busy { message: DeliveryError::busy(status, after), after }
            }
            DeliveryError::Gone(_) => {
                Self::Nonsense("it does not know the session that it began itself".to_owned())
            }
            DeliveryError::Refused(text) | DeliveryError::Lost(text) => Self::Nonsense(text),
        }
    }
}

/// The words of an answer that went down with its event stream. The library gives us no other place for them.
const LOST: &str = "the answer was lost: ";

/// An answer of our own to a request whose answer will not come any more.
pub(super) fn lost(why: &str) -> ErrorData {
    ErrorData::internal_error(format!("{LOST}{why}"), None)
}

/// Was it [`lost`], or the library's own words for a call whose answer went down with a session?
pub(crate) fn is_lost(error: &ErrorData) -> bool {
    error.message.starts_with(LOST)
        || error.message.contains("session was re-initialized before the response arrived")
}
