//! Event streams as answers: each message is decoded here and passed to the library in a form that it cannot misread.
//!
//! The library guesses the type of a result and silently drops results that it cannot read. Here such a result becomes
//! text, or an error for the caller.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use super::client::Inner;
use super::error::{innermost, lost};
use super::events::{Event, MAX_EVENT, Parser};

/// Limits of the `retry` delay before a broken stream is resumed, in milliseconds.
const RETRY: std::ops::RangeInclusive<u64> = 100..=30_000;

pub(super) type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A stream that is being read.
struct Reading {
    client: Arc<Inner>,
    response: reqwest::Response,
    parser: Parser,
    ready: VecDeque<Sse>,
    /// The request that the stream answers; `None` once it is answered.
    own: Option<i64>,
    /// Whether an event had an id, so that the stream can be resumed.
    resumable: bool,
    /// Whether the stream was requested with GET and is not the answer to a request.
    requested_stream: bool,
    /// The id of the last event.
    event: Option<String>,
    /// Number of requests for the stream since its last event.
    times: u32,
    ended: bool,
}

/// Reads the stream that answers the request `own`.
pub(super) fn read(client: Arc<Inner>, response: reqwest::Response, own: i64) -> Events {
    events(Reading { own: Some(own), ..Reading::new(client, response) })
}

/// Reads a stream that was requested `times` times to resume after `event`. It answers no particular request.
pub(super) fn read_on(
    client: Arc<Inner>,
    response: reqwest::Response,
    event: Option<String>,
    times: u32,
) -> Events {
    events(Reading { requested_stream: true, event, times, ..Reading::new(client, response) })
}

fn events(reading: Reading) -> Events {
    stream::unfold(reading, |mut reading| async move { Some((reading.next().await?, reading)) }).boxed()
}

/// Returns a stream of the messages of a batch.
pub(super) fn of(messages: Vec<ServerJsonRpcMessage>) -> Events {
    stream::iter(messages.into_iter().filter_map(|message| written(&message)).map(Ok).collect::<Vec<_>>())
        .boxed()
}

fn written(message: &ServerJsonRpcMessage) -> Option<Sse> {
    Some(Sse { data: Some(serde_json::to_string(message).ok()?), ..Sse::default() })
}

pub(super) fn is_answer(message: &ServerJsonRpcMessage, own: i64) -> bool {
    let id = match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    };
    id == Some(&RequestId::Number(own))
}

impl Reading {
    fn new(client: Arc<Inner>, response: reqwest::Response) -> Self {
        Self {
            client,
            response,
            parser: Parser::default(),
            ready: VecDeque::new(),
            own: None,
            resumable: false,
            requested_stream: false,
            event: None,
            times: 0,
            ended: false,
        }
    }

    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(sse) = self.ready.pop_front() {
                return Some(Ok(sse));
            }
            if self.ended {
                return None;
            }
            let mut events = VecDeque::new();
            match self.response.chunk().await {
                Ok(Some(chunk)) => {
                    let long = self.parser.push(&chunk, &mut events).is_err();
                    events.into_iter().for_each(|event| self.take(event));
                    if long {
                        self.ended = true;
                        let why =
                            format!("the server sent an event of more than {} MiB", MAX_EVENT / 1024 / 1024);
                        self.answer_lost(&why);
                    }
                }
                Ok(None) => {
                    self.ended = true;
                    if !self.resumable {
                        self.answer_lost("the event stream ended before the answer arrived");
                    }
                }
                Err(error) => {
                    self.ended = true;
                    if self.resumable || self.own.is_none() {
                        // The library resumes the stream.
                        return Some(Err(SseError::Body(Box::new(error.without_url()))));
                    }
                    self.answer_lost(&format!("the event stream broke: {}", innermost(&error)));
                }
            }
        }
    }

    fn take(&mut self, event: Event) {
        self.resumable |= event.id.is_some();
        let retry = event.retry.map(|retry| retry.clamp(*RETRY.start(), *RETRY.end()));
        let mut messages = VecDeque::new();
        if event.kind.is_empty() || event.kind == b"message" {
            self.client.decode(self.own, &event.data, &mut messages);
        }
        self.count(&event, !messages.is_empty());
        if self.own.is_some_and(|own| messages.iter().any(|message| is_answer(message, own))) {
            self.own = None;
        }
        drop(event.data);
        if event.id.is_some() || retry.is_some() {
            self.ready.push_back(Sse { id: event.id, retry, ..Sse::default() });
        }
        self.ready.extend(messages.iter().filter_map(written));
    }

    /// Updates the backoff of the stream.
    fn count(&mut self, event: &Event, said_something: bool) {
        let is_another = event.id.is_some() && event.id != self.event;
        if said_something || (is_another && event.retry.is_some()) {
            self.times = 0;
        }
        if is_another {
            self.event.clone_from(&event.id);
        }
        if (is_another || said_something) && (self.event.is_some() || self.requested_stream) {
            self.client.backoff.reached(self.event.clone(), self.times);
        }
    }

    fn answer_lost(&mut self, why: &str) {
        let Some(own) = self.own.take() else { return };
        let error = ServerJsonRpcMessage::error(lost(why), Some(RequestId::Number(own)));
        self.ready.extend(written(&error));
    }
}
