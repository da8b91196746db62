//! What lives across the turns, and the loop: read, do, read again.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use converse_config::{SettingsPlan, StatusTemplate};
use converse_editor::{Editor, Prompt, Read};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use parking_lot::Mutex;

use super::completing::Known;
use super::completion_sources::PromptsLoaded;
use super::connecting::Pending;
use super::conversation::ReplConversation;
use super::pictures::Pictures;
use super::slash::{Slash, parse};
use super::tally::Tally;
use super::turn::{Words, with_stop_notice};
use super::{clipboard, internal, mentions};
use crate::console::Console;
use crate::signals::Attention;
use crate::view::TerminalView;
use converse_engine::TurnCosts;
use converse_host::attach::{Bounds, Picture, UserInput};
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::options::TurnOptions;
use converse_host::routes::Wires;
use converse_host::sampler::Models;
use converse_host::settings::Settings;
use converse_host::wiring::Connected;
use converse_host::world::World;
use converse_text::safe_line;

/// Maximum characters of names and paths in messages.
const PATH: usize = 300;

pub(super) struct ReplSession<'a> {
    pub(super) console: &'a Console,
    pub(super) world: &'a World,
    pub(super) attention: Attention,
    pub(super) view: Arc<TerminalView>,
    pub(super) editor: Rc<Editor>,
    /// What the flags asked for, and commands since.
    pub(super) options: TurnOptions,
    pub(super) files: SettingsPlan,
    /// The model of the resumed session, if no other was named.
    pub(super) session_model: Option<String>,
    pub(super) settings: Settings,
    /// Of these settings.
    pub(super) wires: Wires,
    pub(super) catalogue: Catalogue,
    pub(super) connected: Connected,
    /// What is still being connected, in the place of `connected`.
    pub(super) pending: Option<Pending<'a>>,
    /// A required ensemble could not be connected at the beginning.
    pub(super) is_unconnected: bool,
    pub(super) models: Arc<Models>,
    pub(super) contents: Kept,
    pub(super) spent: TurnCosts,
    pub(super) tally: Tally,
    /// What the line above the prompt shows, and its parts as they were last shown.
    pub(super) status: StatusTemplate,
    pub(super) shown_status: Vec<String>,
    pub(super) conversation: ReplConversation<'a>,
    /// Attached, and not said yet.
    pub(super) waiting: UserInput,
    /// Shared with the completion of input.
    pub(super) known: Arc<Mutex<Known>>,
    pub(super) prompts_loaded: PromptsLoaded,
    /// The user heard that a key was said.
    pub(super) told_of_key: AtomicBool,
    pub(super) pictures: Pictures,
    /// Those that the entry names which is being done.
    pub(super) entry_pictures: Vec<Picture>,
}

/// What comes after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    GoesOn,
    Leaves,
}

/// What comes first while a line is read.
enum Step {
    Read(Result<Read, Failure>),
    Connected(Box<Result<Connected, Failure>>),
    AsksForPicture,
    Picture(Result<Vec<u8>, String>),
}

type Reading = LocalBoxFuture<'static, Result<Vec<u8>, String>>;

impl ReplSession<'_> {
    /// Until the user leaves, or nothing can go on.
    pub(super) async fn sit(&mut self) -> Result<(), Failure> {
        let mut once = false;
        loop {
            self.shows_status();
            match self.read().await? {
                Read::End => return Ok(()),
                Read::Interrupted { after_keys: false } if once => return Ok(()),
                Read::Interrupted { .. } => {
                    once = true;
                    self.view.note("press Ctrl-C again or Ctrl-D to quit");
                }
                Read::Back => {
                    once = false;
                    let went = self.go_back().await.map(|()| Then::GoesOn);
                    self.reported(went)?;
                }
                Read::Line(line) => {
                    once = false;
                    if self.hears(&line).await? == Then::Leaves {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// The next line, unless the program is to end first.
    async fn read(&mut self) -> Result<Read, Failure> {
        let end = self.attention.end.clone();
        let prompt = Prompt::new(self.settings.model.id.as_str());
        self.attention.passes_on();
        let handed = async {
            match self.editor.is_plain() {
                true => self.view.free_keyboard().await,
                false => self.view.hand_over_keyboard().await,
            }
        };
        tokio::select! {
            biased;
            () = end.token.cancelled() => return Err(end.failure()),
            () = handed => {}
        }
        self.editor.begin_with(|| self.view.next_draft());
        let (editor, view) = (Rc::clone(&self.editor), Arc::clone(&self.view));
        let reading = view.reading(&editor);
        let mut read = pin!(editor.read(&prompt));
        let mut clipboard: Option<Reading> = None;
        loop {
            let mut pending = self.pending.take();
            let servers = async {
                match &mut pending {
                    Some(pending) => pending.finish().await,
                    None => std::future::pending().await,
                }
            };
            let is_read = clipboard.is_some();
            let picture = async {
                match &mut clipboard {
                    Some(reading) => reading.await,
                    None => std::future::pending().await,
                }
            };
            let step = tokio::select! {
                biased;
                () = end.token.cancelled() => Step::Read(Err(end.failure())),
                read = &mut read => Step::Read(read.map_err(internal)),
                connected = servers => Step::Connected(Box::new(connected)),
                picture = picture => Step::Picture(picture),
                () = self.pictures.asked(), if !is_read => Step::AsksForPicture,
                never = async { self.load_slow_completions().await; std::future::pending().await } => never,
            };
            match step {
                Step::Read(read) => {
                    self.pending = pending;
                    self.attention.passes_on();
                    drop(reading);
                    self.takes_pictures(read.as_ref().ok(), clipboard.take()).await;
                    return read;
                }
                Step::Connected(connected) => self.take_over(*connected)?,
                Step::AsksForPicture => {
                    self.pending = pending;
                    clipboard = Some(self.reading_clipboard());
                }
                Step::Picture(picture) => {
                    (self.pending, clipboard) = (pending, None);
                    if let Some((mark, _)) = self.taken(picture) {
                        self.pictures.inserted.put(mark);
                    }
                }
            }
        }
    }

    /// Reads the picture of the clipboard, beside what is typed.
    fn reading_clipboard(&self) -> Reading {
        let (world, guardian) = (self.world.clone(), self.connected.guardian().clone());
        async move { clipboard::picture(&world, &guardian).await }.boxed_local()
    }

    /// The picture of the clipboard with its mark; if there is none, says why.
    fn taken(&self, read: Result<Vec<u8>, String>) -> Option<(String, Picture)> {
        read.map(|bytes| self.pictures.of_clipboard(bytes)).inspect_err(|why| self.view.note(why)).ok()
    }

    /// Notes the pictures of an entry. One that is still being read from the clipboard is waited for, and is of it if the entry
    /// is a message.
    async fn takes_pictures(&mut self, read: Option<&Read>, clipboard: Option<Reading>) {
        let Some(Read::Line(line)) = read else { return };
        let found = self.pictures.of(line);
        for mark in found.unknown {
            let mark = safe_line(&mark, PATH);
            self.view.note(&format!("nothing is attached for `{mark}`: drop or copy the picture again"));
        }
        self.entry_pictures = found.pictures;
        let Some(reading) = clipboard else { return };
        let attended = self.attention.to_turn();
        let view = Arc::clone(&self.view);
        view.begin_turn();
        let waits = view.wait_for("waiting for the clipboard");
        let late = async {
            tokio::select! {
                read = reading => self.taken(read),
                () = attended.interrupt.token.cancelled() => None,
            }
        };
        let late = view.during(with_stop_notice(&view, &attended, late)).await;
        view.waited(waits);
        view.end_turn(None);
        match (late, parse(line)) {
            (Some((_, picture)), Slash::Text(_)) => self.entry_pictures.push(picture),
            (Some((mark, _)), _) => self.pictures.inserted.put(mark),
            (None, _) => {}
        }
    }

    /// Returns whether nothing can go on after it.
    pub(super) fn is_end(&self, failure: &Failure) -> bool {
        self.is_unconnected || super::ends_all(failure)
    }

    /// What goes wrong with a line is told; only what nothing can go on after is an error here.
    async fn hears(&mut self, line: &str) -> Result<Then, Failure> {
        let done = self.does(line).await;
        self.reported(done)
    }

    fn reported(&self, done: Result<Then, Failure>) -> Result<Then, Failure> {
        match done {
            Err(failure) if self.is_end(&failure) => Err(failure),
            Err(failure) => {
                let told = failure.redacted(|text| self.console.context.redactor.clean(text));
                self.view.say(told.lines().trim_end());
                Ok(Then::GoesOn)
            }
            then => then,
        }
    }

    /// Words of the user, with the files that they mention and those that wait. Of what `foreign`, a text of the project,
    /// mentions, only what is in the project is attached.
    pub(super) async fn says(&mut self, words: &str, foreign: Option<&str>) -> Result<(), Failure> {
        self.steering().warn_of_key(words);
        let home = self.world.home();
        let found = mentions::resolve(words, &self.world.cwd, home.as_deref());
        if !found.missing.is_empty() || !found.files.is_empty() {
            // The missing ones may be tools; while files are read, no server can connect.
            self.await_servers_first().await?;
        }
        // Somebody else may have written what was pasted: the names in it attach nothing.
        let pasted = mentions::pasted(&self.editor.pastes(), &self.world.cwd, home.as_deref());
        let (left, named): (Vec<_>, Vec<_>) = found.files.into_iter().partition(|path| pasted.contains(path));
        let outside = mentions::outside(foreign.unwrap_or_default(), &self.world.cwd, home.as_deref());
        let (kept, named): (Vec<_>, Vec<_>) = named.into_iter().partition(|path| outside.contains(path));
        for path in kept {
            let path = safe_line(&path, PATH);
            self.view.note(&format!(
                "not attached, because the command is not yours and the file is outside of the project: {path}"
            ));
        }
        for path in left {
            let path = safe_line(&path, PATH);
            self.view
                .note(&format!("not attached, because it is in pasted text: {path}; `/attach` attaches it"));
        }
        let offer = self.connected.roster.offer();
        let is_tool = |name: &&String| offer.tools().any(|tool| tool.qualified == **name);
        for name in found.missing.iter().filter(|name| !is_tool(name)) {
            self.view
                .note(&format!("there is no file {}; the text is sent unchanged", safe_line(name, PATH)));
        }
        let pictures = std::mem::take(&mut self.entry_pictures);
        let mentioned = self.handed_over_with(words.to_owned(), named, pictures).await?;
        let attached = mentioned.sizes();
        if !attached.is_empty() {
            self.view.note(&format!("attached: {}", safe_line(&attached, PATH)));
        }
        let said = self.waiting.clone().and(mentioned)?;
        self.turn(Words::UserInput(Box::new(said))).await
    }

    /// Attachments, read: off this thread, for a server may be slow.
    pub(super) async fn handed_over(&self, words: String, named: Vec<String>) -> Result<UserInput, Failure> {
        self.handed_over_with(words, named, Vec::new()).await
    }

    async fn handed_over_with(
        &self,
        words: String,
        named: Vec<String>,
        pictures: Vec<Picture>,
    ) -> Result<UserInput, Failure> {
        let attended = self.attention.to_turn();
        let (world, interrupt) = (self.world.clone(), attended.interrupt.clone());
        let reading = tokio::task::spawn_blocking(move || {
            UserInput::new(words, &named, &world, Bounds { deadline: None, interrupt: &interrupt })?
                .with_pictures(&pictures, &world)
        });
        let said = reading.await.map_err(internal)??;
        let model = &self.settings.model;
        said.fits(&model.endpoint, &model.facts, &model.id)?;
        Ok(said)
    }

    pub(super) fn resolved(&self, options: &TurnOptions) -> Result<Settings, Failure> {
        let model = self.session_model.as_deref();
        Settings::resolve(options, None, None, &self.files, model, self.world)
    }

    /// Takes over what the flags and commands ask for now.
    pub(super) fn settle(&mut self, options: TurnOptions, settings: Settings) {
        self.wires = settings.wires();
        (self.options, self.settings) = (options, settings);
    }

    /// The last words, and what is open is closed. `interrupted`: it ended before its time.
    pub(super) async fn leave(mut self, interrupted: bool) -> Result<(), Failure> {
        // What is not connected by now is stopped.
        self.pending = None;
        self.view.free_keyboard().await;
        self.view.restore_title();
        let saved = self.conversation.settled();
        let said = self.conversation.id().filter(|_| self.conversation.went_on && saved.is_ok());
        self.connected.disconnect(&self.console.context).await;
        if let Some(id) = said {
            self.view.note(&format!("session {id} saved · continue: `converse -c`"));
        }
        self.console.warn_all(self.console.context.cassette.eject(interrupted)?);
        saved
    }
}
