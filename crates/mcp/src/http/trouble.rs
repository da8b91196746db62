//! What became of a request over HTTP that has no answer, and what that means for whoever asked.

use std::error::Error;
use std::time::Duration;

use rmcp::model::ErrorData;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::error::Failure;
use crate::words;

pub(super) type HttpError = StreamableHttpError<Trouble>;

/// Why our own client has no answer. Texts are cleaned; they may still hold what no message may show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
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
    Status { status: u16, said: String },
    /// It does not know the session, in its own words.
    #[error("the session is gone")]
    Gone(String),
    /// Something came that is no answer, or nothing.
    #[error("{0}")]
    Lost(String),
    #[error("{0}")]
    Unsendable(String),
}

impl From<Trouble> for HttpError {
    fn from(trouble: Trouble) -> Self {
        Self::Client(trouble)
    }
}

/// What became of a request that the transport could not deliver.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
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

impl Fault {
    /// What is said of [`Fault::Busy`].
    pub(crate) fn busy(status: u16, after: Option<Duration>) -> String {
        let pause = after.map(|after| format!(", and asks to be left alone for {} s", after.as_secs()));
        format!("it answered HTTP {status}{}", pause.unwrap_or_default())
    }
}

/// `None`: the error is not of this transport.
pub(crate) fn fault(error: &DynamicTransportError) -> Option<Fault> {
    let error = error.error.downcast_ref::<HttpError>()?;
    Some(match error {
        StreamableHttpError::Client(trouble) => known(trouble),
        StreamableHttpError::ReservedHeaderConflict(name) => {
            Fault::Unsendable(format!("the header `{name}` is the protocol's own: take it out of `headers`"))
        }
        StreamableHttpError::SessionExpired => {
            Fault::Refused("its session had ended and a new one could not be had".to_owned())
        }
        StreamableHttpError::ReinitializationFailed(error) => Fault::Refused(format!(
            "its session had ended, and it refused a new one: {}",
            words::cleaned(&error.message, words::ERROR)
        )),
        StreamableHttpError::TransportChannelClosed => Fault::NotSent("the connection is closed".to_owned()),
        _ => Fault::Lost("the exchange broke off".to_owned()),
    })
}

fn known(trouble: &Trouble) -> Fault {
    match trouble {
        Trouble::Request(error) => failed(error),
        Trouble::Denied(words) => Fault::Denied(words.clone()),
        Trouble::Unauthorized(status) => Fault::Unauthorized(*status),
        Trouble::Busy { status, after } => Fault::Busy { status: *status, after: *after },
        Trouble::Status { status: status @ 300..=399, .. } => Fault::Refused(format!(
            "it redirects (HTTP {status}) to where requests may not be sent: put that address into `url`"
        )),
        Trouble::Status { status: status @ 500.., .. } => {
            // Whatever broke there may have done so at the end.
            Fault::Lost(format!("it answered HTTP {status}"))
        }
        Trouble::Status { status, said } if said.is_empty() => {
            Fault::Refused(format!("it answered HTTP {status}"))
        }
        Trouble::Status { status, said } => Fault::Refused(format!("it answered HTTP {status}: {said}")),
        Trouble::Gone(said) => Fault::Gone(said.clone()),
        Trouble::Lost(text) => Fault::Lost(text.clone()),
        Trouble::Unsendable(text) => Fault::Unsendable(text.clone()),
    }
}

fn failed(error: &reqwest::Error) -> Fault {
    let said = innermost(error);
    let or = |other: &str| if said.is_empty() { other.to_owned() } else { said.clone() };
    if error.is_connect() {
        Fault::NotSent(or("no connection"))
    } else if error.is_builder() {
        Fault::Unsendable("its `url` cannot be requested".to_owned())
    } else if error.is_redirect() {
        Fault::Refused("it redirects to where requests may not be sent".to_owned())
    } else {
        Fault::Lost(or("the exchange broke off"))
    }
}

/// The outermost words would show the whole address.
pub(super) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let said = if std::ptr::eq(cause, error as &dyn Error) { String::new() } else { cause.to_string() };
    words::cleaned(&said, words::ERROR)
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotSent(text) => Self::Unreachable(text),
            Fault::Unsendable(text) => Self::Unusable(text),
            Fault::Unauthorized(status) => Self::Unauthorized(status),
            Fault::Denied(words) => Self::Denied(words),
            Fault::Busy { status, after } => Self::Busy { said: Fault::busy(status, after), after },
            Fault::Gone(_) => Self::Nonsense("it does not know the session that it began itself".to_owned()),
            Fault::Refused(text) | Fault::Lost(text) => Self::Nonsense(text),
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
