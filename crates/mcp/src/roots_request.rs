//! [`RootsRequest`]: whether a legacy server has asked for the roots when it was initialized. Its first request of ours waits
//! until it has them: before, some servers work in other directories.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, PingRequest, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::Era;
use crate::link::Link;

/// Longest time from the first request of ours until one is sent.
const WAIT: Duration = Duration::from_secs(1);
/// What a server gets to look at the directories. Nothing says when it has: `server-filesystem` answers pings meanwhile, and
/// was ready after 5 to 31 ms on a busy machine (2026-11).
const PAUSE: Duration = Duration::from_millis(100);

/// The first `roots/list` of a server on one connection. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct RootsRequest(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Default, PartialEq)]
enum State {
    #[default]
    NotAsked,
    Asked(RequestId),
    Ended(Instant),
}

impl RootsRequest {
    /// Takes in a message of the server.
    pub(crate) fn received(&self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Request(request) if is_for_roots(&request.request) => {
                self.follow(&State::NotAsked, || State::Asked(request.id.clone()));
            }
            ServerJsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ended(id);
                }
            }
            _ => {}
        }
    }

    /// Takes in that a request of the server was answered or withdrawn.
    pub(crate) fn ended(&self, id: &RequestId) {
        self.follow(&State::Asked(id.clone()), || State::Ended(Instant::now()));
    }

    fn follow(&self, before: &State, after: impl FnOnce() -> State) {
        self.0.send_if_modified(|state| {
            let is_before = state == before;
            if is_before {
                *state = after();
            }
            is_before
        });
    }

    /// Returns when the request was answered, once it is; `None` if the server has not asked.
    async fn answered(&self) -> Option<Instant> {
        let mut states = self.0.subscribe();
        let state = states.wait_for(|state| !matches!(state, State::Asked(_))).await.ok()?;
        match &*state {
            State::Ended(at) => Some(*at),
            _ => None,
        }
    }
}

fn is_for_roots(request: &ServerRequest) -> bool {
    match request {
        ServerRequest::ListRootsRequest(_) => true,
        ServerRequest::CustomRequest(custom) => custom.method == "roots/list",
        _ => false,
    }
}

impl Link {
    /// Waits until the server has the roots, if it is a legacy server that may have them and asks for them when it is
    /// initialized. All requests of a connection together wait for a second, each at most for half of its time, and none
    /// longer than the connection lasts.
    pub(crate) async fn roots_known(&self, deadline: Instant) {
        if self.era != Era::Legacy || !self.handler.server_requests.roots.are_granted() {
            return;
        }
        let now = Instant::now();
        let until = *self.roots_until.get_or_init(|| now + WAIT);
        if now >= until {
            return;
        }
        let until = until.min(now + deadline.saturating_duration_since(now) / 2);
        tokio::select! {
            _ = timeout_at(until, self.roots_known.get_or_init(|| self.roots_taken())) => {}
            () = self.end.over() => {}
            () = self.retired.cancelled() => {}
        }
    }

    async fn roots_taken(&self) {
        // Over pipes, what the server asks when it is initialized comes before it answers this.
        self.ping().await;
        if let Some(answered) = self.handler.roots_request.answered().await {
            sleep_until(answered + PAUSE).await;
            // A server that is slow has at least read the answer.
            self.ping().await;
        }
    }

    /// Waits for any answer of the server.
    async fn ping(&self) {
        drop(self.ask(ClientRequest::PingRequest(PingRequest::default())).await);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_request_is_waited_for_until_it_is_answered_or_withdrawn() {
        let asked = |id: u32, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let withdrawn =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
        for (what, ended) in [("answered", None), ("withdrawn", Some(withdrawn))] {
            let request = RootsRequest::default();
            let received = |message| request.received(&serde_json::from_value(message).unwrap());
            let is_waited_for = || request.answered().now_or_never().is_none();
            received(asked(0, "ping"));
            assert_eq!(request.answered().now_or_never(), Some(None), "{what}");
            received(asked(1, "roots/list"));
            received(asked(2, "roots/list"));
            request.ended(&RequestId::Number(2));
            assert!(is_waited_for(), "{what}");
            match ended {
                Some(message) => received(message),
                None => request.ended(&RequestId::Number(1)),
            }
            assert!(!is_waited_for(), "{what}");
            received(asked(3, "roots/list"));
            assert!(!is_waited_for(), "{what}: only at the start");
        }
    }
}
