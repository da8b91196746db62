//! [`Handler`]: the client's side of one connection. Handles notifications (progress, logs, changed tools) and passes
//! the requests of legacy servers to the [`ServerRequestHandler`], as [`crate::rounds`] does for modern ones.
#![expect(deprecated, reason = "servers still send logs, and ask for roots and models")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_ensemble::ToolProgress;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ErrorCode, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion, ServerNotification,
    SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Era;
use crate::error::ConnectionEnd;
use crate::in_flight::InFlightRequests;
use crate::log::Log;
use crate::progress::ProgressListeners;
use crate::sanitize;
use crate::server_requests::{Asker, ServerRequestHandler};

/// Limit for the answer to a subscription.
const SUBSCRIBE: Duration = Duration::from_secs(10);
const PROGRESS_MESSAGE: usize = 1024;
/// Request methods of servers.
const QUESTIONS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Whether a server's tools may have changed. Two flags, because two parties react: the roster lists the tools again
/// before a model call, and a call of an accepted tool verifies it first. A failed listing clears the first flag after
/// some attempts, never the second.
#[derive(Debug, Default)]
pub(crate) struct ToolListChanged {
    /// The tools must be listed again.
    pub(crate) relist_due: AtomicBool,
    /// The current tools have not been compared with the accepted ones.
    pub(crate) unverified: AtomicBool,
}

impl ToolListChanged {
    pub(crate) fn mark(&self) {
        self.relist_due.store(true, Ordering::Relaxed);
        self.unverified.store(true, Ordering::Relaxed);
    }
}

/// The client's side of one connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    pub(crate) progress_listeners: ProgressListeners,
    pub(crate) changed: Arc<ToolListChanged>,
    pub(crate) server_requests: Arc<ServerRequestHandler>,
    pub(crate) in_flight_requests: InFlightRequests,
    log: Arc<Log>,
    end: ConnectionEnd,
}

impl Handler {
    pub(crate) fn new(server_requests: &Arc<ServerRequestHandler>, end: &ConnectionEnd) -> Self {
        Self { server_requests: Arc::clone(server_requests), end: end.clone(), ..Self::default() }
    }

    /// Subscribes to changes of a modern server's tools; legacy servers announce them without a subscription. A
    /// subscription that the server ends is not renewed.
    /// <https://modelcontextprotocol.io/specification/draft/basic/utilities/subscriptions> (checked 2026-11).
    pub(crate) fn subscribe(&self, peer: &Peer<RoleClient>, era: Era) {
        let tools = peer.peer_info().and_then(|info| info.capabilities.tools.clone());
        if era == Era::Legacy || tools.and_then(|tools| tools.list_changed) != Some(true) {
            return;
        }
        let (peer, changed) = (peer.clone(), Arc::clone(&self.changed));
        tokio::spawn(async move {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            let Ok(Ok(mut subscription)) = tokio::time::timeout(SUBSCRIBE, peer.listen(filter)).await else {
                tracing::debug!("a server declares `tools.listChanged` but refused the subscription");
                return;
            };
            while let Ok(Some(notification)) = subscription.next().await {
                if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
                    changed.mark();
                }
            }
        });
    }

    /// Answers a request of the server until it is answered, cancelled or no longer relevant.
    async fn answer<T: DeserializeOwned>(
        &self,
        method: &str,
        params: impl Serialize,
        context: &RequestContext<RoleClient>,
    ) -> Result<T, ErrorData> {
        let odd = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        let params = serde_json::to_value(params).map_err(odd)?;
        let was_for_something = self.in_flight_requests.is_any_running();
        let asker = Asker::Any(&self.in_flight_requests);
        let answer = tokio::select! {
            biased;
            answer = self.server_requests.answer(method, &params, &asker) => answer?,
            () = context.ct.cancelled() => return Err(withdrawn()),
            () = self.end.over() => return Err(withdrawn()),
            () = self.in_flight_requests.all_finished(), if was_for_something => return Err(withdrawn()),
        };
        serde_json::from_value(answer).map_err(odd)
    }
}

fn withdrawn() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        // The version for `initialize`; the library's default has no `initialize`.
        ClientConfig::new(
            self.server_requests.capabilities(),
            Implementation::new("converse", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    /// Used over HTTP. Over stdio, forms arrive as custom requests (below).
    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.answer("elicitation/create", params, &context).await
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.answer("sampling/createMessage", params, &context).await
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.answer("roots/list", Value::Null, &context).await
    }

    /// Includes forms over stdio, unparsed, and requests that the library could not read as one of its types.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if QUESTIONS.contains(&request.method.as_str()) {
            return self.answer(&request.method, request.params, &context).await.map(CustomResult);
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, sanitize::clean(&request.method, 100), None))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let message = progress.message.map(|message| sanitize::clean(&message, PROGRESS_MESSAGE));
        let word = ToolProgress::Progress { done: progress.progress, total: progress.total, message };
        self.progress_listeners.report(&progress.progress_token, word);
    }

    async fn on_logging_message(
        &self,
        log: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        if let Some(message) = self.log.record(&self.server_requests.ensemble, &log) {
            self.in_flight_requests.report(|| ToolProgress::Log { message });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.mark();
    }
}
