//! What a server may say to us on its own account: progress, logs, that its tools have changed. Nothing else: we declare
//! no capabilities, so that it neither asks for a model, nor for files, nor for input.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use converse_ensemble::{Host, Word};
use rmcp::ClientHandler;
#[expect(deprecated, reason = "servers still send logs")]
use rmcp::model::LoggingMessageNotificationParam;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RoleClient};
use tokio::sync::Notify;

use crate::words;

const PROGRESS_MESSAGE: usize = 1024;

/// The invocations that run on one connection, by their progress tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Callers(Arc<Mutex<HashMap<ProgressToken, Caller>>>);

#[derive(Debug, Clone)]
struct Caller {
    host: Host,
    stirred: Arc<Notify>,
}

/// As long as it lives, progress reaches its invocation.
#[derive(Debug)]
pub(crate) struct Listening {
    token: ProgressToken,
    callers: Callers,
    stirred: Arc<Notify>,
}

impl Callers {
    pub(crate) fn listen(&self, token: ProgressToken, host: Host) -> Listening {
        let stirred = Arc::new(Notify::new());
        self.lock().insert(token.clone(), Caller { host, stirred: Arc::clone(&stirred) });
        Listening { token, callers: self.clone(), stirred }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ProgressToken, Caller>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listening {
    /// Resolves when there was progress since the last time.
    pub(crate) async fn progress(&self) {
        self.stirred.notified().await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.callers.lock().remove(&self.token);
    }
}

/// The client's side of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    pub(crate) callers: Callers,
    /// The tools may have changed since they were last listed.
    pub(crate) changed: Arc<AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        // What `initialize` asks for; the library's default is a version that has no `initialize`.
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new("converse", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let caller = self.callers.lock().get(&progress.progress_token).cloned();
        if let Some(caller) = caller {
            caller.stirred.notify_one();
            let message = progress.message.map(|message| words::cleaned(&message, PROGRESS_MESSAGE));
            caller.host.say(Word::Progress { done: progress.progress, total: progress.total, message });
        }
    }

    #[expect(deprecated, reason = "servers still send logs")]
    async fn on_logging_message(
        &self,
        log: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        tracing::debug!(level = ?log.level, data = %words::cleaned(&log.data.to_string(), PROGRESS_MESSAGE), "a server logs");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}
