//! [`Listening`]: whether the server has answered the request for the stream on which it asks its client.
//!
//! The library requests that stream and sends the first call at the same time. Over a connection that is open already, the
//! call can arrive first, and a server of the older revisions then drops a question for which it has no stream.

use std::time::Duration;

use rmcp::model::ClientRequest;
use tokio::sync::watch;

/// Limit on waiting for a server that does not begin its answer before there is something on the stream.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The session whose stream was not answered yet. Without one nothing waits.
#[derive(Debug)]
pub(super) struct Listening(watch::Sender<Option<String>>);

impl Default for Listening {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Listening {
    /// A session has begun: its stream is requested next.
    pub(super) fn awaited(&self, session: &str) {
        self.0.send_replace(Some(session.to_owned()));
    }

    /// The server has answered, or refused, the request for the stream of a session. That of an earlier one does not count.
    pub(super) fn answered(&self, session: &str) {
        self.0.send_if_modified(|awaited| awaited.take_if(|awaited| awaited == session).is_some());
    }

    /// Waits for the answer at most a second, and only once for each session.
    pub(super) async fn wait(&self) {
        let Some(session) = self.0.borrow().clone() else { return };
        let mut awaited = self.0.subscribe();
        if tokio::time::timeout(MAX_WAIT, awaited.wait_for(Option::is_none)).await.is_err() {
            self.answered(&session);
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
