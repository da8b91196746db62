//! `/rewind`: back to an earlier message, with the files as they were then.

use std::collections::HashSet;
use std::io;

use converse_canister::{InvocationId, Origin};
use converse_session::{FileChange, FileState, Restore, Standing, restores};
use converse_text::safe_line;

use super::again::{named, nothing};
use crate::approver::{Listing, Pick, chooses};
use crate::repl::session::ReplSession;
use converse_host::attach::UserInput;
use converse_host::failure::Failure;

/// Messages that can be gone back to.
const MOST: usize = 20;
/// Characters of a list of files.
const FILES: usize = 60;
/// Characters of a path.
const PATH: usize = 200;

/// What is to be as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Conversation,
    Files,
    Both,
}

/// A message that can be gone back to.
#[derive(Clone)]
struct Saying {
    /// How many turns before now.
    turns: u32,
    start: usize,
    words: String,
    /// The files that were changed after it.
    files: String,
}

/// The last one first.
struct Sayings(Vec<Saying>);

impl Listing for Sayings {
    type Item = Saying;
    const QUESTION: &'static str = "back to which message?";
    const LEGEND: &'static str = "its number, or words to search for; Enter: none";

    fn found(&mut self, words: &str) -> Vec<Saying> {
        let words = words.to_lowercase();
        let has = |saying: &&Saying| {
            let text = format!("{} {}", saying.words, saying.files).to_lowercase();
            words.split_whitespace().all(|word| text.contains(word))
        };
        self.0.iter().filter(has).cloned().collect()
    }

    fn nothing(&self, _: &str) -> String {
        "no message contains these words".to_owned()
    }

    fn heading(&self) -> Vec<String> {
        let has_files = self.0.iter().any(|saying| !saying.files.is_empty());
        let mut heading = vec!["message".to_owned()];
        heading.extend(has_files.then(|| "changed files".to_owned()));
        heading
    }

    fn cells(&self, saying: &Saying) -> Vec<String> {
        let mut cells = vec![saying.words.clone()];
        cells.extend(Some(saying.files.clone()).filter(|files| !files.is_empty()));
        cells
    }
}

impl ReplSession<'_> {
    /// Lists the last messages with the files that were changed after each, and goes back to the chosen one, which is put
    /// back into the line.
    pub(in crate::repl) async fn go_back(&mut self) -> Result<(), Failure> {
        self.await_servers_first().await?;
        let sayings = self.conversation.sayings().into_iter().rev().take(MOST);
        let all: Vec<Saying> = (1..).zip(sayings).map(|(turns, saying)| self.saying(turns, saying)).collect();
        if all.is_empty() {
            return Err(nothing());
        }
        match self.picks(&mut Sayings(all), "").await? {
            Pick::Entry(saying) => self.rewind(saying.turns, saying.start).await,
            Pick::Words(_) => Err(Failure::usage("no-such-message", "no message contains these words")),
            Pick::Nothing => Ok(()),
        }
    }

    fn saying(&self, turns: u32, (start, end): (usize, usize)) -> Saying {
        let turn = self.conversation.transcript().as_slice().get(start..end).unwrap_or_default();
        let mut paths: Vec<String> = Vec::new();
        for change in self.conversation.changes(start, end).iter().filter(|change| !change.left_as_it_was()) {
            let path = self.shown_path(&change.path);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Saying { turns, start, words: named(turn), files: safe_line(&paths.join(", "), FILES) }
    }

    /// A path in the project, from there.
    fn shown_path(&self, path: &str) -> String {
        let inner = self.world.cwd.to_str().and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
        safe_line(inner.unwrap_or(path), PATH)
    }

    async fn rewind(&mut self, turns: u32, start: usize) -> Result<(), Failure> {
        let changes = self.conversation.changes(start, usize::MAX);
        let restores = restores(&changes);
        let what = if restores.is_empty() {
            What::Conversation
        } else {
            let ways = vec![
                ("b", "both", What::Both),
                ("c", "the conversation", What::Conversation),
                ("f", "the files", What::Files),
            ];
            let legend = "c = the conversation, f = the files, b = both; Enter: nothing";
            let view = &self.console.progress;
            let asking = chooses(view, "restore what?", ways, ("n", "nothing"), legend);
            let Some(what) = self.attended(asking).await else { return Ok(()) };
            what
        };
        if what == What::Conversation {
            return self.undo(turns, &HashSet::new());
        }
        let Some(restored) = self.restore(&changes, restores, what == What::Files).await? else {
            return Ok(());
        };
        match what {
            What::Both => self.undo(turns, &restored),
            _ => {
                let since = self.conversation.transcript().as_slice().get(start..).unwrap_or_default();
                self.tell_effects(&self.effects(since, &restored));
                Ok(())
            }
        }
    }

    /// Restores files. Returns the calls of which nothing is left; `None` if the user broke off or a file could not be
    /// restored, so that the conversation keeps what can still be taken back. `tells_model`: with the next message.
    async fn restore(
        &mut self,
        changes: &[FileChange],
        restores: Vec<Restore>,
        tells_model: bool,
    ) -> Result<Option<HashSet<InvocationId>>, Failure> {
        let Some(contents) = self.conversation.contents() else { return Ok(Some(HashSet::new())) };
        let standing = |restore: &Restore| restore.standing(&contents);
        let mut left: HashSet<String> = restores.iter().map(|restore| restore.path.clone()).collect();
        let mut confirmed: HashSet<String> = HashSet::new();
        let (others, mut wanted): (Vec<_>, Vec<_>) =
            restores.into_iter().partition(|restore| standing(restore) == Standing::ChangedSince);
        if !others.is_empty() {
            let paths: Vec<String> = others.iter().map(|restore| self.shown_path(&restore.path)).collect();
            self.view.say(&format!("changed by somebody else since then: {}", paths.join(", ")));
            let ways = vec![("n", "no, only the others", false), ("y", "yes", true)];
            let legend = "y = yes, n = no; Enter: restore nothing";
            let view = &self.console.progress;
            let asking = chooses(view, "overwrite these too?", ways, ("q", "restore nothing"), legend);
            match self.attended(asking).await {
                Some(true) => {
                    confirmed.extend(others.iter().map(|restore| restore.path.clone()));
                    wanted.extend(others);
                }
                Some(false) => {}
                None => return Ok(None),
            }
        }
        let (mut done, mut failed) = (Vec::new(), false);
        for restore in wanted {
            let path = self.shown_path(&restore.path);
            let standing = standing(&restore);
            let is_same = standing == Standing::Same;
            let ran = match standing {
                Standing::Same => Ok(()),
                Standing::ChangedSince if !confirmed.contains(&restore.path) => {
                    Err(io::Error::other("it was changed meanwhile"))
                }
                _ => restore.run(&contents),
            };
            match ran {
                Ok(()) => {
                    left.remove(&restore.path);
                    let verb = if restore.to == FileState::Absent { "removed" } else { "restored" };
                    done.extend((!is_same).then(|| format!("{verb} {path}")));
                }
                Err(error) => {
                    failed = true;
                    self.view.say(&format!("not restored: {path}: {error}"));
                }
            }
        }
        if !done.is_empty() {
            self.view.say(&done.join("\n"));
        }
        if !done.is_empty() && tells_model {
            let text = format!("The user took back changes of files:\n{}\n", done.join("\n"));
            let told = UserInput::of_text("restored files", &text, Origin::machine());
            self.waiting = self.waiting.clone().and(told)?;
        }
        if failed {
            self.view.say("not everything is restored, so the conversation stays as it is");
            return Ok(None);
        }
        let is_left =
            |id: &InvocationId| changes.iter().any(|change| change.id == *id && left.contains(&change.path));
        Ok(Some(changes.iter().map(|change| change.id.clone()).filter(|id| !is_left(id)).collect()))
    }
}
