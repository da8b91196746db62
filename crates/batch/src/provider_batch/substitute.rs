//! What takes the place of the connection to a provider, so that a conversation of a provider batch is the usual one: once
//! to get its request, and once to give it its answer.

use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError, WireErrorKind};
use converse_host::failure::{Failure, Kind};
use converse_provider::AuthScheme;
use converse_session::digest;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, StatusCode};
use parking_lot::Mutex;

/// The connection of the conversation that runs; they run one after another.
#[derive(Debug, Default)]
pub struct Substitute(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    reply: Option<Reply>,
    /// The request that came first, with no reply for it.
    request: Option<Bytes>,
    /// Why there is no answer.
    failure: Option<Failure>,
    /// The request is not the one that was submitted.
    has_changed: bool,
}

/// The end of a part of a batch.
#[derive(Debug)]
pub(crate) struct Reply {
    /// [`fingerprint`] of the request that was submitted.
    pub(crate) of: String,
    pub(crate) end: PartEnd,
}

#[derive(Debug)]
pub(crate) enum PartEnd {
    Response { status: u16, body: Bytes, request_id: Option<String> },
    Failed(Failure),
}

/// Why a reply was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unused {
    /// The request is not the one that was submitted.
    Changed,
    /// The conversation ended before its request.
    NotAsked,
}

/// Returns what tells a request from another one of the same conversation.
pub(crate) fn fingerprint(body: &[u8]) -> String {
    let mut hex = digest(body).to_string();
    hex.truncate(16);
    hex
}

impl Substitute {
    /// The next conversation only gives its request.
    pub(crate) fn expect_request(&self) {
        *self.0.lock() = State::default();
    }

    /// Whether the conversation that runs only gives its request.
    pub(crate) fn only_collects(&self) -> bool {
        self.0.lock().reply.is_none()
    }

    /// Returns the body of its request, if it came so far.
    pub(crate) fn take_request(&self) -> Option<Bytes> {
        self.0.lock().request.take()
    }

    /// The next conversation gets this reply.
    pub(crate) fn reply(&self, reply: Reply) {
        *self.0.lock() = State { reply: Some(reply), ..State::default() };
    }

    /// Returns why the conversation could not get an answer.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.0.lock().failure.clone()
    }

    /// Why the reply was not given to the conversation, which is not what was submitted.
    pub(crate) fn unused(&self) -> Option<Unused> {
        match &*self.0.lock() {
            State { has_changed: true, .. } => Some(Unused::Changed),
            State { reply: Some(_), .. } => Some(Unused::NotAsked),
            _ => None,
        }
    }

    fn answer(&self, request: &http::Request<Bytes>) -> Result<http::Response<ByteStream>, WireError> {
        let mut state = self.0.lock();
        let Some(Reply { of, end }) = state.reply.take() else {
            // The first request is collected. Another one comes after an answer that does not fit.
            match &state.request {
                None => state.request = Some(request.body().clone()),
                Some(_) => state.failure = Some(unfit()),
            }
            return Err(unsent());
        };
        state.request = Some(Bytes::new());
        if of != fingerprint(request.body()) {
            state.has_changed = true;
            return Err(unsent());
        }
        match end {
            PartEnd::Failed(failure) => {
                state.failure = Some(failure);
                Err(unsent())
            }
            PartEnd::Response { status, body, request_id } => Ok(response(status, body, request_id)),
        }
    }
}

impl Wire for Substitute {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        std::future::ready(self.answer(&request)).boxed()
    }
}

fn response(status: u16, body: Bytes, request_id: Option<String>) -> http::Response<ByteStream> {
    let mut response = http::Response::new(stream::iter([Ok(body)]).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(id) = request_id.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    response
}

/// Of a kind that is not tried again.
fn unsent() -> WireError {
    let message = "the request is a part of a provider batch".to_owned();
    WireError { kind: WireErrorKind::Request, message }
}

fn unfit() -> Failure {
    let message = "the conversation needs another step, because the answer does not fit its schema or calls a tool; a \
                   provider batch has one step";
    Failure::new(Kind::ProviderNonsense, "unfit-answer", message)
        .hint("`--retry-failed` without `--provider-batch` runs the conversation again, with as many steps as it needs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(substitute: &Substitute, body: &'static str) -> Option<u16> {
        let request = http::Request::new(Bytes::from_static(body.as_bytes()));
        substitute.answer(&request).ok().map(|response| response.status().as_u16())
    }

    fn code(substitute: &Substitute) -> Option<&'static str> {
        substitute.failure().map(|failure| failure.code)
    }

    #[test]
    fn a_request_is_collected_and_answered_once() {
        let substitute = Substitute::default();
        substitute.expect_request();
        assert_eq!(sent(&substitute, "a"), None);
        let body = substitute.take_request().unwrap();
        assert_eq!((&body[..], code(&substitute)), (&b"a"[..], None));
        let end = || PartEnd::Response { status: 200, body: Bytes::new(), request_id: None };
        substitute.reply(Reply { of: fingerprint(&body), end: end() });
        assert_eq!((sent(&substitute, "a"), code(&substitute)), (Some(200), None));
        assert_eq!(substitute.unused(), None);
        assert_eq!((sent(&substitute, "repaired"), code(&substitute)), (None, Some("unfit-answer")));
        substitute.reply(Reply { of: fingerprint(&body), end: end() });
        assert_eq!(substitute.unused(), Some(Unused::NotAsked));
        assert_eq!((sent(&substitute, "b"), code(&substitute)), (None, None));
        assert_eq!(substitute.unused(), Some(Unused::Changed));
        let failure = Failure::new(Kind::ProviderUnreachable, "batch-expired", "late");
        substitute.reply(Reply { of: fingerprint(&body), end: PartEnd::Failed(failure) });
        assert_eq!((sent(&substitute, "a"), code(&substitute)), (None, Some("batch-expired")));
    }
}
