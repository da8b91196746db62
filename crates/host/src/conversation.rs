//! Conversations and their turns: the embedding program, `ask` and the REPL run the same ones.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Instant;

use converse_canister::{Canister, Content, Decision, Transcript, User};
use converse_engine::{
    AnswerCheck, Approver, CondenseOutcome, Conversation as Loop, Ending, Engine, EngineError,
    Event as Happened, Ledger, Ports, Runner, Sink, Steering, condense_now, converse, ledger,
};
use converse_ensemble::{Pending, Roster};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};

use crate::contents::Kept;
use crate::context::RunContext;
use crate::event::{Event, EventSink, Unread};
use crate::failure::{Failure, Kind};
use crate::history::History;
use crate::instructions::reads_skills;
use crate::interrupt::Interrupt;
use crate::journal::JournalSink;
use crate::routes::Wires;
use crate::settings::Settings;
use crate::turn::{self, opening, sessions};
use crate::wiring::Connected;
use crate::world::World;

/// What conversations run over. A [`Host`](crate::Host) has its own; `ask` and the REPL put theirs together.
#[derive(Clone, Copy)]
pub struct HostParts<'h> {
    pub world: &'h World,
    pub context: &'h RunContext,
    pub settings: &'h Settings,
    pub connected: &'h Connected,
    pub contents: &'h Kept,
    pub interrupt: &'h Interrupt,
}

crate::opaque_debug!(HostParts<'_>);

impl<'h> HostParts<'h> {
    /// Begins to describe a conversation.
    #[must_use]
    pub fn conversation(self) -> ConversationBuilder<'h> {
        ConversationBuilder {
            parts: self,
            approver: Box::new(NoApprover),
            sinks: Vec::new(),
            session: None,
            ephemeral: self.settings.ephemeral,
            caller: 0,
            deadline: None,
            can_take_back: true,
            durable: false,
            wires: None,
            roster: None,
            runner: None,
            steering: None,
        }
    }
}

/// What a conversation is started with; see [`Host::conversation`](crate::Host::conversation).
pub struct ConversationBuilder<'h> {
    parts: HostParts<'h>,
    approver: Box<dyn Approver + 'h>,
    sinks: Vec<&'h dyn Sink>,
    session: Option<String>,
    ephemeral: bool,
    caller: usize,
    deadline: Option<Instant>,
    can_take_back: bool,
    durable: bool,
    wires: Option<Wires>,
    roster: Option<&'h Roster>,
    runner: Option<&'h dyn Runner>,
    steering: Option<&'h dyn Steering>,
}

crate::opaque_debug!(ConversationBuilder<'_>);

impl<'h> ConversationBuilder<'h> {
    /// Decides about calls that need approval. Without an approver they are refused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + 'h) -> Self {
        self.approver = Box::new(approver);
        self
    }

    /// Continues a session, given by its id, a prefix of its id, its name, or `last`. The model of the host answers, also if
    /// another model answered before.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Does not save the conversation.
    #[must_use]
    pub fn ephemeral(mut self) -> Self {
        self.ephemeral = true;
        self
    }

    /// Starts the conversation: a new session, unless it is [`ephemeral`](Self::ephemeral), or the one that was named. If
    /// no session can be created, the conversation is not saved, and a notice says so. A session without messages is not
    /// saved.
    ///
    /// # Errors
    ///
    /// The named session does not exist, is damaged, or another process has it open.
    pub fn start(self) -> Result<Conversation<'h>, Failure> {
        let HostParts { world, context, settings, .. } = self.parts;
        let session = match &self.session {
            Some(named) => {
                let id = sessions::required(world)?.resolve(named).map_err(Failure::of_session)?;
                Some(sessions::open(id, context, world)?)
            }
            None if self.ephemeral => None,
            None => sessions::create(World::now(), context, world),
        };
        let history = match session {
            Some(session) => History::of(session, settings.audit, context, world),
            None => History::new(settings.audit, context, world),
        };
        Ok(self.resume(history))
    }

    /// Continues this history.
    #[doc(hidden)]
    #[must_use]
    pub fn resume(self, history: History) -> Conversation<'h> {
        let Self {
            parts,
            approver,
            sinks,
            caller,
            deadline,
            can_take_back,
            durable,
            wires,
            roster,
            runner,
            steering,
            ..
        } = self;
        let roster = roster.unwrap_or(&parts.connected.roster).for_caller(caller);
        let wires = wires.unwrap_or_else(|| parts.settings.wires());
        Conversation {
            parts,
            approver,
            sinks,
            history,
            roster,
            wires,
            deadline,
            can_take_back,
            durable,
            runner,
            steering,
        }
    }

    /// Hears every event, after the session and the audit log. An error ends the turn.
    #[doc(hidden)]
    #[must_use]
    pub fn sink(mut self, sink: &'h dyn Sink) -> Self {
        self.sinks.push(sink);
        self
    }

    /// The place of this conversation among several over the same tools.
    #[doc(hidden)]
    #[must_use]
    pub fn caller(mut self, caller: usize) -> Self {
        self.caller = caller;
        self
    }

    /// When turns end. Without it each has the time of the settings for itself.
    #[doc(hidden)]
    #[must_use]
    pub fn deadline(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Whether the text of a reply that breaks off can be taken back.
    #[doc(hidden)]
    #[must_use]
    pub fn can_take_back(mut self, can_take_back: bool) -> Self {
        self.can_take_back = can_take_back;
        self
    }

    /// Whether the user's message is on disk before an event tells of it.
    #[doc(hidden)]
    #[must_use]
    pub fn durable(mut self, durable: bool) -> Self {
        self.durable = durable;
        self
    }

    /// Offers these tools instead of those of the host.
    #[doc(hidden)]
    #[must_use]
    pub fn roster(mut self, roster: &'h Roster) -> Self {
        self.roster = Some(roster);
        self
    }

    /// Carries its turns from step to step. Without it, each step begins at once.
    #[doc(hidden)]
    #[must_use]
    pub fn runner(mut self, runner: Option<&'h dyn Runner>) -> Self {
        self.runner = runner;
        self
    }

    /// Where the user's words for a running turn come from.
    #[doc(hidden)]
    #[must_use]
    pub fn steering(mut self, steering: &'h dyn Steering) -> Self {
        self.steering = Some(steering);
        self
    }

    /// Connections to the models that are there already.
    #[doc(hidden)]
    #[must_use]
    pub fn wires(mut self, wires: Wires) -> Self {
        self.wires = Some(wires);
        self
    }
}

/// A transcript that grows by turns. It is saved as a session; no other process writes that session as long as the
/// conversation lives.
pub struct Conversation<'h> {
    parts: HostParts<'h>,
    approver: Box<dyn Approver + 'h>,
    sinks: Vec<&'h dyn Sink>,
    history: History,
    roster: Roster,
    wires: Wires,
    deadline: Option<Instant>,
    can_take_back: bool,
    durable: bool,
    runner: Option<&'h dyn Runner>,
    steering: Option<&'h dyn Steering>,
}

impl fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("transcript", self.transcript()).finish_non_exhaustive()
    }
}

impl<'h> Conversation<'h> {
    /// Everything said so far.
    pub fn transcript(&self) -> &Transcript {
        self.history.transcript()
    }

    /// The id of the session, for [`ConversationBuilder::session`] and `converse --session`. `None` if nothing is saved.
    pub fn session(&self) -> Option<String> {
        self.history.id().map(|id| id.to_string())
    }

    /// Begins a turn. Nothing happens before [`Turn::next`] or [`Turn::finish`] is awaited; a turn that is dropped leaves a
    /// transcript that can be continued.
    pub fn ask(&mut self, text: impl Into<String>) -> Turn<'_> {
        self.say(vec![Canister::User(User::text(text.into()))])
    }

    /// Begins a turn with these messages, and the system text before them if it is new to the conversation.
    #[doc(hidden)]
    pub fn say(&mut self, said: Vec<Canister>) -> Turn<'_> {
        let unread = Unread::new(Some(Vec::new().into()).into());
        let run = self.run(said, EventSink(Unread::clone(&unread))).boxed_local();
        Turn { run, unread, ended: None }
    }

    /// Replaces the first messages by a summary in what models see. `focus`: what is kept above all.
    #[doc(hidden)]
    pub async fn condense(&mut self, focus: Option<&str>) -> Result<CondenseOutcome, EngineError> {
        self.history.count_anew(self.parts.settings.limits);
        let asking = self.asking();
        let (state, _, mut sinks) = self.history.parts();
        sinks.extend(&self.sinks);
        let approver = self.approver.as_ref();
        let ports = Ports { approver, sinks: &sinks, jitter: &World::dice, runner: None, steering: None };
        let engine = asking.engine(&self.roster, &self.wires);
        condense_now(state, &engine, ports, &self.parts.interrupt.token, focus).await
    }

    /// What fills the next request.
    #[doc(hidden)]
    pub fn ledger(&mut self) -> Ledger {
        self.history.count_anew(self.parts.settings.limits);
        let engine = self.asking().engine(&self.roster, &self.wires);
        ledger(self.history.parts().0, &engine)
    }

    /// Returns the history, to continue it in another conversation.
    #[doc(hidden)]
    pub fn into_history(self) -> History {
        self.history
    }

    async fn run(&mut self, said: Vec<Canister>, events: EventSink) -> Result<Reply, Failure> {
        let HostParts { context, settings, contents, interrupt, .. } = self.parts;
        let session = self.session();
        let _kept = contents.also(self.history.contents());
        self.history.count_anew(settings.limits);
        if let Some(journal) = self.history.journal() {
            let roster = self.roster.for_caller(self.roster.caller());
            journal.keep_files(move |invocation| roster.written_file(invocation), &context.redactor);
            journal.note_model(&settings.model.id);
            journal.note_replay();
            journal.settles_questions(self.durable);
        }
        let listener = context.telemetry.turn(&settings.model.id, session.as_deref());
        let asking = self.asking();
        let (state, journal, mut sinks) = self.history.parts();
        sinks.extend(&self.sinks);
        sinks.push(&events);
        sinks.extend(listener.as_ref().map(|listener| listener as &dyn Sink));
        let (approver, runner, steering) = (self.approver.as_ref(), self.runner, self.steering);
        let ports = Ports { approver, sinks: &sinks, jitter: &World::dice, runner, steering };
        let engine = asking.engine(&self.roster, &self.wires);
        let said = opening(state.transcript(), settings.system.as_deref(), said);
        let ended: Result<Result<Ending, EngineError>, Failure> = match say(state, said, ports, journal) {
            Ok(()) => Ok(converse(state, &engine, ports, &interrupt.token).await),
            Err(failure) => Err(failure),
        };
        // A turn that ends with an error has written too.
        let saved = journal.map_or(Ok(()), JournalSink::settle);
        settings.cassette.turned(ended.as_ref().ok().and_then(|ended| ended.as_ref().ok()));
        let ended = ended.and_then(|ended| turn::outcome(ended?, interrupt));
        let ended = settings.cassette.verdict(ended);
        if let Some(listener) = listener {
            listener.end(ended.as_ref().err().map(|failure| failure.code));
        }
        ended.map_err(|failure| failure.redacted(|text| context.redactor.clean(text)))?;
        saved?;
        Ok(Reply { text: last_words(state.transcript()) })
    }

    fn asking(&self) -> Asking<'h> {
        let HostParts { settings, contents, connected, .. } = self.parts;
        let limit = || settings.limits.deadline.map(|limit| Instant::now() + limit);
        let deadline = self.deadline.or_else(limit);
        let note = settings.note(|| reads_skills(&self.roster), connected.note(&self.roster).as_deref());
        Asking { settings, contents, note, can_take_back: self.can_take_back, deadline }
    }
}

/// What a model is asked with.
struct Asking<'a> {
    settings: &'a Settings,
    contents: &'a Kept,
    note: Option<String>,
    /// Words of a reply that breaks off can be taken back.
    can_take_back: bool,
    deadline: Option<Instant>,
}

impl<'a> Asking<'a> {
    fn engine<'e>(self, roster: &'e Roster, wires: &'e Wires) -> Engine<'e>
    where
        'a: 'e,
    {
        let Self { settings, contents, note, can_take_back, deadline } = self;
        let (route, fallbacks) = settings.routes(wires);
        Engine {
            route,
            fallbacks,
            roster,
            blobs: contents,
            note,
            answer: settings.answer.as_ref().map(|wanted| wanted as &dyn AnswerCheck),
            timeouts: settings.timeouts,
            retry: settings.retry,
            compaction: settings.compaction,
            can_take_back,
            deadline: deadline.map(tokio::time::Instant::from_std),
        }
    }
}

/// Appends messages, to the sinks first and then to the conversation.
fn say(
    conversation: &mut Loop,
    canisters: Vec<Canister>,
    ports: Ports<'_>,
    journal: Option<&JournalSink>,
) -> Result<(), Failure> {
    for canister in canisters {
        match (&canister, journal) {
            // An assistant message of a prompt is not an answer of this run.
            (Canister::Assistant(_), None) => {}
            (Canister::Assistant(_), Some(journal)) => journal.emit(&Happened::Appended(&canister))?,
            _ => ports.append(&canister)?,
        }
        let said = conversation.say(canister);
        said.map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
    }
    Ok(())
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

/// A turn: one question, and everything until its answer.
pub struct Turn<'c> {
    run: LocalBoxFuture<'c, Result<Reply, Failure>>,
    unread: Unread,
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
        poll_fn(|context| {
            let mut next = self.unread();
            if next.is_none() && self.ended.is_none() {
                if let Poll::Ready(ended) = self.run.poll_unpin(context) {
                    self.ended = Some(ended);
                }
                next = self.unread();
            }
            if next.is_none() && self.ended.is_none() { Poll::Pending } else { Poll::Ready(next) }
        })
        .await
    }

    fn unread(&self) -> Option<Event> {
        self.unread.lock().as_mut()?.pop_front()
    }

    /// Runs the turn to its end.
    ///
    /// # Errors
    ///
    /// How the turn failed; its [`Kind`] is what an exit code is made of.
    pub async fn finish(self) -> Result<Reply, Failure> {
        // Nothing reads events any more, so none may pile up.
        *self.unread.lock() = None;
        match self.ended {
            Some(ended) => ended,
            None => self.run.await,
        }
    }
}

/// The result of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The text of the last reply.
    pub text: String,
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
