//! The front of the library: a host, its conversations, and their turns.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::{Canister, Content, Cost, Decision, InvocationId, Outcome, Transcript, Usage, User};
use converse_engine::{Approver, Conversation as Loop, Event as Happened, Ports, Sink, SinkError, converse};
use converse_ensemble::{Pending, Roster};
use converse_mcp::Responders;
use converse_provider::Delta;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::audit::AuditSink;
use crate::catalogue::Catalogue;
use crate::contents::Kept;
use crate::context::{Notices, RunContext};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::model;
use crate::options::TurnOptions;
use crate::own_tool::{OwnTool, OwnTools};
use crate::routes::Wires;
use crate::settings::{Files, Settings};
use crate::this_program::this_program;
use crate::turn::{Asking, ending, opening, say};
use crate::wiring::{Connected, Wiring};
use crate::wording::tool_name;
use crate::world::World;

/// What a host is made of; see [`Host::builder`].
#[derive(Default)]
pub struct HostBuilder {
    config_dir: Option<PathBuf>,
    data_dir: Option<PathBuf>,
    options: TurnOptions,
    tools: OwnTools,
    notices: Option<Arc<dyn Notices>>,
    starts_itself: bool,
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

impl HostBuilder {
    /// The directory of `config.toml` and `ensembles/`, instead of `~/.config/converse`.
    #[must_use]
    pub fn config_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.config_dir = Some(directory.into());
        self
    }

    /// The directory of the audit log, tokens and caches, instead of those of the user.
    #[must_use]
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(directory.into());
        self
    }

    /// The model, as `provider/model`. `understudy` needs no key and no network.
    #[must_use]
    pub fn model(mut self, id: impl Into<String>) -> Self {
        self.options.model = vec![id.into()];
        self
    }

    /// Offers a tool of this program, as `own.NAME`.
    #[must_use]
    pub fn tool(mut self, tool: impl OwnTool) -> Self {
        self.tools.add(tool);
        self
    }

    /// All other choices of a conversation. Replaces the model too.
    #[must_use]
    pub fn options(mut self, options: TurnOptions) -> Self {
        self.options = options;
        self
    }

    /// Where warnings go. Without it they are dropped.
    #[must_use]
    pub fn notices(mut self, notices: Arc<dyn Notices>) -> Self {
        self.notices = Some(notices);
        self
    }

    /// Lets the host start this program again: as the guardian that ends child processes when the program is killed, and
    /// to enter the sandbox of a command. `main` must begin with [`child_process`](crate::child_process).
    #[must_use]
    pub fn starts_itself(mut self) -> Self {
        self.starts_itself = true;
        self
    }

    /// Reads the environment and the settings, and connects the ensembles.
    ///
    /// # Errors
    ///
    /// Settings or descriptors with errors, an unknown model, a missing key, a `required` ensemble that cannot be
    /// connected.
    pub async fn build(self) -> Result<Host, Failure> {
        let (mut world, warning) = World::snapshot()?;
        (world.config, world.data) = (self.config_dir, self.data_dir);
        let mut context = RunContext::new(&world);
        // Each conversation says for itself whether somebody can be asked.
        context.can_ask = true;
        context.program = self.starts_itself.then(this_program);
        if let Some(notices) = self.notices {
            context.notices = notices;
        }
        context.warn_all(warning.map(str::to_owned));
        let (files, warnings) = Files::read(&world).checked()?;
        context.warn_all(warnings);
        context.redactor.learn(model::keys(&files, &world)?);
        context.warn_all(context.cassette.load(&self.options, &context.redactor, &world)?);
        let settings = Settings::resolve(&self.options, None, None, &files, None, &world)?;
        if !settings.cassette.answers_for_models() {
            settings.model.require_key()?;
        }
        let catalogue = Catalogue::find(&world, &self.options.directories);
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        context.warn_all(catalogue.lines());
        let (interrupt, contents) = (Interrupt::default(), Kept::rolling());
        let wiring = Wiring {
            world: &world,
            context: &context,
            interrupt: &interrupt,
            deadline: None,
            contents: &contents,
            protected: catalogue.protected(),
            lockfiles: &catalogue.lockfiles(),
            asked: Responders::default(),
        };
        let own = self.tools.ensemble()?.into_iter().collect();
        let connected = wiring.connect_with(&chosen, settings.rules.clone(), None, own).await?;
        connected.roster.searchable();
        context.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        Ok(Host { world, context, settings, contents, interrupt, connected })
    }
}

/// A model and connected tools. Conversations borrow it.
pub struct Host {
    world: World,
    context: RunContext,
    settings: Settings,
    contents: Kept,
    interrupt: Interrupt,
    connected: Connected,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("model", &self.settings.model.id).finish_non_exhaustive()
    }
}

impl Host {
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Begins to describe a conversation.
    #[must_use]
    pub fn conversation(&self) -> ConversationBuilder<'_> {
        ConversationBuilder { host: self, approver: Box::new(NoApprover) }
    }

    /// The model that is asked, as `provider/model`.
    pub fn model(&self) -> &str {
        &self.settings.model.id
    }

    /// The tools that are offered to models.
    pub fn roster(&self) -> &Roster {
        &self.connected.roster
    }

    /// Breaks off what runs and refuses what comes.
    pub fn cancel(&self) {
        self.interrupt.token.cancel();
    }

    /// Disconnects the servers. Bounded: they are asked to end, then made to.
    ///
    /// # Errors
    ///
    /// A recording that cannot be written.
    pub async fn close(self) -> Result<(), Failure> {
        self.connected.disconnect(&self.context).await;
        self.context.warn_all(self.context.cassette.eject(self.interrupt.token.is_cancelled())?);
        self.context.warn_all(self.context.telemetry.settle());
        Ok(())
    }
}

/// What a conversation is started with; see [`Host::conversation`].
pub struct ConversationBuilder<'h> {
    host: &'h Host,
    approver: Box<dyn Approver + 'h>,
}

impl fmt::Debug for ConversationBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationBuilder").field("host", self.host).finish_non_exhaustive()
    }
}

impl<'h> ConversationBuilder<'h> {
    /// Decides about calls that need approval. Without an approver they are refused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'h) -> Self {
        self.approver = Box::new(approver);
        self
    }

    /// # Errors
    ///
    /// None today; a conversation that is kept will have some.
    pub fn start(self) -> Result<Conversation<'h>, Failure> {
        let Self { host, approver } = self;
        let audit = AuditSink::new(host.settings.audit, None, &host.context, &host.world);
        let state = Loop::resume(Transcript::new(), host.settings.limits);
        Ok(Conversation { host, approver, audit, state, wires: host.settings.wires() })
    }
}

/// A transcript that grows by turns.
pub struct Conversation<'h> {
    host: &'h Host,
    approver: Box<dyn Approver + 'h>,
    audit: AuditSink<'h>,
    state: Loop,
    wires: Wires,
}

impl fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("transcript", self.transcript()).finish_non_exhaustive()
    }
}

impl Conversation<'_> {
    /// Everything said so far.
    pub fn transcript(&self) -> &Transcript {
        self.state.transcript()
    }

    /// Begins a turn. Nothing happens before [`Turn::next`] or [`Turn::finish`] is awaited; a turn that is dropped leaves a
    /// transcript that can be continued.
    pub fn ask(&mut self, text: impl Into<String>) -> Turn<'_> {
        let (sender, events) = unbounded_channel();
        let run = self.run(text.into(), EventSink(sender)).boxed_local();
        Turn { run, events, ended: None }
    }

    async fn run(&mut self, text: String, events: EventSink) -> Result<Reply, Failure> {
        let Self { host, approver, audit, state, wires } = self;
        let settings = &host.settings;
        let listener = host.context.telemetry.turn(&settings.model.id, None);
        let mut sinks: Vec<&dyn Sink> = vec![audit, &events];
        sinks.extend(listener.as_ref().map(|listener| listener as &dyn Sink));
        let ports = Ports { approver: approver.as_ref(), sinks: &sinks, jitter: &World::dice };
        let said = vec![Canister::User(User::text(text))];
        let said = opening(state.transcript(), settings.system.as_deref(), said);
        say(state, said, ports, None)?;
        let asking = Asking {
            settings,
            roster: &host.connected.roster,
            contents: &host.contents,
            note: host.connected.note(),
            can_take_back: true,
            deadline: settings.limits.deadline.map(|limit| std::time::Instant::now() + limit),
        };
        let engine = asking.engine(wires);
        let ended = converse(state, &engine, ports, &host.interrupt.token).await;
        settings.cassette.turned(ended.as_ref().ok());
        let ended = ended.map_err(Failure::from).and_then(|ended| ending::outcome(ended, &host.interrupt));
        let ended = settings.cassette.verdict(ended);
        if let Some(listener) = listener {
            listener.end(ended.as_ref().err());
        }
        ended.map_err(|failure| ending::finished(failure, None, &host.context))?;
        Ok(Reply { text: last_words(state.transcript()) })
    }
}

/// The text of the last reply.
fn last_words(transcript: &Transcript) -> String {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Assistant(assistant) => Some(&assistant.content),
        _ => None,
    });
    let texts = last.into_iter().flatten().filter_map(|content| match content {
        Content::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// One question and everything until its answer.
pub struct Turn<'c> {
    run: LocalBoxFuture<'c, Result<Reply, Failure>>,
    events: UnboundedReceiver<Event>,
    ended: Option<Result<Reply, Failure>>,
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl Turn<'_> {
    /// The next event; `None` when the turn has ended. [`Turn::finish`] says how.
    pub async fn next(&mut self) -> Option<Event> {
        while self.ended.is_none() {
            tokio::select! {
                biased;
                event = self.events.recv() => return event,
                ended = &mut self.run => self.ended = Some(ended),
            }
        }
        self.events.try_recv().ok()
    }

    /// Runs the turn to its end.
    ///
    /// # Errors
    ///
    /// How the turn failed; its [`Kind`](crate::Kind) is what an exit code is made of.
    pub async fn finish(self) -> Result<Reply, Failure> {
        match self.ended {
            Some(ended) => ended,
            None => {
                // Nothing reads events any more, so none may pile up.
                drop(self.events);
                self.run.await
            }
        }
    }
}

/// What a turn came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text of the last reply.
    pub text: String,
}

/// What happens in a turn, in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A piece of the reply.
    TextDelta(String),
    /// A piece of what the model thinks.
    ReasoningDelta(String),
    /// The model is asked again. With `discard`, the text of this reply so far is void.
    Retried {
        reason: String,
        discard: bool,
    },
    /// A tool is about to run with these arguments.
    ToolStarted {
        id: InvocationId,
        tool: String,
        arguments: Value,
    },
    /// A tool has answered, or its call was refused.
    ToolFinished {
        id: InvocationId,
        tool: String,
        outcome: Outcome,
    },
    /// A call was decided about.
    Decided {
        id: InvocationId,
        decision: Decision,
    },
    Warning(String),
    /// A reply is whole. `cost` is `None` where prices are unknown.
    Used {
        usage: Usage,
        cost: Option<Cost>,
    },
}

struct EventSink(UnboundedSender<Event>);

impl Sink for EventSink {
    fn emit(&self, event: &Happened<'_>) -> Result<(), SinkError> {
        let send = |event| {
            // Nobody has to listen.
            let _ = self.0.send(event);
        };
        match event {
            Happened::Delta(Delta::Text(text)) => send(Event::TextDelta(text.clone())),
            Happened::Delta(Delta::Reasoning(text)) => send(Event::ReasoningDelta(text.clone())),
            Happened::Restarted(restart) => {
                send(Event::Retried { reason: restart.reason.to_owned(), discard: restart.discard });
            }
            Happened::Started(invocations) => invocations.iter().for_each(|invocation| {
                let (id, tool) = (invocation.id.clone(), tool_name(&invocation.tool));
                let arguments = Value::Object(invocation.arguments.object.clone());
                send(Event::ToolStarted { id, tool, arguments });
            }),
            Happened::Finished { invocation, result, .. } => {
                let (id, tool) = (invocation.id.clone(), tool_name(&invocation.tool));
                send(Event::ToolFinished { id, tool, outcome: result.outcome });
            }
            Happened::Decided { id, decision } => {
                send(Event::Decided { id: (*id).clone(), decision: (*decision).clone() });
            }
            Happened::Warned(text) => send(Event::Warning((*text).to_owned())),
            Happened::Used { usage, cost, .. } => send(Event::Used { usage: *usage, cost: *cost }),
            _ => {}
        }
        Ok(())
    }
}

/// Refuses everything that needs approval.
struct NoApprover;

impl Approver for NoApprover {
    fn decide<'a>(&'a self, pending: &'a [Pending]) -> BoxFuture<'a, Vec<Decision>> {
        let deny = |_| Decision::Deny { rule: "no approver".to_owned(), comment: None };
        std::future::ready(pending.iter().map(deny).collect()).boxed()
    }

    fn can_ask(&self) -> bool {
        false
    }
}
