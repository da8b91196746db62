//! Which requests of a client are unanswered.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use tokio::sync::Notify;

/// Cheap to share; a clone is the same one.
#[derive(Debug, Clone, Default)]
pub(super) struct Open(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    ids: Mutex<HashSet<RequestId>>,
    closed: Notify,
}

impl Open {
    pub(super) fn heard(&self, message: &ClientJsonRpcMessage) {
        match message {
            // Answered when there is nothing more to hear.
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) => {}
            JsonRpcMessage::Request(request) => {
                self.ids().insert(request.id.clone());
            }
            // What is taken back gets no answer.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.close(id);
                }
            }
            _ => {}
        }
    }

    pub(super) fn close(&self, id: &RequestId) {
        self.ids().remove(id);
        self.0.closed.notify_waiters();
    }

    /// Resolves when there are fewer than `limit`.
    pub(super) async fn below(&self, limit: usize) {
        loop {
            let closed = self.0.closed.notified();
            let mut closed = std::pin::pin!(closed);
            closed.as_mut().enable();
            if self.ids().len() < limit {
                return;
            }
            closed.await;
        }
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.ids.lock()
    }
}
