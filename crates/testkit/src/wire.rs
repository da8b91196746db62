//! A wire that answers by a function or a script, and records its requests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_debug_implementations,
    reason = "of tests"
)]

use std::collections::VecDeque;
use std::sync::Mutex;

use bytes::Bytes;
use converse_canister::Decision;
use converse_engine::{Approver, ByteStream, Wire, WireError, WireErrorKind};
use converse_ensemble::Pending;
use converse_provider::AuthScheme;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

/// The response to one request.
pub enum WireReply {
    /// A whole body.
    Body(u16, Value),
    /// Events of a stream, each a piece of its own.
    Events(Vec<String>),
    /// The same, and then nothing more: the connection stays open.
    Stalls(Vec<String>),
    /// Nothing.
    Fails(WireErrorKind),
    /// Nothing, for ever.
    Hangs,
    /// The head, and never a body.
    Silent,
}

impl WireReply {
    /// A refusal with the `code` of its error.
    #[must_use]
    pub fn refusal(status: u16, code: &str) -> Self {
        let error = json!({ "message": "no", "type": "invalid_request_error", "code": code });
        Self::Body(status, json!({ "error": error }))
    }

    /// One event for each value.
    pub fn events(values: impl IntoIterator<Item = Value>) -> Vec<String> {
        values.into_iter().map(|value| format!("data: {value}\n\n")).collect()
    }
}

type Answers = dyn Fn(&Value, usize) -> WireReply + Send + Sync;

/// Answers each request by its body and its number.
pub struct ScriptedWire {
    answers: Box<Answers>,
    requests: Mutex<Vec<Value>>,
}

impl ScriptedWire {
    pub fn new(answers: impl Fn(&Value, usize) -> WireReply + Send + Sync + 'static) -> Self {
        Self { answers: Box::new(answers), requests: Mutex::default() }
    }

    /// Gives the replies in their order. A request too many fails the test.
    #[must_use]
    pub fn following(replies: Vec<WireReply>) -> Self {
        let replies = Mutex::new(VecDeque::from(replies));
        Self::new(move |_, _| replies.lock().unwrap().pop_front().expect("a request too many"))
    }

    /// The bodies of all requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

impl Wire for ScriptedWire {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let number = {
            let mut requests = self.requests.lock().unwrap();
            requests.push(body.clone());
            requests.len() - 1
        };
        let pieces = |texts: Vec<String>| stream::iter(texts.into_iter().map(|text| Ok(Bytes::from(text))));
        let (status, kind, body) = match (self.answers)(&body, number) {
            WireReply::Body(status, body) => {
                (status, "application/json", pieces(vec![body.to_string()]).boxed())
            }
            WireReply::Events(events) => (200, "text/event-stream", pieces(events).boxed()),
            WireReply::Stalls(events) => {
                (200, "text/event-stream", pieces(events).chain(stream::pending()).boxed())
            }
            WireReply::Silent => (200, "application/json", stream::pending().boxed()),
            WireReply::Hangs => return std::future::pending().boxed(),
            WireReply::Fails(kind) => {
                let error = WireError { kind, message: "broken".to_owned() };
                return std::future::ready(Err(error)).boxed();
            }
        };
        let head = http::Response::builder().status(status).header("content-type", kind);
        std::future::ready(Ok(head.body(body).unwrap())).boxed()
    }
}

/// An approver that is not available.
pub struct Nobody;

impl Approver for Nobody {
    fn decide<'a>(&'a self, _: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        std::future::ready(Vec::new()).boxed()
    }

    fn can_ask(&self) -> bool {
        false
    }
}
