//! The sessions that one request can reach: the one that it names, or the one that it begins.

use std::fmt;
use std::sync::Arc;

use futures_util::Stream;
use http::request::Parts;
use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, Extensions, GetExtensions as _, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};

use super::session::{Session, Unreachable};
use super::streams::{OwnStream, RequestStream};
use super::transport::SessionTransport;
use super::{InSession, Sessions};
use crate::principal::Admitted;

/// The session of one request, for the protocol library. The library looks for no other one.
pub struct ClientSessions {
    sessions: Arc<Sessions>,
    session: Arc<Session>,
    admitted: Admitted,
    /// Of a session that has not been served yet.
    transport: Mutex<Option<SessionTransport>>,
}

impl ClientSessions {
    pub(super) fn begun(
        sessions: Arc<Sessions>,
        session: Arc<Session>,
        transport: SessionTransport,
        admitted: Admitted,
    ) -> Self {
        Self { sessions, session, admitted, transport: Mutex::new(Some(transport)) }
    }

    pub(super) fn of(sessions: Arc<Sessions>, session: Arc<Session>, admitted: Admitted) -> Self {
        Self { sessions, session, admitted, transport: Mutex::default() }
    }

    #[cfg(test)]
    pub(super) async fn ended(&self) {
        self.session.ended().cancelled().await;
    }

    fn session(&self, id: &SessionId) -> Result<&Arc<Session>, Unreachable> {
        (self.session.id() == id && !self.session.ended().is_cancelled())
            .then_some(&self.session)
            .ok_or(Unreachable)
    }

    async fn request(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<RequestStream, Unreachable> {
        match message {
            JsonRpcMessage::Request(mut request) => {
                mark(request.request.extensions_mut());
                self.session(id)?.request(request).await
            }
            _ => Err(Unreachable),
        }
    }
}

impl fmt::Debug for ClientSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientSessions").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Drop for ClientSessions {
    fn drop(&mut self) {
        if self.transport.get_mut().is_some() {
            self.sessions.end(self.session.id());
        }
    }
}

/// Marks the HTTP request of a message as one of a session.
fn mark(extensions: &mut Extensions) {
    if let Some(parts) = extensions.get_mut::<Parts>() {
        parts.extensions.insert(InSession);
    }
}

impl SessionManager for ClientSessions {
    type Error = Unreachable;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), Unreachable> {
        let transport = self.transport.lock().take().ok_or(Unreachable)?;
        Ok((self.session.id().clone(), transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Unreachable> {
        self.request(id, message).await?.first().await.ok_or(Unreachable)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Unreachable> {
        Ok(self.session(id).is_ok())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Unreachable> {
        self.sessions.end(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unreachable> {
        self.request(id, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<(), Unreachable> {
        if let JsonRpcMessage::Notification(notification) = &mut message {
            mark(notification.notification.extensions_mut());
        }
        self.session(id)?.accept(message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unreachable> {
        self.session(id).map(|session| session.open_stream(&self.admitted))
    }

    /// Events have no ids, so there is nothing to resume: the client gets what comes from now on.
    async fn resume(
        &self,
        id: &SessionId,
        _: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Unreachable> {
        self.session(id).map(|session| -> OwnStream { session.open_stream(&self.admitted) })
    }
}
