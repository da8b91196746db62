//! [`Handler`]: the client's side of one connection. Handles notifications (progress, logs, changed tools) and passes
//! the requests of legacy servers to the [`ServerRequestHandler`], as [`crate::rounds`] does for modern ones.
#![expect(deprecated, reason = "servers still send logs, and ask for roots and models")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use converse_ensemble::{OfferKind, ServerNotice, ToolProgress};
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult,
    ElicitRequestParams, ElicitResult, ErrorCode, Implementation, ListRootsResult,
    LoggingMessageNotificationParam, ProgressNotificationParam, ProtocolVersion,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerNotification, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleClient};
use rmcp::{ClientHandler, ErrorData};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::AbortHandle;

use crate::Era;
use crate::error::ConnectionEnd;
use crate::in_flight::{InFlightRequests, LogReader};
use crate::log::{self, Log};
use crate::progress::ProgressListeners;
use crate::roots_request::RootsRequest;
use crate::sanitize;
use crate::server_requests::{Asker, ServerRequestHandler};
use crate::task;

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
    /// The era in which the server is spoken to.
    era: Option<Era>,
    /// Set by the transport.
    pub(crate) roots_request: RootsRequest,
    log: Arc<Log>,
    end: ConnectionEnd,
}

impl Handler {
    pub(crate) fn new(server_requests: &Arc<ServerRequestHandler>, end: &ConnectionEnd) -> Self {
        Self { server_requests: Arc::clone(server_requests), end: end.clone(), ..Self::default() }
    }

    /// Declares what is for servers of this era only.
    pub(crate) fn in_era(self, era: Era) -> Self {
        Self { era: Some(era), ..self }
    }

    /// Subscribes to changes of a modern server's lists; legacy servers announce them without a subscription. Only a
    /// gateway wants to know of other lists than the tools. A subscription that the server ends is not renewed.
    /// <https://modelcontextprotocol.io/specification/draft/basic/utilities/subscriptions> (checked 2026-11).
    pub(crate) fn subscribe(&self, peer: &Peer<RoleClient>, era: Era) {
        let Some(info) = peer.peer_info() else { return };
        // Whoever listed them before has an old list.
        if info.capabilities.resources.is_some() {
            self.list_changed(OfferKind::Resources);
        }
        if info.capabilities.prompts.is_some() {
            self.list_changed(OfferKind::Prompts);
        }
        if era == Era::Legacy {
            return;
        }
        let filter = list_filter(&info.capabilities, self.server_requests.responders.to_client);
        if filter != SubscriptionFilter::builder().build() {
            self.listen(peer, filter);
        }
    }

    /// Listens to a modern server until the connection or the task ends.
    pub(crate) fn listen(&self, peer: &Peer<RoleClient>, filter: SubscriptionFilter) -> AbortHandle {
        let (peer, handler) = (peer.clone(), self.clone());
        let listening = tokio::spawn(async move {
            let Ok(Ok(mut subscription)) = tokio::time::timeout(SUBSCRIBE, peer.listen(filter)).await else {
                tracing::debug!("a server declares changes of its lists but refused the subscription");
                return;
            };
            while let Ok(Some(notification)) = subscription.next().await {
                match notification {
                    ServerNotification::ToolListChangedNotification(_) => handler.changed.mark(),
                    ServerNotification::ResourceListChangedNotification(_) => {
                        handler.list_changed(OfferKind::Resources);
                    }
                    ServerNotification::PromptListChangedNotification(_) => {
                        handler.list_changed(OfferKind::Prompts);
                    }
                    ServerNotification::ResourceUpdatedNotification(updated) => {
                        handler.updated(updated.params.uri);
                    }
                    _ => {}
                }
            }
        });
        listening.abort_handle()
    }

    fn list_changed(&self, kind: OfferKind) {
        self.server_requests.notices.send(ServerNotice::Changed(kind));
    }

    fn updated(&self, uri: String) {
        self.server_requests.notices.send(ServerNotice::Updated { uri });
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

/// Returns the lists whose changes a modern server announces, of those that are wanted.
fn list_filter(capabilities: &ServerCapabilities, all: bool) -> SubscriptionFilter {
    let mut filter = SubscriptionFilter::builder().build();
    let tools = capabilities.tools.as_ref().and_then(|tools| tools.list_changed);
    let resources = capabilities.resources.as_ref().and_then(|resources| resources.list_changed);
    let prompts = capabilities.prompts.as_ref().and_then(|prompts| prompts.list_changed);
    filter.tools_list_changed = tools.filter(|announced| *announced);
    filter.resources_list_changed = resources.filter(|announced| *announced && all);
    filter.prompts_list_changed = prompts.filter(|announced| *announced && all);
    filter
}

fn withdrawn() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        // The version for `initialize`; the library's default has no `initialize`.
        let mut capabilities = self.server_requests.capabilities();
        if self.era == Some(Era::Modern) {
            task::declare(&mut capabilities);
        }
        ClientConfig::new(capabilities, Implementation::new("converse", env!("CARGO_PKG_VERSION")))
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
        let text = self.log.record(&self.server_requests.ensemble, &log);
        let log = log::server_log(log);
        match self.in_flight_requests.log_reader() {
            LogReader::Call(host) => host.log(log, text),
            LogReader::Anyone => self.server_requests.notices.send(ServerNotice::Log(log)),
            LogReader::Unknown => self.log.withhold(&self.server_requests.ensemble),
        }
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changed(OfferKind::Resources);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.list_changed(OfferKind::Prompts);
    }

    async fn on_resource_updated(
        &self,
        updated: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.updated(updated.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.mark();
    }
}
