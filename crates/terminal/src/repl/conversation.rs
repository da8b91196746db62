//! The conversation so far, and where it is kept, if it is. On disk it begins with the first message.

use std::collections::HashSet;

use converse_canister::{Canister, Condensed, Content, InvocationId, Transcript, questions};
use converse_session::{Contents, FileChange, Session, Uuid};

use super::ran::Ran;
use crate::console::Console;
use converse_host::History;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::journal::JournalSink;
use converse_host::settings::Settings;
use converse_host::turn::sessions;
use converse_host::world::World;

pub(super) struct ReplConversation<'a> {
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
    /// Elsewhere during a turn.
    history: History,
    /// What models are shown instead of the beginning, each with the canisters there had to be for it.
    condensed: Vec<(usize, Condensed)>,
    /// The number of canisters at the start of each message of the user, also of one to a turn that ran. For a resumed session
    /// it is derived from the messages.
    starts: Vec<usize>,
    pub(super) ran: Ran,
    /// It is to outlive the run.
    pub(super) wanted: bool,
    /// Something was said since the program began.
    pub(super) went_on: bool,
}

impl<'a> ReplConversation<'a> {
    /// One in which nothing is said yet.
    pub(super) fn new(settings: &Settings, wanted: bool, console: &'a Console, world: &'a World) -> Self {
        Self {
            console,
            world,
            history: History::new(settings.audit, &console.context, world),
            condensed: Vec::new(),
            starts: Vec::new(),
            ran: Ran::default(),
            wanted,
            went_on: false,
        }
    }

    /// One that goes on.
    pub(super) fn of(
        mut session: Session,
        settings: &Settings,
        console: &'a Console,
        world: &'a World,
    ) -> Self {
        let ran = Ran::of(std::mem::take(&mut session.loaded.started));
        let history = History::of(session, settings.audit, &console.context, world);
        let starts = questions::starts(history.transcript().as_slice());
        let condensed = history.condensed().map(|condensed| (condensed.covers, condensed.clone()));
        let condensed = condensed.into_iter().collect();
        Self { console, world, history, condensed, starts, ran, wanted: true, went_on: false }
    }

    pub(super) fn transcript(&self) -> &Transcript {
        self.history.transcript()
    }

    pub(super) fn id(&self) -> Option<Uuid> {
        self.history.id()
    }

    pub(super) fn journal(&self) -> Option<&JournalSink> {
        self.history.journal()
    }

    /// Starts a turn. A wanted session exists after this; if it cannot be created, the user is warned.
    pub(super) fn begin_turn(&mut self, contents: &Kept) {
        let context = &self.console.context;
        if self.journal().is_none() && self.wanted {
            match sessions::create(World::now(), context, self.world) {
                Some(session) => self.history.keep_in(session, context, self.world),
                None => self.wanted = false,
            }
        }
        self.settle(contents);
        let start = self.transcript().as_slice().len();
        self.starts.retain(|earlier| *earlier < start);
        self.starts.push(start);
        self.went_on = true;
    }

    /// What is attached and what tools make goes where the conversation goes.
    pub(super) fn settle(&self, contents: &Kept) {
        contents.settle(self.history.contents());
    }

    /// The same, where nothing is to be begun yet.
    pub(super) fn settle_if_kept(&self, contents: &Kept) {
        if self.journal().is_some() {
            self.settle(contents);
        }
    }

    /// The conversation, for a turn; it comes back with [`ReplConversation::go_on`].
    pub(super) fn lend(&mut self) -> History {
        std::mem::take(&mut self.history)
    }

    pub(super) fn go_on(&mut self, history: History) {
        let known = self.condensed.last().map(|(_, condensed)| condensed);
        if let Some(condensed) = history.condensed().filter(|condensed| Some(*condensed) != known) {
            // If the turn is undone, this is undone too.
            let since = self.starts.last().map_or(0, |start| start + 1);
            self.condensed.push((since.max(condensed.covers), condensed.clone()));
        }
        let begun = self.starts.last().map_or(0, |start| start + 1);
        self.starts.extend(steerings(history.transcript().as_slice(), begun));
        self.history = history;
    }

    /// All that was said is on the disk.
    pub(super) fn settled(&self) -> Result<(), Failure> {
        self.history.settle()
    }

    /// How many canisters there were when the last turn began.
    pub(super) fn last_start(&self) -> Option<usize> {
        let there = self.transcript().as_slice().len();
        self.starts.iter().rev().copied().find(|start| *start < there)
    }

    /// What was said since.
    pub(super) fn last_turn(&self) -> &[Canister] {
        let start = self.last_start().unwrap_or(usize::MAX);
        self.transcript().as_slice().get(start..).unwrap_or_default()
    }

    /// Where each saying begins, and where the next one does, or the end.
    pub(super) fn sayings(&self) -> Vec<(usize, usize)> {
        let there = self.transcript().as_slice().len();
        let ends = self.starts.iter().skip(1).copied().chain([there]);
        self.starts.iter().copied().zip(ends).filter(|(start, end)| start < end).collect()
    }

    /// The files that the tools changed in this part of the conversation, if it is kept.
    pub(super) fn changes(&self, start: usize, end: usize) -> Vec<FileChange> {
        let canisters = self.transcript().as_slice();
        let part = canisters.get(start..end.min(canisters.len())).unwrap_or_default();
        let ids: HashSet<&InvocationId> = part
            .iter()
            .filter_map(|one| match one {
                Canister::Invocation(invocation) => Some(&invocation.id),
                _ => None,
            })
            .collect();
        let of = |journal: &JournalSink| journal.with(|session| session.changes.of(|id| ids.contains(id)));
        self.journal().and_then(|journal| of(journal).ok()).unwrap_or_default()
    }

    /// Where content of the session is kept.
    pub(super) fn contents(&self) -> Option<Contents> {
        self.history.contents()
    }

    /// So many sayings at the end have no word of a model behind them; they go along with the next one.
    pub(super) fn unanswered(&self) -> usize {
        let canisters = self.transcript().as_slice();
        let answered = questions::answered(canisters);
        // A prompt of a server may put words into the model's mouth, and ends in the user's.
        let goes_on = answered < canisters.len() && !self.starts.contains(&answered);
        let begun = self.starts.iter().filter(|start| (answered..canisters.len()).contains(start));
        begun.count() + usize::from(goes_on)
    }

    /// Returns whether the last message is not a reply, so an answer is due.
    pub(super) fn is_open(&self) -> bool {
        self.transcript().as_slice().last().is_some_and(|last| !matches!(last, Canister::Assistant(_)))
    }

    /// Returns whether the last message is an empty reply of a model.
    pub(super) fn says_nothing(&self) -> bool {
        let silent = |content: &Content| match content {
            Content::Reasoning { .. } => true,
            content => content.as_text().is_some_and(|text| text.trim().is_empty()),
        };
        match self.transcript().as_slice().last() {
            Some(Canister::Assistant(assistant)) => assistant.content.iter().all(silent),
            _ => false,
        }
    }

    /// Takes the last turn back; what it was.
    pub(super) fn undo(&mut self) -> Result<Option<Vec<Canister>>, Failure> {
        let Some(start) = self.last_start() else { return Ok(None) };
        if let Some(journal) = self.journal() {
            journal.rewind(start)?;
        }
        let turn = self.last_turn().to_vec();
        let shorter = self.transcript().clone().shortened(start).map_err(super::internal)?;
        self.ran.forget(&turn);
        self.starts.retain(|earlier| *earlier < start);
        self.condensed.retain(|(since, _)| *since <= start);
        self.history.replace(shorter, self.condensed.last().map(|(_, condensed)| condensed.clone()));
        Ok(Some(turn))
    }

    /// A conversation that was not kept is, from now on, with all that was said.
    pub(super) fn keep(&mut self, contents: &Kept) -> Result<(), Failure> {
        if self.journal().is_some() {
            return Ok(());
        }
        let context = &self.console.context;
        let Some(session) = sessions::create(World::now(), context, self.world) else {
            return Err(Failure::usage("not-kept", "there is no directory for sessions"));
        };
        self.history.move_to(session, contents, context, self.world)?;
        self.wanted = true;
        self.settle(contents);
        Ok(())
    }

    pub(super) fn name(&self) -> Option<String> {
        self.journal()?.with(|session| session.metadata.name.clone()).ok()?
    }
}

/// Where the messages to a running turn are, from this place on: behind the results of a reply, and behind one another.
fn steerings(canisters: &[Canister], from: usize) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (at, pair) in canisters.windows(2).enumerate().skip(from.saturating_sub(1)) {
        let follows = match pair {
            [Canister::Result(_), Canister::User(_)] => true,
            [Canister::User(_), Canister::User(_)] => found.last() == Some(&at),
            _ => false,
        };
        found.extend(follows.then_some(at + 1));
    }
    found
}

#[cfg(test)]
mod tests {
    use converse_canister::{InvocationId, InvocationResult, Outcome, TurnId, User};

    use super::*;

    #[test]
    fn what_is_said_to_a_running_turn_begins_behind_results() {
        let user = || Canister::User(User::text("words"));
        let result =
            || Canister::Result(InvocationResult::new(InvocationId::of(TurnId(1), 0), Outcome::Success, "x"));
        // The first of them may follow the results of a turn that was broken off.
        let all = [result(), user(), user(), result(), user(), user(), result(), result(), user()];
        assert_eq!(steerings(&all, 3), [4, 5, 8]);
        assert_eq!(steerings(&all, 6), [8]);
        assert_eq!(steerings(&all, 0), [1, 2, 4, 5, 8]);
        assert!(steerings(&[], 0).is_empty() && steerings(&all, 20).is_empty());
    }
}
