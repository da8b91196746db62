//! A worker from its settings to its end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use converse_batch::{Gate, PacedWire, Shared, Spending, Stops, WorkerSettings};
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::context::RunContext;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::model;
use converse_host::runtime::block_on;
use converse_host::secrets::Redactor;
use converse_host::settings::{Files, Settings};
use converse_host::this_program;
use converse_host::turn::sessions;
use converse_host::wiring::{Connected, Wiring};
use converse_host::world::World;
use converse_terminal::console::{Console, OutputStyle};
use converse_terminal::signals;
use converse_terminal::view::{Answers, Detail, Style, TerminalView};
use parking_lot::Mutex;
use restate_sdk::prelude::{Endpoint, HttpServer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing_subscriber::EnvFilter;

use crate::args::Args;
use crate::identity;
use crate::sessions::Sessions;
use crate::turns::{TurnQueue, Turns};

/// Time in which steps that run come to their end, after the worker is told to end.
const DRAIN: Duration = Duration::from_secs(30);

/// Runs a worker until a signal ends it.
///
/// # Errors
///
/// The settings cannot be used, there is no place for sessions, or the address cannot be listened at.
pub(crate) fn run(args: &Args, console: &Console, world: &World) -> Result<(), Failure> {
    if args.identity_key.is_empty() && !args.listen.ip().is_loopback() {
        let message = format!("`{}` is not a loopback address", args.listen);
        let failure = Failure::usage("not-loopback", message);
        return Err(
            failure.hint("whoever reaches the worker can run its tools: add `--identity-key` with the key of the Restate server")
        );
    }
    let (interrupt, _) = signals::watch_serving(DRAIN, false)?;
    let (files, warnings) = Files::read(world).checked()?;
    console.warn_all(warnings);
    console.context.redactor.learn(model::keys(&files, world)?);
    let options = args.options();
    let settings = Settings::resolve(&options, None, None, &files, None, world)?;
    settings.model.require_key()?;
    console.warn_all(settings.fallbacks.left_out.iter().cloned());
    sessions::required(world)?;
    let worker = Worker { args, console, world, interrupt: &interrupt, settings: &settings };
    block_on(worker.connected())?
}

struct Worker<'a> {
    args: &'a Args,
    console: &'a Console,
    world: &'a World,
    interrupt: &'a Interrupt,
    settings: &'a Settings,
}

impl Worker<'_> {
    /// Connects the ensembles once, for all conversations.
    async fn connected(&self) -> Result<(), Failure> {
        let Self { args, console, world, interrupt, settings } = self;
        let options = args.options();
        let catalogue = Catalogue::find(world, &options.directories);
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        console.warn_all(catalogue.lines_for(settings.ensembles.as_deref()));
        let contents = Kept::rolling();
        let looking = Wiring::looking(world, &console.context, interrupt, &contents);
        let wiring =
            Wiring { protected: catalogue.protected(), lockfiles: &catalogue.lockfiles(), ..looking };
        let connected = wiring.connect(&chosen, settings.rules.clone()).await?;
        let ended = match connected.failure_of(&options.ensemble) {
            Some(failure) => Err(failure),
            None => {
                connected.roster.searchable();
                console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
                self.serve(&connected, &contents).await
            }
        };
        connected.disconnect(&console.context).await;
        ended
    }

    async fn serve(&self, connected: &Connected, contents: &Kept) -> Result<(), Failure> {
        let Self { args, console, world, interrupt, settings } = self;
        let listener = TcpListener::bind(args.listen).await.map_err(|error| {
            Failure::new(Kind::Output, "no-address", format!("`{}`: {error}", args.listen))
        })?;
        let began = Instant::now();
        let gates: Mutex<std::collections::HashMap<String, Gate>> = Mutex::default();
        let wires = settings.wires().map(settings, |model, inner| {
            let provider = model.endpoint.provider.as_str().to_owned();
            let gate =
                gates.lock().entry(provider).or_insert_with(|| Gate::new(args.jobs.into(), began)).clone();
            Arc::new(PacedWire { inner, gate })
        });
        let audit = AuditSink::new(settings.audit, None, &console.context, world);
        // Running steps are not interrupted at once.
        let interrupt_of_turns = Interrupt::default();
        let shared = Shared {
            context: &console.context,
            world,
            interrupt: &interrupt_of_turns,
            connected,
            contents,
            wires,
            settings,
            audit: &audit,
            saves: true,
            begun: None,
            spending: Mutex::new(Spending::default()),
            stops: Arc::new(Stops::new(None)),
            substitute: None,
            exit_code,
        };
        let (turns, commands) = Turns::new();
        let (model, ensembles) = (settings.model.id.clone(), settings.ensembles.clone());
        let endpoint = endpoint(args, Sessions { turns, settings: WorkerSettings { model, ensembles } })?;
        let stop = interrupt.token.clone();
        let server = HttpServer::new(endpoint).serve_with_cancel(listener, stop.clone().cancelled_owned());
        let places = Semaphore::new(args.jobs.into());
        console.note(&format!("converse-worker listens at http://{}", args.listen));
        let queue = TurnQueue { shared: &shared, commands, places };
        let ((), ()) = tokio::join!(server, queue.run(&stop, DRAIN));
        Ok(())
    }
}

fn endpoint(args: &Args, sessions: Sessions) -> Result<Endpoint, Failure> {
    identity::install();
    let mut builder = Endpoint::builder().bind(sessions);
    for key in &args.identity_key {
        let refused = |error| Failure::usage("bad-identity-key", format!("`--identity-key`: {error}"));
        builder = builder.identity_key(key).map_err(refused)?;
    }
    Ok(builder.build())
}

/// Messages for people go to stderr.
pub(crate) fn console(world: &World, verbose: u8) -> Console {
    let mut context = RunContext::new(world);
    context.verbose = verbose > 0;
    context.program = Some(this_program());
    context.can_ask = false;
    let style = Style {
        answers: Answers::Elsewhere,
        detail: Detail::Notices,
        live: false,
        light: false,
        gutter: false,
        colour: false,
        links: false,
        unicode: false,
    };
    let view = TerminalView::new(style, context.redactor.clone());
    let output = OutputStyle { quiet: false, plain: true, colour: false };
    Console::new(context, output, Arc::new(view))
}

/// Writes logs to stderr, with every known secret taken out.
pub(crate) fn log(verbose: u8, redactor: Redactor) {
    let level = match verbose {
        0 => return,
        1 => "converse=info,warn",
        2 => "debug",
        _ => "trace",
    };
    let writer = move || Redacting { redactor: redactor.clone() };
    let log = tracing_subscriber::fmt().with_env_filter(EnvFilter::new(level)).with_ansi(false);
    let _ = log.with_writer(writer).try_init();
}

/// One event; the subscriber hands it over in one piece.
struct Redacting {
    redactor: Redactor,
}

impl io::Write for Redacting {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let text = self.redactor.clean(&String::from_utf8_lossy(buffer));
        io::Write::write_all(&mut io::stderr(), text.as_bytes())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::Write::flush(&mut io::stderr())
    }
}

/// As those of `converse`: `docs/reference/exit-codes.md`.
pub(crate) fn exit_code(kind: Kind) -> u8 {
    match kind {
        Kind::Closed => 0,
        Kind::Internal => 1,
        Kind::Usage => 2,
        Kind::Configuration => 3,
        Kind::ProviderRefused => 4,
        Kind::ProviderUnreachable => 5,
        Kind::ProviderNonsense => 6,
        Kind::Limit => 7,
        Kind::Unapproved => 8,
        Kind::Output => 9,
        Kind::Ensemble => 10,
        Kind::Signal(number) => 128 + number,
    }
}
