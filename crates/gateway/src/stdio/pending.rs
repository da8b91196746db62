//! The unanswered requests of a client.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use tokio::sync::Notify;

/// The ids of unanswered requests. Clones share their state.
#[derive(Debug, Clone, Default)]
pub(super) struct PendingRequests(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    ids: Mutex<HashSet<RequestId>>,
    closed: Notify,
}

impl PendingRequests {
    pub(super) fn received(&self, message: &ClientJsonRpcMessage) {
        match message {
            // Answered only at the end of the input.
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) => {}
            JsonRpcMessage::Request(request) => {
                self.ids().insert(request.id.clone());
            }
            // A cancelled request gets no answer.
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.answered(id);
                }
            }
            _ => {}
        }
    }

    pub(super) fn answered(&self, id: &RequestId) {
        self.ids().remove(id);
        self.0.closed.notify_waiters();
    }

    /// Resolves when fewer than `limit` requests are unanswered.
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
