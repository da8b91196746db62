//! `converse serve`: the ensembles as an MCP server, for other agents.
//!
//! Every call takes the steps of every invocation: schema, rules, limits, audit. There is no user to ask, so a call
//! that needs an approval is refused with a message that says what would allow it. Only the audit log is written.

mod front;
mod pipes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use converse_config::SettingsPlan;
use converse_engine::{Sink, SinkError};
use converse_ensemble::Rules;
use converse_gateway::{
    Audit, Caller, Gateway, GatewayParts, NameConflict, Pipes, UnknownView, Upstreams, serve_stdio,
};
use converse_host::TurnOptions;
use converse_server::{
    Front, FrontOptions, FrontParts, ReloadParts, Reloader, Renderers, TurnParts, TurnQueue,
};
use tokio::sync::Notify;

use crate::args::{ServeArgs, WebArgs};
use converse_host::audit::AuditSink;
use converse_host::catalogue::Catalogue;
use converse_host::contents::Kept;
use converse_host::failure::{Failure, Kind};
use converse_host::interrupt::Interrupt;
use converse_host::runtime::{SideRuntime, block_on};
use converse_host::wiring::Connected;
use converse_host::world::{Input, World};
use converse_terminal::console::Console;
use converse_terminal::render::output::write_stderr;
use converse_terminal::render::transcript;
use converse_terminal::signals;
use converse_text::safe;

/// How often new warnings are shown.
const NEWS: Duration = Duration::from_secs(1);
/// The time for the last lines of the audit log at the end.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Runs `converse web`.
pub(crate) fn web(args: &WebArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let opens = !args.no_open;
    serving(&args.serve(), opens, console, world)
}

pub(crate) fn run(args: &ServeArgs, console: &Console, world: &World) -> Result<(), Failure> {
    match &args.project {
        Some(directory) => serving(args, false, console, &world.in_directory(directory)?),
        None => serving(args, false, console, world),
    }
}

fn serving(args: &ServeArgs, opens: bool, console: &Console, world: &World) -> Result<(), Failure> {
    let drain = Duration::from_secs_f64(args.drain);
    // At a terminal, SIGHUP says that the terminal was closed.
    let (interrupt, hangup) = signals::watch_serving(drain, world.stdin != Input::Terminal)?;
    let (interrupt, hangup, http_runtime) = (&interrupt, &hangup, SideRuntime::start("http")?);
    let serving = Serving { args, opens, drain, console, world, interrupt, hangup, http_runtime };
    block_on(serving.run())?
}

pub(super) struct Serving<'a> {
    args: &'a ServeArgs,
    /// Whether the panel is opened in a browser.
    opens: bool,
    /// How long running calls may continue at the end.
    drain: Duration,
    console: &'a Console,
    world: &'a World,
    interrupt: &'a Interrupt,
    /// Notified when the configuration is to be read again.
    hangup: &'a Notify,
    http_runtime: SideRuntime,
}

impl Serving<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let (console, world, interrupt) = (self.console, self.world, self.interrupt);
        let guarded = |address| front::ServerAccess::read(&self.args.front, address, console, world);
        let http = match self.args.http {
            Some(address) => Some((address, guarded(address)?)),
            None => None,
        };
        let contents = Kept::rolling();
        let (directories, named) = (&self.args.places.ensembles, &self.args.ensemble);
        let (context, rules) = (&console.context, &self.args.rules.options());
        let contents = &contents;
        let is_open = http.as_ref().is_some_and(|(_, guarded)| guarded.is_open());
        let http_runtime = &self.http_runtime;
        let reload = ReloadParts {
            world,
            context,
            interrupt,
            contents,
            http_runtime,
            directories,
            named,
            rules,
            is_open,
        };
        let catalogue = Catalogue::find(world, directories);
        console.warn_all(catalogue.notes());
        let now = reload.configuration(catalogue)?;
        let (files, lockfiles) = (now.settings.clone(), now.catalogue.lockfiles());
        let wiring = reload.wiring(&now, &lockfiles);
        let audit = Arc::new(self.audit(files.audit.unwrap_or(true))?);
        let (transport, written) = match http {
            Some((address, guarded)) => (ClientTransport::Http(address, guarded), None),
            None => {
                let (pipes, written) = pipes::begin()?;
                (ClientTransport::Stdio(pipes), Some(written))
            }
        };
        let plans: Vec<_> = now.plans.iter().collect();
        let connected = Arc::new(wiring.connect_in_background(&plans, now.rules.clone()).await?);
        if let Some(failure) = connected.failure_of(named) {
            connected.disconnect(&console.context).await;
            return Err(failure);
        }
        console.warn_all(connected.errors().iter().map(|error| format!("warning: {error}")));
        let upstreams = Upstreams::new(reload.upstreams(&connected, &now.plans));
        let parts = GatewayParts {
            roster: connected.roster.for_caller(0),
            upstreams: upstreams.clone(),
            audit: Arc::clone(&audit) as Arc<dyn Audit>,
            blobs: Arc::new(Kept::clone(contents)),
            spans: console.context.telemetry.calls(),
            bare_names: self.args.bare_names,
            views: files.views.clone(),
            max_calls: usize::try_from(self.args.max_calls).unwrap_or(usize::MAX),
            budget: files.serve,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let front = self.front(&connected, upstreams, files, wiring.rules(Vec::new()))?;
        let mut reloader = Reloader::new(reload, now, &lockfiles);
        let served = self.served(&connected, parts, &mut reloader, contents, transport, front).await;
        // Concurrently: a client that does not read and a log that cannot be written must not delay the servers.
        let carried = async {
            match written {
                Some(written) => written.wait().await,
                None => Ok(()),
            }
        };
        let disconnected = async { tokio::join!(reloader.disconnect(), connected.disconnect(context)) };
        let (flushed, carried, _) = tokio::join!(audit.flush(), carried, disconnected);
        served.and(carried).and(flushed.map_err(Failure::from))
    }

    async fn served(
        &self,
        connected: &Arc<Connected>,
        parts: GatewayParts,
        reloader: &mut Reloader<'_>,
        contents: &Kept,
        transport: ClientTransport,
        front: Option<(Arc<Front>, TurnQueue)>,
    ) -> Result<(), Failure> {
        let gateway = Gateway::new(parts).map_err(|conflict| name_conflict(&conflict))?;
        let news = async {
            loop {
                tokio::time::sleep(NEWS).await;
                connected.tell_news(&connected.roster, &self.console.context);
                self.console.context.telemetry.export_due();
                // The warnings have been shown.
                drop(self.console.context.take_warnings());
            }
        };
        let (routes, queue) = front.unzip();
        let (begun, reloaded, following) = (routes.clone(), routes.clone(), routes.clone());
        let others = async {
            match following {
                Some(front) => front.follow_others().await,
                None => std::future::pending().await,
            }
        };
        let turns = async {
            if let (Some(queue), Some(front)) = (queue, begun) {
                gateway.upstreams().settled().await;
                let (context, contents) = (Arc::new(self.console.context.clone()), contents.clone());
                let parts = TurnParts { context, connected: Arc::clone(connected), contents };
                tokio::select! {
                    () = queue.run(parts, self.interrupt.token.clone(), self.drain) => {}
                    () = front.continue_answered() => {}
                }
            }
        };
        let served = async {
            match transport {
                ClientTransport::Http(address, guarded) => {
                    let http = front::serve(self, guarded, &gateway, routes, address);
                    // The answers of the last turns are sent before the connections end.
                    let (served, ()) = tokio::join!(http, turns);
                    served
                }
                ClientTransport::Stdio(pipes) => self.stdio(&gateway, pipes).await,
            }
        };
        let reloads = reloader.run(connected, &gateway, reloaded.as_deref(), self.hangup);
        let kept =
            async { tokio::join!(news, others, reloads, connected.keep_open(), gateway.follow_upstreams()) };
        tokio::select! {
            served = served => served,
            _ = kept => Ok(()),
        }
    }

    /// What is served beside MCP, if anything is asked for.
    fn front(
        &self,
        connected: &Connected,
        upstreams: Upstreams,
        files: SettingsPlan,
        rules: Rules,
    ) -> Result<Option<(Arc<Front>, TurnQueue)>, Failure> {
        let routes = &self.args.routes;
        let options = FrontOptions {
            openai: routes.openai,
            api: routes.api || routes.panel,
            panel: routes.panel,
            cancel_on_disconnect: routes.cancel_on_disconnect,
            max_turns: usize::try_from(routes.max_turns).unwrap_or(usize::MAX),
        };
        let turn = TurnOptions { rules: self.args.rules.options(), ..TurnOptions::default() };
        let (world, roster) = (self.world, &connected.roster);
        let redactor = self.console.context.redactor.clone();
        let renderers = Renderers {
            fragment: converse_screen::html::markdown,
            markdown: |document| safe(&transcript::markdown(document)).into_owned(),
            html: transcript::html,
        };
        let (failures, directories) = (&connected.failures, &self.args.places.ensembles);
        let parts = FrontParts {
            options,
            world,
            files,
            turn,
            roster,
            failures,
            upstreams,
            directories,
            rules,
            redactor,
            renderers,
        };
        let is_served = options.openai || options.api;
        is_served.then(|| Front::new(parts, self.interrupt.token.clone())).transpose()
    }

    /// Serves one client. After a signal, its open calls are answered, and the run succeeds.
    async fn stdio(&self, gateway: &Gateway, pipes: Pipes) -> Result<(), Failure> {
        if self.world.stdin == Input::Terminal {
            self.console.note("serving MCP on standard input and output for another program; Ctrl-D ends it");
        }
        let unknown =
            |error: UnknownView| Failure::usage("unknown-view", error.to_string()).hint(error.hint());
        let view = self.args.view.as_deref().map(|name| gateway.view(name)).transpose().map_err(unknown)?;
        let (gateway, stop) = (view.as_ref().unwrap_or(gateway), self.interrupt.token.clone());
        let served = serve_stdio(gateway, pipes, stop, self.drain).await;
        served.map_err(|error| Failure::new(Kind::Internal, "serve", error.to_string()))
    }

    /// Opens the log before a server is started and a client is served.
    fn audit(&self, enabled: bool) -> Result<GatewayAudit, SinkError> {
        let redactor = self.console.context.redactor.clone();
        let warn = {
            let redactor = redactor.clone();
            move |text: &str| write_stderr(&format!("{}\n", safe(&redactor.clean(text))))
        };
        // Ids of calls are unique only within a run, so the session is unique in the log.
        let session = format!("serve-{}-{}", World::now(), std::process::id());
        AuditSink::gathering(enabled, session, redactor, warn, self.world).map(GatewayAudit)
    }
}

/// The transport of clients.
enum ClientTransport {
    Http(SocketAddr, front::ServerAccess),
    Stdio(Pipes),
}

/// The audit log of the gateway, shared by its clients.
struct GatewayAudit(AuditSink);

impl GatewayAudit {
    async fn flush(&self) -> Result<(), SinkError> {
        let late = |_| SinkError::Audit("the last records could not be written in time".to_owned());
        tokio::time::timeout(LAST_LINES, self.0.flush()).await.map_err(late)?
    }
}

impl Audit for GatewayAudit {
    fn sink_for(&self, caller: &Caller) -> Arc<dyn Sink> {
        Arc::new(self.0.for_client(caller.line()))
    }

    fn is_writable(&self) -> bool {
        self.0.is_writable()
    }

    fn failures(&self) -> u64 {
        self.0.failures()
    }
}

fn name_conflict(conflict: &NameConflict) -> Failure {
    Failure::new(Kind::Configuration, "name-clash", conflict.to_string())
        .hint("leave out `--bare-names`, or exclude one of the tools (`--ensemble NAME`, `enabled = false` or `exclude` in its descriptor)")
}
