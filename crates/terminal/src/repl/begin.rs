//! How a session begins and ends: settings, the question of trust, connections, the session that goes on, a word of
//! welcome; then the loop; then the last words.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use converse_config::{SettingsPlan, Theme};
use converse_editor::{Editor, Inserted, Meaning, Setup};
use converse_process::has_shell;
use converse_session::Session;
use parking_lot::Mutex;

use super::completing::{Completing, Known};
use super::completion_sources::PromptsLoaded;
use super::connecting::Connecting;
use super::conversation::ReplConversation;
use super::pictures::Pictures;
use super::session::ReplSession;
use super::slash::{acts, named as named_row};
use super::tally::Tally;
use super::{editor_command, internal, require_key, scratch, steering};
use crate::approver::says_yes;
use crate::console::Console;
use crate::project_trust::asked_in_passing;
use crate::signals::{self, Attention};
use crate::view::{TerminalView, mode_note, status};
use converse_engine::TurnCosts;
use converse_host::attach::{Bounds, UserInput};
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::Failure;
use converse_host::instructions::instructions;
use converse_host::model;
use converse_host::options::TurnOptions;
use converse_host::sampler::Models;
use converse_host::settings::{self, Files, Settings};
use converse_host::turn::sessions;
use converse_host::world::{Input, World};
use converse_text::wording::counted;
use converse_text::{safe, safe_line};

/// Characters of a warning about a file.
const WARNING: usize = 400;
/// Servers that are named while they are connected.
const SERVERS: usize = 3;
/// Characters of a directory's name in the title of the terminal.
const TITLE: usize = 80;

/// Runs it from the first word to the last.
pub fn run(mut options: TurnOptions, console: &Console, world: &World) -> Result<(), Failure> {
    if world.stdin != Input::Terminal || !world.stdout_tty {
        return Err(Failure::usage(
            "no-terminal",
            "a conversation needs a terminal; stdin or stdout is not one",
        )
        .hint("`converse ask \"a question\"` answers once, also in pipes and scripts")
        .hint("`converse --help` shows all commands"));
    }
    let beginning = Beginning { console, world, attention: signals::attend()? };
    let (files, _) = Files::read(world).checked()?;
    console.context.redactor.learn(model::keys(&files, world)?);
    console.warn_all(console.context.cassette.load(&options, &console.context.redactor, world)?);
    let (mut catalogue, is_told) =
        beginning.catalogue(&options, settings::takes_instructions(&options, &files))?;
    // Read again: the project's settings count only if the user trusts them by now.
    let (files, warnings) = Files::read(world).checked()?;
    console.context.redactor.learn(model::keys(&files, world)?);
    console.warn_all(warnings);
    let session = beginning.session(&options)?;
    let session_model = match &session {
        Some(session) => beginning.session_model(session, &options)?,
        None => None,
    };
    if settings::takes_instructions(&options, &files) {
        options.instructions = instructions(&catalogue, world);
        let hidden =
            options.instructions.all_commands().into_iter().filter(|own| named_row(&own.name).is_some());
        let hidden =
            hidden.map(|own| format!("`/{}` is a command of converse; {} is not used", own.name, own.path));
        let warnings = hidden.chain(options.instructions.warnings.iter().cloned());
        console.warn_all(warnings.map(|told| format!("warning: {}", safe_line(&told, WARNING))));
    } else {
        catalogue.leave_out_instructions();
    }
    let settings = Settings::resolve(&options, None, None, &files, session_model.as_deref(), world)?;
    require_key(&settings)?;
    catalogue.select(settings.ensembles.as_deref())?;
    let lines = catalogue.lines_for(settings.ensembles.as_deref());
    console.warn_all(lines.into_iter().filter(|line| !is_told.contains(line)));
    console.warn_all(settings.fallbacks.left_out.iter().cloned());
    let bounds = Bounds { deadline: None, interrupt: &beginning.attention.end };
    let waiting = UserInput::new(String::new(), &options.attach, world, bounds)?;
    waiting.fits(&settings.model.endpoint, &settings.model.facts, &settings.model.id)?;
    let begun = Begun { options, files, session_model, settings, catalogue, session, waiting };
    converse_host::runtime::block_on(async {
        let mut repl_session = match beginning.repl_session(begun).await {
            Ok(repl_session) => repl_session,
            Err(failure) => {
                match console.context.cassette.eject(true) {
                    Ok(warning) => console.warn_all(warning),
                    Err(unkept) => console.warn(&format!("warning: {}", unkept.message)),
                }
                return Err(failure);
            }
        };
        let sat = repl_session.sit().await;
        let left = repl_session.leave(sat.is_err()).await;
        // What ended it is told; only then that more went wrong.
        sat.and(left)
    })?
}

struct Beginning<'a> {
    console: &'a Console,
    world: &'a World,
    attention: Attention,
}

/// What is decided before anything is connected.
struct Begun {
    options: TurnOptions,
    files: SettingsPlan,
    session_model: Option<String>,
    settings: Settings,
    catalogue: Catalogue,
    session: Option<Session>,
    waiting: UserInput,
}

impl<'a> Beginning<'a> {
    /// The model that the session goes on with, if none is named. One that only an imported document names is asked about.
    fn session_model(&self, session: &Session, options: &TurnOptions) -> Result<Option<String>, Failure> {
        let Some(foreign) = session.metadata.imported_model() else {
            return Ok(session.metadata.used_model().map(str::to_owned));
        };
        if !options.model.is_empty() || self.world.var("CONVERSE_MODEL").is_some() {
            return Ok(None);
        }
        if !self.console.context.can_ask {
            self.console.note(&format!("note: {}", sessions::imported_model_note(foreign)));
            return Ok(None);
        }
        let model = safe_line(foreign, 200);
        let question = format!("the imported session names the model `{model}`: use it?");
        let yes = converse_host::runtime::block_on(async {
            tokio::select! {
                yes = says_yes(&self.console.progress, "\n", &question, None) => Ok(yes),
                () = self.attention.end.token.cancelled() => Err(self.attention.end.failure()),
            }
        })??;
        Ok(yes.then(|| foreign.to_owned()))
    }

    /// The ensembles, and what of them the user has read by now; what of the project lies still is asked about first.
    fn catalogue(
        &self,
        options: &TurnOptions,
        takes_instructions: bool,
    ) -> Result<(Catalogue, Vec<String>), Failure> {
        let find = || Catalogue::find(self.world, &options.directories);
        let catalogue = find();
        if !self.console.context.can_ask || !catalogue.holds_back(takes_instructions) {
            return Ok((catalogue, Vec::new()));
        }
        let shown = || Catalogue::as_if_trusted(self.world).lines();
        match asked_in_passing(self.console, self.world, &self.attention.end) {
            Ok(true) => Ok((find(), shown())),
            Ok(false) => {
                self.console.note("note: the project stays untrusted; its servers and commands are not used");
                // All that it says of the project it says because nobody trusts it.
                let told = catalogue.lines_of_distrust().into_iter().chain(shown()).collect();
                Ok((catalogue, told))
            }
            Err(failure) if failure.code == "interrupted" => Err(failure),
            Err(failure) => {
                self.console.warn(&format!(
                    "warning: could not ask whether to trust this project: {}",
                    failure.message
                ));
                Ok((catalogue, Vec::new()))
            }
        }
    }

    fn session(&self, options: &TurnOptions) -> Result<Option<Session>, Failure> {
        if options.model.len() > 1 {
            return Err(Failure::usage("one-model", "a conversation uses one model")
                .hint("`converse ask` compares several models"));
        }
        let Some(id) = sessions::continued(options, self.world)? else { return Ok(None) };
        sessions::open(id, &self.console.context, self.world).map(Some).map_err(Failure::or_anew)
    }

    async fn repl_session(&self, begun: Begun) -> Result<ReplSession<'a>, Failure> {
        let Self { console, world, ref attention } = *self;
        let Begun { options, files, session_model, settings, catalogue, session, waiting } = begun;
        console.context.set_mode(options.mode, &catalogue, world);
        let is_kept = session.is_some() || !settings.ephemeral;
        let contents = Kept::awaiting(is_kept);
        let models = Models::new();
        let connecting = Connecting {
            options: &options,
            settings: &settings,
            catalogue: &catalogue,
            contents: &contents,
            models: &models,
            console,
            world,
        };
        let view = Arc::clone(&console.progress);
        view.draw_on_stdout(console.style, world);
        view.notifies(files.notify.unwrap_or_default());
        let theme = files.theme.unwrap_or_default();
        view.follow_theme(theme);
        view.show_reasoning(settings::shows_reasoning(&options, &files));
        attention.draws(Arc::downgrade(&view));
        // Until there is a line editor.
        let modes = view.modes();
        attention.at_leaving(move || modes.restore());
        let mut pending = connecting.begin(settings.rules.clone(), &attention.end)?;
        let is_at_once = pending.servers.is_empty();
        if !is_at_once {
            view.announce_connections(true);
        }
        // Servers take their time: they are connected behind the prompt.
        let mut none = connecting.begin_with(Vec::new(), settings.rules.clone(), &attention.end);
        let now = if is_at_once { &mut pending } else { &mut none };
        let connected = view.before_prompt(now.finish()).await?;
        let pending = (!is_at_once).then_some(pending);
        let known = Arc::new(Mutex::new(Known::default()));
        let pictures = Pictures::new(world.home());
        let completing = Completing::new(Arc::clone(&known), pictures.clone());
        let meaning = meaning(&pictures, world);
        view.keys_mean(meaning.clone());
        let inserted = pictures.inserted.clone();
        let wishes = Wishes { vi: files.vi.unwrap_or(false), theme };
        let words = Entries { complete: Arc::new(completing), meaning, inserted };
        let editor = match self.editor(attention, &view, words, wishes, is_kept) {
            Ok(editor) => editor,
            Err(failure) => {
                connected.disconnect(&console.context).await;
                return Err(failure);
            }
        };
        if !editor.is_plain() {
            let directory = world.cwd.file_name().unwrap_or(world.cwd.as_os_str());
            view.name(&console.context.redactor.clean(&safe_line(&directory.to_string_lossy(), TITLE)));
        }
        let tally = Tally::default();
        let status = files.status.clone().unwrap_or_default();
        if let Some(session) = &session {
            tally.take(&session.loaded);
        }
        let conversation = match session {
            Some(session) => ReplConversation::of(session, &settings, console, world),
            None => ReplConversation::new(&settings, !settings.ephemeral, console, world),
        };
        conversation.settle_if_kept(&contents);
        let repl_session = ReplSession {
            console,
            world,
            attention: attention.clone(),
            view,
            editor: Rc::new(editor),
            wires: settings.wires(),
            options,
            files,
            session_model,
            settings,
            catalogue,
            connected,
            pending,
            is_unconnected: false,
            models,
            contents,
            spent: TurnCosts::default(),
            tally,
            status,
            shown_status: Vec::new(),
            conversation,
            waiting,
            known,
            prompts_loaded: PromptsLoaded::default(),
            told_of_key: AtomicBool::new(false),
            pictures,
            entry_pictures: Vec::new(),
        };
        repl_session.welcome();
        repl_session.update_known();
        Ok(repl_session)
    }

    /// Text that must not be saved is remembered while the program runs.
    fn editor(
        &self,
        signals: &Attention,
        view: &TerminalView,
        entries: Entries,
        wishes: Wishes,
        is_kept: bool,
    ) -> Result<Editor, Failure> {
        let asked = signals.clone();
        let mode = &self.console.context.mode;
        let (switched, shown, notes) = (mode.clone(), mode.clone(), Arc::clone(&self.console.progress));
        view.switches(mode);
        let switch = move || {
            switched.switch();
            if switched.without_effect().is_some() {
                notes.note(&mode_note(&switched));
            }
        };
        let scratch = scratch(self.world);
        let redactor = self.console.context.redactor.clone();
        let setup = Setup {
            history: scratch.as_ref().filter(|_| is_kept).map(|dir| dir.join("history")),
            vi: wishes.vi,
            colour: view.look().colour,
            light: view.is_light(),
            // The console of Linux may print the question.
            asks_background: wishes.theme == Theme::Auto && self.world.var("TERM") != Some("linux"),
            plain: view.is_plain(),
            ascii: !view.look().unicode,
            editor: editor_command(self.world).filter(|_| scratch.is_some()),
            scratch: scratch.unwrap_or_else(|| self.world.cwd.clone()),
            can_stop: has_shell,
            asks: Arc::new(move || asked.asks()),
            switch: Arc::new(switch),
            status: Arc::new(move || status(&shown).to_owned()),
            complete: entries.complete,
            meaning: entries.meaning,
            inserted: entries.inserted,
            safe,
            clean: Arc::new(move |text| redactor.clean(text)),
        };
        let editor = Editor::start(setup).map_err(internal)?;
        view.set_light(editor.is_light());
        signals.reads(editor.handover());
        let (modes, of_view) = (editor.modes(), view.modes());
        signals.at_leaving(move || {
            of_view.restore();
            modes.restore();
        });
        if let Some(note) = editor.note() {
            self.console.warn(&format!("warning: {note}"));
        }
        Ok(editor)
    }
}

/// The settings of the line editor.
#[derive(Clone, Copy)]
struct Wishes {
    vi: bool,
    theme: Theme,
}

/// What the line editor knows of entries.
struct Entries {
    complete: Arc<Completing>,
    meaning: Meaning,
    inserted: Inserted,
}

fn meaning(pictures: &Pictures, world: &World) -> Meaning {
    let (dropped, asked, marked) = (pictures.clone(), pictures.clone(), pictures.clone());
    let (cwd, home) = (world.cwd.clone(), world.home());
    let pasted = move |paste: &str| dropped.pasted(paste);
    let steers = move |entry: &str| steering::words(entry, &marked, &cwd, home.as_deref());
    Meaning {
        acts,
        pasted: Arc::new(pasted),
        steers: Arc::new(steers),
        picture: Arc::new(move || asked.ask()),
    }
}

/// The first of the names, and how many there are.
fn named(names: &[String]) -> String {
    let shown = names.iter().take(SERVERS).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SERVERS) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl ReplSession<'_> {
    /// A line or two: what answers, with what, and where the conversation was left.
    fn welcome(&self) {
        let tools = match &self.pending {
            Some(pending) => format!("connecting {}", named(&pending.servers)),
            None => counted(self.connected.roster.offer().declarations.len(), "tool"),
        };
        let failed = match self.connected.failures.len() {
            0 => String::new(),
            count => format!(" · {} failed: /ensembles", counted(count, "ensemble")),
        };
        let kept = if self.conversation.wanted { "" } else { " · not kept" };
        self.view.note(&format!(
            "converse {} · {} · {tools}{failed}{kept} · /help",
            env!("CARGO_PKG_VERSION"),
            self.settings.model.id,
        ));
        self.understudy();
        if self.conversation.id().is_some() {
            self.resumed();
        }
        let waiting: Vec<&str> = self.waiting.names().collect();
        if !waiting.is_empty() {
            self.view.note(&format!("with the first message: {}", waiting.join(", ")));
        }
    }
}
