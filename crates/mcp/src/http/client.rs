//! [`Client`]: the HTTP client below the protocol library's transport. It limits the size of every body, decodes answers
//! as leniently as stdio does and classifies requests that get no answer.
//!
//! A request that may have run is not repeated. Repeated are requests refused for lack of a token, and idempotent ones.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use reqwest::{Response, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use super::backoff::{self, StreamBackoff};
use super::credentials::bearing;
use super::error::{ClientError, HttpError};
use super::listening::{Listening, may_ask};
use super::parameters::Parameters;
use super::response;
use super::stream::{self, Events};
use crate::handler::ToolListChanged;
use crate::http::Bearer;
use crate::stdio::Decoder;

const BOTH: &str = "text/event-stream, application/json";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const VERSION: &str = "mcp-protocol-version";
/// Headers that descriptors must not set.
const RESERVED: [&str; 3] = ["accept", SESSION, LAST_EVENT];
/// The first version with `Mcp-Param-…` headers.
const MODERN: &str = "2026-07-28";
/// Number of retries if the server is busy, the longest `Retry-After` that is followed, and the default delay.
const MAX_WAITS: u32 = 2;
pub(crate) const MAX_WAIT: Duration = Duration::from_secs(5);
const WAIT: Duration = Duration::from_millis(500);

/// A cheaply clonable handle; clones share their state.
#[derive(Clone)]
pub(crate) struct Client(Arc<Inner>);

pub(super) struct Inner {
    pub(super) http: reqwest::Client,
    pub(super) bearer: Option<Arc<dyn Bearer>>,
    /// The address of the first message, as text and parsed: that of all others.
    address: OnceLock<(String, Url)>,
    parameters: Arc<Parameters>,
    changed: Arc<ToolListChanged>,
    decoder: Mutex<Decoder>,
    /// Whether a session was started before; a later one may be with an updated server.
    initialized: AtomicBool,
    pub(super) backoff: StreamBackoff,
    listening: Listening,
}

/// The properties of a sent message that decide how its answer is interpreted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SentMessage {
    /// The id of a request; `None` for notifications and responses.
    pub(super) id: Option<i64>,
    pub(super) kind: Kind,
    pub(super) in_session: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Initialize,
    Discover,
    /// A tool call, which may have side effects.
    Call,
    Other,
}

impl Inner {
    pub(super) fn decode(
        &self,
        own: Option<i64>,
        bytes: &[u8],
        messages: &mut VecDeque<ServerJsonRpcMessage>,
    ) -> bool {
        self.decoder().decode_for(own, bytes, messages)
    }

    fn decoder(&self) -> MutexGuard<'_, Decoder> {
        self.decoder.lock()
    }
}

/// Returns the `Retry-After` of a response if it is in seconds. The date form is ignored.
pub(super) fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

impl SentMessage {
    fn of(message: &ClientJsonRpcMessage, in_session: bool) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else {
            return Self { id: None, kind: Kind::Other, in_session };
        };
        let kind = match &request.request {
            ClientRequest::InitializeRequest(_) => Kind::Initialize,
            ClientRequest::DiscoverRequest(_) => Kind::Discover,
            ClientRequest::CallToolRequest(_) => Kind::Call,
            _ => Kind::Other,
        };
        let id = if let RequestId::Number(id) = request.id { Some(id) } else { None };
        Self { id, kind, in_session }
    }
}

impl Client {
    pub(super) fn new(
        http: reqwest::Client,
        bearer: Option<Arc<dyn Bearer>>,
        parameters: Arc<Parameters>,
        changed: Arc<ToolListChanged>,
    ) -> Self {
        Self(Arc::new(Inner {
            http,
            bearer,
            address: OnceLock::new(),
            parameters,
            changed,
            decoder: Mutex::new(Decoder::open()),
            initialized: AtomicBool::new(false),
            backoff: StreamBackoff::default(),
            listening: Listening::default(),
        }))
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Builds the headers of a request. Headers of the descriptor cannot replace the protocol's own.
    fn headers(
        &self,
        custom: HashMap<HeaderName, HeaderValue>,
        session: Option<&str>,
    ) -> Result<http::HeaderMap, HttpError> {
        let mut headers = http::HeaderMap::new();
        for (name, value) in custom {
            if RESERVED.contains(&name.as_str()) {
                return Err(StreamableHttpError::ReservedHeaderConflict(name.to_string()));
            }
            headers.insert(name, value);
        }
        headers.insert(ACCEPT, HeaderValue::from_static(BOTH));
        if let Some(session) = session {
            let bad = |_| ClientError::Unsendable("the session id is not a valid header value".to_owned());
            headers.insert(SESSION, HeaderValue::try_from(session).map_err(bad)?);
        }
        Ok(headers)
    }

    async fn post(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut headers = self.headers(custom, session)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if headers.get(VERSION).is_some_and(|version| version.as_bytes() >= MODERN.as_bytes()) {
            headers.extend(self.mirrored(&message));
        }
        headers.extend(trace(&message));
        let sent = SentMessage::of(&message, session.is_some());
        if matches!(&message, ClientJsonRpcMessage::Request(request) if may_ask(&request.request)) {
            self.0.listening.wait().await;
        }
        self.0.decoder().sent(&message);
        let body =
            serde_json::to_vec(&message).map_err(|error| ClientError::Unsendable(error.to_string()))?;
        let (body, address) = (bytes::Bytes::from(body), self.address(uri)?);
        drop(message);
        let mut waits = 0;
        let response = loop {
            let request = || self.0.http.post(address.clone()).headers(headers.clone()).body(body.clone());
            let response = self.0.send(request).await?;
            match pause(&response, sent).filter(|_| waits < MAX_WAITS) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => break response,
            }
            waits += 1;
        };
        let answer = response::interpret(&self.0, sent, response).await?;
        if sent.kind == Kind::Initialize {
            self.begin_session(&answer);
        }
        Ok(answer)
    }

    /// Parses the address of messages once.
    fn address(&self, uri: &str) -> Result<Url, ClientError> {
        let parse = || Url::parse(uri).map_err(|error| ClientError::Unsendable(error.to_string()));
        match self.0.address.get() {
            Some((text, url)) if text == uri => Ok(url.clone()),
            Some(_) => parse(),
            None => {
                let url = parse()?;
                let _ = self.0.address.set((uri.to_owned(), url.clone()));
                Ok(url)
            }
        }
    }

    fn begin_session(&self, answer: &StreamableHttpPostResponse) {
        if self.0.initialized.swap(true, Ordering::Relaxed) {
            self.0.changed.mark();
        }
        if let StreamableHttpPostResponse::Json(_, Some(session))
        | StreamableHttpPostResponse::Sse(_, Some(session)) = answer
        {
            self.0.listening.awaited(session);
        }
    }

    fn mirrored(&self, message: &ClientJsonRpcMessage) -> Vec<(HeaderName, HeaderValue)> {
        let ClientJsonRpcMessage::Request(request) = message else { return Vec::new() };
        let ClientRequest::CallToolRequest(call) = &request.request else { return Vec::new() };
        self.0.parameters.headers(&call.params.name, call.params.arguments.as_ref())
    }

    async fn get(
        &self,
        uri: &str,
        session: Option<&str>,
        last_event: Option<&str>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let mut headers = self.headers(custom, session)?;
        if let Some(last_event) = last_event.and_then(|last| HeaderValue::try_from(last).ok()) {
            headers.insert(LAST_EVENT, last_event);
        }
        // The library resumes a broken stream at once, so a server that breaks every stream would cause a busy loop.
        let times = self.0.backoff.requested(last_event);
        tokio::time::sleep(backoff::pause(times)).await;
        let response = match self.0.send(|| self.0.http.get(uri).headers(headers.clone())).await {
            Ok(response) => response,
            // Another request would be refused in the same way.
            Err(ClientError::Denied(_) | ClientError::Unauthorized(_)) => {
                return Err(StreamableHttpError::ServerDoesNotSupportSse);
            }
            Err(error) => return Err(error.into()),
        };
        let status = response.status();
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            let after = retry_after(&response);
            return Err(ClientError::Busy { status: status.as_u16(), after }.into());
        }
        if status != StatusCode::OK || !response::is_events(&response) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(stream::read_on(
            Arc::clone(&self.0),
            response,
            last_event.map(str::to_owned),
            times.saturating_add(1),
        ))
    }

    async fn delete(
        &self,
        uri: &str,
        session: &str,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        let headers = self.headers(custom, Some(session))?;
        let mut request = self.0.http.request(Method::DELETE, uri).headers(headers);
        // Ending a session must not trigger a login.
        if let Some(bearer) = &self.0.bearer
            && let Some(token) = bearer.token().await.map_err(ClientError::Denied)?
        {
            request = request.header(AUTHORIZATION, bearing(&token)?);
        }
        request.send().await.map_err(ClientError::Request)?;
        Ok(())
    }
}

/// Returns the delay before a retry if the server is busy. Handshakes and tool calls are retried by their callers.
fn pause(response: &Response, sent: SentMessage) -> Option<Duration> {
    let busy = matches!(response.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    (busy && sent.kind == Kind::Other)
        .then(|| retry_after(response).unwrap_or(WAIT))
        .filter(|pause| *pause <= MAX_WAIT)
}

/// Returns the place of a request in a trace as headers, for proxies; the server has it in the message.
fn trace(message: &ClientJsonRpcMessage) -> Vec<(HeaderName, HeaderValue)> {
    let ClientJsonRpcMessage::Request(request) = message else { return Vec::new() };
    let meta = request.request.get_meta();
    let header = |name| {
        let value = HeaderValue::try_from(meta.get(name)?.as_str()?).ok()?;
        Some((HeaderName::from_static(name), value))
    };
    ["traceparent", "tracestate"].into_iter().filter_map(header).collect()
}

impl StreamableHttpClient for Client {
    type Error = ClientError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        self.post(&uri, message, session_id.as_deref(), custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.delete(&uri, &session_id, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let stream = self.get(&uri, session_id.as_deref(), last_event_id.as_deref(), custom_headers).await;
        // A stream that is resumed is not the one on which questions come.
        if let (Some(session), None) = (&session_id, &last_event_id) {
            self.0.listening.answered(session);
        }
        stream
    }
}
