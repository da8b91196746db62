//! What the loop needs of the world.

use bytes::Bytes;
use converse_canister::{Canister, Decision};
use converse_ensemble::Pending;
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

use crate::Event;

pub type ByteStream = BoxStream<'static, Result<Bytes, WireError>>;

/// Carries a request to a provider. Adds the key (requests never hold one) and bounds connecting.
pub trait Wire: Send + Sync {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>>;
}

/// Why nothing, or nothing more, came back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    pub kind: WireErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireErrorKind {
    /// None was made: refused, no route, a timeout, a name that cannot be looked up just now. May pass.
    Connection,
    /// It was made and was lost. May pass.
    Broken,
    /// Whoever knows names says that there is none like it.
    NoSuchHost,
    /// A certificate or protocol that will be the same next time.
    Tls,
    /// The request could not even be made (bad URL, no key).
    Request,
}

/// Asks somebody about several invocations at once. One decision each, in order.
pub trait Approver: Send + Sync {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>>;

    /// False when nobody can be asked: what waits for an answer is then refused without a question.
    fn can_ask(&self) -> bool;

    /// What models are told of arguments that were edited: without what is not for them.
    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        arguments.clone()
    }
}

/// Says whether the last words of a turn are what was asked for.
pub trait AnswerCheck: Send + Sync {
    /// `text` without a code fence around it; the value that it stands for, or what is wrong with it, in words for the
    /// model.
    fn check(&self, text: &str) -> Result<Value, String>;
}

/// Takes every event. An error stops the run before the next effect.
pub trait Sink: Send + Sync {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError>;

    /// Waits until what was accepted is durable. A sink that sees to it while it accepts has nothing to wait for; one
    /// that hears many at once may do it for all of them together.
    fn settle(&self) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// Nobody reads the output any more (`| head -1`): end quietly.
    #[error("the output is closed")]
    Closed,
    #[error("the output could not be written: {0}")]
    Output(String),
    #[error("the session could not be saved: {0}")]
    Save(String),
    #[error("the audit log could not be written: {0}")]
    Audit(String),
}

/// The world as the loop sees it.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    pub approver: &'a dyn Approver,
    /// In order: what must be durable stands before what is shown.
    pub sinks: &'a [&'a dyn Sink],
    /// A number in [0, 1) for the jitter of retries.
    pub jitter: &'a (dyn Fn() -> f64 + Sync),
}

impl Ports<'_> {
    /// A canister that joins the conversation from outside the loop: the user's words.
    pub fn tell(&self, canister: &Canister) -> Result<(), SinkError> {
        self.emit(&Event::Appended(canister))
    }

    pub(crate) fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        self.sinks.iter().try_for_each(|sink| sink.emit(event))
    }
}

impl std::fmt::Debug for Ports<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ports").field("sinks", &self.sinks.len()).finish_non_exhaustive()
    }
}
