//! `/fork`, `/save`, `/export`, `/clear`: stores the conversation.

use std::io::Write;

use converse_session::{Fork, Metadata, Session, Uuid, cuts, new_id};

use crate::render::output::write_private;
use crate::render::transcript::Format;
use crate::repl::completing::paths::Place;
use crate::repl::conversation::ReplConversation;
use crate::repl::require_key;
use crate::repl::session::ReplSession;
use converse_host::failure::Failure;
use converse_host::turn::sessions;
use converse_host::turn::sessions::name as session_name;
use converse_host::world::World;
use converse_text::safe_line;
use converse_text::wording::counted;

/// Number of listed places.
const MOST: usize = 20;
pub(super) const NAME: usize = 50;
const PATH: usize = 300;

impl ReplSession<'_> {
    /// Continues another session, with its model unless the user chose one.
    pub(in crate::repl) fn turn_to(&mut self, session: Session) -> Result<(), Failure> {
        let before = self.session_model.take();
        self.session_model = session.metadata.used_model().map(str::to_owned);
        if let Some(foreign) = session.metadata.imported_model() {
            self.view.note(&sessions::imported_model_note(foreign));
        }
        if self.options.model.is_empty() {
            match self.resolved(&self.options).and_then(|new| require_key(&new).map(|()| new)) {
                Ok(settings) => self.settle(self.options.clone(), settings),
                Err(failure) => {
                    self.session_model = before;
                    return Err(failure);
                }
            }
        }
        self.tally.take(&session.loaded);
        self.conversation = ReplConversation::of(session, &self.settings, self.console, self.world);
        self.conversation.settle(&self.contents);
        self.resumed();
        Ok(())
    }

    /// Forks the session, all of it or up to a message, and continues the fork.
    pub(super) fn fork(&mut self, message: Option<u32>) -> Result<(), Failure> {
        let none =
            || Failure::usage("no-session", "nothing is saved yet: save the conversation with `/save NAME`");
        let source = self.conversation.id().ok_or_else(none)?;
        self.can_fork(message)?;
        self.conversation.settled()?;
        let now = World::now();
        let id = new_id(now, &World::random_bytes());
        let name = self.conversation.name().map(|name| format!("{name} (fork)"));
        let (model, project) = (Some(self.settings.model.id.clone()), sessions::project(self.world));
        let metadata = Metadata { name, model, project, ..Metadata::default() };
        let program = concat!("converse ", env!("CARGO_PKG_VERSION")).to_owned();
        let upto = message.map(|number| number as usize);
        let store = sessions::cleaned(sessions::required(self.world)?, &self.console.context);
        store.fork(source, Fork { id, program, upto, metadata }, now).map_err(Failure::of_session)?;
        let session = sessions::open(id, &self.console.context, self.world)?;
        let ran = std::mem::take(&mut self.conversation.ran);
        self.conversation = ReplConversation::of(session, &self.settings, self.console, self.world);
        (self.conversation.ran, self.conversation.went_on) = (ran, true);
        self.conversation.settle(&self.contents);
        // All of it ends as it did, and the view knows more of that.
        if message.is_some() {
            self.recalls();
        }
        self.view.note(&format!("now in {} · {} is unchanged", short(id), short(source)));
        Ok(())
    }

    /// Message numbers are not visible in the REPL, so the possible numbers are listed if one does not fit.
    fn can_fork(&self, message: Option<u32>) -> Result<(), Failure> {
        let Some(number) = message else { return Ok(()) };
        let canisters = self.conversation.transcript().as_slice();
        let possible = cuts(canisters);
        if possible.contains(&(number as usize)) {
            return Ok(());
        }
        let sayings = self.conversation.sayings().into_iter().rev().filter(|(_, end)| possible.contains(end));
        let mut lines: Vec<String> = sayings
            .take(MOST)
            .map(|(start, end)| {
                let asked = super::last_exchange(canisters.get(start..end).unwrap_or_default()).0;
                format!("/fork {end}  after: {}", safe_line(&asked.unwrap_or_default(), NAME))
            })
            .collect();
        lines.push(format!(
            "message {number} is not a place to fork at; possible places (`/fork` alone forks here):"
        ));
        lines.reverse();
        Err(Failure::usage("no-such-message", lines.join("\n")))
    }

    /// Saves the conversation, under this name if one is given.
    pub(super) fn save(&mut self, given: Option<&str>) -> Result<(), Failure> {
        let name = given.map_or(Ok(None), session_name)?;
        self.conversation.keep(&self.contents)?;
        let Some(journal) = self.conversation.journal() else { return Ok(()) };
        journal.note_model(&self.settings.model.id);
        if let Some(name) = name {
            journal.with(|session| {
                (session.metadata.name, session.metadata.nameless) = (Some(name), false);
                session.save_metadata()
            })??;
        }
        let name = self
            .conversation
            .name()
            .map(|name| format!(" as `{}`", safe_line(&name, NAME)))
            .unwrap_or_default();
        self.view.note(&format!("saved{name}"));
        Ok(())
    }

    /// Writes the session to a new file, without keys.
    pub(super) fn export(&self, named: &str) -> Result<(), Failure> {
        let none = || Failure::usage("no-session", "nothing is saved yet: `/save` saves the conversation");
        let id = self.conversation.id().ok_or_else(none)?;
        let place = Place { cwd: self.world.cwd.clone(), home: self.world.home() };
        let path = place.of(named);
        let shown = safe_line(named, PATH);
        if path.exists() {
            return Err(Failure::usage("export-failed", format!("{shown} exists: name another file")));
        }
        self.conversation.settled()?;
        let program = concat!("converse ", env!("CARGO_PKG_VERSION"));
        let document = sessions::required(self.world)?.export(id, program).map_err(Failure::of_session)?;
        let missing = document.missing().len();
        let document = self.console.context.redactor.clean_session(document)?;
        let write = |out: &mut dyn Write| Format::of(&path).write(&document, out);
        write_private(&path, write, false, "export-failed")?;
        let without = match missing {
            0 => String::new(),
            count => format!(", without {}, missing or damaged", counted(count, "file")),
        };
        self.view.note(&format!("written: {shown}{without}"));
        Ok(())
    }

    /// Begins a new conversation with the same settings.
    pub(super) fn clear(&mut self) {
        let wanted = !self.settings.ephemeral;
        self.conversation = ReplConversation::new(&self.settings, wanted, self.console, self.world);
        self.contents.unsettle();
        self.waiting = Default::default();
        self.tally.clear();
        self.recalls();
        self.view.note("new conversation");
    }

    /// Makes `/show` refer to the last turn of this conversation.
    pub(in crate::repl) fn recalls(&self) {
        self.view.recall(self.conversation.last_turn());
    }
}

/// Returns the beginning of an id, which is unique in practice.
pub(super) fn short(id: Uuid) -> String {
    id.to_string().chars().take(13).collect()
}
