//! One session: what its client sends, and the streams by which its client is reached.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use parking_lot::Mutex;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ErrorData,
    GetExtensions, JsonRpcMessage, JsonRpcRequest, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::OriginatingRequestId;
use rmcp::transport::streamable_http_server::session::SessionId;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::streams::{OwnStream, RequestStream};
use super::transport::SessionTransport;
use crate::principal::{Admitted, Principal};

/// Messages of a client that wait to be read; its requests wait then.
const MAX_INBOX: usize = 64;
/// Messages of one stream that wait until the client reads them.
const MAX_WAITING: usize = 64;
/// Streams of a session that belong to no request. The oldest one ends for another one.
const MAX_STREAMS: usize = 4;

#[derive(Debug)]
pub(super) struct Session {
    id: SessionId,
    principal: Principal,
    place: Box<str>,
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    /// Requests whose clients have left. There is no more than one for each open request.
    left: mpsc::UnboundedSender<RequestId>,
    state: Mutex<State>,
    ended: CancellationToken,
}

#[derive(Debug)]
struct State {
    /// The streams of unanswered requests.
    requests: HashMap<RequestId, mpsc::Sender<ServerJsonRpcMessage>>,
    /// The streams that belong to no request; messages go to the newest.
    streams: Vec<mpsc::Sender<ServerJsonRpcMessage>>,
    /// What waits for such a stream.
    waiting: Vec<ServerJsonRpcMessage>,
    /// Whether the client has said that it is ready.
    is_initialized: bool,
    /// Number of open streams of both kinds.
    open: usize,
    /// The last request, or the end of the last stream.
    used: Instant,
}

/// A message had no stream: its request has been answered, or its client has left.
#[derive(Debug, thiserror::Error)]
#[error("the client cannot be reached")]
pub struct Unreachable;

impl Session {
    pub(super) fn new(
        id: SessionId,
        principal: Principal,
        place: &str,
        now: Instant,
    ) -> (Arc<Self>, SessionTransport) {
        let ((inbox, messages), (left, gone)) = (mpsc::channel(MAX_INBOX), mpsc::unbounded_channel());
        let state = State {
            requests: HashMap::new(),
            streams: Vec::new(),
            waiting: Vec::new(),
            is_initialized: false,
            open: 0,
            used: now,
        };
        let (state, ended) = (Mutex::new(state), CancellationToken::new());
        let session = Arc::new(Self { id, principal, place: place.into(), inbox, left, state, ended });
        let transport = SessionTransport::new(Arc::clone(&session), messages, gone);
        (session, transport)
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(super) fn place(&self) -> &str {
        &self.place
    }

    pub(super) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// The session is in use at this time.
    pub(super) fn touch(&self, now: Instant) {
        let mut state = self.state.lock();
        state.used = state.used.max(now);
    }

    /// Returns for how long the session is idle; `None` while it has a stream.
    pub(super) fn idle_time(&self, now: Instant) -> Option<Duration> {
        let state = self.state.lock();
        (state.open == 0).then(|| now.saturating_duration_since(state.used))
    }

    /// Ends the session: its requests are cancelled, and its streams end.
    pub(super) fn end(&self) {
        self.ended.cancel();
        let mut state = self.state.lock();
        state.streams.clear();
        state.waiting.clear();
    }

    /// Hands on a request, and returns the stream of its answer.
    ///
    /// # Errors
    ///
    /// The session has ended.
    pub(super) async fn request(
        self: &Arc<Self>,
        request: JsonRpcRequest<rmcp::model::ClientRequest>,
    ) -> Result<RequestStream, Unreachable> {
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        let id = request.id.clone();
        let is_new = {
            let mut state = self.state.lock();
            state.open += 1;
            let is_new = !state.requests.contains_key(&id);
            if is_new {
                state.requests.insert(id.clone(), sender.clone());
            }
            is_new
        };
        // From here on, dropping the stream closes it.
        let stream = RequestStream::new(Arc::clone(self), is_new.then_some(id.clone()), messages);
        if is_new {
            drop(sender);
            self.accept(JsonRpcMessage::Request(request)).await?;
        } else {
            let error = ErrorData::invalid_request("another request with this id is not answered yet", None);
            let _ = sender.try_send(JsonRpcMessage::error(error, Some(id)));
        }
        Ok(stream)
    }

    /// Hands on a message of the client.
    ///
    /// # Errors
    ///
    /// The session has ended.
    pub(super) async fn accept(&self, message: ClientJsonRpcMessage) -> Result<(), Unreachable> {
        // Each one would begin to announce changes.
        if is_initialized(&message) && std::mem::replace(&mut self.state.lock().is_initialized, true) {
            return Ok(());
        }
        let cancelled = cancelled_id(&message).cloned();
        self.inbox.send(message).await.map_err(|_| Unreachable)?;
        // A cancelled request gets no answer.
        if let Some(id) = cancelled {
            self.state.lock().requests.remove(&id);
        }
        Ok(())
    }

    /// Opens a stream for what belongs to no request.
    pub(super) fn open_stream(self: &Arc<Self>, admitted: &Admitted) -> OwnStream {
        let (sender, messages) = mpsc::channel(MAX_WAITING);
        let mut state = self.state.lock();
        state.open += 1;
        for message in std::mem::take(&mut state.waiting) {
            let _ = sender.try_send(message);
        }
        state.streams.retain(|stream| !stream.is_closed());
        if state.streams.len() >= MAX_STREAMS {
            state.streams.remove(0);
        }
        if !self.ended.is_cancelled() {
            state.streams.push(sender);
        }
        drop(state);
        OwnStream::new(Arc::clone(self), admitted, messages)
    }

    /// A stream has closed. `unanswered`: the request that it belongs to, unless it has been answered.
    pub(super) fn closed(&self, unanswered: Option<&RequestId>) {
        let mut state = self.state.lock();
        state.open = state.open.saturating_sub(1);
        state.used = Instant::now();
        // As outside of sessions, a client that closes the connection cancels its request.
        if let Some(id) = unanswered
            && state.requests.remove(id).is_some()
        {
            let _ = self.left.send(id.clone());
        }
    }

    /// Forgets all unanswered requests, and returns them.
    pub(super) fn take_requests(&self) -> Vec<RequestId> {
        self.state.lock().requests.drain().map(|(id, _)| id).collect()
    }

    /// Puts a message into its stream, or returns a future that does so when there is room.
    pub(super) fn send(
        &self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Unreachable>> + Send + use<> {
        let mut state = self.state.lock();
        let stream = match &message {
            JsonRpcMessage::Response(response) => state.requests.remove(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref().and_then(|id| state.requests.remove(id)),
            JsonRpcMessage::Request(request) => {
                origin(&request.request).and_then(|id| state.requests.get(id).cloned())
            }
            JsonRpcMessage::Notification(notification) => match origin(&notification.notification) {
                Some(id) => state.requests.get(id).cloned(),
                None => {
                    state.notify(message);
                    return Either::Left(std::future::ready(Ok(())));
                }
            },
        };
        drop(state);
        match stream {
            Some(stream) => Either::Right(async move { stream.send(message).await.map_err(|_| Unreachable) }),
            None => Either::Left(std::future::ready(Err(Unreachable))),
        }
    }
}

impl State {
    /// Sends what belongs to no request to the newest stream, or keeps it for the next one.
    fn notify(&mut self, message: ServerJsonRpcMessage) {
        self.streams.retain(|stream| !stream.is_closed());
        if let Some(stream) = self.streams.last() {
            // A client that reads this slowly has the same announcement before.
            let _ = stream.try_send(message);
            return;
        }
        // A log may be long, and nobody may ever read it.
        let is_log = matches!(
            &message,
            JsonRpcMessage::Notification(log)
                if matches!(log.notification, ServerNotification::LoggingMessageNotification(_))
        );
        if !is_log && self.waiting.len() < MAX_WAITING {
            self.waiting.push(message);
        }
    }
}

/// Returns the request of the client that a message belongs to.
fn origin<T: GetExtensions>(message: &T) -> Option<&RequestId> {
    message.extensions().get::<OriginatingRequestId>().map(|origin| &origin.0)
}

fn is_initialized(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Notification(notification) = message else { return false };
    matches!(notification.notification, ClientNotification::InitializedNotification(_))
}

fn cancelled_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    let JsonRpcMessage::Notification(notification) = message else { return None };
    let ClientNotification::CancelledNotification(cancelled) = &notification.notification else {
        return None;
    };
    cancelled.params.request_id.as_ref()
}

/// Returns the message by which a client cancels a request.
pub(super) fn cancellation(id: RequestId) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(id), Some("the client has left".to_owned()));
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(CancelledNotification::new(
        params,
    )))
}
