//! [`Guarded`]: a transport that limits how many requests a server leaves unanswered.
//!
//! The library answers each server request in a task of its own and keeps it until the answer is written. A server that
//! sends requests without end and reads little would fill the memory, so unanswered requests are counted here, for
//! every transport.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::Transport;

use crate::error::{ConnectionEnd, EndCause};
use crate::roots_request::RootsRequest;

/// Server requests whose answers are not written yet.
const MAX_UNANSWERED: usize = 64;

pub(crate) struct Guarded<T> {
    inner: T,
    end: ConnectionEnd,
    unanswered: Unanswered,
    roots_request: RootsRequest,
    /// The last message made the library spawn a task, which must run before the next message is read.
    spawned: bool,
}

impl<T> Guarded<T> {
    /// Wraps a transport. `end` is set when the server is given up.
    pub(crate) fn new(inner: T, end: ConnectionEnd, roots_request: RootsRequest) -> Self {
        Self { inner, end, unanswered: Unanswered::default(), roots_request, spawned: false }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &message {
            ClientJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ClientJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let answering = id.map(|id| (self.unanswered.answering(&id), self.roots_request.clone(), id));
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            if let Some((_, roots_request, id)) = answering {
                roots_request.ended(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        if self.spawned {
            tokio::task::yield_now().await;
            self.spawned = false;
        }
        let message = self.inner.receive().await?;
        self.spawned =
            matches!(message, ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_));
        self.roots_request.received(&message);
        if self.unanswered.received(&message) > MAX_UNANSWERED {
            let reason =
                format!("the server asked more than {MAX_UNANSWERED} times without taking an answer");
            self.end.set_cause(EndCause::GivenUp(reason));
            return None;
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

#[derive(Debug, Clone, Default)]
struct Unanswered(Arc<Mutex<Count>>);

#[derive(Debug, Default)]
struct Count {
    /// All unanswered requests, including those whose answers are being written.
    all: usize,
    /// Requests that the library has not answered yet; an id may be used twice.
    open: HashMap<RequestId, usize>,
}

impl Count {
    fn close(&mut self, id: &RequestId) -> bool {
        let Some(times) = self.open.get_mut(id) else { return false };
        *times -= 1;
        if *times == 0 {
            self.open.remove(id);
        }
        true
    }
}

impl Unanswered {
    /// Counts a message and returns the number of unanswered requests.
    fn received(&self, message: &ServerJsonRpcMessage) -> usize {
        let mut count = self.lock();
        match message {
            ServerJsonRpcMessage::Request(request) => {
                count.all += 1;
                *count.open.entry(request.id.clone()).or_default() += 1;
            }
            // A cancelled request gets no answer, unless that is on its way.
            ServerJsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && count.close(id)
                {
                    count.all -= 1;
                }
            }
            _ => {}
        }
        count.all
    }

    fn answering(&self, id: &RequestId) -> Answering {
        let mut count = self.lock();
        // An answer to a cancelled request also counts until it is written.
        if !count.close(id) {
            count.all += 1;
        }
        drop(count);
        Answering(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock()
    }
}

/// An answer being written; dropped once it is written or has failed.
struct Answering(Unanswered);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.lock().all -= 1;
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientResult, EmptyResult};
    use serde_json::json;

    use super::*;

    /// Receives scripted messages and writes an answer only when permitted.
    struct ScriptedTransport {
        incoming: Vec<serde_json::Value>,
        writes: Arc<tokio::sync::Semaphore>,
    }

    impl Transport<RoleClient> for ScriptedTransport {
        type Error = std::io::Error;

        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
            let writes = Arc::clone(&self.writes);
            async move {
                writes.acquire().await.unwrap().forget();
                Ok(())
            }
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            let message = self.incoming.pop()?;
            Some(serde_json::from_value(message).unwrap())
        }

        async fn close(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    fn ping(id: &serde_json::Value) -> serde_json::Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    fn cancel(id: &serde_json::Value) -> serde_json::Value {
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } })
    }

    /// Returns how many messages arrive when all but the cancelled ones are answered at once and `written` answers can
    /// be written.
    async fn arriving(mut incoming: Vec<serde_json::Value>, written: usize) -> (usize, ConnectionEnd) {
        incoming.reverse();
        let (writes, end) = (Arc::new(tokio::sync::Semaphore::new(written)), ConnectionEnd::default());
        let mut guarded =
            Guarded::new(ScriptedTransport { incoming, writes }, end.clone(), RootsRequest::default());
        let (mut arrived, mut sending) = (0, tokio::task::JoinSet::new());
        while let Some(message) = guarded.receive().await {
            arrived += 1;
            if let ServerJsonRpcMessage::Request(request) = message {
                let answer =
                    ClientJsonRpcMessage::response(ClientResult::EmptyResult(EmptyResult {}), request.id);
                sending.spawn(guarded.send(answer));
            }
        }
        (arrived, end)
    }

    #[tokio::test]
    async fn a_server_that_takes_no_answers_is_given_up() {
        let numbers = |count: usize| (0..count).map(|n| ping(&json!(n))).collect::<Vec<_>>();
        let one_id = |count: usize| vec![ping(&json!("same")); count];
        let taken_back =
            |count: usize| (0..count).flat_map(|_| [ping(&json!(1)), cancel(&json!(1))]).collect::<Vec<_>>();
        for (what, incoming, written, arrive) in [
            ("few", numbers(MAX_UNANSWERED), 0, MAX_UNANSWERED),
            ("many", numbers(1000), 0, MAX_UNANSWERED),
            ("many that are answered", numbers(1000), 1000, 1000),
            ("some are answered", numbers(1000), 500, 500 + MAX_UNANSWERED),
            ("by one id", one_id(1000), 0, MAX_UNANSWERED),
            ("taken back too late", taken_back(1000), 0, 2 * MAX_UNANSWERED),
        ] {
            let all = incoming.len();
            let (arrived, end) = arriving(incoming, written).await;
            assert_eq!(arrived, arrive, "{what}");
            let given_up =
                matches!(end.cause(), Some(EndCause::GivenUp(why)) if why.contains("more than 64 times"));
            assert_eq!(given_up, arrived < all, "{what}");
        }
    }

    #[test]
    fn what_is_taken_back_in_time_does_not_count() {
        let unanswered = Unanswered::default();
        let received = |message| unanswered.received(&serde_json::from_value(message).unwrap());
        for _ in 0..100 {
            assert_eq!(received(ping(&json!(1))), 1);
            assert_eq!(received(cancel(&json!(1))), 0);
            assert_eq!(received(cancel(&json!(1))), 0, "twice");
        }
        // The answer was already being written when the request was cancelled.
        let answering = unanswered.answering(&RequestId::Number(1));
        assert_eq!(received(cancel(&json!(1))), 1);
        drop(answering);
        assert_eq!(received(cancel(&json!(1))), 0);
    }
}
