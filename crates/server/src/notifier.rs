//! Sends the progress and log messages of a running tool to the client.

#![expect(deprecated, reason = "clients in use still read logging")]

use std::time::Duration;

use converse_ensemble::{Host, ToolProgress};
use rmcp::RoleServer;
use rmcp::model::{
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken, ProtocolVersion,
};
use rmcp::service::{Peer, RequestContext};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::gateway::Gateway;

/// Maximum number of waiting messages; further messages are dropped.
const MAX_WAITING: usize = 64;
/// Longest time to send one message. After that no more are sent, so that the answer is not delayed.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Notifier {
    queue: mpsc::Receiver<(usize, ToolProgress)>,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    wants_log: bool,
    tool: String,
    /// The last reported progress; lower values are not sent.
    done: f64,
}

impl Notifier {
    /// `None` if the client wants neither progress nor logs.
    pub(crate) fn for_call(
        gateway: &Gateway,
        context: &RequestContext<RoleServer>,
        tool: &str,
    ) -> Option<(Host, Self)> {
        let token = context.meta.get_progress_token();
        let is_modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let wants_log = match (context.meta.log_level(), is_modern) {
            (Some(level), _) => LoggingLevel::Info as u8 >= level as u8,
            // The newer era sends only what the request asks for.
            (None, true) => false,
            (None, false) => gateway.wants_log(LoggingLevel::Info),
        };
        if token.is_none() && !wants_log {
            return None;
        }
        let (sender, queue) = mpsc::channel(MAX_WAITING);
        let (peer, tool) = (context.peer.clone(), tool.to_owned());
        let notifier = Self { queue, peer, token, wants_log, tool, done: f64::NEG_INFINITY };
        Some((Host::new(0, sender), notifier))
    }

    /// Sends messages until the tool ends or the client does not read.
    pub(crate) async fn run(mut self) {
        while let Some((_, progress)) = self.queue.recv().await {
            match tokio::time::timeout(SEND_TIMEOUT, self.send(progress)).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    async fn send(&mut self, progress: ToolProgress) -> bool {
        match (progress, &self.token) {
            (ToolProgress::Progress { done, total, message }, Some(token)) if done > self.done => {
                self.done = done;
                let mut progress = ProgressNotificationParam::new(token.clone(), done);
                progress.total = total;
                progress.message = message;
                self.peer.notify_progress(progress).await.is_ok()
            }
            (ToolProgress::Log { message }, _) if self.wants_log => {
                let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::from(message));
                let log = log.with_logger(self.tool.clone());
                self.peer.notify_logging_message(log).await.is_ok()
            }
            _ => true,
        }
    }
}
