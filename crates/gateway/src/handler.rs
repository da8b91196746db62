//! Answers the requests of clients, in both eras of the protocol.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools> (checked 2026-11)

#![expect(deprecated, reason = "SEP-2577 deprecates logging, but clients in use still read it")]

use converse_ensemble::OfferKind;
use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
    GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    PromptsCapability, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ResourcesCapability,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::call_trace::CallTrace;
use crate::calling_client::is_modern;
use crate::gateway::Gateway;
use crate::principal::{Admitted, Principal};
use crate::served_tools::with_ttl;
use crate::sessions::is_sessionless;
use crate::tasks::can_follow;

/// Supported methods. If a request with one of them cannot be parsed, its parameters are wrong.
const KNOWN: [&str; 15] = [
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
    "tools/call",
    "tools/list",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "completion/complete",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];
/// The number of them that only the older era has.
const LEGACY: usize = 4;
/// Subscriptions of one stream.
const MAX_SUBSCRIPTIONS: usize = 100;
/// Subscriptions of one client of the older era.
const MAX_FOLLOWED: usize = 1000;

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed();
        let mut capabilities = tools.enable_tasks().build();
        if !self.relays().is_empty() {
            capabilities.completions = Some(JsonObject::new());
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
            let mut resources = ResourcesCapability::default();
            (resources.list_changed, resources.subscribe) = (Some(true), Some(true));
            capabilities.resources = Some(resources);
        }
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("converse", self.version()))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_instructions(self.instructions())
    }

    /// Without a session, `listChanged` and subscriptions are not offered: there is no stream beside the answers.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        // The extension of tasks is for the newer era.
        result.capabilities.extensions = None;
        if is_sessionless(&context) {
            let capabilities = &mut result.capabilities;
            if let Some(tools) = &mut capabilities.tools {
                tools.list_changed = None;
            }
            if let Some(prompts) = &mut capabilities.prompts {
                prompts.list_changed = None;
            }
            if let Some(resources) = &mut capabilities.resources {
                (resources.list_changed, resources.subscribe) = (None, None);
            }
        }
        context.peer.set_peer_info(request);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        // All pages of a list are taken from the same state.
        if cursor.is_none() {
            self.upstreams().settled().await;
            self.refresh().await;
            self.announce_changes();
        }
        let page = self.served_tools().page(cursor.as_deref())?;
        Ok(if is_modern(&context) { with_ttl(page) } else { page })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if can_follow(&context) {
            return self.call_as_task(request, context).boxed().await;
        }
        self.traced_call(request, context).boxed().await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task_state(&request, &context).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.answer_task(request, &context)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.stop_task(&request, &context)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (entries, cursor) =
            self.list_offers(self.roster_for(&context), OfferKind::Prompts, request).boxed().await?;
        let mut list = ListPromptsResult::with_all_items(entries);
        list.next_cursor = cursor;
        Ok(list)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (entries, cursor) =
            self.list_offers(self.roster_for(&context), OfferKind::Resources, request).boxed().await?;
        let mut list = ListResourcesResult::with_all_items(entries);
        list.next_cursor = cursor;
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (entries, cursor) =
            self.list_offers(self.roster_for(&context), OfferKind::Templates, request).boxed().await?;
        let mut list = ListResourceTemplatesResult::with_all_items(entries);
        list.next_cursor = cursor;
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.prompt_offer(request, &context).boxed().await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.read_offer(request, &context).boxed().await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.complete_offer(request, &context).boxed().await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_sessionless(&context) {
            return Err(ErrorData::method_not_found::<SubscribeRequestMethod>());
        }
        let followed = self.follow(self.roster_for(&context), &request.uri).boxed().await?;
        let mut subscribed = self.subscribed.lock();
        if subscribed.len() >= MAX_FOLLOWED && !subscribed.contains_key(&request.uri) {
            let text = format!("a client follows {MAX_FOLLOWED} resources at most");
            return Err(ErrorData::invalid_request(text, None));
        }
        subscribed.insert(request.uri, followed);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        drop(self.subscribed.lock().remove(&request.uri));
        Ok(())
    }

    /// Streamable HTTP compares its headers with the schema of the tool.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.served_tools().tool(name)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.set_log_level(request.level);
        // Without a session the level counts for one request.
        if !is_sessionless(&context) {
            self.ask_for_logs();
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let principal = Principal::among(&context.extensions);
        let (gateway, peer) = (self.clone(), context.peer);
        let client = peer.clone();
        let notify = move || {
            let peer = client.clone();
            async move { peer.notify_tool_list_changed().await.is_ok() }
        };
        // Ends with the connection.
        tokio::spawn(async move {
            tokio::select! {
                () = gateway.notify_changes(notify, || peer.is_transport_closed()) => {}
                () = gateway.pass_notices(|ensemble, notice| gateway.notify(&peer, &principal, ensemble, notice)) => {}
            }
        });
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let lists = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
        let mut filter = lists.resources_list_changed().build();
        filter.resource_subscriptions.clone_from(&requested.resource_subscriptions);
        Some(filter)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.listen_to(context).boxed().await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let place = KNOWN.iter().position(|known| *known == method);
        if place.is_some_and(|place| !is_modern(&context) || place >= LEGACY) {
            let message = format!("invalid parameters of `{method}`");
            return Err(ErrorData::invalid_params(message, None));
        }
        let method: String = method.chars().take(100).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

impl Gateway {
    async fn listen_to(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let wanted = context.accepted().tools_list_changed == Some(true);
        self.announce_changes();
        let notify = move || {
            let sink = sink.clone();
            async move { !wanted || sink.notify_tool_list_changed().await.is_ok() }
        };
        let request = context.request_context();
        let peer = &request.peer;
        let roster = self.roster_for(request);
        let mut followed = Vec::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten().take(MAX_SUBSCRIPTIONS) {
            match self.follow(roster, uri).await {
                Ok(one) => followed.push(one),
                Err(error) => tracing::debug!(%error, "a resource cannot be subscribed to"),
            }
        }
        let (sink, principal) = (context.sink(), Principal::of(request));
        let followed = (&principal, followed.as_slice());
        tokio::select! {
            () = context.cancelled() => {}
            () = self.closing() => {}
            () = Admitted::stream_end(context.request_context()) => {}
            () = self.notify_changes(notify, || peer.is_transport_closed()) => {}
            () = self.pass_notices(|ensemble, notice| self.notify_listener(sink, followed, ensemble, notice)) => {}
        }
        Ok(())
    }

    pub(crate) async fn traced_call(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let trace = CallTrace::begin(self, &request.name, &mut context);
        let answer = self.call(request, &context).await;
        trace.end(&answer);
        answer
    }

    fn instructions(&self) -> String {
        let (served, upstreams) = (self.served_tools(), self.upstreams().all());
        let mut names: Vec<&str> = served.ensembles().iter().map(String::as_str).collect();
        let tools = match self.upstreams().is_settled() {
            true => format!("{} tools", served.len()),
            // Some servers are being connected, and their tools are not known yet.
            false if self.view.name().is_some() => "Tools".to_owned(),
            false => {
                names.extend(upstreams.iter().map(|one| one.ensemble.as_str()));
                names.sort_unstable();
                names.dedup();
                "Tools".to_owned()
            }
        };
        let shown = names.iter().take(20).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > 20 { " and others" } else { "" };
        let note = self.view.instructions().map(|note| format!("{note}\n\n")).unwrap_or_default();
        format!(
            "{note}{tools} of these groups: {shown}{more}. Each call is checked against the schema of its tool and against \
             the rules of this server. A refused call returns an error that says why; do not repeat such a call."
        )
    }
}
