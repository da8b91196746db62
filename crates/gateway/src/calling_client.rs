//! The client of one call: gets what the server reports during the call, and answers the server's requests if it can.

#![expect(deprecated, reason = "clients in use still read logging")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use converse_config::LogLevel;
use converse_ensemble::{CallClient, ClientRefusal, ServerLog, ToolProgress};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::model::{
    ClientResult, CustomRequest, GetExtensions as _, InputRequiredResult, LoggingLevel,
    LoggingMessageNotification, LoggingMessageNotificationParam, ProgressNotification,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId, ServerNotification, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, RequestContext, ServiceError};
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::gateway::Gateway;
use crate::principal::Principal;
use crate::sessions::is_sessionless;
use crate::tasks::RunningTask;

/// Maximum number of messages that wait for a client that does not read. The newest are kept.
const MAX_WAITING: usize = 1024;
/// Longest time to send one message. After that no more are sent, so that the answer is not delayed.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// The levels of log messages, each at its number in [`LoggingLevel`].
const LEVELS: [LogLevel; 8] = [
    LogLevel::Debug,
    LogLevel::Info,
    LogLevel::Notice,
    LogLevel::Warning,
    LogLevel::Error,
    LogLevel::Critical,
    LogLevel::Alert,
    LogLevel::Emergency,
];

/// The answers and the state with which a client repeats a call.
pub(crate) type Round = (BTreeMap<String, Value>, Option<String>);

/// The client of one call, in the view of the tool that runs.
pub(crate) struct CallingClient {
    peer: Peer<RoleServer>,
    /// The request of the client, to which messages belong.
    request: RequestId,
    principal: Principal,
    token: Option<ProgressToken>,
    log: LogThreshold,
    /// The logger of messages that are not from a server.
    tool: String,
    /// What the client declared that it can answer.
    capabilities: Value,
    era: ClientEra,
    round: Round,
    handed_on: Mutex<Option<Value>>,
    /// Of a client that can follow a task.
    task: Option<Arc<RunningTask>>,
    /// Cancelled when the client can no longer answer.
    unheard: CancellationToken,
    queue: Mutex<Queue>,
    arrived: Notify,
    reports_sent: AtomicUsize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Report>,
    over: bool,
}

enum Report {
    Progress(ToolProgress),
    Log(ServerLog),
}

/// The log messages that a client wants.
enum LogThreshold {
    /// Of this level and above: the request says so.
    Request(LoggingLevel),
    /// As the client has set it.
    Client(Arc<AtomicU8>),
    /// None: the newer era sends only what the request asks for.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientEra {
    /// Gets requests while its call runs.
    Legacy,
    /// Gets requests as results, and repeats its call.
    Modern,
    /// Over HTTP without a session there is no way back to the client.
    LegacySessionless,
}

impl CallingClient {
    pub(crate) fn new(
        gateway: &Gateway,
        context: &RequestContext<RoleServer>,
        tool: &str,
        round: Round,
    ) -> Self {
        let is_modern = is_modern(context);
        let era = match (is_modern, is_sessionless(context)) {
            (true, _) => ClientEra::Modern,
            (false, false) => ClientEra::Legacy,
            (false, true) => ClientEra::LegacySessionless,
        };
        let log = match (context.meta.log_level(), is_modern) {
            (Some(level), _) => LogThreshold::Request(level),
            (None, true) => LogThreshold::Nothing,
            (None, false) => LogThreshold::Client(gateway.log_threshold()),
        };
        let capabilities = context.client_capabilities();
        Self {
            peer: context.peer.clone(),
            request: context.id.clone(),
            principal: Principal::of(context),
            token: context.meta.get_progress_token(),
            log,
            tool: tool.to_owned(),
            capabilities: capabilities.and_then(|can| serde_json::to_value(can).ok()).unwrap_or_default(),
            era,
            round,
            handed_on: Mutex::new(None),
            task: RunningTask::of(context),
            unheard: gateway.unheard(),
            queue: Mutex::default(),
            arrived: Notify::new(),
            reports_sent: AtomicUsize::new(0),
        }
    }

    /// Sends reports until the call is over or the client does not read.
    pub(crate) async fn send_reports(&self) {
        let mut done = f64::NEG_INFINITY;
        loop {
            let next = {
                let mut queue = self.queue.lock();
                match queue.waiting.pop_front() {
                    None if queue.over => return,
                    next => next,
                }
            };
            match next {
                None => self.arrived.notified().await,
                Some(report) => {
                    let sent = tokio::time::timeout(SEND_TIMEOUT, self.send(report, &mut done)).await;
                    if !matches!(sent, Ok(true)) {
                        return;
                    }
                    self.reports_sent.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Returns how many reports the client has taken.
    pub(crate) fn reports_sent(&self) -> usize {
        self.reports_sent.load(Ordering::Relaxed)
    }

    /// The call is over: [`CallingClient::send_reports`] ends after the reports that wait.
    pub(crate) fn finish(&self) {
        self.queue.lock().over = true;
        self.arrived.notify_one();
    }

    /// Returns the questions or the error of the server, if they are the answer of this call.
    pub(crate) fn handed_on(&self) -> Option<Result<InputRequiredResult, ErrorData>> {
        let mut value = self.handed_on.lock().take().filter(|_| self.era == ClientEra::Modern)?;
        match value.get_mut("error").map(Value::take) {
            Some(error) => serde_json::from_value(error).ok().map(Err),
            None => serde_json::from_value(value).ok().map(Ok),
        }
    }

    async fn ask_client(&self, method: &str, params: Value) -> Result<Value, ClientRefusal> {
        if let Some(task) = self.begun_task() {
            return task.ask(method, &params).await;
        }
        let params = (!params.is_null()).then_some(params);
        let mut request = CustomRequest::new(method, params);
        request.extensions.insert(OriginatingRequestId(self.request.clone()));
        let request = ServerRequest::CustomRequest(request);
        // The library would take the request of the server, which is answered by this task, for the one of the client.
        let peer = self.peer.clone();
        let asked = tokio::spawn(async move { peer.send_request(request).await });
        match AbortOnDropHandle::new(asked).await.map_err(|error| refusal(&error))? {
            Ok(ClientResult::CustomResult(result)) => Ok(result.0),
            Ok(result) => serde_json::to_value(result).map_err(|error| refusal(&error)),
            Err(ServiceError::McpError(error)) => {
                Err(ClientRefusal { code: error.code.0, message: error.message.into_owned() })
            }
            Err(error) => Err(refusal(&error)),
        }
    }

    /// Returns the task that the call has become.
    fn begun_task(&self) -> Option<&RunningTask> {
        self.task.as_deref().filter(|task| task.has_begun())
    }

    fn push(&self, report: Report) {
        let mut queue = self.queue.lock();
        if queue.waiting.len() >= MAX_WAITING {
            queue.waiting.pop_front();
        }
        queue.waiting.push_back(report);
        drop(queue);
        self.arrived.notify_one();
    }

    fn wants_log(&self, level: LoggingLevel) -> bool {
        match &self.log {
            LogThreshold::Request(lowest) => level as u8 >= *lowest as u8,
            LogThreshold::Client(lowest) => level as u8 >= lowest.load(Ordering::Relaxed),
            LogThreshold::Nothing => false,
        }
    }

    /// `done`: the last reported progress; the protocol allows only higher values after it.
    async fn send(&self, report: Report, done: &mut f64) -> bool {
        match (report, &self.token) {
            (Report::Progress(ToolProgress::Progress { done: now, total, message }), Some(token))
                if now > *done =>
            {
                *done = now;
                let mut progress = ProgressNotificationParam::new(token.clone(), now);
                progress.total = total;
                progress.message = message;
                self.notify(ProgressNotification::new(progress).into()).await
            }
            (Report::Progress(ToolProgress::Log { message }), _) if self.wants_log(LoggingLevel::Info) => {
                let log = LoggingMessageNotificationParam::new(LoggingLevel::Info, Value::from(message));
                let log = log.with_logger(self.tool.clone());
                self.notify(LoggingMessageNotification::new(log).into()).await
            }
            (Report::Log(log), _) => {
                self.notify(LoggingMessageNotification::new(log_message(log)).into()).await
            }
            _ => true,
        }
    }

    /// Sends a notification into the answer of the call, where there is one for each request.
    async fn notify(&self, mut notification: ServerNotification) -> bool {
        notification.extensions_mut().insert(OriginatingRequestId(self.request.clone()));
        self.peer.send_notification(notification).await.is_ok()
    }
}

impl CallClient for CallingClient {
    fn wants_reports(&self) -> bool {
        self.token.is_some() || self.task.is_some() || !matches!(self.log, LogThreshold::Nothing)
    }

    fn principal(&self) -> Arc<str> {
        match &self.principal {
            Principal::Owner => Arc::default(),
            Principal::Other(digest) => Arc::clone(digest),
        }
    }

    fn report(&self, progress: ToolProgress) {
        if let Some(task) = self.begun_task() {
            // A task has no progress and no logs, but a message.
            if let ToolProgress::Progress { message: Some(message), .. } = progress {
                task.tell(message);
            }
            return;
        }
        // Lines of a program are not for clients.
        if !matches!(progress, ToolProgress::Output { .. }) {
            self.push(Report::Progress(progress));
        }
    }

    fn log(&self, log: ServerLog) {
        if self.wants_log(logging_level(log.level)) && self.begun_task().is_none() {
            self.push(Report::Log(log));
        }
    }

    fn log_level(&self) -> Option<LogLevel> {
        match &self.log {
            LogThreshold::Request(level) => Some(level_at(*level as u8)),
            LogThreshold::Client(level) => Some(level_at(level.load(Ordering::Relaxed))),
            LogThreshold::Nothing => None,
        }
    }

    fn answers(&self, method: &str, params: &Value) -> bool {
        (self.era == ClientEra::Legacy || self.begun_task().is_some())
            && declares(&self.capabilities, method, params)
    }

    fn ask<'a>(&'a self, method: &'a str, params: Value) -> BoxFuture<'a, Result<Value, ClientRefusal>> {
        Box::pin(async move {
            let shutdown = || Err(refusal(&"the gateway is shutting down"));
            if self.unheard.is_cancelled() {
                return shutdown();
            }
            tokio::select! {
                biased;
                answer = self.ask_client(method, params) => answer,
                () = self.unheard.cancelled() => shutdown(),
            }
        })
    }

    fn takes_round(&self, method: &str, params: &Value) -> bool {
        self.era == ClientEra::Modern
            && self.begun_task().is_none()
            && declares(&self.capabilities, method, params)
    }

    fn hand_on(&self, round: Value) {
        if round["resultType"] != "task" {
            *self.handed_on.lock() = Some(round);
        } else if let Some(task) = &self.task {
            task.begin();
        }
    }

    fn round(&self) -> Round {
        self.round.clone()
    }
}

/// Returns whether the client declares that it answers this request.
fn declares(capabilities: &Value, method: &str, params: &Value) -> bool {
    match method {
        "elicitation/create" if params["mode"] == "url" => !capabilities["elicitation"]["url"].is_null(),
        // Without a mode, forms are meant.
        "elicitation/create" => match capabilities["elicitation"].as_object() {
            Some(modes) => modes.contains_key("form") || !modes.contains_key("url"),
            None => false,
        },
        "sampling/createMessage" => capabilities["sampling"].is_object(),
        "roots/list" => capabilities["roots"].is_object(),
        _ => false,
    }
}

fn refusal(error: &dyn std::fmt::Display) -> ClientRefusal {
    ClientRefusal { code: -32603, message: format!("the client did not answer: {error}") }
}

pub(crate) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Returns a log message of a server as a notification.
pub(crate) fn log_message(log: ServerLog) -> LoggingMessageNotificationParam {
    let mut message = LoggingMessageNotificationParam::new(logging_level(log.level), log.data);
    message.logger = log.logger;
    message
}

pub(crate) fn logging_level(level: LogLevel) -> LoggingLevel {
    match level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    }
}

/// Returns the level with this number in [`LoggingLevel`].
pub(crate) fn level_at(number: u8) -> LogLevel {
    LEVELS.get(usize::from(number)).copied().unwrap_or(LogLevel::Emergency)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_is_asked_only_what_it_declares() {
        let url = json!({ "mode": "url" });
        let form = json!({ "mode": "form" });
        for (capabilities, forms, urls) in [
            (json!({}), false, false),
            (json!({ "elicitation": {} }), true, false),
            (json!({ "elicitation": { "form": {} } }), true, false),
            (json!({ "elicitation": { "url": {} } }), false, true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true, true),
            (json!({ "sampling": {} }), false, false),
        ] {
            let can = |params: &Value| declares(&capabilities, "elicitation/create", params);
            assert_eq!((can(&form), can(&json!({})), can(&url)), (forms, forms, urls), "{capabilities}");
            let samples = declares(&capabilities, "sampling/createMessage", &json!({}));
            assert_eq!(samples, capabilities["sampling"].is_object());
            assert!(!declares(&capabilities, "roots/list", &json!({})));
        }
        assert!(declares(&json!({ "roots": {} }), "roots/list", &Value::Null));
    }
}
