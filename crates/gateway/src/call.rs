//! One call of a client: the way of every invocation, with words on the way and a way to stop it.

use std::time::Duration;

use converse_canister::{Arguments, Canister, Invocation, InvocationResult, Malformed, Outcome};
use converse_engine::{Alone, Answered, Asking, Event, Sink, SinkError};
use converse_ensemble::{Halt, Host};
use futures_util::FutureExt as _;
use futures_util::future::{FusedFuture as _, OptionFuture};
use rmcp::model::{CallToolRequestParams, CallToolResult, ErrorCode, JsonObject};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::SemaphorePermit;

use crate::caller::Caller;
use crate::content;
use crate::gateway::{Backing, Gateway};
use crate::offer::Name;
use crate::telling::Telling;

/// Calls that may wait for their turn; one more is answered at once. Of the range that is a server's own.
const MAX_WAITING: usize = 16_384;
/// How long an answer waits for words that were said before it.
const LAST_WORDS: Duration = Duration::from_secs(1);
const BUSY: ErrorCode = ErrorCode(-32050);

impl Gateway {
    pub(crate) async fn call(
        &self,
        request: CallToolRequestParams,
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
            let why = shelf.why_held(&request.name, self.shared.backing.bare_names);
            return Err(self.unknown(&request, why, sink.as_ref()));
        };
        let counted = self.shared.counters.call(&name.shown);
        let Some(_place) = self.place(context).await else {
            counted.ended(Outcome::Cancelled);
            return Err(ErrorData::new(BUSY, "cancelled before it began; nothing was run", None));
        };
        let ran = self.run(name, request.arguments, sink.as_ref(), context).await;
        let ran = ran.map_err(|error| {
            tracing::error!(%error, "a call was not written down");
            // Nothing runs that could not be written down, but its end may have been what could not be.
            ErrorData::internal_error(format!("{error}; if it was begun, nobody knows what came of it"), None)
        })?;
        counted.ended(ran.result.outcome);
        if ran.result.outcome == Outcome::NoSuchTool {
            // It has gone, or its server has another one now.
            return Err(ErrorData::invalid_params(words(&ran.result), None));
        }
        let blobs = self.shared.backing.blobs.as_ref();
        Ok(content::result(&ran.result, ran.verbatim.as_deref(), name.is_structured, blobs))
    }

    /// A place among those that run; `None` if it was cancelled while it waited.
    async fn place(&self, context: &RequestContext<RoleServer>) -> Option<SemaphorePermit<'_>> {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => None,
            () = self.shared.cut.cancelled() => None,
            permit = self.shared.places.acquire() => permit.ok(),
        }
    }

    async fn run(
        &self,
        name: &Name,
        arguments: Option<JsonObject>,
        sink: &dyn Sink,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answered, SinkError> {
        let invocation = self.invocation(&name.shown, arguments);
        let (halt, ruling) = (Halt::below(&context.ct), Asking(None));
        let roster = &self.shared.backing.roster;
        let alone = Alone { roster, ruling: &ruling, sink, halt: &halt, within: None };
        let (host, telling) = match Telling::to(self, context, &name.qualified) {
            Some((host, telling)) => (host, Some(telling)),
            None => (Host::default(), None),
        };
        let mut running = std::pin::pin!(alone.run(invocation, host).fuse());
        let mut told = std::pin::pin!(OptionFuture::from(telling.map(Telling::run)).fuse());
        let mut cut = std::pin::pin!(self.shared.cut.cancelled().fuse());
        let ran = loop {
            futures_util::select_biased! {
                ran = running => break ran,
                _ = told => {}
                () = cut => halt.now.cancel(),
            }
        };
        if !told.is_terminated() {
            // What it said last comes before its answer.
            let _ = tokio::time::timeout(LAST_WORDS, told).await;
        }
        ran
    }

    fn invocation(&self, tool: &str, arguments: Option<JsonObject>) -> Invocation {
        let (turn, id) = self.next();
        let arguments = bounded(arguments.unwrap_or_default());
        Invocation { turn, id, wire_id: None, tool: tool.to_owned(), arguments, seal: None }
    }

    /// A tool that is not served: asked for in vain, and written down.
    fn unknown(&self, request: &CallToolRequestParams, why: Option<String>, sink: &dyn Sink) -> ErrorData {
        let name: String = request.name.chars().take(100).collect();
        let text = why.unwrap_or_else(|| format!("unknown tool: {name}"));
        let invocation = self.invocation(&name, None);
        let result = InvocationResult::new(invocation.id.clone(), Outcome::NoSuchTool, text.clone());
        let written = sink
            .emit(&Event::Appended(&Canister::Invocation(invocation)))
            .and_then(|()| sink.emit(&Event::Appended(&Canister::Result(result))));
        match written {
            Ok(()) => ErrorData::invalid_params(text, None),
            Err(error) => ErrorData::internal_error(error.to_string(), None),
        }
    }
}

/// As bounded as the arguments that a model writes.
fn bounded(object: Map<String, Value>) -> Arguments {
    let arguments = Arguments::from_object(object);
    let (bytes, limit) = (arguments.raw.len(), Arguments::MAX_BYTES);
    if bytes <= limit {
        return arguments;
    }
    let malformed = Some(Malformed::TooLong { bytes, limit });
    Arguments { object: Map::new(), raw: Box::default(), malformed }
}

fn words(result: &InvocationResult) -> String {
    result.content.iter().filter_map(|content| content.as_text()).collect::<Vec<_>>().join("\n")
}
