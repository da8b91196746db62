//! A session as the protocol library sees it.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc;

use super::session::{Session, Unreachable, cancellation};

/// The transport of one session.
pub struct SessionTransport {
    session: Arc<Session>,
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    /// Requests whose clients have left.
    left: mpsc::UnboundedReceiver<RequestId>,
    /// Requests to cancel before the end.
    last: Option<Vec<RequestId>>,
}

impl SessionTransport {
    pub(super) fn new(
        session: Arc<Session>,
        inbox: mpsc::Receiver<ClientJsonRpcMessage>,
        left: mpsc::UnboundedReceiver<RequestId>,
    ) -> Self {
        Self { session, inbox, left, last: None }
    }
}

impl std::fmt::Debug for SessionTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionTransport").field("session", self.session.id()).finish_non_exhaustive()
    }
}

impl Transport<RoleServer> for SessionTransport {
    type Error = Unreachable;

    fn name() -> std::borrow::Cow<'static, str> {
        "session".into()
    }

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Unreachable>> + Send + 'static {
        self.session.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(last) = &mut self.last {
                return last.pop().map(cancellation);
            }
            tokio::select! {
                biased;
                () = self.session.ended().cancelled() => self.last = Some(self.session.take_requests()),
                Some(id) = self.left.recv() => return Some(cancellation(id)),
                message = self.inbox.recv() => match message {
                    Some(message) => return Some(message),
                    None => self.session.end(),
                },
            }
        }
    }

    async fn close(&mut self) -> Result<(), Unreachable> {
        Ok(())
    }
}

impl Drop for SessionTransport {
    fn drop(&mut self) {
        self.session.end();
        // Nobody answers them any more.
        drop(self.session.take_requests());
    }
}
