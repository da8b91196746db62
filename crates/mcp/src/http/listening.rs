//! [`Listening`]: whether the server has answered the request for the stream on which it asks its client.
//!
//! The library requests that stream and sends the first call at the same time. Over a connection that is open already, the
//! call can arrive first, and a server of the older revisions then drops a question for which it has no stream.

use std::time::Duration;

use rmcp::model::ClientRequest;
use tokio::sync::watch;

/// Limit on waiting for a server that does not begin its answer before there is something on the stream.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The state of one client's stream. Without a session there is no stream, and nothing waits.
#[derive(Debug)]
pub(super) struct Listening(watch::Sender<bool>);

impl Default for Listening {
    fn default() -> Self {
        Self(watch::Sender::new(true))
    }
}

impl Listening {
    /// A session has begun: its stream is requested next.
    pub(super) fn awaited(&self) {
        self.0.send_replace(false);
    }

    /// The server has answered, or refused the stream.
    pub(super) fn answered(&self) {
        self.0.send_replace(true);
    }

    /// Waits for the answer at most a second, and only once for each session.
    pub(super) async fn wait(&self) {
        if *self.0.borrow() {
            return;
        }
        let mut answered = self.0.subscribe();
        if tokio::time::timeout(MAX_WAIT, answered.wait_for(|answered| *answered)).await.is_err() {
            self.answered();
        }
    }
}

/// Returns whether a server may ask its client while it works on this request.
pub(super) fn may_ask(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}
