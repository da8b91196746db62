//! The tools of a recording: around everything that may answer instead of a tool (cached or cleaned results), and
//! inside what decides about an invocation (schema, rules, limits, audit).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Blobs as _, Content, Cost, Digest};
use converse_config::EnsemblePlan;
use converse_ensemble::{
    Answer, ConnectError, Connection, Context, CostMeter, Definition, Ensemble, Instructions, Invocable,
    InvokeError, PausableClock, Tool,
};
use converse_session::Redact;
use converse_session::cassette::{Blob, Call, Entry, Given, Offer, Offered, Recorder, ServerInstructions};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::given::given;
use crate::contents::Kept;

/// Of one picture or document in an answer.
const MAX_BLOB: usize = 16 * 1024 * 1024;

/// Writes down what the tools of a connection are, and what they say.
pub(super) struct Recorded {
    inner: Box<dyn Connection>,
    declared: bool,
    recorder: Arc<Recorder>,
    contents: Kept,
    looks: AtomicU64,
}

impl Recorded {
    pub(super) fn new(
        inner: Box<dyn Connection>,
        plan: &EnsemblePlan,
        recorder: Arc<Recorder>,
        contents: Kept,
    ) -> Self {
        let looks = AtomicU64::new(0);
        Self { inner, declared: plan.connection.is_none(), recorder, contents, looks }
    }

    fn write_offer(&self, ensemble: &Ensemble, look: u64, offered: Offered) {
        let ensemble = ensemble.name.to_string();
        let told = (look == 0).then(|| self.inner.instructions()).flatten();
        let instructions = told.map(|Instructions { text, sha256 }| ServerInstructions { text, sha256 });
        self.recorder.write(&Entry::Offer(Offer { ensemble, look, offered, instructions }));
    }

    fn record_offer(&self, ensemble: &Ensemble, look: u64, tools: Vec<Tool>) -> Vec<Tool> {
        let offered = if self.declared {
            Offered::Declared(tools.len())
        } else {
            Offered::Tools(tools.iter().map(written).collect())
        };
        self.write_offer(ensemble, look, offered);
        tools.into_iter().map(|tool| self.wrapped(tool)).collect()
    }

    fn wrapped(&self, mut tool: Tool) -> Tool {
        let (recorder, contents) = (Arc::clone(&self.recorder), self.contents.clone());
        let limit = tool.policy.timeout;
        tool.invocable = Arc::new(RecordedTool { inner: tool.invocable, recorder, contents, limit });
        tool
    }
}

fn written(tool: &Tool) -> converse_session::cassette::Tool {
    let (name, description) = (tool.invoker.to_string(), tool.declaration.description.clone());
    let arguments = Value::clone(&tool.declaration.arguments);
    let shown = json!({ "name": name, "description": description, "inputSchema": arguments });
    let definition = tool.definition().value();
    let definition = (Definition::of(&shown).digest() != tool.digest()).then_some(definition);
    converse_session::cassette::Tool { name, description, arguments, definition }
}

impl Connection for Recorded {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        async move {
            match self.inner.connect(ensemble).await {
                Ok(tools) => Ok(self.record_offer(ensemble, 0, tools)),
                Err(error) => {
                    self.write_offer(ensemble, 0, Offered::Failed(error.reason.clone()));
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        async move {
            let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
            let tools = self.inner.refresh(ensemble).await?;
            Some(self.record_offer(ensemble, look, tools))
        }
        .boxed()
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner.instructions()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}

struct RecordedTool {
    inner: Arc<dyn Invocable>,
    recorder: Arc<Recorder>,
    contents: Kept,
    limit: Duration,
}

impl Invocable for RecordedTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        async move {
            let running = Running {
                tool: self,
                name: context.invoker.clone(),
                arguments: compared(arguments, self.recorder.redact()),
                number: self.recorder.begins(),
                began: Instant::now(),
                deadline: context.deadline,
                clock: context.clock.clone(),
                spent: context.cost.total(),
                meter: context.cost.clone(),
                done: false,
            };
            let cancel = context.cancel.clone();
            let outcome = self.inner.invoke(context, arguments).await;
            if !cancel.is_cancelled() {
                running.ended(&outcome);
            }
            outcome
        }
        .boxed()
    }
}

/// An invocation that goes on. One that is given up because its time is over is written as that, and one that ends with
/// the run is not.
struct Running<'a> {
    tool: &'a RecordedTool,
    name: String,
    arguments: Value,
    number: u64,
    began: Instant,
    deadline: Instant,
    clock: PausableClock,
    meter: CostMeter,
    /// By tries before this one.
    spent: Option<Cost>,
    done: bool,
}

impl Running<'_> {
    fn ended(mut self, outcome: &Result<Answer, InvokeError>) {
        self.done = true;
        let blobs = outcome.as_ref().map_or_else(|_| Vec::new(), |answer| self.blobs(&answer.content));
        self.write(given(outcome), blobs);
    }

    fn write(&self, given: Given, blobs: Vec<Blob>) {
        let spent = |cost: Option<Cost>| cost.map_or(0, |cost| cost.0);
        self.tool.recorder.write(&Entry::Invocation(Call {
            tool: self.name.clone(),
            arguments: self.arguments.clone(),
            given,
            began: self.number,
            blobs,
            cost: spent(self.meter.total()).saturating_sub(spent(self.spent)),
            elapsed_ms: u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
        }));
    }

    fn blobs(&self, content: &[Content]) -> Vec<Blob> {
        let digests = content.iter().filter_map(|content| match content {
            Content::Blob { digest, .. } => Some(digest),
            _ => None,
        });
        digests.filter_map(|digest| self.blob(digest)).collect()
    }

    fn blob(&self, digest: &Digest) -> Option<Blob> {
        let recorder = &self.tool.recorder;
        let Some(bytes) = self.tool.contents.bytes(digest) else {
            recorder.fail(format!("the bytes of an answer of {} are missing", self.name));
            return None;
        };
        if bytes.len() > MAX_BLOB {
            let most = MAX_BLOB / 1024 / 1024;
            recorder.fail(format!("an answer of {} has content of more than {most} MiB", self.name));
            return None;
        }
        Some(Blob::new(*digest, &bytes))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.done && self.clock.now().into_std() >= self.deadline {
            let limit = self.tool.limit.as_secs_f64();
            let late = InvokeError::Timeout(format!("no answer within {limit} s; it was stopped"));
            self.write(given(&Err(late)), Vec::new());
        }
    }
}

/// Arguments as they are compared.
pub(super) fn compared(arguments: &Arguments, redact: &dyn Redact) -> Value {
    let mut value = Value::Object(arguments.object.clone());
    redact.json(&mut value);
    value
}
