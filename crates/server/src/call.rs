//! One call of a client: the way of every invocation, with words on the way and a way to stop it.

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
use crate::gateway::{Backing, Gateway};
use crate::offer::Name;
use crate::queue::Standing;
use crate::telling::Telling;
use crate::written::Written;

/// Calls that may wait for their turn; one more is answered at once. Of the range that is a server's own.
const MAX_WAITING: usize = 16_384;
/// How long an answer waits for words that were said before it.
const LAST_WORDS: Duration = Duration::from_secs(1);
const BUSY: ErrorCode = ErrorCode(-32050);

impl Gateway {
    pub(crate) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        if self.is_closing() {
            return Err(ErrorData::new(BUSY, "this server is ending; nothing was run", None));
        }
        let Backing { max_calls, audit, .. } = &self.shared.backing;
        if self.running() >= max_calls + MAX_WAITING {
            return Err(ErrorData::new(BUSY, "too many calls are waiting; nothing was run", None));
        }
        let _call = self.shared.calls.token();
        let sink = audit.of(&Caller::of(context));
        let shelf = self.shelf();
        let Some(name) = shelf.find(&request.name) else {
            let why = shelf.hold_reason(&request.name, self.shared.backing.bare_names);
            return Err(self.unknown(&request, why, sink.as_ref()).await);
        };
        let written = Written::of(context, request.arguments.take());
        let Some(standing) = self.shared.queue.stand(written.weight()) else {
            return Err(ErrorData::new(BUSY, "too much is waiting; nothing was run", None));
        };
        let counted = self.shared.counters.call(&name.shown);
        let Some(_place) = self.turn(standing, context).await else {
            counted.ended(Outcome::Cancelled);
            return Err(self.unbegun(name, sink.as_ref()).await);
        };
        let ran = self.run(name, written, sink.as_ref(), context).await;
        let ran = ran.map_err(|error| {
            tracing::error!(%error, "a call was not written down");
            // Nothing runs that could not be written down, but its end may have been what could not be.
            ErrorData::internal_error(format!("{error}; if it was begun, nobody knows what came of it"), None)
        })?;
        counted.ended(ran.result.outcome);
        if ran.result.outcome == Outcome::NoSuchTool {
            // It has gone, or its server has another one now: whoever runs this is told, and nothing is begun the next time.
            self.refresh_now().await;
            let why = self.shelf().hold_reason(&request.name, self.shared.backing.bare_names);
            return Err(ErrorData::invalid_params(why.unwrap_or_else(|| words(&ran.result)), None));
        }
        let blobs = self.shared.backing.blobs.as_ref();
        Ok(content::result(&ran.result, ran.verbatim.as_deref(), name.promise.as_ref(), blobs))
    }

    /// A place among those that run; `None` if it was cancelled while it waited.
    async fn turn<'a>(
        &'a self,
        standing: Standing<'a>,
        context: &RequestContext<RoleServer>,
    ) -> Option<Standing<'a>> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            () = self.shared.cut.cancelled() => None,
            place = self.shared.queue.turn(standing) => place,
        }
    }

    async fn run(
        &self,
        name: &Name,
        written: Written,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<InvocationReport, SinkError> {
        let invocation = self.invocation(&name.shown, written.read());
        let (scope, policy) = (CancelScope::below(&context.ct), AskApprover(None));
        let roster = &self.shared.backing.roster;
        let single = SingleInvocation { roster, policy: &policy, sink, scope: &scope, within: None };
        let (host, telling) = match Telling::to(self, context, &name.qualified) {
            Some((host, telling)) => (host, Some(telling)),
            None => (Host::default(), None),
        };
        let mut running = std::pin::pin!(single.run(invocation, host).fuse());
        let mut told = std::pin::pin!(OptionFuture::from(telling.map(Telling::run)).fuse());
        let mut cut = std::pin::pin!(self.shared.cut.cancelled().fuse());
        let ran = loop {
            futures_util::select_biased! {
                ran = running => break ran,
                _ = told => {}
                () = cut => scope.now.cancel(),
            }
        };
        if !told.is_terminated() {
            // What it said last comes before its answer.
            let _ = tokio::time::timeout(LAST_WORDS, told).await;
        }
        let ran = ran?;
        // Its end is written down before it is told.
        sink.settle().await?;
        Ok(ran)
    }

    fn invocation(&self, tool: &str, arguments: Arguments) -> Invocation {
        let (turn, id) = self.next();
        Invocation { turn, id, wire_id: None, tool: tool.to_owned(), arguments, seal: None }
    }

    /// A tool that is not served: asked for in vain, and written down.
    async fn unknown(
        &self,
        request: &CallToolRequestParams,
        why: Option<String>,
        sink: &dyn Sink,
    ) -> ErrorData {
        let name: String = request.name.chars().take(100).collect();
        let text = why.unwrap_or_else(|| format!("unknown tool: {name}"));
        let written = self.unrun(&name, Outcome::NoSuchTool, &text, sink).await;
        written.err().unwrap_or_else(|| ErrorData::invalid_params(text, None))
    }

    /// Cancelled while it waited for its turn, and written down.
    async fn unbegun(&self, name: &Name, sink: &dyn Sink) -> ErrorData {
        let text = "cancelled before it began; nothing was run";
        let written = self.unrun(&name.shown, Outcome::Cancelled, text, sink).await;
        written.err().unwrap_or_else(|| ErrorData::new(BUSY, text, None))
    }

    async fn unrun(
        &self,
        tool: &str,
        outcome: Outcome,
        text: &str,
        sink: &dyn Sink,
    ) -> Result<(), ErrorData> {
        let failed = |error: SinkError| ErrorData::internal_error(error.to_string(), None);
        // What nobody reads is not parsed either.
        let invocation = self.invocation(tool, Arguments::parse("{}"));
        let result = InvocationResult::new(invocation.id.clone(), outcome, text.to_owned());
        sink.emit(&Event::Appended(&Canister::Invocation(invocation))).map_err(failed)?;
        sink.emit(&Event::Appended(&Canister::Result(result))).map_err(failed)?;
        sink.settle().await.map_err(failed)
    }
}

fn words(result: &InvocationResult) -> String {
    result.content.iter().filter_map(|content| content.as_text()).collect::<Vec<_>>().join("\n")
}
