//! Ports: how the loop reaches providers, people and sinks.

use std::time::Duration;

use bytes::Bytes;
use converse_canister::{Canister, Decision, User};
use converse_ensemble::Pending;
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::{Map, Value};

use crate::Event;

pub type ByteStream = BoxStream<'static, Result<Bytes, WireError>>;

/// Carries a request to a provider. Adds the key (requests never contain it) and limits the time to connect.
pub trait Wire: Send + Sync {
    /// Waits until another attempt may begin. This wait counts for no timeout of the attempt. The default does not wait.
    fn admit(&self) -> BoxFuture<'_, Box<dyn Admitted>> {
        Box::pin(std::future::ready(Box::new(()) as Box<dyn Admitted>))
    }

    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>>;
}

/// An attempt that has begun. Dropped when it has ended.
pub trait Admitted: Send {
    /// The provider refused the attempt because of its rate or its load, and asks to wait this long.
    fn refused(&mut self, _asked: Option<Duration>) {}
}

impl Admitted for () {}

/// Why a response did not come, or not completely.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    pub kind: WireErrorKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireErrorKind {
    /// No connection: refused, no route, timeout, a name that cannot be resolved at the moment. A retry may help.
    Connection,
    /// This process has no file descriptor left. A retry may help.
    NoDescriptors,
    /// The connection was lost. A retry may help.
    Broken,
    /// The host name does not exist.
    NoSuchHost,
    /// A wrong certificate or protocol. A retry does not help.
    Tls,
    /// The request could not be built (bad URL, no key).
    Request,
}

/// Asks a person about several invocations at once. Returns one decision for each, in order.
pub trait Approver: Send + Sync {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>>;

    /// Returns whether a person is available. If not, pending invocations are refused without a question.
    fn can_ask(&self) -> bool;

    /// Returns whether the answers come later. Then the turn ends before anything of this reply runs
    /// ([`Ending::Postponed`](crate::Ending::Postponed)), and a turn without a new message goes on with it.
    fn postpones(&self, _pending: &[Pending]) -> bool {
        false
    }

    /// Returns edited arguments as models may see them, without secrets.
    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        arguments.clone()
    }
}

impl<A: Approver + ?Sized> Approver for &A {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        (**self).decide(pending)
    }

    fn can_ask(&self) -> bool {
        (**self).can_ask()
    }

    fn postpones(&self, pending: &[Pending]) -> bool {
        (**self).postpones(pending)
    }

    fn redacted(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        (**self).redacted(arguments)
    }
}

/// Checks the final answer of a turn.
pub trait AnswerCheck: Send + Sync {
    /// Returns the value of `text`, which has no code fence around it.
    ///
    /// # Errors
    ///
    /// Checks an answer. Returns its value, or a description of the errors for the model.
    fn check(&self, text: &str) -> Result<Value, String>;
}

/// Receives every event. An error stops the run before the next effect.
pub trait Sink: Send + Sync {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError>;

    /// Waits until all accepted events are durable. The default does not wait: it is for sinks whose events are durable
    /// when [`emit`](Self::emit()) returns.
    fn settle(&self) -> BoxFuture<'_, Result<(), SinkError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// The reader of the output has gone (`| head -1`): end quietly.
    #[error("the output is closed")]
    Closed,
    #[error("the output could not be written: {0}")]
    Output(String),
    #[error("the session could not be saved: {0}")]
    Save(String),
    #[error("the audit log could not be written: {0}")]
    Audit(String),
}

/// Words of the user for the turn that runs. They are taken when every call of a reply has its result, right before the model is
/// called again: never between a call and its result, and not after the last reply.
pub trait Steering: Send + Sync {
    /// Takes the next message, which joins the conversation at once.
    fn take(&self) -> Option<User>;
}

/// What a step of a turn is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Call a model.
    CallModel,
    /// Run the approved invocations of a reply.
    Invoke,
}

/// Carries a turn from step to step, in this process or across processes. Without a runner, the driver begins each step at
/// once.
pub trait Runner: Send + Sync {
    /// Resolves when the next step may begin. Every sink has accepted what the steps before it did.
    ///
    /// # Errors
    ///
    /// The turn continues in another process or later: here it ends, and nothing more is reported.
    fn begin(&self, act: Act) -> BoxFuture<'_, Result<(), Released>>;
}

/// A turn that a [`Runner`] has ended in this process, without an [`Ending`](crate::Ending).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the turn was released; it continues elsewhere or later")]
pub struct Released;

/// The ports of one turn.
#[derive(Clone, Copy)]
pub struct Ports<'a> {
    pub approver: &'a dyn Approver,
    /// In order: sinks that make events durable come before sinks that show them.
    pub sinks: &'a [&'a dyn Sink],
    /// Returns a number in [0, 1) for the jitter of retries.
    pub jitter: &'a (dyn Fn() -> f64 + Sync),
    pub runner: Option<&'a dyn Runner>,
    pub steering: Option<&'a dyn Steering>,
}

impl Ports<'_> {
    /// Reports a canister that joins the conversation from outside the loop, such as the user's question.
    pub fn append(&self, canister: &Canister) -> Result<(), SinkError> {
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
