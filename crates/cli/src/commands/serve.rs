//! `converse serve`: the ensembles as an MCP server, for other agents.
//!
//! Every call takes the way of every invocation: schema, rules, limits, audit. Nobody can be asked, so what needs an
//! approval is refused, in words that say what would allow it. Nothing of a call is kept but the audit.

mod front;
mod issuer_keys;
mod pipes;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_engine::{Sink, SinkError};
use converse_mcp::Responders;
use converse_server::{Audit, Backing, Caller, Clash, Gateway, Pipes, serve_stdio};

use crate::args::ServeArgs;
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::settings::{Files, rules};
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::{Input, World};
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stderr;
use converse_terminal::signals;
use converse_text::safe;

/// How often the user is told what has come up.
const NEWS: Duration = Duration::from_secs(1);
/// What the last lines of the audit may take at the end.
const LAST_LINES: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &ServeArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let drain = Duration::from_secs_f64(args.drain);
    let interrupt = signals::watch_with(drain)?;
    let serving = Serving { args, drain, console, world, interrupt: &interrupt };
    converse_host::runtime::block_on(serving.run())?
}

pub(super) struct Serving<'a> {
    args: &'a ServeArgs,
    /// How long calls that run may go on at the end.
    drain: Duration,
    console: &'a Console,
    world: &'a World,
    interrupt: &'a Interrupt,
}

impl Serving<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let (console, world, interrupt) = (self.console, self.world, self.interrupt);
        let guarded = |address| front::Guarded::read(&self.args.front, address, world);
        let http = match self.args.http {
            Some(address) => Some((address, guarded(address)?)),
            None => None,
        };
        let catalogue = Catalogue::find(world, &self.args.places.ensembles);
        let named = Some(self.args.ensemble.as_slice()).filter(|named| !named.is_empty());
        let chosen = catalogue.select(named)?;
        console.warn_all(catalogue.notes());
        let (files, warnings) = Files::read(world).checked()?;
        console.warn_all(warnings);
        console.context.redactor.learn(model::keys(&files, world)?);
        let rules = rules(&self.args.rules.options(), &files)?;
        let contents = Kept::rolling();
        let (protected, lockfiles) = (catalogue.protected(), &catalogue.lockfiles());
        let asked = Responders::default();
        let wiring = Wiring {
            world,
            context: &console.context,
            interrupt,
            deadline: None,
            contents: &contents,
            protected,
            lockfiles,
            asked,
        };
        let audit = Arc::new(self.audit(files.audit.unwrap_or(true))?);
        let (way, written) = match http {
            Some((address, guarded)) => (Way::Http(address, guarded), None),
            None => {
                let (pipes, written) = pipes::begin()?;
                (Way::Stdio(pipes), Some(written))
            }
        };
        let connected = wiring.connect(&chosen, rules).await?;
        console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        let served = self.served(&connected, Arc::clone(&audit), contents, way).await;
        // Beside each other: what nobody reads, and what cannot be written, keep no server from its orderly end.
        let carried = async {
            match written {
                Some(written) => written.wait().await,
                None => Ok(()),
            }
        };
        let (flushed, carried, ()) =
            tokio::join!(audit.flush(), carried, connected.disconnect(&console.context));
        served.and(carried).and(flushed.map_err(Failure::from))
    }

    async fn served(
        &self,
        connected: &Connected,
        audit: Arc<Books>,
        contents: Kept,
        way: Way,
    ) -> Result<(), Failure> {
        let backing = Backing {
            roster: connected.roster.for_caller(0),
            audit,
            blobs: Arc::new(contents),
            bare_names: self.args.bare_names,
            max_calls: usize::try_from(self.args.max_calls).unwrap_or(usize::MAX),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let gateway = Gateway::new(backing).map_err(|clash| clashed(&clash))?;
        let news = async {
            loop {
                tokio::time::sleep(NEWS).await;
                connected.tell_news(&self.console.context);
                // They have been told; nobody else wants them.
                drop(self.console.context.take_warnings());
            }
        };
        let served = async {
            match way {
                Way::Http(address, guarded) => front::serve(self, guarded, &gateway, address).await,
                Way::Stdio(pipes) => self.stdio(&gateway, pipes).await,
            }
        };
        tokio::select! {
            served = served => served,
            () = news => Ok(()),
        }
    }

    /// One client. A signal is a word to end like any other: what it asked for is answered, and that is success.
    async fn stdio(&self, gateway: &Gateway, pipes: Pipes) -> Result<(), Failure> {
        if self.world.stdin == Input::Terminal {
            self.console
                .note("serving MCP on standard input and output, as other programs want it; Ctrl-D ends it");
        }
        let stop = self.interrupt.token.clone();
        let served = serve_stdio(gateway, pipes, stop, self.drain).await;
        served.map_err(|error| Failure::new(Kind::Internal, "serve", error.to_string()))
    }

    /// Opened before anybody is served, and before a server is started.
    fn audit(&self, enabled: bool) -> Result<Books, SinkError> {
        let redactor = self.console.context.redactor.clone();
        let warn = {
            let redactor = redactor.clone();
            move |text: &str| write_stderr(&format!("{}\n", safe(&redactor.clean(text))))
        };
        // Unique among all that write this log: ids of calls are unique here only.
        let session = format!("serve-{}-{}", World::now(), std::process::id());
        AuditSink::gathering(enabled, session, redactor, warn, self.world).map(Books)
    }
}

/// Where clients come from.
enum Way {
    Http(SocketAddr, front::Guarded),
    Stdio(Pipes),
}

struct Books(AuditSink<'static>);

impl Books {
    async fn flush(&self) -> Result<(), SinkError> {
        let late = |_| SinkError::Audit("its last lines could not be written in time".to_owned());
        tokio::time::timeout(LAST_LINES, self.0.flush()).await.map_err(late)?
    }
}

impl Audit for Books {
    fn of(&self, caller: &Caller) -> Arc<dyn Sink> {
        Arc::new(self.0.for_client(caller.line()))
    }
}

fn clashed(clash: &Clash) -> Failure {
    Failure::new(Kind::Configuration, "name-clash", clash.to_string())
        .hint("leave out `--bare-names`, or one of them (`--ensemble NAME`, `enabled = false` or `exclude` in its descriptor)")
}
