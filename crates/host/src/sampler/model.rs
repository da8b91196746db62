//! The model as a tool: one reply to the messages of a server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Decision, NoBlobs, Stop, Supervisor, Transcript, User,
};
use converse_engine::{
    Approver, CompactionPolicy, Conversation, Ending, Engine, Limit, Limits, Ports, RetryPolicy, Route,
    SamplingBudget, Timeouts, converse, most_usage,
};
use converse_ensemble::{
    Answer, Artefacts, Context, CostMeter, Invocable, InvokeError, NoArtefacts, Pending, Roster, Rules,
};
use converse_provider::{Controls, processor_of};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::cassette::CassetteMode;
use crate::model;
use crate::routes::wire;
use crate::settings::Settings;
use crate::world::World;

/// Message for the server.
pub(super) const REACHED: &str = "the cost limit is reached";
/// Number of stop sequences of a request.
const MAX_STOPS: usize = 4;

pub(super) struct Model {
    model: model::Model,
    controls: Controls,
    timeouts: Timeouts,
    retry: RetryPolicy,
    connect_timeout: Duration,
    cassette: CassetteMode,
    /// The rest of the cost limit.
    cost: Option<Cost>,
    meter: CostMeter,
    unknown: Arc<AtomicBool>,
}

impl Model {
    /// `left` is the rest of the cost limit, if any. Costs are added to the meter; `unknown` is set if a cost is
    /// unknown.
    pub(super) fn of(
        settings: &Settings,
        left: Option<Cost>,
        meter: CostMeter,
        unknown: Arc<AtomicBool>,
    ) -> Self {
        Self {
            model: settings.model.clone(),
            controls: settings.controls.clone(),
            timeouts: settings.timeouts,
            retry: settings.retry,
            connect_timeout: settings.connect_timeout,
            cassette: settings.cassette.clone(),
            cost: left,
            meter,
            unknown,
        }
    }

    async fn ask(&self, context: Context, arguments: &Map<String, Value>) -> Result<Answer, InvokeError> {
        let failed =
            |error: &dyn std::fmt::Display| InvokeError::Failed(format!("the model was not asked: {error}"));
        let limits = Limits { iterations: 1, invocations: 0, deadline: None, cost: self.cost };
        let mut conversation = Conversation::resume(Transcript::new(), limits);
        for canister in to_canisters(arguments) {
            conversation.say(canister).map_err(|error| failed(&error))?;
        }
        let before = conversation.transcript().as_slice().len();
        let wire = wire(&self.model, self.connect_timeout, &self.cassette);
        let endpoint = &self.model.endpoint;
        let route = Route {
            endpoint: endpoint.clone(),
            processor: processor_of(endpoint),
            model: self.model.name.clone(),
            controls: controls(&self.controls, arguments),
            facts: self.model.facts.clone(),
            wire: wire.as_ref(),
        };
        let nothing = Arc::new(NoArtefacts) as Arc<dyn Artefacts>;
        let (roster, _) = Roster::connect(Vec::new(), Rules::new(Vec::new()), nothing).await;
        let engine = Engine {
            route,
            fallbacks: Vec::new(),
            roster: &roster,
            blobs: &NoBlobs,
            note: None,
            answer: None,
            timeouts: self.timeouts,
            retry: self.retry,
            compaction: CompactionPolicy::NONE,
            can_take_back: true,
            deadline: Some(context.deadline.into()),
        };
        let bytes = Value::Object(arguments.clone()).to_string().len();
        let most = most_usage(bytes, engine.route.controls.max_output_tokens);
        let most = self.model.facts.price.and_then(|price| price.cost(&most));
        let budget = SamplingBudget::new(self.meter.clone(), most, Arc::clone(&self.unknown));
        let ports = Ports {
            approver: &Nobody,
            sinks: &[&budget],
            jitter: &World::dice,
            runner: None,
            steering: None,
        };
        let ended = converse(&mut conversation, &engine, ports, &context.cancel).await;
        // A cancelled request may be billed although nothing was received.
        if !matches!(ended, Ok(Ending::Cancelled)) {
            budget.close();
        }
        let ended = ended.map_err(|error| failed(&error))?;
        let replies = conversation.transcript().as_slice().get(before..).unwrap_or_default();
        let why = match ended {
            Ending::Limit(Limit::Cost(_) | Limit::UnknownCost) => REACHED,
            _ => "the model gave no answer",
        };
        self.answered(replies).ok_or_else(|| InvokeError::Failed(why.to_owned()))
    }

    /// Builds the result of `sampling/createMessage`.
    fn answered(&self, replies: &[Canister]) -> Option<Answer> {
        let replies: Vec<&Assistant> = replies
            .iter()
            .filter_map(|canister| match canister {
                Canister::Assistant(assistant) => Some(assistant),
                _ => None,
            })
            .collect();
        let words: String = replies.iter().map(|reply| reply.words()).collect();
        let stopped = match &replies.first()?.stop {
            Stop::Sequence => "stopSequence",
            Stop::Truncated => "maxTokens",
            _ => "endTurn",
        };
        (!words.is_empty()).then(|| {
            let content = json!({ "type": "text", "text": words });
            let model = &self.model.id;
            Answer::structured(
                json!({ "role": "assistant", "content": content, "model": model, "stopReason": stopped }),
            )
        })
    }
}

impl Invocable for Model {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        self.ask(context, &arguments.object).boxed()
    }
}

/// Converts the messages to canisters; those of the assistant become replies without a model.
fn to_canisters(arguments: &Map<String, Value>) -> Vec<Canister> {
    let mut canisters = Vec::new();
    if let Some(text) = arguments.get("systemPrompt").and_then(Value::as_str) {
        canisters.push(Canister::Supervisor(Supervisor { text: text.to_owned() }));
    }
    let mut turn = Transcript::new().next_turn();
    for message in arguments.get("messages").and_then(Value::as_array).into_iter().flatten() {
        let content = match &message["content"] {
            Value::Array(parts) => parts.iter().filter_map(text).collect(),
            part => text(part).into_iter().collect(),
        };
        if message["role"] == "assistant" {
            let assistant = Assistant { turn, content, native: None, stop: Stop::End, response_id: None };
            canisters.push(Canister::Assistant(assistant));
            turn.0 += 1;
        } else {
            canisters.push(Canister::User(User { content }));
        }
    }
    canisters
}

fn text(part: &Value) -> Option<Content> {
    Some(Content::text(part["text"].as_str()?))
}

/// Combines the controls of the conversation with those of the server.
fn controls(own: &Controls, arguments: &Map<String, Value>) -> Controls {
    let asked =
        arguments.get("maxTokens").and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok());
    let stops = arguments.get("stopSequences").and_then(Value::as_array).into_iter().flatten();
    let stops = stops.filter_map(Value::as_str).filter(|stop| !stop.is_empty()).take(MAX_STOPS);
    Controls {
        temperature: arguments.get("temperature").and_then(Value::as_f64).or(own.temperature),
        max_output_tokens: [asked, own.max_output_tokens].into_iter().flatten().min(),
        stop: stops.map(str::to_owned).collect(),
        show_reasoning: false,
        answer: None,
        ..own.clone()
    }
}

/// Runs without tools, so nothing is approved or stored.
struct Nobody;

impl Approver for Nobody {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let deny = || Decision::Deny { rule: "no tools".to_owned(), comment: None };
        std::future::ready(pending.iter().map(|_| deny()).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        false
    }
}
