//! `converse sessions`: commands for kept conversations.

mod check;
mod export;
mod gc;
mod import;
mod labels;
mod list;
mod migrate;
mod search;

use std::collections::BTreeSet;

use converse_session::{Fork, Metadata, Store, Uuid, is_reserved_tag, new_id};

use crate::args::{ForkArgs, Sessions, SessionsShowArgs};
use converse_host::failure::Failure;
use converse_host::model;
use converse_host::options::TurnOptions;
use converse_host::settings::Files;
use converse_host::turn::sessions;
use converse_host::world::{Input, World};
use converse_terminal::approver::says_yes;
use converse_terminal::console::Console;
use converse_terminal::render::output::{columns, print_json, write_stderr, write_stdout, write_stdout_with};
use converse_terminal::render::transcript::{Look, text};
use converse_terminal::repl;
use converse_terminal::view::answers;
use converse_text::safe_line;

/// The program that writes sessions.
const PROGRAM: &str = concat!("converse ", env!("CARGO_PKG_VERSION"));

pub(crate) fn run(command: &Sessions, console: &Console, world: &World) -> Result<(), Failure> {
    let store = sessions::required(world).map_err(|failure| failure.hint("set `HOME` or `XDG_DATA_HOME`"))?;
    let sessions = SessionCommands { store: sessions::cleaned(store, &console.context), console, world };
    match command {
        Sessions::List(args) => sessions.list(args),
        Sessions::Show(args) => sessions.show(args),
        Sessions::Search(args) => sessions.search(args),
        Sessions::Resume { session } => sessions.resume(session),
        Sessions::Fork(args) => sessions.fork(args),
        Sessions::Rename { session, name } => sessions.rename(session, name),
        Sessions::Tag(args) => sessions.tag(args),
        Sessions::Export(args) => sessions.export(args),
        Sessions::Import(args) => sessions.import(args),
        Sessions::Delete { session, yes } => sessions.delete(session, *yes),
        Sessions::Check(args) => sessions.check(args),
        Sessions::Gc(args) => sessions.gc(args),
        Sessions::Migrate(args) => sessions.migrate(args),
    }
}

/// The commands over the sessions of the user.
struct SessionCommands<'a> {
    store: Store,
    console: &'a Console,
    world: &'a World,
}

impl SessionCommands<'_> {
    fn show(&self, args: &SessionsShowArgs) -> Result<(), Failure> {
        let id = self.named(&args.session)?;
        self.learn_keys_if_possible();
        let document = match args.full {
            true => self.store.export(id, PROGRAM),
            false => self.store.document(id, PROGRAM),
        };
        let document = document.map_err(Failure::of_session)?;
        let missing = if args.full { document.missing() } else { BTreeSet::new() };
        let document = self.console.context.redactor.clean_session(document)?;
        if args.json {
            write_stdout_with(|out| print_json(out, |out| document.write_without_contents(out)))?;
            return export::complete(&missing);
        }
        let look = Look {
            terminal: self.world.stdout_tty,
            colour: self.console.style.colour,
            full: args.full,
            answers: answers(self.console, self.world, self.columns()),
        };
        write_stdout(&text(&document, look))?;
        export::complete(&missing)
    }

    /// Continues a session in the REPL.
    fn resume(&self, session: &str) -> Result<(), Failure> {
        let id = self.named(session)?.to_string();
        if self.world.stdin != Input::Terminal || !self.world.stdout_tty {
            return Err(Failure::usage("no-terminal", "a conversation can be resumed only at a terminal")
                .hint(format!("in a script: `converse ask --session {id} …`")));
        }
        let options = TurnOptions { session: Some(id), ..TurnOptions::default() };
        repl::run(options, self.console, self.world)
    }

    fn fork(&self, args: &ForkArgs) -> Result<(), Failure> {
        let source = self.named(&args.session)?;
        let now = World::now();
        let of = self.store.metadata(source).map_err(Failure::of_session)?;
        let name = match &args.name {
            Some(given) => sessions::name(given)?,
            None => of.name.map(|name| format!("{name} (fork)")),
        };
        // A fork belongs to no comparison.
        let tags = of.tags.into_iter().filter(|tag| !is_reserved_tag(tag)).collect();
        let (model, model_imported) = (of.model, of.model_imported);
        let project = sessions::project(self.world);
        let metadata = Metadata { name, model, model_imported, tags, project, ..Metadata::default() };
        let id = new_id(now, &World::random_bytes());
        let fork = Fork { id, program: PROGRAM.to_owned(), upto: args.at, metadata };
        self.store.fork(source, fork, now).map_err(Failure::of_session)?;
        Ok(write_stdout(&format!("{id}\n"))?)
    }

    fn delete(&self, sessions: &[String], yes: bool) -> Result<(), Failure> {
        // All sessions are found before the first one is deleted.
        let ids = sessions.iter().map(|text| self.named(text)).collect::<Result<BTreeSet<_>, _>>()?;
        if !yes && self.console.context.can_ask {
            for id in &ids {
                let name = self.store.metadata(*id).map_err(Failure::of_session)?.name.unwrap_or_default();
                let line = format!("{id}  {}", safe_line(&self.console.context.redactor.clean(&name), 120));
                write_stderr(&format!("{}\n", line.trim_end()));
            }
        }
        if !self.confirmed(yes, "delete for good?")? {
            self.console.note("nothing was deleted");
            return Ok(());
        }
        for id in ids {
            self.store.delete(id).map_err(Failure::of_session)?;
            write_stdout(&format!("deleted: {id}\n"))?;
        }
        Ok(())
    }

    /// The session that is named.
    fn named(&self, text: &str) -> Result<Uuid, Failure> {
        self.store.resolve(text).map_err(Failure::of_session)
    }

    /// Asks at a terminal; elsewhere only `--yes` confirms.
    fn confirmed(&self, yes: bool, question: &str) -> Result<bool, Failure> {
        if yes {
            return Ok(true);
        }
        if !self.console.context.can_ask {
            let message = "nobody can be asked here, so nothing was removed";
            return Err(Failure::usage("not-asked", message).hint("`--yes` skips the question"));
        }
        converse_host::runtime::block_on(says_yes(&self.console.progress, "", question, None))
    }

    /// Teaches the redactor the keys of providers, under any variable name.
    fn learn_keys(&self) -> Result<(), Failure> {
        let (files, _) = Files::read(self.world).checked()?;
        self.console.context.redactor.learn(model::keys(&files, self.world)?);
        Ok(())
    }

    /// The same, but invalid settings do not stop the command: most keys are known by their variables.
    fn learn_keys_if_possible(&self) {
        if let Err(failure) = self.learn_keys() {
            tracing::warn!(message = failure.message, "the keys of providers are not known");
        }
    }

    /// The width of the terminal on stdout; `None` if stdout is not a terminal.
    fn columns(&self) -> Option<usize> {
        self.world.stdout_tty.then(|| columns(std::io::stdout())).flatten()
    }
}
