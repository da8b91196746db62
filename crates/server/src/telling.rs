//! What a tool says while it runs, handed on to the client that called it.

#![expect(deprecated, reason = "logging is what the clients of today read")]

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

/// Words that may wait; more are dropped.
const WORDS: usize = 64;
/// How long a client may take to read one word. Then it is told no more: its answer shall not wait for words.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Telling {
    words: mpsc::Receiver<(usize, ToolProgress)>,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    hears: bool,
    tool: String,
    /// Progress only ever rises.
    done: f64,
}

impl Telling {
    /// `None`, if this client wants to hear nothing.
    pub(crate) fn to(
        gateway: &Gateway,
        context: &RequestContext<RoleServer>,
        tool: &str,
    ) -> Option<(Host, Self)> {
        let token = context.meta.get_progress_token();
        let modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let hears = match (context.meta.log_level(), modern) {
            (Some(level), _) => LoggingLevel::Info as u8 >= level as u8,
            // Nothing is sent that was not asked for.
            (None, true) => false,
            (None, false) => gateway.hears(LoggingLevel::Info),
        };
        if token.is_none() && !hears {
            return None;
        }
        let (sender, words) = mpsc::channel(WORDS);
        let (peer, tool) = (context.peer.clone(), tool.to_owned());
        let telling = Self { words, peer, token, hears, tool, done: f64::NEG_INFINITY };
        Some((Host::new(0, sender), telling))
    }

    /// Until the tool can say no more, or the client does not hear.
    pub(crate) async fn run(mut self) {
        while let Some((_, word)) = self.words.recv().await {
            match tokio::time::timeout(PATIENCE, self.tell(word)).await {
                Ok(true) => {}
                Ok(false) | Err(_) => return,
            }
        }
    }

    async fn tell(&mut self, word: ToolProgress) -> bool {
        match (word, &self.token) {
            (ToolProgress::Progress { done, total, message }, Some(token)) if done > self.done => {
                self.done = done;
                let mut progress = ProgressNotificationParam::new(token.clone(), done);
                progress.total = total;
                progress.message = message;
                self.peer.notify_progress(progress).await.is_ok()
            }
            (ToolProgress::Log { message }, _) if self.hears => {
                let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::from(message));
                let log = log.with_logger(self.tool.clone());
                self.peer.notify_logging_message(log).await.is_ok()
            }
            _ => true,
        }
    }
}
