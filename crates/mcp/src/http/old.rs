//! The HTTP+SSE transport of revision 2024-11-05: a GET opens an event stream whose first event names the address for
//! messages, and every answer arrives on that stream.
//! <https://modelcontextprotocol.io/specification/2024-11-05/basic/transports> (checked 2026-11).
//!
//! It is tried if a server refuses `initialize` in the way that such a server does. The address for messages must have the
//! origin of the stream, because both get the headers of the descriptor and the token.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;

use super::client::{Client, retry_after};
use super::error::{ClientError, DeliveryError, HttpError, innermost, known};
use super::events::{Event, MAX_EVENT, Parser};
use super::response::{is_events, words_of};
use crate::error::{ConnectionEnd, EndCause, Failure};
use crate::sanitize;
use crate::stdio::Decoder;

/// Limit for the event that names the address; the events before it that are skipped.
const ENDPOINT: Duration = Duration::from_secs(5);
const MAX_EARLY: usize = 16;

/// Where such a server would have its event stream.
pub(crate) struct EventStreamAddress {
    pub(super) client: Client,
    pub(super) url: String,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
}

/// The transport over one event stream. `end` is set when the stream is over.
pub(crate) struct EventStream {
    client: Client,
    endpoint: Url,
    headers: HeaderMap,
    /// `None` once closed.
    response: Option<Response>,
    parser: Parser,
    events: VecDeque<Event>,
    decoder: Decoder,
    ready: VecDeque<ServerJsonRpcMessage>,
    end: ConnectionEnd,
}

impl EventStreamAddress {
    /// Opens the event stream. Returns `None` if the address has none that begins with the address for messages.
    pub(crate) async fn open(self, end: ConnectionEnd) -> Result<Option<EventStream>, Failure> {
        let Ok(base) = Url::parse(&self.url) else { return Ok(None) };
        let mut headers = HeaderMap::new();
        headers.extend(self.headers.into_iter().map(|(name, value)| (Some(name), value)));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = || self.client.inner().http.get(base.clone()).headers(headers.clone());
        let response = match self.client.inner().send(request).await {
            Ok(response) => response,
            Err(error @ (ClientError::Denied(_) | ClientError::Unauthorized(_))) => {
                return Err(known(&error).into());
            }
            Err(_) => return Ok(None),
        };
        if matches!(response.status().as_u16(), 401 | 403) {
            return Err(DeliveryError::Unauthorized(response.status().as_u16()).into());
        }
        if !response.status().is_success() || !is_events(&response) {
            return Ok(None);
        }
        let mut stream = EventStream {
            client: self.client,
            endpoint: base.clone(),
            headers,
            response: Some(response),
            parser: Parser::default(),
            events: VecDeque::new(),
            decoder: Decoder::default(),
            ready: VecDeque::new(),
            end,
        };
        let Ok(Some(named)) = tokio::time::timeout(ENDPOINT, stream.endpoint()).await else {
            return Ok(None);
        };
        let endpoint = base.join(named.trim()).ok().filter(|url| url.origin() == base.origin());
        let Some(endpoint) = endpoint else {
            let named = sanitize::clean(&named, 200);
            return Err(Failure::Nonsense(format!(
                "the server's event stream names an address for messages on another host, which is not used: {named}"
            )));
        };
        stream.endpoint = endpoint;
        stream.headers.remove(ACCEPT);
        stream.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Some(stream))
    }
}

impl EventStream {
    /// Returns the text of the event that names the address for messages.
    async fn endpoint(&mut self) -> Option<String> {
        let mut skipped = 0;
        while skipped <= MAX_EARLY {
            while let Some(event) = self.events.pop_front() {
                if event.kind == b"endpoint" {
                    return String::from_utf8(event.data).ok();
                }
                skipped += 1;
            }
            self.read().await.ok()?;
        }
        None
    }

    /// Reads more events; `Err` ends the connection. Cancel-safe.
    async fn read(&mut self) -> Result<(), EndCause> {
        let Some(response) = &mut self.response else { return Err(EndCause::Closed) };
        let chunk = tokio::select! {
            biased;
            () = self.end.over() => return Err(EndCause::Closed),
            chunk = response.chunk() => chunk,
        };
        match chunk {
            Ok(Some(chunk)) => self.parser.push(&chunk, &mut self.events).map_err(|_| {
                let limit = MAX_EVENT / 1024 / 1024;
                EndCause::GivenUp(format!("the server sent an event of more than {limit} MiB"))
            }),
            Ok(None) => Err(EndCause::GivenUp("the server closed its event stream".to_owned())),
            Err(error) => Err(EndCause::GivenUp(format!("the event stream broke: {}", innermost(&error)))),
        }
    }
}

impl Transport<RoleClient> for EventStream {
    type Error = HttpError;

    fn name() -> std::borrow::Cow<'static, str> {
        "HTTP+SSE".into()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), HttpError>> + Send + 'static {
        self.decoder.sent(&message);
        let (client, url, headers) = (self.client.clone(), self.endpoint.clone(), self.headers.clone());
        async move {
            let body =
                serde_json::to_vec(&message).map_err(|error| ClientError::Unsendable(error.to_string()))?;
            let request =
                || client.inner().http.post(url.clone()).headers(headers.clone()).body(body.clone());
            let mut response = client.inner().send(request).await?;
            let status = response.status().as_u16();
            Err(match status {
                200..=299 => return Ok(()),
                401 | 403 => ClientError::Unauthorized(status),
                404 => ClientError::Gone(words_of(&mut response).await),
                429 | 503 => ClientError::Busy { status, after: retry_after(&response) },
                _ => ClientError::Status { status, message: words_of(&mut response).await },
            }
            .into())
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(message);
            }
            if let Some(event) = self.events.pop_front() {
                if event.kind.is_empty() || event.kind == b"message" {
                    self.decoder.decode(&event.data, &mut self.ready);
                }
                continue;
            }
            if let Err(cause) = self.read().await {
                self.end.set_cause(cause);
                return None;
            }
        }
    }

    async fn close(&mut self) -> Result<(), HttpError> {
        self.response = None;
        Ok(())
    }
}
