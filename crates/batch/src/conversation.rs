//! One conversation of a batch, from its line to its result.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use converse_canister::{Canister, Cost, Invocation, Transcript};
use converse_engine::{Approver, Ending, Event, Limit, Runner, Sink, SinkError};
use converse_host::answer::ReplySchema;
use converse_host::attach::{Bounds, UserInput, keeper};
use converse_host::audit::AuditSink;
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::routes::Wires;
use converse_host::settings::Settings;
use converse_host::turn::{opening, sessions, with_resume_hint};
use converse_host::wiring::Connected;
use converse_host::world::World;
use converse_host::{History, HostParts};
use converse_session::{Session, Uuid};
use converse_terminal::render::End;
use converse_terminal::render::json::JsonRenderer;
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::gate::{Barred, OwnWire, Passage, Stops};
use crate::line::Line;
use crate::provider_batch::Substitute;
use crate::results::Begun;

/// What all conversations share.
pub struct Shared<'a> {
    pub context: &'a RunContext,
    pub world: &'a World,
    pub interrupt: &'a Interrupt,
    pub connected: &'a Connected,
    pub contents: &'a Kept,
    pub wires: Wires,
    /// Those of a conversation without a schema of its own, but for the limit of cost.
    pub settings: &'a Settings,
    /// The one log of all conversations.
    pub audit: &'a AuditSink,
    /// Whether each conversation is a session.
    pub saves: bool,
    pub begun: Option<&'a Begun>,
    pub spending: Mutex<Spending>,
    pub stops: Arc<Stops>,
    /// The connection of the conversations of a provider batch.
    pub substitute: Option<Arc<Substitute>>,
    pub exit_code: fn(Kind) -> u8,
}

converse_host::opaque_debug!(Shared<'_>);

/// What was spent since it was last counted.
#[derive(Debug, Default)]
pub struct Spending {
    pub known: Cost,
    pub is_unknown: bool,
}

/// How a conversation ended.
#[derive(Debug)]
pub struct Outcome {
    pub job: usize,
    /// Its result: `id`, the object of `ask -o json`, and `milliseconds`.
    pub line: Value,
    pub failure: Option<Failure>,
    pub acts: Acts,
    /// It was ended by its own limit of cost, which may be what was left of the budget when it began.
    pub is_limited: bool,
    /// It was ended by what is for all conversations.
    pub barred: Option<Barred>,
    /// Its deadline passed, and it has spent much of the time waiting for the provider's pace.
    pub is_held_up: bool,
}

/// What its tools have begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Acts {
    Nothing,
    Reads,
    Effects,
}

/// How a conversation is carried across processes.
#[derive(Clone, Copy)]
pub struct Durable<'a> {
    /// Its session. If it exists, its turn goes on where another process left it.
    pub session: Uuid,
    pub runner: &'a dyn Runner,
    pub approver: &'a dyn Approver,
}

converse_host::opaque_debug!(Durable<'_>);

impl Shared<'_> {
    /// Runs a conversation. `allowance` is what it may cost.
    pub async fn run(&self, job: usize, line: Line, allowance: Option<Cost>) -> Outcome {
        self.run_durably(job, line, allowance, None).await
    }

    /// Runs a conversation, or the rest of it, in the steps of a runner.
    pub async fn run_durably(
        &self,
        job: usize,
        line: Line,
        allowance: Option<Cost>,
        durable: Option<Durable<'_>>,
    ) -> Outcome {
        let began = Instant::now();
        let id = line.id.clone();
        let seen = Mutex::new(Seen::default());
        let (spending, stops) = (&self.spending, &*self.stops);
        let watch = Watch { id: &id, begun: self.begun, spending, stops, seen };
        let passage = Arc::new(Passage::new(self.stops.clone()));
        let recorder = JsonRenderer::new(self.context.redactor.clone());
        let mut session = None;
        let mut model = None;
        let heard = (&recorder, &watch, &passage);
        let turn =
            self.turn((job, durable), line, allowance, heard, (&mut session, &mut model)).boxed_local();
        let crashed = || Failure::new(Kind::Internal, "internal", "the conversation crashed");
        let ended = AssertUnwindSafe(turn).catch_unwind().await.unwrap_or_else(|_| Err(crashed()));
        let session = session.as_deref();
        let barred = passage.barred().filter(|_| ended.is_err());
        let ended = ended.map_err(|failure| barred.map_or(failure, barred_failure));
        let unanswered = self.substitute.as_ref().and_then(|substitute| substitute.failure());
        let ended = ended.map_err(|failure| unanswered.unwrap_or(failure));
        let failure = ended.err().map(|failure| with_resume_hint(failure, session, self.context));
        let Seen { acts, is_limited, is_late } = *watch.seen.lock();
        let is_held_up = is_late && passage.waited() * 10 > began.elapsed();
        let object = recorder.object(self.end(failure.as_ref(), session, model.as_deref()));
        // The time of a provider batch is not that of a conversation.
        let milliseconds = self.substitute.is_none().then(|| began.elapsed().as_millis());
        let line = result(&id, object.unwrap_or_else(|_| json!({})), milliseconds);
        Outcome { job, line, failure, acts, is_limited, barred, is_held_up }
    }

    /// The result of a conversation that did not run.
    pub(crate) fn not_run(&self, id: &str, failure: &Failure) -> Value {
        let recorder = JsonRenderer::new(self.context.redactor.clone());
        let object = recorder.object(self.end(Some(failure), None, None)).unwrap_or_else(|_| json!({}));
        result(id, object, None)
    }

    /// Counts what the result of a conversation elsewhere says that it cost.
    pub(crate) fn spent(&self, line: &Value) {
        let known = line.get("cost").or_else(|| line.get("cost_at_least")).and_then(Value::as_f64);
        let mut spending = self.spending.lock();
        spending.known = spending.known.plus(Cost::of_dollars(known.unwrap_or_default()));
        spending.is_unknown |= line.get("cost").is_none_or(Value::is_null) && known.is_some();
    }

    fn end<'e>(
        &self,
        failure: Option<&'e Failure>,
        session: Option<&'e str>,
        model: Option<&'e str>,
    ) -> End<'e> {
        End {
            exit: failure.map_or(0, |failure| (self.exit_code)(failure.kind)),
            reason: failure.map_or("answered", |failure| failure.code),
            failure,
            session,
            model,
        }
    }

    async fn turn(
        &self,
        (job, durable): (usize, Option<Durable<'_>>),
        line: Line,
        allowance: Option<Cost>,
        (recorder, watch, passage): (&JsonRenderer, &Watch<'_>, &Arc<Passage>),
        (session, model): (&mut Option<String>, &mut Option<String>),
    ) -> Result<(), Failure> {
        let Self { context, world, interrupt, connected, .. } = *self;
        let mut settings = self.settings.clone();
        settings.limits.cost = allowance.or(settings.limits.cost);
        *model = Some(settings.model.id.clone());
        if let Some(schema) = line.schema.clone() {
            let schema = ReplySchema::of(schema).map_err(|why| Failure::usage("bad-schema", why))?;
            settings.expect_answer(schema)?;
        }
        let mut before = line.before.as_slice();
        if let Some((system, rest)) =
            before.split_first().and_then(|(first, rest)| Some((first.system()?, rest)))
        {
            settings.system = Some(system.to_owned());
            before = rest;
        }
        let input = self.input(line.question, line.attachments).await?;
        input.fits(&settings.model.endpoint, &settings.model.facts, &settings.model.id)?;
        let contents = Kept::over(self.contents);
        let caller = job + 1;
        let roster = connected.roster.for_caller(caller).keeping(Arc::new(contents.clone())).serving_many();
        let kept = match durable {
            Some(durable) => {
                let may_repeat = |invocation: &Invocation| roster.only_reads(invocation);
                match sessions::take_up(durable.session, &may_repeat, context, world)? {
                    Some(lost) => Saved::Lost(lost),
                    None => Saved::New(Some(sessions::begin(durable.session, World::now(), context, world)?)),
                }
            }
            None => Saved::New(self.created()),
        };
        contents.settle(kept.session().map(|session| session.contents.clone()));
        *session = kept.session().map(|session| session.id.to_string());
        let mut next = Transcript::new().next_turn();
        let mut said: Vec<Canister> = before.iter().map(|message| message.canister(&mut next)).collect();
        said.extend(input.canisters(keeper(&contents).as_ref(), &contents, next)?);
        let history = match kept {
            Saved::New(created) => History::audited(created, self.audit, context),
            Saved::Lost(lost) => {
                let all = opening(&Transcript::new(), settings.system.as_deref(), said.clone()).len();
                let sinks: [&dyn Sink; 2] = [recorder, watch];
                let history = History::taken_up(lost, all, &sinks, self.audit, context)?;
                // What it did is not known in detail.
                watch.seen.lock().acts = Acts::Effects;
                let had = history.transcript().as_slice().len();
                said.drain(..had.saturating_sub(all - said.len()).min(said.len()));
                history
            }
        };
        let parts =
            HostParts { world, context, settings: &settings, connected, contents: &contents, interrupt };
        let wires = self
            .wires
            .clone()
            .map(&settings, |_, inner| Arc::new(OwnWire { inner, passage: passage.clone() }));
        let conversation = parts.conversation().roster(&roster).wires(wires).caller(caller);
        let conversation = match &durable {
            Some(durable) => conversation.runner(Some(durable.runner)).approver(durable.approver),
            None => conversation,
        };
        let mut conversation = conversation.sink(watch).sink(recorder).resume(history);
        conversation.say(said).finish().await?;
        let calls = |canister: &Canister| matches!(canister, Canister::Invocation(_));
        match settings.model.without_a_model() {
            Some(failure) if !conversation.transcript().as_slice().iter().any(calls) => Err(failure),
            _ => Ok(()),
        }
    }

    /// Creates the session of a conversation, if it is saved.
    fn created(&self) -> Option<Session> {
        let is_collected = self.substitute.as_ref().is_some_and(|substitute| substitute.only_collects());
        let is_saved = self.saves && !is_collected;
        if is_saved { sessions::create(World::now(), self.context, self.world) } else { None }
    }

    /// Reads the attachments, which may be fetched: on a thread of its own then.
    async fn input(&self, question: String, attachments: Vec<String>) -> Result<UserInput, Failure> {
        let (world, interrupt) = (self.world.clone(), self.interrupt.clone());
        let read = move || {
            let bounds = Bounds { deadline: None, interrupt: &interrupt };
            UserInput::new(question, &attachments, &world, bounds)
        };
        let read = tokio::task::spawn_blocking(read).await;
        read.unwrap_or_else(|error| Err(Failure::new(Kind::Internal, "internal", error.to_string())))
    }
}

/// Where a conversation is saved.
enum Saved {
    New(Option<Session>),
    /// Another process has begun its turn.
    Lost(Session),
}

impl Saved {
    fn session(&self) -> Option<&Session> {
        match self {
            Self::New(session) => session.as_ref(),
            Self::Lost(session) => Some(session),
        }
    }
}

/// The object of `ask -o json` with the id before it. What all conversations have in common is left out.
fn result(id: &str, object: Value, milliseconds: Option<u128>) -> Value {
    let mut line = Map::new();
    line.insert("id".to_owned(), id.into());
    if let Value::Object(mut object) = object {
        object.shift_remove("unconnected");
        object.shift_remove("quarantined");
        line.append(&mut object);
    }
    let milliseconds = milliseconds.and_then(|time| u64::try_from(time).ok());
    line.insert("milliseconds".to_owned(), milliseconds.into());
    Value::Object(line)
}

fn barred_failure(why: Barred) -> Failure {
    match why {
        Barred::Budget => Failure::new(Kind::Limit, "budget", "the budget of the batch is used up"),
        Barred::Stopped => Failure::new(Kind::Limit, "stopped", "the batch was stopped"),
    }
}

/// What a conversation was seen to do.
#[derive(Debug, Clone, Copy)]
struct Seen {
    acts: Acts,
    is_limited: bool,
    is_late: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Self { acts: Acts::Nothing, is_limited: false, is_late: false }
    }
}

/// Hears what a conversation spends and does.
struct Watch<'a> {
    id: &'a str,
    begun: Option<&'a Begun>,
    spending: &'a Mutex<Spending>,
    stops: &'a Stops,
    seen: Mutex<Seen>,
}

impl Watch<'_> {
    fn acts(&self, acts: Acts) -> Result<(), SinkError> {
        let before = {
            let mut seen = self.seen.lock();
            let before = seen.acts;
            seen.acts = before.max(acts);
            before
        };
        match self.begun.filter(|_| acts == Acts::Effects && before < acts) {
            Some(begun) => begun.add(self.id),
            None => Ok(()),
        }
    }

    fn spend(&self, cost: Option<Cost>) {
        self.stops.spend(cost.unwrap_or_default());
        let mut spending = self.spending.lock();
        spending.known = spending.known.plus(cost.unwrap_or_default());
        spending.is_unknown |= cost.is_none();
    }
}

impl Sink for Watch<'_> {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Started { has_effects: true, .. } => return self.acts(Acts::Effects),
            Event::Started { .. } => return self.acts(Acts::Reads),
            Event::Used { cost, .. } => self.spend(*cost),
            Event::Finished { result, .. } => self.spend(Some(result.cost.unwrap_or_default())),
            Event::Done(Ending::Limit(Limit::Cost(_) | Limit::UnknownCost)) => {
                self.seen.lock().is_limited = true;
            }
            Event::Done(Ending::Limit(Limit::Deadline)) => self.seen.lock().is_late = true,
            _ => {}
        }
        Ok(())
    }
}
