//! The conversation so far, and where it is kept, if it is. On disk it begins with the first message.

use converse_canister::{Blobs as _, Canister, Condensed, Content, Transcript};
use converse_engine::{ContextState, Conversation, Event, Limits, Sink as _};
use converse_session::{Body, Contents, Session, Uuid, digests};

use super::ran::Ran;
use crate::console::Console;
use converse_host::audit::AuditSink;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::journal::JournalSink;
use converse_host::settings::Settings;
use converse_host::turn::{sayings, sessions};
use converse_host::world::World;

pub(super) struct ReplConversation<'a> {
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
    pub(super) transcript: Transcript,
    /// What models are shown instead of the beginning, each with the canisters there had to be for it.
    condensed: Vec<(usize, Condensed)>,
    /// What earlier turns found out about the model's window.
    context_state: ContextState,
    pub(super) journal: Option<JournalSink>,
    pub(super) audit: AuditSink<'a>,
    /// How many canisters there were when each turn of the user began. Of one that is taken up again it is told from
    /// what was said.
    starts: Vec<usize>,
    pub(super) ran: Ran,
    pub(super) id: Option<Uuid>,
    /// It is to outlive the run.
    pub(super) wanted: bool,
    /// Something was said since the program began.
    pub(super) went_on: bool,
    audits: bool,
}

impl<'a> ReplConversation<'a> {
    /// One in which nothing is said yet.
    pub(super) fn new(settings: &Settings, wanted: bool, console: &'a Console, world: &'a World) -> Self {
        let audits = settings.audit;
        Self {
            console,
            world,
            transcript: Transcript::new(),
            condensed: Vec::new(),
            context_state: ContextState::default(),
            journal: None,
            audit: AuditSink::new(audits, None, &console.context, world),
            starts: Vec::new(),
            ran: Ran::default(),
            id: None,
            wanted,
            went_on: false,
            audits,
        }
    }

    /// One that goes on.
    pub(super) fn of(session: Session, settings: &Settings, console: &'a Console, world: &'a World) -> Self {
        let mut conversation = Self::new(settings, true, console, world);
        conversation.take(session);
        conversation
    }

    fn take(&mut self, mut session: Session) {
        self.transcript = std::mem::take(&mut session.loaded.transcript);
        let condensed = session.loaded.condensed.take();
        self.condensed = condensed.map(|condensed| (condensed.covers, condensed)).into_iter().collect();
        self.starts = sayings::starts(self.transcript.as_slice());
        self.ran = Ran::of(std::mem::take(&mut session.loaded.started));
        self.keep_in(session);
    }

    fn keep_in(&mut self, session: Session) {
        self.id = Some(session.id);
        let id = Some(session.id.to_string());
        self.audit = AuditSink::new(self.audits, id, &self.console.context, self.world);
        let said = self.transcript.as_slice().len();
        self.journal =
            Some(JournalSink::new(session, said, World::now).with_cassette(&self.console.context.cassette));
    }

    /// What a turn begins with. A session that is wanted is begun by now; where it cannot be, the user is told.
    pub(super) fn begin_turn(&mut self, model: &str, contents: &Kept) {
        if self.journal.is_none() && self.wanted {
            match sessions::create(World::now(), &self.console.context, self.world) {
                Some(session) => self.keep_in(session),
                None => self.wanted = false,
            }
        }
        self.settle(contents);
        if let Some(journal) = &self.journal {
            journal.note_model(model);
            journal.note_replay();
        }
        let start = self.transcript.as_slice().len();
        self.starts.retain(|earlier| *earlier < start);
        self.starts.push(start);
        self.went_on = true;
    }

    /// What is attached and what tools make goes where the conversation goes.
    pub(super) fn settle(&self, contents: &Kept) {
        let kept = self.journal.as_ref().and_then(|journal| journal.with(|s| s.contents.clone()).ok());
        contents.settle(kept);
    }

    /// The same, where nothing is to be begun yet.
    pub(super) fn settle_if_kept(&self, contents: &Kept) {
        if self.journal.is_some() {
            self.settle(contents);
        }
    }

    /// The conversation, for a turn; it comes back with [`ReplConversation::go_on`].
    pub(super) fn lend(&mut self, limits: Limits) -> Conversation {
        let condensed = self.condensed.last().map(|(_, condensed)| condensed.clone());
        Conversation::resume(std::mem::take(&mut self.transcript), limits)
            .with_condensed(condensed)
            .with_context_state(self.context_state.clone())
    }

    pub(super) fn go_on(&mut self, conversation: Conversation) {
        self.context_state = conversation.context_state().clone();
        let (transcript, condensed) = conversation.into_parts();
        self.transcript = transcript;
        let known = self.condensed.last().map(|(_, condensed)| condensed);
        if let Some(condensed) = condensed.filter(|condensed| Some(condensed) != known) {
            // Whoever takes the turn back takes it back with the turn.
            let since = self.starts.last().map_or(0, |start| start + 1);
            self.condensed.push((since.max(condensed.covers), condensed));
        }
    }

    /// All that was said is on the disk.
    pub(super) fn settled(&self) -> Result<(), Failure> {
        self.journal.as_ref().map_or(Ok(()), |journal| Ok(journal.settle()?))
    }

    /// How many canisters there were when the last turn began.
    pub(super) fn last_start(&self) -> Option<usize> {
        let there = self.transcript.as_slice().len();
        self.starts.iter().rev().copied().find(|start| *start < there)
    }

    /// What was said since.
    pub(super) fn last_turn(&self) -> &[Canister] {
        let start = self.last_start().unwrap_or(usize::MAX);
        self.transcript.as_slice().get(start..).unwrap_or_default()
    }

    /// Where each saying begins, and where the next one does, or the end.
    pub(super) fn sayings(&self) -> Vec<(usize, usize)> {
        let there = self.transcript.as_slice().len();
        let ends = self.starts.iter().skip(1).copied().chain([there]);
        self.starts.iter().copied().zip(ends).filter(|(start, end)| start < end).collect()
    }

    /// So many sayings at the end have no word of a model behind them; they go along with the next one.
    pub(super) fn unanswered(&self) -> usize {
        let canisters = self.transcript.as_slice();
        let answered = sayings::answered(canisters);
        // A prompt of a server may put words into the model's mouth, and ends in the user's.
        let goes_on = answered < canisters.len() && !self.starts.contains(&answered);
        let begun = self.starts.iter().filter(|start| (answered..canisters.len()).contains(start));
        begun.count() + usize::from(goes_on)
    }

    /// Does the last word wait for an answer?
    pub(super) fn is_open(&self) -> bool {
        self.transcript.as_slice().last().is_some_and(|last| !matches!(last, Canister::Assistant(_)))
    }

    /// Is the last word a model's, and no word at all?
    pub(super) fn says_nothing(&self) -> bool {
        let silent = |content: &Content| match content {
            Content::Reasoning { .. } => true,
            content => content.as_text().is_some_and(|text| text.trim().is_empty()),
        };
        match self.transcript.as_slice().last() {
            Some(Canister::Assistant(assistant)) => assistant.content.iter().all(silent),
            _ => false,
        }
    }

    /// Takes the last turn back; what it was.
    pub(super) fn undo(&mut self) -> Result<Option<Vec<Canister>>, Failure> {
        let Some(start) = self.last_start() else { return Ok(None) };
        if let Some(journal) = &self.journal {
            journal.rewind(start)?;
        }
        let turn = self.last_turn().to_vec();
        let shorter = std::mem::take(&mut self.transcript).shortened(start);
        self.transcript = shorter.map_err(super::internal)?;
        self.ran.forget(&turn);
        self.starts.retain(|earlier| *earlier < start);
        self.condensed.retain(|(since, _)| *since <= start);
        Ok(Some(turn))
    }

    /// A conversation that was not kept is, from now on, with all that was said.
    pub(super) fn keep(&mut self, contents: &Kept) -> Result<(), Failure> {
        if self.journal.is_some() {
            return Ok(());
        }
        let Some(session) = sessions::create(World::now(), &self.console.context, self.world) else {
            return Err(Failure::usage("not-kept", "there is no directory for sessions"));
        };
        copy_blobs(&self.transcript, contents, &session.contents)?;
        let said = std::mem::take(&mut self.transcript);
        self.keep_in(session);
        let Some(journal) = &self.journal else { return Ok(()) };
        let kept = said.as_slice().iter().try_for_each(|one| journal.emit(&Event::Appended(one)));
        self.transcript = said;
        kept?;
        let condensed = self.condensed.last().map(|(_, condensed)| condensed.clone());
        let condensed = condensed.map(|condensed| Body::Condensed { condensed });
        // What a reply took stands behind it; a journal that ends in a reply is not known to be whole.
        let note = Body::Note { text: "kept from here on".to_owned() };
        for body in condensed.into_iter().chain([note]) {
            journal.with(|session| session.append(body, World::now()))??;
        }
        journal.settle()?;
        self.wanted = true;
        self.settle(contents);
        Ok(())
    }

    pub(super) fn name(&self) -> Option<String> {
        self.journal.as_ref()?.with(|session| session.metadata.name.clone()).ok()?
    }
}

/// Copies the content that a conversation refers to into a session.
fn copy_blobs(transcript: &Transcript, from: &Kept, to: &Contents) -> Result<(), Failure> {
    for digest in transcript.as_slice().iter().flat_map(digests) {
        let Some(bytes) = from.bytes(&digest) else { continue };
        to.put(&bytes).map_err(|error| {
            Failure::new(Kind::Output, "not-kept", format!("cannot save an attachment: {error}"))
        })?;
    }
    Ok(())
}
