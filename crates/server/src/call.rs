//! One call of a client: an invocation with progress notifications and cancellation.

use std::time::Duration;

use converse_canister::{Arguments, Canister, Invocation, InvocationResult, Outcome};
use converse_engine::{AskApprover, Event, InvocationReport, SingleInvocation, Sink, SinkError};
use converse_ensemble::{CancelScope, Host};
use futures_util::FutureExt as _;
use futures_util::future::{FusedFuture as _, OptionFuture};
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::caller::Caller;
use crate::content;
use crate::gateway::{Gateway, GatewayParts};
use crate::http_server::StreamDeadline;
use crate::notifier::Notifier;
use crate::queue::QueueSlot;
use crate::raw_arguments::RawArguments;
use crate::served_tools::Name;

/// Maximum number of waiting calls; further calls are rejected at once.
const MAX_WAITING: usize = 16_384;
/// Longest time that an answer waits for notifications before it.
const NOTIFICATION_GRACE: Duration = Duration::from_secs(1);
/// The code of calls that are not accepted, in the range for errors of a server.
const BUSY: ErrorCode = ErrorCode(-32050);

impl Gateway {
    pub(crate) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if self.is_closing() {
            return Err(ErrorData::new(BUSY, "this server is shutting down; nothing was run", None));
        }
        let GatewayParts { max_calls, audit, .. } = &self.shared.parts;
        if self.running() >= max_calls + MAX_WAITING {
            return Err(ErrorData::new(BUSY, "too many calls are waiting; nothing was run", None));
        }
        let _call = self.shared.calls.token();
        let sink = audit.sink_for(&Caller::of(context));
        let served = self.served_tools();
        let Some(name) = served.find(&request.name) else {
            let why = served.hold_reason(&request.name, self.shared.parts.bare_names);
            return Err(self.unknown_tool(&request, why, sink.as_ref()).await);
        };
        let arguments = RawArguments::of(context, request.arguments.take());
        let Some(slot) = self.shared.queue.enter(arguments.weight()) else {
            return Err(ErrorData::new(
                BUSY,
                "the waiting calls take too much memory; nothing was run",
                None,
            ));
        };
        let counted = self.shared.counters.call(&name.shown);
        let Some(_slot) = self.wait_for_slot(slot, context).await else {
            counted.ended(Outcome::Cancelled);
            return Err(self.cancelled_in_queue(name, sink.as_ref()).await);
        };
        let report = self.run(name, arguments, sink.as_ref(), context).await;
        let report = report.map_err(|error| {
            tracing::error!(%error, "a call could not be recorded");
            // A call runs only if its start was recorded, but the record of its end may have failed.
            ErrorData::internal_error(format!("{error}; if the call started, its outcome is unknown"), None)
        })?;
        counted.ended(report.result.outcome);
        if report.result.outcome == Outcome::NoSuchTool {
            // The server removed or changed the tool. The refresh warns the operator, and the next call does not start.
            self.refresh_now().await;
            let why = self.served_tools().hold_reason(&request.name, self.shared.parts.bare_names);
            return Err(ErrorData::invalid_params(why.unwrap_or_else(|| text_of(&report.result)), None));
        }
        let blobs = self.shared.parts.blobs.as_ref();
        Ok(content::result(&report.result, report.verbatim.as_deref(), name.output_schema.as_ref(), blobs))
    }

    /// Waits for a slot; `None` if the call was cancelled meanwhile.
    async fn wait_for_slot<'a>(
        &'a self,
        slot: QueueSlot<'a>,
        context: &RequestContext<RoleServer>,
    ) -> Option<QueueSlot<'a>> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            () = self.shared.cancel.cancelled() => None,
            slot = self.shared.queue.wait(slot) => slot,
        }
    }

    async fn run(
        &self,
        name: &Name,
        arguments: RawArguments,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<InvocationReport, SinkError> {
        let invocation = self.invocation(&name.shown, arguments.parse());
        let (scope, policy) = (CancelScope::below(&context.ct), AskApprover(None));
        let roster = match StreamDeadline::is_of_owner(context) {
            true => &self.shared.parts.roster,
            false => &self.shared.for_others,
        };
        let single = SingleInvocation { roster, policy: &policy, sink, scope: &scope, within: None };
        let (host, notifier) = match Notifier::for_call(self, context, &name.qualified) {
            Some((host, notifier)) => (host, Some(notifier)),
            None => (Host::default(), None),
        };
        let mut running = std::pin::pin!(single.run(invocation, host).fuse());
        let mut notified = std::pin::pin!(OptionFuture::from(notifier.map(Notifier::run)).fuse());
        let mut cancelled = std::pin::pin!(self.shared.cancel.cancelled().fuse());
        let report = loop {
            futures_util::select_biased! {
                report = running => break report,
                _ = notified => {}
                () = cancelled => scope.now.cancel(),
            }
        };
        if !notified.is_terminated() {
            // The last notifications are sent before the answer.
            let _ = tokio::time::timeout(NOTIFICATION_GRACE, notified).await;
        }
        let report = report?;
        // The end is recorded before the answer is sent.
        sink.settle().await?;
        Ok(report)
    }

    fn invocation(&self, tool: &str, arguments: Arguments) -> Invocation {
        let (turn, id) = self.next_ids();
        Invocation { turn, id, wire_id: None, tool: tool.to_owned(), arguments, seal: None }
    }

    /// Records a call of a tool that is not served, and returns the error for the client.
    async fn unknown_tool(
        &self,
        request: &CallToolRequestParams,
        why: Option<String>,
        sink: &dyn Sink,
    ) -> ErrorData {
        let name: String = request.name.chars().take(100).collect();
        let text = why.unwrap_or_else(|| format!("unknown tool: {name}"));
        let arguments = self.record_unrun(&name, Outcome::NoSuchTool, &text, sink).await;
        arguments.err().unwrap_or_else(|| ErrorData::invalid_params(text, None))
    }

    /// Records a call that was cancelled while it waited, and returns the error for the client.
    async fn cancelled_in_queue(&self, name: &Name, sink: &dyn Sink) -> ErrorData {
        let text = "cancelled while waiting; nothing was run";
        let arguments = self.record_unrun(&name.shown, Outcome::Cancelled, text, sink).await;
        arguments.err().unwrap_or_else(|| ErrorData::new(BUSY, text, None))
    }

    async fn record_unrun(
        &self,
        tool: &str,
        outcome: Outcome,
        text: &str,
        sink: &dyn Sink,
    ) -> Result<(), ErrorData> {
        let failed = |error: SinkError| ErrorData::internal_error(error.to_string(), None);
        // The arguments are not needed, so they are not parsed.
        let invocation = self.invocation(tool, Arguments::parse("{}"));
        let result = InvocationResult::new(invocation.id.clone(), outcome, text.to_owned());
        sink.emit(&Event::Appended(&Canister::Invocation(invocation))).map_err(failed)?;
        sink.emit(&Event::Appended(&Canister::Result(result))).map_err(failed)?;
        sink.settle().await.map_err(failed)
    }
}

fn text_of(result: &InvocationResult) -> String {
    result.content.iter().filter_map(|content| content.as_text()).collect::<Vec<_>>().join("\n")
}
