//! Answers the requests of clients, in both eras of the protocol.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/tools> (checked 2026-11)

#![expect(deprecated, reason = "SEP-2577 deprecates logging, but clients in use still read it")]

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::gateway::Gateway;
use crate::http_server::StreamDeadline;
use crate::served_tools::with_ttl;

/// Supported methods. If a request with one of them cannot be parsed, its parameters are wrong.
const KNOWN: [&str; 4] = ["initialize", "tools/call", "tools/list", "logging/setLevel"];

impl ServerHandler for Gateway {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_logging().enable_tools().enable_tool_list_changed();
        ServerConfig::new(tools.build())
            .with_server_info(Implementation::new("converse", self.version()))
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
            .with_instructions(self.instructions())
    }

    /// Over HTTP, `listChanged` is not offered: the older era receives changes on a stream that is always open, which this
    /// server does not have.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.negotiate_initialize(&request)?;
        if context.extensions.get::<http::request::Parts>().is_some()
            && let Some(tools) = &mut result.capabilities.tools
        {
            tools.list_changed = None;
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
            self.refresh().await;
        }
        let page = self.served_tools().page(cursor.as_deref())?;
        let modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        Ok(if modern { with_ttl(page) } else { page })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, &context).await.map(CallToolResponse::Complete)
    }

    /// Streamable HTTP compares its headers with the schema of the tool.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.served_tools().tool(name)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.set_log_level(request.level);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (gateway, peer) = (self.clone(), context.peer);
        let client = peer.clone();
        let notify = move || {
            let peer = client.clone();
            async move { peer.notify_tool_list_changed().await.is_ok() }
        };
        // Ends with the connection.
        tokio::spawn(async move { gateway.notify_changes(notify, || peer.is_transport_closed()).await });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = context.sink().clone();
        let wanted = context.accepted().tools_list_changed == Some(true);
        let notify = move || {
            let sink = sink.clone();
            async move { !wanted || sink.notify_tool_list_changed().await.is_ok() }
        };
        let peer = &context.request_context().peer;
        tokio::select! {
            () = context.cancelled() => {}
            () = self.closing() => {}
            () = StreamDeadline::of(context.request_context()) => {}
            () = self.notify_changes(notify, || peer.is_transport_closed()) => {}
        }
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let modern =
            context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        // The newer era has only the methods `tools/…`.
        if KNOWN.contains(&method.as_str()) && (!modern || method.starts_with("tools/")) {
            let message = format!("invalid parameters of `{method}`");
            return Err(ErrorData::invalid_params(message, None));
        }
        let method: String = method.chars().take(100).collect();
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

impl Gateway {
    fn instructions(&self) -> String {
        let served = self.served_tools();
        let names = served.ensembles();
        let shown = names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if names.len() > 20 { " and others" } else { "" };
        format!(
            "{} tools of these groups: {shown}{more}. Each call is checked against the schema of its tool and against \
             the rules of this server. A refused call returns an error that says why; do not repeat such a call.",
            served.len()
        )
    }
}
