//! One call of a client: an invocation with progress notifications and cancellation.

use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Arguments, Blobs, Canister, Invocation, InvocationResult, Outcome};
use converse_engine::{AskApprover, Event, InvocationReport, SingleInvocation, Sink, SinkError};
use converse_ensemble::{CallClient, CancelScope, Host, Roster, Verdict};
use futures_util::FutureExt as _;
use futures_util::future::{FusedFuture as _, OptionFuture};
use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorCode, InputRequiredResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::budgets::Exceeded;
use crate::call_trace::CallTrace;
use crate::caller::Caller;
use crate::calling_client::{CallingClient, Round};
use crate::content;
use crate::counters::Call;
use crate::gateway::Gateway;
use crate::principal::{Admitted, Principal};
use crate::queue::{Flow, Full, QueueSlot};
use crate::raw_arguments::RawArguments;
use crate::search::{self, CALL, FIND};
use crate::served_tools::{Name, with_fixed};

/// Maximum number of waiting calls; further calls are rejected at once.
const MAX_WAITING: usize = 16_384;
/// Longest time that an answer waits for one of the notifications before it, and how many times it waits so long.
const NOTIFICATION_GRACE: Duration = Duration::from_secs(1);
const MAX_GRACES: usize = 10;
/// The code of calls that are not accepted, in the range for errors of a server.
const BUSY: ErrorCode = ErrorCode(-32050);
/// The code of calls beyond the budget of their principal.
const LIMITED: ErrorCode = ErrorCode(-32051);
/// When to try again a call for which the queue has no room.
const RETRY_SOON: Duration = Duration::from_secs(1);

/// The tool that a request of a client runs.
pub(crate) struct Target<'a> {
    /// The name in the roster.
    pub(crate) shown: &'a str,
    /// `ensemble.invoker`.
    pub(crate) qualified: &'a str,
    pub(crate) roster: &'a Roster,
    /// Arguments that the view adds, and no client can give.
    pub(crate) fixed: Option<&'a Map<String, Value>>,
}

/// The turn of a call. It has its place until this is dropped.
pub(crate) struct Turn<'a> {
    counted: Call,
    /// Whether it waited, so that a reload may have changed what it runs.
    pub(crate) has_waited: bool,
    /// Its turn among the tools that may not run at the same time; `None` if it is not to run.
    among_tools: Option<converse_ensemble::Turn>,
    _slot: QueueSlot<'a>,
}

impl Turn<'_> {
    /// The call does not run.
    pub(crate) fn unused(self, outcome: Outcome) {
        self.counted.ended(outcome);
    }
}

/// The end of a request.
pub(crate) struct Ended {
    pub(crate) report: InvocationReport,
    /// The questions of the server, if they are the answer.
    pub(crate) asking: Option<InputRequiredResult>,
    /// The error of the server, if it is about what the client declared or answered.
    refusal: Option<ErrorData>,
}

impl Gateway {
    pub(crate) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _call = self.admit()?;
        self.within_budget(&Principal::of(context))?;
        let sink = self.sink_for(context);
        let mut served = self.served_tools();
        let mut arguments = RawArguments::of(context, request.arguments.take());
        if served.searches() && request.name == FIND {
            self.upstreams().settled().await;
            return Ok(CallToolResponse::Complete(search::found(self.served_tools().all(), arguments)));
        }
        if served.searches() && request.name == CALL {
            match search::inner_call(&arguments) {
                Ok((tool, inner)) => (request.name, arguments) = (tool.into(), inner),
                Err(why) => {
                    self.record_unrun(CALL, Outcome::Invalid, &why, sink.as_ref()).await?;
                    return Ok(CallToolResponse::Complete(search::failed(why)));
                }
            }
        }
        if served.find(&request.name).is_none() {
            served = self.tools_with(&request.name).await;
        }
        let Some(name) = served.find(&request.name) else {
            let why = self.view.hold_reason(&served, &request.name);
            return Err(self.unknown_tool(&request, why, sink.as_ref()).await);
        };
        let target = self.target(name, context);
        let turn = self.wait_for_turn(&target, &arguments, sink.as_ref(), context).await?;
        // A reload may have changed it meanwhile.
        let now = self.served_tools();
        let name = match now.find(&request.name) {
            Some(one) if one.qualified == name.qualified => one,
            other => {
                turn.unused(Outcome::NoSuchTool);
                let why = match other {
                    Some(_) => Some(format!("`{}` is another tool now; nothing was run", request.name)),
                    None => self.view.hold_reason(&now, &request.name),
                };
                return Err(self.unknown_tool(&request, why, sink.as_ref()).await);
            }
        };
        let round = (request.input_responses.take().unwrap_or_default(), request.request_state.take());
        let target = self.target(name, context);
        let Ended { report, asking, .. } =
            self.run_in_turn(turn, &target, arguments, round, sink.as_ref(), context).await?;
        if let Some(asking) = asking {
            return Ok(CallToolResponse::InputRequired(asking));
        }
        if report.result.outcome == Outcome::NoSuchTool {
            // The server removed or changed the tool. The refresh warns the operator, and the next call does not start.
            self.refresh_now().await;
            let why = self.view.hold_reason(&self.served_tools(), &request.name);
            let why = why.unwrap_or_else(|| match self.view.name() {
                None => text_of(&report.result),
                // The roster would name tools of other views.
                Some(_) => format!("unknown tool: {}", request.name),
            });
            return Err(ErrorData::invalid_params(why, None));
        }
        let schema = name.output_schema.as_ref();
        let result = content::result(&report.result, report.verbatim.as_deref(), schema, self.blobs());
        Ok(CallToolResponse::Complete(result))
    }

    /// Admits a call, which is open while the token lives.
    pub(crate) fn admit(&self) -> Result<TaskTrackerToken, ErrorData> {
        if self.is_closing() {
            return Err(ErrorData::new(BUSY, "this server is shutting down; nothing was run", None));
        }
        if self.running() >= self.max_calls() + MAX_WAITING {
            return Err(self.not_accepted(BUSY, Full::Calls.message(), "queue", RETRY_SOON));
        }
        Ok(self.shared.calls.token())
    }

    fn target<'a>(&'a self, name: &'a Name, context: &RequestContext<RoleServer>) -> Target<'a> {
        let (shown, qualified) = (&name.shown, &name.qualified);
        Target { shown, qualified, roster: self.roster_for(context), fixed: Some(&name.fixed) }
    }

    /// Returns the tools as the principal of a request may call them.
    pub(crate) fn roster_for(&self, context: &RequestContext<RoleServer>) -> &Roster {
        self.view.roster_for(&Principal::of(context))
    }

    /// Returns where the calls of a request are recorded.
    pub(crate) fn sink_for(&self, context: &RequestContext<RoleServer>) -> Arc<dyn Sink> {
        let caller = Caller { view: self.view.name().cloned(), ..Caller::of(context) };
        self.shared.parts.audit.sink_for(&caller)
    }

    /// Waits for the turn of a call of this tool, and counts the call from now on.
    pub(crate) async fn wait_for_turn<'a>(
        &'a self,
        target: &Target<'_>,
        arguments: &RawArguments,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<Turn<'a>, ErrorData> {
        let (principal, shown) = (Principal::of(context), target.shown);
        let ensemble = target.qualified.split('.').next().unwrap_or_default();
        let flow = Flow { tool: shown, ensemble, principal: &principal };
        let entered = self.shared.queue.enter(flow, arguments.weight());
        let slot = entered.map_err(|full| self.not_accepted(BUSY, full.message(), "queue", RETRY_SOON))?;
        let mut has_waited = matches!(slot, QueueSlot::Waiting(_));
        let counted = self.shared.counters.call(shown, self.view.name());
        let waited = async {
            let slot = self.wait_for_slot(slot, context).await?;
            let among_tools = self.wait_for_tools(target, arguments, &mut has_waited, context).await?;
            Some((slot, among_tools))
        };
        let Some((slot, among_tools)) = waited.await else {
            counted.ended(Outcome::Cancelled);
            let text = "cancelled while waiting; nothing was run";
            return Err(self.ended_in_queue((shown, Outcome::Cancelled), text, sink).await);
        };
        let turn = Turn { counted, has_waited, among_tools, _slot: slot };
        // Servers may have been waited for before the queue.
        if Admitted::is_revoked(context) {
            turn.unused(Outcome::Refused);
            let text = "the access of this client was taken back; nothing was run";
            return Err(self.ended_in_queue((shown, Outcome::Refused), text, sink).await);
        }
        Ok(turn)
    }

    /// Runs a tool whose turn it is, and records it.
    pub(crate) async fn run_in_turn(
        &self,
        turn: Turn<'_>,
        target: &Target<'_>,
        arguments: RawArguments,
        round: Round,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<Ended, ErrorData> {
        let (principal, bytes) = (Principal::of(context), arguments.len());
        let Turn { counted, among_tools, _slot, .. } = turn;
        let running = self.run((target, among_tools), arguments, round, sink, context);
        let mut ended = running.await.map_err(|error| {
            tracing::error!(%error, "a call could not be recorded");
            // A call runs only if its start was recorded, but the record of its end may have failed.
            ErrorData::internal_error(format!("{error}; if the call started, its outcome is unknown"), None)
        })?;
        let result = &ended.report.result;
        counted.ended(result.outcome);
        let verbatim = ended.report.verbatim.as_ref();
        let size = || verbatim.map_or_else(|| content::size(result, self.blobs()), |text| text.len());
        self.shared.budgets.spend(&principal, result.cost, || bytes + size());
        self.view.budget.spend(&(), result.cost, || bytes + size());
        ended.refusal.take().map_or(Ok(ended), Err)
    }

    fn blobs(&self) -> &dyn Blobs {
        self.shared.parts.blobs.as_ref()
    }

    /// Takes a call from the budgets of its principal and of the view.
    pub(crate) fn within_budget(&self, principal: &Principal) -> Result<(), ErrorData> {
        let admitted = self.shared.budgets.admit(principal).and_then(|()| self.view.budget.admit(&()));
        admitted.map_err(|exceeded| self.limited(exceeded))
    }

    /// Takes a repetition of a result, which its call has paid for.
    pub(crate) fn repeated(&self, principal: &Principal) -> Result<(), ErrorData> {
        let admitted = self.shared.budgets.repeat(principal).and_then(|()| self.view.budget.repeat(&()));
        admitted.map_err(|exceeded| self.limited(exceeded))
    }

    fn limited(&self, Exceeded { limit, retry_after }: Exceeded) -> ErrorData {
        let wait = retry_after.as_secs_f64().ceil();
        let text = format!("the limit `{limit}` is reached; nothing was run; try again in {wait} seconds");
        self.not_accepted(LIMITED, &text, limit, retry_after)
    }

    /// Counts a call that is answered at once, and returns its error.
    fn not_accepted(
        &self,
        code: ErrorCode,
        text: &str,
        limit: &'static str,
        retry_after: Duration,
    ) -> ErrorData {
        self.shared.counters.not_accepted(limit);
        let data = json!({ "limit": limit, "retry_after": retry_after.as_secs_f64().ceil() as u64 });
        ErrorData::new(code, text.to_owned(), Some(data))
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

    /// Waits for running calls of tools that may not run at the same time. A call that may not run as things are does not
    /// wait for them. `None` if the call was cancelled meanwhile.
    async fn wait_for_tools(
        &self,
        target: &Target<'_>,
        arguments: &RawArguments,
        has_waited: &mut bool,
        context: &RequestContext<RoleServer>,
    ) -> Option<Option<converse_ensemble::Turn>> {
        while let Some(gate) = target.roster.gate(target.shown) {
            if let Some(turn) = gate.clone().pass().now_or_never() {
                return Some(Some(turn));
            }
            if !self.may_run(target, arguments) {
                break;
            }
            *has_waited = true;
            let turn = tokio::select! {
                biased;
                () = context.ct.cancelled() => return None,
                () = self.shared.cancel.cancelled() => return None,
                turn = gate.pass() => turn,
            };
            // A reload may have made it a tool that waits for others.
            if target.roster.gate(target.shown).is_some_and(|now| turn.is_at(&now)) {
                return Some(Some(turn));
            }
        }
        Some(None)
    }

    fn may_run(&self, target: &Target<'_>, arguments: &RawArguments) -> bool {
        let Ok(arguments) = with_fixed(arguments.clone().parse(), target.fixed) else { return false };
        let verdict = target.roster.judge(&self.invocation(target.shown, arguments));
        matches!(verdict, Verdict::Allowed(_))
    }

    async fn run(
        &self,
        (target, among_tools): (&Target<'_>, Option<converse_ensemble::Turn>),
        arguments: RawArguments,
        round: Round,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<Ended, SinkError> {
        let arguments = match with_fixed(arguments.parse(), target.fixed) {
            Ok(arguments) => arguments,
            Err(given) => {
                let text = format!("invalid arguments: `{given}` is not an argument of this tool");
                let result = self.unrun(target.shown, Outcome::Invalid, &text, sink).await?;
                let report =
                    InvocationReport { result, verbatim: None, elapsed: None, lacks_descriptors: false };
                return Ok(Ended { report, asking: None, refusal: None });
            }
        };
        let invocation = self.invocation(target.shown, arguments);
        let (scope, policy) = (CancelScope::below(&context.ct), AskApprover(None));
        let single =
            SingleInvocation { roster: target.roster, policy: &policy, sink, scope: &scope, within: None };
        let client = Arc::new(CallingClient::new(self, context, target.qualified, round));
        let host = Host::of_client(Arc::clone(&client) as Arc<dyn CallClient>);
        let host = host.traced(CallTrace::upstream(context));
        let mut running = std::pin::pin!(single.run_in(among_tools, invocation, host).fuse());
        let sending = client.wants_reports().then(|| client.send_reports());
        let mut notified = std::pin::pin!(OptionFuture::from(sending).fuse());
        let mut cancelled = std::pin::pin!(self.shared.cancel.cancelled().fuse());
        let report = loop {
            futures_util::select_biased! {
                report = running => break report,
                _ = notified => {}
                () = cancelled => scope.now.cancel(),
            }
        };
        client.finish();
        // The last notifications are sent before the answer, if the client reads.
        for _ in 0..MAX_GRACES {
            let before = client.reports_sent();
            let is_over = notified.is_terminated()
                || tokio::time::timeout(NOTIFICATION_GRACE, &mut notified).await.is_ok();
            if is_over || client.reports_sent() == before {
                break;
            }
        }
        let report = report?;
        // The end is recorded before the answer is sent.
        sink.settle().await?;
        let (asking, refusal) = match client.handed_on() {
            Some(Ok(asking)) => (Some(asking), None),
            Some(Err(error)) if !report.result.outcome.is_success() => (None, Some(error)),
            _ => (None, None),
        };
        Ok(Ended { report, asking, refusal })
    }

    pub(crate) fn invocation(&self, tool: &str, arguments: Arguments) -> Invocation {
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

    /// Records a call that ended while it waited, and returns the error for the client.
    pub(crate) async fn ended_in_queue(
        &self,
        (shown, outcome): (&str, Outcome),
        text: &'static str,
        sink: &dyn Sink,
    ) -> ErrorData {
        let recorded = self.record_unrun(shown, outcome, text, sink).await;
        recorded.err().unwrap_or_else(|| ErrorData::new(BUSY, text, None))
    }

    async fn record_unrun(
        &self,
        tool: &str,
        outcome: Outcome,
        text: &str,
        sink: &dyn Sink,
    ) -> Result<(), ErrorData> {
        let recorded = self.unrun(tool, outcome, text, sink).await;
        recorded.map(drop).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn unrun(
        &self,
        tool: &str,
        outcome: Outcome,
        text: &str,
        sink: &dyn Sink,
    ) -> Result<InvocationResult, SinkError> {
        // The arguments are not needed, so they are not parsed.
        let invocation = self.invocation(tool, Arguments::parse("{}"));
        let result = InvocationResult::new(invocation.id.clone(), outcome, text.to_owned());
        sink.emit(&Event::Appended(&Canister::Invocation(invocation)))?;
        sink.emit(&Event::Appended(&Canister::Result(result.clone())))?;
        sink.settle().await?;
        Ok(result)
    }
}

pub(crate) fn text_of(result: &InvocationResult) -> String {
    result.content.iter().filter_map(|content| content.as_text()).collect::<Vec<_>>().join("\n")
}
