//! The place of a call in a distributed trace: the span of its client, its own span, and what upstream servers get.

use std::sync::Arc;

use converse_engine::{CallSpan, CallSpans};
use converse_text::trace_context::TraceContext;
use http::request::Parts;
use rmcp::model::CallToolResponse;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio::time::Instant;

use crate::gateway::Gateway;

const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
/// The kinds of errors that have no code of the protocol.
/// <https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md> (checked 2026-11)
const TOOL_ERROR: &str = "tool_error";
const CANCELLED: &str = "cancelled";

/// The span of a call that runs. If it is dropped before its end, the client has gone.
pub(crate) struct CallTrace {
    spans: Option<Arc<dyn CallSpans>>,
    gateway: Gateway,
    /// The name that the client gives.
    tool: String,
    call: CallSpan,
    began: Instant,
}

/// The span that is the parent of what the call does. An extension of the request.
#[derive(Debug, Clone)]
struct Upstream(TraceContext);

impl CallTrace {
    /// Begins the span, and notes in the request what upstream servers get.
    pub(crate) fn begin(gateway: &Gateway, tool: &str, context: &mut RequestContext<RoleServer>) -> Self {
        let spans = gateway.shared.parts.spans.clone();
        let caller = caller(context);
        let own = spans.as_ref().and_then(|spans| spans.begin(caller.as_ref()));
        // Without a span of its own the gateway passes on the span of the client.
        if let Some(parent) = own.as_ref().or(caller.as_ref()) {
            context.extensions.insert(Upstream(parent.clone()));
        }
        let over_http = context.extensions.get::<Parts>().is_some();
        let error = Some(CANCELLED.to_owned());
        let call =
            CallSpan { tool: None, caller, context: own, over_http, error, elapsed: Default::default() };
        Self { spans, gateway: gateway.clone(), tool: tool.to_owned(), call, began: Instant::now() }
    }

    /// The span below which the tool calls others.
    pub(crate) fn upstream(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
        context.extensions.get::<Upstream>().map(|Upstream(parent)| parent.clone())
    }

    pub(crate) fn end(mut self, answer: &Result<CallToolResponse, ErrorData>) {
        self.call.error = match answer {
            Ok(CallToolResponse::Complete(result)) => {
                (result.is_error == Some(true)).then(|| TOOL_ERROR.to_owned())
            }
            // The client asks its user and calls again.
            Ok(_) => None,
            Err(error) => Some(error.code.0.to_string()),
        };
    }
}

impl Drop for CallTrace {
    fn drop(&mut self) {
        if let Some(spans) = self.spans.take() {
            // Now, because the tool may have come during the call. A client can invent any number of other names.
            let served = self.gateway.served_tools();
            let tool = served.find(&self.tool).map(|name| name.qualified.as_str().into());
            spans.end(CallSpan { tool, elapsed: self.began.elapsed(), ..self.call.clone() });
        }
    }
}

/// The span of the client: in the message (<https://modelcontextprotocol.io/seps/414-request-meta>, checked 2026-11),
/// otherwise in the headers. What is not valid counts as absent.
fn caller(context: &RequestContext<RoleServer>) -> Option<TraceContext> {
    let text = |name| context.meta.get(name).and_then(|value| value.as_str());
    let parsed = text(PARENT).and_then(|parent| TraceContext::parse(parent, text(STATE)));
    parsed.or_else(|| {
        let headers = &context.extensions.get::<Parts>()?.headers;
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
        TraceContext::parse(header(PARENT)?, header(STATE))
    })
}
