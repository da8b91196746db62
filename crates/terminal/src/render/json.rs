//! `-o json`: one object at the end, also after a failure.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use converse_canister::{Arguments, Canister, Cost, Invocation, InvocationId, Outcome, Usage};
use converse_engine::{Ending, Event, Sink, SinkError};
use converse_ensemble::SharedRuns;
use serde::Serialize;
use serde_json::Value;

use crate::render::output::{printable, write_stdout};
use crate::render::{End, Renderer, lock_state, result_text};
use converse_host::secrets::Redactor;

pub struct JsonRenderer {
    redactor: Redactor,
    /// Of models that are compared, and which of them this is.
    compared: Option<(SharedRuns, usize)>,
    state: Mutex<Run>,
}

converse_host::opaque_debug!(JsonRenderer);

impl JsonRenderer {
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, compared: None, state: Mutex::default() }
    }

    /// For one of several models: tells which invocations another's run has answered.
    pub fn compared(redactor: Redactor, runs: SharedRuns, caller: usize) -> Self {
        Self { compared: Some((runs, caller)), ..Self::new(redactor) }
    }

    /// What could not be connected.
    pub fn introduce(&self, unconnected: &[String]) -> Result<(), SinkError> {
        lock_state(&self.state)?.unconnected = unconnected.to_vec();
        Ok(())
    }

    /// Tools that are held back, also such as were not when the run began.
    pub fn quarantine(&self, tools: impl IntoIterator<Item = String>) -> Result<(), SinkError> {
        lock_state(&self.state)?.quarantined.extend(tools);
        Ok(())
    }
}

impl JsonRenderer {
    /// Without any secret.
    pub fn object(&self, end: End<'_>) -> Result<Value, SinkError> {
        let run = lock_state(&self.state)?;
        let object = Object {
            answer: &run.answer,
            value: run.value.as_ref(),
            model: run.instead.as_deref().or(end.model),
            asked: end.model.filter(|_| run.instead.is_some()),
            session: end.session,
            usage: run.usage,
            cost: run.cost.filter(|_| !run.more).map(Cost::dollars),
            cost_at_least: run.cost.filter(|_| run.more).map(Cost::dollars),
            invocations: &run.invocations,
            unconnected: &run.unconnected,
            quarantined: &run.quarantined,
            exit: end.exit,
            reason: end.reason,
            error: end.failure.map(converse_host::failure::Failure::json),
        };
        let mut value =
            serde_json::to_value(&object).map_err(|error| SinkError::Output(error.to_string()))?;
        self.redactor.clean_json(&mut value);
        Ok(value)
    }

    pub fn gist(&self) -> Result<Gist, SinkError> {
        let run = lock_state(&self.state)?;
        let passed = |call: &Call| Passed {
            tool: call.tool.clone(),
            outcome: call.outcome,
            shared: call.shared == Some(true),
        };
        let path = run.invocations.iter().map(passed).collect();
        Ok(Gist {
            answer: run.answer.clone(),
            whole: run.whole,
            usage: run.usage,
            cost: run.cost.filter(|_| !run.more),
            path,
        })
    }
}

/// What a comparison shows of a model.
#[derive(Debug, Clone, Default)]
pub struct Gist {
    pub answer: String,
    /// Nothing was cut off it.
    pub whole: bool,
    pub usage: Usage,
    pub cost: Option<Cost>,
    pub path: Vec<Passed>,
}

/// One invocation on the way to an answer.
#[derive(Debug, Clone)]
pub struct Passed {
    pub tool: String,
    pub outcome: Option<&'static str>,
    pub shared: bool,
}

/// What has been heard so far.
#[derive(Default)]
struct Run {
    answer: String,
    /// The words of the last reply alone.
    last: String,
    /// The last reply is complete, even if something else failed.
    whole: bool,
    value: Option<Value>,
    usage: Usage,
    /// As far as it is known.
    cost: Option<Cost>,
    /// It cost more than that, or may have.
    more: bool,
    /// Another than was asked for gave the last reply.
    instead: Option<String>,
    invocations: Vec<Call>,
    /// What runs, with the arguments it runs with.
    running: HashMap<InvocationId, Arguments>,
    unconnected: Vec<String>,
    quarantined: BTreeSet<String>,
}

#[derive(Serialize)]
struct Call {
    id: String,
    tool: String,
    arguments: Value,
    outcome: Option<&'static str>,
    result: Option<String>,
    milliseconds: Option<u64>,
    /// In a comparison: another model's equal call was run, and this one given its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    shared: Option<bool>,
}

/// The public object. Keys are only ever added.
#[derive(Serialize)]
struct Object<'a> {
    answer: &'a str,
    /// What the answer stands for, if a schema was asked for and it fits.
    value: Option<&'a Value>,
    /// Whose the last reply is, as `provider/model`.
    model: Option<&'a str>,
    /// The model that was asked, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<&'a str>,
    session: Option<&'a str>,
    usage: Usage,
    /// US dollars, of the model and of tools; `None` if a reply's are not known.
    cost: Option<f64>,
    /// Then: what is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_at_least: Option<f64>,
    invocations: &'a [Call],
    /// Ensembles that this run had to do without, and why.
    unconnected: &'a [String],
    /// Tools that a lockfile held back in this run: `ensemble.invoker`.
    quarantined: &'a BTreeSet<String>,
    exit: u8,
    reason: &'a str,
    error: Option<Value>,
}

impl Run {
    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Appended(Canister::Assistant(assistant)) => self.say(&assistant.words()),
            Event::Appended(Canister::Invocation(invocation)) => self.invocations.push(call(invocation)),
            Event::Started { invocations, .. } => {
                let of = |invocation: &Invocation| (invocation.id.clone(), invocation.arguments.clone());
                self.running.extend(invocations.iter().map(of));
            }
            Event::Finished { invocation, elapsed, .. } => {
                if let Some(call) = self.call(invocation.id.as_str()) {
                    call.milliseconds = u64::try_from(elapsed.as_millis()).ok();
                }
            }
            Event::Appended(Canister::Result(result)) => {
                let (outcome, text) = (result.outcome, result_text(result));
                self.pay(result.cost);
                if let Some(call) = self.call(result.id.as_str()) {
                    call.outcome = Some(Outcome::label(outcome));
                    call.result = Some(text);
                }
            }
            Event::Used { usage, cost, cut, instead, .. } => {
                self.usage += *usage;
                self.pay(*cost);
                // The usage of a cut reply is incomplete, so its cost is a lower bound, unless it is zero.
                self.more |= cost.is_none_or(|cost| *cut && cost.0 > 0);
                self.instead = instead.map(str::to_owned);
            }
            Event::Answered(value) => {
                self.value = Some((*value).clone());
                self.answer = std::mem::take(&mut self.last);
            }
            Event::Done(ending) => self.end(ending),
            _ => {}
        }
    }

    fn end(&mut self, ending: &Ending) {
        self.whole = matches!(
            ending,
            Ending::Finished { .. } | Ending::InvalidAnswer { .. } | Ending::RefusedByModel { .. }
        );
        if let Ending::InvalidAnswer { .. } = ending {
            self.answer = std::mem::take(&mut self.last);
        }
    }

    fn finished(&mut self, invocation: &Invocation, runs: &SharedRuns, caller: usize) {
        let Some(arguments) = self.running.remove(&invocation.id) else { return };
        let shared = runs.take_shared(caller, &invocation.tool, &arguments);
        if let Some(call) = self.call(invocation.id.as_str()) {
            call.shared = Some(shared);
        }
    }

    fn pay(&mut self, cost: Option<Cost>) {
        if let Some(cost) = cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
    }

    fn say(&mut self, words: &str) {
        let words = words.trim();
        if !words.is_empty() {
            self.answer.push_str(if self.answer.is_empty() { "" } else { "\n\n" });
            self.answer.push_str(words);
            self.last = words.to_owned();
        }
    }

    fn call(&mut self, id: &str) -> Option<&mut Call> {
        self.invocations.iter_mut().rev().find(|call| call.id == id)
    }
}

fn call(invocation: &Invocation) -> Call {
    let malformed = invocation.arguments.malformed.is_some();
    let arguments = if malformed {
        Value::String(invocation.arguments.raw.to_string())
    } else {
        Value::Object(invocation.arguments.object.clone())
    };
    let (id, tool) = (invocation.id.to_string(), invocation.tool.clone());
    Call { id, tool, arguments, outcome: None, result: None, milliseconds: None, shared: None }
}

impl Sink for JsonRenderer {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let mut run = lock_state(&self.state)?;
        run.hear(event);
        if let (Some((runs, caller)), Event::Finished { invocation, .. }) = (&self.compared, event) {
            run.finished(invocation, runs, *caller);
        }
        Ok(())
    }
}

impl Renderer for JsonRenderer {
    fn finish(&self, end: End<'_>) -> Result<(), SinkError> {
        write_line(&self.object(end)?)
    }
}

/// One value on one line of stdout.
pub fn write_line(value: &Value) -> Result<(), SinkError> {
    write_stdout(&(printable(&value.to_string()) + "\n"))
}
