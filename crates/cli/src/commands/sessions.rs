//! `converse sessions`: everything one does with conversations that are kept.

mod check;
mod delete;
mod export;
mod fitted;
mod fork;
mod gc;
mod import;
mod label;
mod list;
mod resume;
mod search;
mod show;

use converse_session::{SessionError, Store, Uuid};

use crate::args::Sessions;
use converse_host::failure::Failure;
use converse_host::model;
use converse_host::settings::Files;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_terminal::approver::says_yes;
use converse_terminal::console::Console;

/// What writes sessions.
const PROGRAM: &str = concat!("converse ", env!("CARGO_PKG_VERSION"));

pub(crate) fn run(command: &Sessions, console: &Console, world: &World) -> Result<(), Failure> {
    let dir = world.data_dir().ok_or_else(|| {
        Failure::usage("no-such-session", "without a home there are no sessions")
            .hint("set `HOME` or `XDG_DATA_HOME`")
    })?;
    let shelf = Shelf {
        store: sessions::cleaned(Store::new(dir.join("sessions")), &console.context),
        console,
        world,
    };
    match command {
        Sessions::List(args) => shelf.list(args),
        Sessions::Show(args) => shelf.show(args),
        Sessions::Search(args) => shelf.search(args),
        Sessions::Resume { session } => shelf.resume(session),
        Sessions::Fork(args) => shelf.fork(args),
        Sessions::Rename { session, name } => shelf.rename(session, name),
        Sessions::Tag(args) => shelf.tag(args),
        Sessions::Export(args) => shelf.export(args),
        Sessions::Import(args) => shelf.import(args),
        Sessions::Delete { session, yes } => shelf.delete(session, *yes),
        Sessions::Check(args) => shelf.check(args),
        Sessions::Gc(args) => shelf.gc(args),
    }
}

/// The sessions of the user, and who asks for them.
struct Shelf<'a> {
    store: Store,
    console: &'a Console,
    world: &'a World,
}

impl Shelf<'_> {
    /// The one session that is meant.
    fn named(&self, text: &str) -> Result<Uuid, Failure> {
        self.store.resolve(text).map_err(failed)
    }

    /// Asks who sits there; elsewhere nothing but `--yes` is a yes.
    fn agreed(&self, yes: bool, question: &str) -> Result<bool, Failure> {
        if yes {
            return Ok(true);
        }
        if !self.console.context.can_ask {
            let message = "nobody can be asked here, so nothing was removed";
            return Err(Failure::usage("not-asked", message).hint("`--yes` goes without a question"));
        }
        converse_host::runtime::block_on(says_yes(
            &self.console.progress,
            format!("{question}  y = yes, n = no: "),
        ))
    }

    /// The keys that are used, whatever their variables are called: they are taken out of what is shown.
    fn learn_keys(&self) -> Result<(), Failure> {
        let (files, _) = Files::read(self.world).checked()?;
        self.console.context.redactor.learn(model::keys(&files, self.world)?);
        Ok(())
    }

    /// Of the terminal that is written to; `None` through a pipe.
    fn columns(&self) -> Option<usize> {
        let size = || rustix::termios::tcgetwinsize(std::io::stdout()).ok();
        let size = self.world.stdout_tty.then(size).flatten();
        size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
    }

    /// Settings that are wrong are no reason not to look: the variables that are called like keys are known.
    fn learn_keys_if_possible(&self) {
        if let Err(failure) = self.learn_keys() {
            tracing::warn!(message = failure.message, "the keys of providers are not known");
        }
    }
}

/// As a run would say it, but for the way on: there is no run.
fn failed(error: SessionError) -> Failure {
    Failure::of_session(error)
}
