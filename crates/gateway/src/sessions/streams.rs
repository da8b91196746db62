//! The streams of a session, as its client reads them.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, Stream};
use parking_lot::Mutex;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::sync::mpsc;

use super::session::Session;
use crate::principal::Admitted;

/// The stream of a request: ends with its answer.
pub(super) struct RequestStream {
    session: Arc<Session>,
    id: Option<RequestId>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
}

impl RequestStream {
    pub(super) fn new(
        session: Arc<Session>,
        id: Option<RequestId>,
        messages: mpsc::Receiver<ServerJsonRpcMessage>,
    ) -> Self {
        Self { session, id, messages }
    }

    pub(super) async fn first(&mut self) -> Option<ServerJsonRpcMessage> {
        self.messages.recv().await
    }
}

impl Stream for RequestStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        self.messages.poll_recv(cx).map(|message| message.map(ServerSseMessage::from_message))
    }
}

impl Drop for RequestStream {
    fn drop(&mut self) {
        self.session.closed(self.id.as_ref());
    }
}

/// A stream that belongs to no request: ends with its session, with the token of its request, and at shutdown.
pub(super) struct OwnStream {
    session: Arc<Session>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
    end: Mutex<BoxFuture<'static, ()>>,
}

impl OwnStream {
    pub(super) fn new(
        session: Arc<Session>,
        admitted: &Admitted,
        messages: mpsc::Receiver<ServerJsonRpcMessage>,
    ) -> Self {
        let end = Arc::clone(&admitted.end);
        Self { session, messages, end: Mutex::new(async move { end.reached().await }.boxed()) }
    }
}

impl Stream for OwnStream {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        if self.end.get_mut().as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        self.messages.poll_recv(cx).map(|message| message.map(ServerSseMessage::from_message))
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        self.session.closed(None);
    }
}
