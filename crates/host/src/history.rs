//! The messages of a conversation, and where they are saved.

use std::mem;

use converse_canister::{
    Blobs as _, Canister, Condensed, Cost, Decision, Transcript, TranscriptError, Usage,
};
use converse_engine::{ContextState, Conversation as Loop, Event, Limits, NOBODY, Progress, Sink, SinkError};
use converse_session::{Body, Contents, Loaded, Repair, Session, Uuid, digests};

use crate::audit::AuditSink;
use crate::contents::Kept;
use crate::context::RunContext;
use crate::failure::{Failure, Kind};
use crate::journal::JournalSink;
use crate::world::World;

/// A conversation between its turns: the transcript, the session it is saved in, and its audit log.
pub struct History {
    state: Loop,
    journal: Option<JournalSink>,
    audit: Option<AuditSink>,
    id: Option<Uuid>,
    audits: bool,
    /// Of a turn that another process began.
    progress: Option<Progress>,
}

crate::opaque_debug!(History);

impl Default for History {
    /// An empty conversation that is neither saved nor audited.
    fn default() -> Self {
        let state = Loop::resume(Transcript::new(), Limits::default());
        Self { state, journal: None, audit: None, id: None, audits: false, progress: None }
    }
}

impl History {
    /// Starts an empty conversation without a session.
    pub fn new(audits: bool, context: &RunContext, world: &World) -> Self {
        Self { audit: Some(AuditSink::new(audits, None, context, world)), audits, ..Self::default() }
    }

    /// Starts an empty conversation, saved in a new session or not at all, among several that write one audit log.
    pub fn audited(session: Option<Session>, audit: &AuditSink, context: &RunContext) -> Self {
        let id = session.as_ref().map(|session| session.id);
        let audit = Some(audit.for_session(id.map(|id| id.to_string())));
        let journal =
            session.map(|session| JournalSink::new(session, 0, World::now).with_cassette(&context.cassette));
        Self { audit, journal, id, audits: true, ..Self::default() }
    }

    /// Loads the conversation of a session.
    pub fn of(mut session: Session, audits: bool, context: &RunContext, world: &World) -> Self {
        let mut history = Self { audits, ..Self::default() };
        let transcript = mem::take(&mut session.loaded.transcript);
        history.replace(transcript, session.loaded.condensed.take());
        history.keep_in(session, context, world);
        history
    }

    /// Continues the turn of a session that another process began, with `began` messages before its first reply. The log is
    /// that of several conversations. `sinks` hear what it has done so far. A reply that was being saved is left out.
    ///
    /// # Errors
    ///
    /// The session cannot be written.
    pub fn taken_up(
        mut session: Session,
        began: usize,
        sinks: &[&dyn Sink],
        audit: &AuditSink,
        context: &RunContext,
    ) -> Result<Self, Failure> {
        let transcript = mem::take(&mut session.loaded.transcript);
        let condensed = session.loaded.condensed.take();
        let incomplete = session.loaded.repairs.iter().find_map(|repair| match repair {
            Repair::IncompleteReply { turn } => {
                transcript.as_slice().iter().position(|canister| canister.turn() == Some(*turn))
            }
            _ => None,
        });
        let far = Far::of(&session.loaded);
        let said = transcript.as_slice().len();
        let id = Some(session.id);
        let journal = JournalSink::new(session, said, World::now).with_cassette(&context.cassette);
        let audit = Some(audit.for_session(id.map(|id| id.to_string())));
        let mut history = Self { audit, journal: Some(journal), id, audits: true, ..Self::default() };
        history.replace(transcript, condensed);
        if let Some(before) = incomplete {
            history.rewind(before)?;
        }
        far.retell(history.transcript().as_slice().get(began..).unwrap_or_default(), sinks)?;
        let Far { cost, unapproved, .. } = far;
        history.progress = Some(Progress { began, cost, unapproved });
        Ok(history)
    }

    /// Saves messages from now on in this session.
    pub fn keep_in(&mut self, session: Session, context: &RunContext, world: &World) {
        let said = self.transcript().as_slice().len();
        self.journaled(session, said, context, world);
    }

    /// Saves all messages in this session, those so far and those from now on. `from` has the attachments that they refer to.
    ///
    /// # Errors
    ///
    /// The session cannot be written.
    pub fn move_to(
        &mut self,
        session: Session,
        from: &Kept,
        context: &RunContext,
        world: &World,
    ) -> Result<(), Failure> {
        for digest in self.transcript().as_slice().iter().flat_map(digests) {
            let Some(bytes) = from.bytes(&digest) else { continue };
            session.contents.put(&bytes).map_err(|error| {
                Failure::new(Kind::Output, "not-kept", format!("an attachment could not be saved: {error}"))
            })?;
        }
        self.journaled(session, 0, context, world);
        let Some(journal) = &self.journal else { return Ok(()) };
        for canister in self.state.transcript().as_slice() {
            journal.emit(&Event::Appended(canister))?;
        }
        let condensed =
            self.state.condensed().map(|condensed| Body::Condensed { condensed: condensed.clone() });
        // The usage of a reply follows it, so a journal that ends in a reply is not known to be complete.
        let note = Body::Note { text: "kept from here on".to_owned() };
        for body in condensed.into_iter().chain([note]) {
            journal.with(|session| session.append(body, World::now()))??;
        }
        Ok(journal.settle()?)
    }

    fn journaled(&mut self, session: Session, canisters: usize, context: &RunContext, world: &World) {
        self.id = Some(session.id);
        let id = Some(session.id.to_string());
        self.audit = Some(AuditSink::new(self.audits, id, context, world));
        let journal = JournalSink::new(session, canisters, World::now);
        self.journal = Some(journal.with_cassette(&context.cassette));
    }

    /// The session.
    pub fn id(&self) -> Option<Uuid> {
        self.id
    }

    pub fn journal(&self) -> Option<&JournalSink> {
        self.journal.as_ref()
    }

    /// The attachments and long texts of the session.
    pub fn contents(&self) -> Option<Contents> {
        self.journal()?.with(|session| session.contents.clone()).ok()
    }

    pub fn transcript(&self) -> &Transcript {
        self.state.transcript()
    }

    /// The summary that models see instead of the first messages.
    pub fn condensed(&self) -> Option<&Condensed> {
        self.state.condensed()
    }

    /// Replaces the messages, and keeps what was learnt about the context window of the model.
    pub fn replace(&mut self, transcript: Transcript, condensed: Option<Condensed>) {
        self.state = resumed(transcript, condensed, self.state.context_state().clone(), Limits::default());
    }

    /// Returns the conversation to its state with this many messages.
    ///
    /// # Errors
    ///
    /// The session cannot be written, or its message there is in the middle of a reply.
    pub fn rewind(&mut self, messages: usize) -> Result<(), Failure> {
        let said = self.transcript().as_slice();
        let left = said.get(..messages).unwrap_or(said).to_vec();
        if left.len() == said.len() {
            return Ok(());
        }
        let cut = |error: TranscriptError| Failure::usage("no-such-message", error.to_string());
        let left = Transcript::try_from(left).map_err(cut)?;
        if left.has_open() {
            return Err(Failure::usage("no-such-message", "the message is in the middle of a reply"));
        }
        let condensed =
            self.condensed().filter(|condensed| condensed.covers <= left.as_slice().len()).cloned();
        if let Some(journal) = &self.journal {
            journal.rewind(messages)?;
        }
        self.replace(left, condensed);
        Ok(())
    }

    /// Waits until every message is on disk.
    ///
    /// # Errors
    ///
    /// The session cannot be written.
    pub fn settle(&self) -> Result<(), Failure> {
        self.journal().map_or(Ok(()), |journal| Ok(journal.settle()?))
    }

    /// Resets the counts of a turn to these limits.
    pub(crate) fn count_anew(&mut self, limits: Limits) {
        let state = mem::replace(&mut self.state, Loop::resume(Transcript::new(), limits));
        let learnt = state.context_state().clone();
        let (transcript, condensed) = state.into_parts();
        let state = resumed(transcript, condensed, learnt, limits);
        self.state = match self.progress.take() {
            Some(progress) => state.take_up(progress),
            None => state,
        };
    }

    /// The state of the loop, the journal, and the sinks of its events. The journal is the first sink: an event that it
    /// refuses has not happened.
    pub(crate) fn parts(&mut self) -> (&mut Loop, Option<&JournalSink>, Vec<&dyn Sink>) {
        let Self { state, journal, audit, .. } = self;
        let sinks = journal.as_ref().map(|journal| journal as &dyn Sink);
        let sinks = sinks.into_iter().chain(audit.as_ref().map(|audit| audit as &dyn Sink)).collect();
        (state, journal.as_ref(), sinks)
    }
}

/// How far a turn has come that another process began.
struct Far {
    usage: Usage,
    cost: Option<Cost>,
    unapproved: usize,
    /// Of the last reply.
    model: String,
}

impl Far {
    fn of(loaded: &Loaded) -> Self {
        let nobody = |decision: &Decision| match decision {
            Decision::Deny { comment: Some(comment), .. } => comment.starts_with(NOBODY),
            _ => false,
        };
        let last = loaded.replies.iter().max_by_key(|(turn, _)| turn.0);
        Self {
            usage: loaded.usage,
            cost: (!loaded.unpriced).then_some(loaded.cost),
            unapproved: loaded.decisions.iter().filter(|(_, decision)| nobody(decision)).count(),
            model: last.map(|(_, reply)| reply.model.clone()).unwrap_or_default(),
        }
    }

    /// Tells what the turn has done, in one sum for the usage of its replies.
    fn retell(&self, done: &[Canister], sinks: &[&dyn Sink]) -> Result<(), SinkError> {
        let Self { usage, cost, model, .. } = self;
        let (provider, model) = model.split_once('/').unwrap_or(("", model));
        let (usage, cost) = (*usage, *cost);
        let used = Event::Used { usage, cost, model, provider, cut: false, instead: None };
        for sink in sinks.iter().filter(|_| !done.is_empty()) {
            done.iter().try_for_each(|canister| sink.emit(&Event::Appended(canister)))?;
            sink.emit(&used)?;
        }
        Ok(())
    }
}

/// Returns the state of the loop after these messages.
fn resumed(
    transcript: Transcript,
    condensed: Option<Condensed>,
    learnt: ContextState,
    limits: Limits,
) -> Loop {
    Loop::resume(transcript, limits).with_condensed(condensed).with_context_state(learnt)
}
