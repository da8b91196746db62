//! The wires of a recording and of a replay.

use std::sync::Arc;

use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError, WireErrorKind};
use converse_provider::AuthScheme;
use converse_session::Redact;
use converse_session::cassette::{
    Broken, Entry, Exchange, Kept, Miss, Player, Question, Recorder, Reply, Response,
};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::response::Parts;
use serde_json::{Map, Value};

use crate::model::Model;
use crate::secrets::Redactor;

/// Of one response.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// What decoders read, and how requests are named to those who are asked for help.
const HEADERS: [&str; 8] = [
    "content-type",
    "request-id",
    "x-request-id",
    "x-generation-id",
    "apim-request-id",
    "retry-after",
    "retry-after-ms",
    "x-should-retry",
];

/// Whose request it is, and which part of its address is only where that is.
#[derive(Debug, Clone)]
struct Whose {
    model: String,
    dialect: &'static str,
    base: String,
}

impl Whose {
    fn of(model: &Model) -> Self {
        let base: Option<http::Uri> = model.endpoint.base_url.parse().ok();
        let base = base.map(|base| base.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        Self { model: model.id.clone(), dialect: model.endpoint.dialect.label(), base }
    }

    fn question(&self, request: &http::Request<Bytes>, redact: &dyn Redact) -> Question {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let path = path.strip_prefix(self.base.as_str()).filter(|rest| rest.starts_with('/')).unwrap_or(path);
        Question::new(&self.model, request.method().as_str(), path, request.body(), redact)
    }
}

/// Asks, and writes down what was said.
#[derive(Debug)]
pub(super) struct RecordedWire<W> {
    inner: W,
    recorder: Arc<Recorder>,
    whose: Whose,
}

impl<W> RecordedWire<W> {
    pub(super) fn new(inner: W, recorder: Arc<Recorder>, model: &Model) -> Self {
        Self { inner, recorder, whose: Whose::of(model) }
    }
}

impl Wire for RecordedWire<Box<dyn Wire>> {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        async move {
            let question = self.whose.question(&request, self.recorder.redact());
            let mut taking = Taking {
                recorder: Arc::clone(&self.recorder),
                dialect: self.whose.dialect,
                question: Some(question),
                began: self.recorder.begins(),
                head: None,
                body: Vec::new(),
                broken: None,
            };
            let response = self.inner.send(request, auth).await;
            let (head, body) = response.inspect_err(|error| taking.broke(error))?.into_parts();
            taking.head = Some((head.status.as_u16(), headers(&head)));
            let body = body.map(move |piece| {
                taking.heard(&piece);
                piece
            });
            Ok(http::Response::from_parts(head, body.boxed()))
        }
        .boxed()
    }
}

fn headers(head: &Parts) -> Map<String, Value> {
    let dated = head.headers.contains_key("retry-after").then_some("date");
    let text = |name: &'static str| Some((name.to_owned(), head.headers.get(name)?.to_str().ok()?.into()));
    HEADERS.into_iter().chain(dated).filter_map(text).collect()
}

/// An exchange that goes on. It is written when it ends, however it does.
struct Taking {
    recorder: Arc<Recorder>,
    dialect: &'static str,
    question: Option<Question>,
    began: u64,
    head: Option<(u16, Map<String, Value>)>,
    body: Vec<u8>,
    broken: Option<Broken>,
}

impl Taking {
    fn heard(&mut self, piece: &Result<Bytes, WireError>) {
        match piece {
            Ok(bytes) if self.body.len() + bytes.len() > MAX_BODY => {
                self.recorder.fail(format!("a response is larger than {} MiB", MAX_BODY / 1024 / 1024));
            }
            Ok(bytes) => self.body.extend_from_slice(bytes),
            Err(error) => self.broke(error),
        }
    }

    fn broke(&mut self, error: &WireError) {
        self.broken = Some(Broken { kind: word(error.kind).to_owned(), message: error.message.clone() });
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let Some(Question { model, request }) = self.question.take() else { return };
        let broken = self.broken.take();
        let reply = match self.head.take() {
            Some((status, headers)) => {
                let kind = headers.get("content-type").and_then(Value::as_str).unwrap_or_default();
                let body = Kept::of(kind, &self.body, self.recorder.redact());
                Reply::Response(Response { status, headers, body, broken })
            }
            None => Reply::Failed(broken.unwrap_or_else(|| {
                let message = "the recorded request was given up before a response came".to_owned();
                Broken { kind: word(WireErrorKind::Broken).to_owned(), message }
            })),
        };
        let dialect = self.dialect.to_owned();
        let began = self.began;
        self.recorder.write(&Entry::Model(Exchange { model, dialect, request, began, reply }));
    }
}

/// Says what was written down.
#[derive(Debug)]
pub(super) struct ReplayedWire {
    player: Arc<Player>,
    redactor: Redactor,
    whose: Whose,
}

impl ReplayedWire {
    pub(super) fn new(player: Arc<Player>, redactor: Redactor, model: &Model) -> Self {
        Self { player, redactor, whose: Whose::of(model) }
    }

    fn answered(&self, request: &http::Request<Bytes>) -> Result<http::Response<ByteStream>, WireError> {
        let question = self.whose.question(request, &self.redactor);
        let Response { status, headers, body, broken } = match self.player.reply(&question).map_err(missed)? {
            Reply::Response(response) => response,
            Reply::Failed(broken) => return Err(failed(broken)),
        };
        let mut response = http::Response::builder().status(status);
        for (name, value) in &headers {
            response = response.header(name, value.as_str().unwrap_or_default());
        }
        let damaged = |message: String| WireError { kind: WireErrorKind::Request, message };
        let pieces = body.pieces().map_err(damaged)?.into_iter().map(Ok);
        let pieces = pieces.chain(broken.map(|broken| Err(failed(broken))));
        let body = stream::iter(pieces.collect::<Vec<_>>()).boxed();
        response.body(body).map_err(|error| damaged(error.to_string()))
    }
}

impl Wire for ReplayedWire {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        Box::pin(std::future::ready(self.answered(&request)))
    }
}

/// A model that is asked, while tools are replayed: not after one of them was missed.
pub(super) struct GuardedWire {
    pub(super) inner: Box<dyn Wire>,
    pub(super) player: Arc<Player>,
}

impl Wire for GuardedWire {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        auth: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        match self.player.guard() {
            Ok(()) => self.inner.send(request, auth),
            Err(miss) => Box::pin(std::future::ready(Err(missed(miss)))),
        }
    }
}

/// Returns the error of a kind that is neither retried nor sent to a fallback.
fn missed(miss: Miss) -> WireError {
    WireError { kind: WireErrorKind::Request, message: miss.message }
}

const KINDS: [(WireErrorKind, &str); 6] = [
    (WireErrorKind::NoDescriptors, "no_descriptors"),
    (WireErrorKind::Connection, "connection"),
    (WireErrorKind::Broken, "broken"),
    (WireErrorKind::NoSuchHost, "no_such_host"),
    (WireErrorKind::Tls, "tls"),
    (WireErrorKind::Request, "request"),
];

fn word(kind: WireErrorKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("broken", |(_, word)| word)
}

fn failed(broken: Broken) -> WireError {
    let kind =
        KINDS.iter().find(|(_, word)| *word == broken.kind).map_or(WireErrorKind::Broken, |(kind, _)| *kind);
    WireError { kind, message: broken.message }
}
