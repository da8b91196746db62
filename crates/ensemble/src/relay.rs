//! [`Relay`]: what a server offers beside its tools, for a gateway that passes it on as the server wrote it.

use std::sync::Arc;

use converse_config::LogLevel;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::call_client::ServerLog;
use crate::{Ensemble, Tool};

/// Notices of one server that wait for a reader. The oldest are dropped first.
const MAX_NOTICES: usize = 1024;

/// The tools by which a gateway reads what a server offers: they are judged, limited and recorded as any tool, and never
/// shown to a model. Their arguments are the parameters of the request.
pub const READ_RESOURCE: &str = "read_resource";
pub const GET_PROMPT: &str = "get_prompt";
pub const COMPLETE: &str = "complete";

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferKind {
    Resources,
    Templates,
    Prompts,
}

/// A message of a server that belongs to no call.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerNotice {
    Log(ServerLog),
    /// A list has changed. Resources and templates change together.
    Changed(OfferKind),
    /// A resource has changed.
    Updated {
        uri: String,
    },
}

/// Sends the notices of one server to any number of readers.
#[derive(Debug, Clone)]
pub struct NoticeSender(broadcast::Sender<ServerNotice>);

impl Default for NoticeSender {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_NOTICES))
    }
}

impl NoticeSender {
    pub fn send(&self, notice: ServerNotice) {
        // Without a reader there is nothing to do.
        let _ = self.0.send(notice);
    }

    pub fn notices(&self) -> Notices {
        Notices { receiver: self.0.subscribe(), clean: None }
    }
}

type Clean = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The notices of one server from now on.
pub struct Notices {
    receiver: broadcast::Receiver<ServerNotice>,
    clean: Option<Clean>,
}

impl Notices {
    /// Applies `clean` to the texts of log messages.
    #[must_use]
    pub fn cleaned(self, clean: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { clean: Some(Arc::new(clean)), ..self }
    }

    /// Returns the next notice; `None` if the connection is gone for good.
    pub async fn next(&mut self) -> Option<ServerNotice> {
        loop {
            match self.receiver.recv().await {
                Ok(mut notice) => {
                    if let (ServerNotice::Log(log), Some(clean)) = (&mut notice, &self.clean) {
                        log.clean(clean.as_ref());
                    }
                    return Some(notice);
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notices").finish_non_exhaustive()
    }
}

/// What a server offers beside its tools. Each method limits its own time.
pub trait Relay: Send + Sync {
    fn notices(&self) -> Notices;

    /// Asks the server for log messages of this level and above, now and after each start.
    fn set_log_level(&self, level: LogLevel);

    /// Returns the entries of a list as the server wrote them; none if it has no such list.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or did not send a valid list in time.
    fn list(&self, kind: OfferKind) -> BoxFuture<'_, Result<Vec<Value>, String>>;

    /// Returns the tools [`READ_RESOURCE`], [`GET_PROMPT`] and [`COMPLETE`]. Their results are the results of the server
    /// as structured content.
    fn readers(&self, ensemble: &Ensemble) -> Vec<Tool>;

    /// Starts or ends a subscription to a resource. A subscription survives a restart of the server.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, or refuses.
    fn subscribe<'a>(&'a self, uri: &'a str, wanted: bool) -> BoxFuture<'a, Result<(), String>>;
}
