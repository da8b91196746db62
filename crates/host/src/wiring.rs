//! Plans to live things: a roster of ensembles, a wire to the model.

mod answers;
mod lock_notices;
mod reading;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::EnsembleName;
use converse_config::{ConnectionPlan, EnsemblePlan, Environment, InvokerKind, Rule, Scope, Way};
use converse_engine::Wire;
use converse_ensemble::{
    Builtin, ConnectError, Connection, DeclaredConnection, Ensemble, Pins, Roster, Rules, Shared, SharedRuns,
    Surroundings, Variable,
};
use converse_mcp::{Consent, McpConnection, Responders, Survey, Vault};
use converse_process::{Guardian, INHERITED, inherited};
use futures_util::FutureExt as _;
use parking_lot::Mutex;

use crate::cassette::mode::CassetteMode;
use crate::catalogue::all_builtins;
use crate::client::{ClientPlan, Clients, Redirects};
use crate::confined;
use crate::contents::Kept;
use crate::context::RunContext;
use crate::eras::EraFile;
use crate::failure::{Failure, Kind};
use crate::fetch::HttpFetch;
use crate::guardian::guardian;
use crate::http::HttpWire;
use crate::interrupt::Interrupt;
use crate::lockfiles::Lockfiles;
use crate::model::Model;
use crate::progress_connection::ProgressConnection;
use crate::reach::HttpReach;
use crate::redacting_connection::RedactingConnection;
use crate::secrets::Secret;
use crate::tool_lists::ListFiles;
use crate::understudy::UnderstudyWire;
use crate::vault::FileVault;
use crate::world::World;

use lock_notices::LockNotices;

/// Time to reach a server for tools; how long it may take to be ready is its ensemble's.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What connecting is done for.
pub struct Wiring<'a> {
    pub world: &'a World,
    pub context: &'a RunContext,
    pub interrupt: &'a Interrupt,
    pub deadline: Option<Instant>,
    pub contents: &'a Kept,
    /// Of the catalogue: what no tool may write to.
    pub protected: &'a [PathBuf],
    /// What tools must be to be offered; [`Lockfiles::NONE`] where all are to be seen.
    pub lockfiles: &'a Lockfiles,
    /// Who answers what servers ask of us.
    pub asked: Responders,
}

crate::opaque_debug!(Wiring<'_>);

type Servers = Vec<(EnsembleName, Arc<McpConnection>)>;

/// Everybody who can be invoked, and what could not be connected.
pub struct Connected {
    pub roster: Roster,
    pub failures: Vec<ConnectError>,
    servers: Servers,
    guardian: Guardian,
    connection_notices: ConnectionNotices,
    lock_notices: LockNotices,
}

crate::opaque_debug!(Connected);

/// What connections said to the user and was not yet passed on.
#[derive(Debug, Clone, Default)]
struct ConnectionNotices(Arc<Mutex<Vec<String>>>);

impl ConnectionNotices {
    fn add(&self, line: String) {
        self.0.lock().push(line);
    }

    fn tell(&self, guardian: &Guardian, context: &RunContext) {
        guardian.lacks().into_iter().for_each(|lack| self.add(lack));
        let lines = std::mem::take(&mut *self.0.lock());
        context.warn_all(lines.into_iter().map(|line| format!("warning: {line}")));
    }
}

impl Connected {
    pub fn errors(&self) -> Vec<String> {
        self.failures.iter().map(ToString::to_string).collect()
    }

    /// What the model is told of those that could not be connected. Not why: that is foreign text.
    pub fn note(&self) -> Option<String> {
        let mut names: Vec<&str> = self.failures.iter().map(|failure| failure.ensemble.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return None;
        }
        Some(format!(
            "Tools of these groups are missing in this run, because they could not be connected: {}. If the user needs \
             them, say so.",
            names.join(", ")
        ))
    }

    /// What each server that is connected says of itself.
    pub fn surveys(&self) -> Vec<(&EnsembleName, Survey)> {
        self.servers.iter().filter_map(|(name, server)| Some((name, server.survey()?))).collect()
    }

    /// One that is connected by this name.
    pub fn server(&self, name: &str) -> Option<&McpConnection> {
        self.servers.iter().find(|(known, _)| known.as_str() == name).map(|(_, server)| server.as_ref())
    }

    /// Tells the user what has come up since: for runs that go on for long.
    pub fn tell_news(&self, context: &RunContext) {
        self.connection_notices.tell(&self.guardian, context);
        self.lock_notices.tell(&self.roster.offer(), context);
    }

    /// Bounded: servers are asked to end, then made to.
    pub async fn disconnect(self, context: &RunContext) {
        self.lock_notices.tell(&self.roster.offer(), context);
        self.roster.disconnect().await;
        self.guardian.sweep();
        self.connection_notices.tell(&self.guardian, context);
    }
}

impl<'a> Wiring<'a> {
    /// To look at what there is: no tool is called, so that nothing has to be protected from one and all are to be seen,
    /// and nobody is asked anything.
    pub fn looking(
        world: &'a World,
        context: &'a RunContext,
        interrupt: &'a Interrupt,
        contents: &'a Kept,
    ) -> Self {
        let (protected, lockfiles, asked) = (&[][..], Lockfiles::NONE, Responders::default());
        Self { world, context, interrupt, deadline: None, contents, protected, lockfiles, asked }
    }
}

impl Wiring<'_> {
    /// Connects the chosen ensembles, all at once. A `required` one that fails stops the run.
    pub async fn connect(&self, plans: &[&EnsemblePlan], rules: Vec<Rule>) -> Result<Connected, Failure> {
        self.connect_for(plans, rules, None).await
    }

    /// The same, for models that are compared: calls that they make alike are run once.
    pub async fn connect_for(
        &self,
        plans: &[&EnsemblePlan],
        rules: Vec<Rule>,
        shared: Option<&SharedRuns>,
    ) -> Result<Connected, Failure> {
        self.connect_with(plans, rules, shared, Vec::new()).await
    }

    /// The same, beside ensembles that are connected already.
    pub(crate) async fn connect_with(
        &self,
        plans: &[&EnsemblePlan],
        rules: Vec<Rule>,
        shared: Option<&SharedRuns>,
        own: Vec<Ensemble>,
    ) -> Result<Connected, Failure> {
        let (plans, warning) = self.context.cassette.recorded(plans);
        self.context.warn_all(warning);
        let plans = plans.as_slice();
        self.context.redactor.learn(plans.iter().flat_map(|plan| self.secrets(plan)));
        let guardian = self.guardian();
        let connection_notices = ConnectionNotices::default();
        let (mut ensembles, servers) = self.ensembles(plans, &guardian, &connection_notices, shared);
        ensembles.extend(own);
        let artefacts = Arc::new(self.contents.clone());
        // In a box: what is awaited from here on is nested too deeply for the compiler otherwise.
        let connecting = Roster::connect(ensembles, self.rules(rules), artefacts).boxed();
        let (roster, failures) = tokio::select! {
            connected = connecting => {
                self.context.notices.hush();
                connected
            }
            failure = self.stopped() => {
                self.context.notices.hush();
                // What was begun is dropped and so killed; the guardian sees to what it leaves behind.
                return Err(failure);
            }
        };
        let lock_notices = LockNotices::of(plans, self.lockfiles);
        let connected = Connected { roster, failures, servers, guardian, connection_notices, lock_notices };
        connected.connection_notices.tell(&connected.guardian, self.context);
        connected.lock_notices.tell(&connected.roster.offer(), self.context);
        if let Some(failure) = required_failure(plans, &connected.failures) {
            connected.disconnect(self.context).await;
            return Err(failure);
        }
        Ok(connected)
    }

    fn ensembles(
        &self,
        plans: &[&EnsemblePlan],
        guardian: &Guardian,
        connection_notices: &ConnectionNotices,
        shared: Option<&SharedRuns>,
    ) -> (Vec<Ensemble>, Servers) {
        let declared = Arc::new(self.surroundings(guardian, connection_notices));
        let around_servers = Arc::new(self.surroundings_of_servers(guardian, connection_notices));
        let mut servers = Vec::new();
        let results = self.results();
        let mut connection = |plan: &EnsemblePlan| -> Box<dyn Connection> {
            let redactor = self.context.redactor.clone();
            let Some(connection) = &plan.connection else {
                let inner = DeclaredConnection::new(plan, all_builtins(), Arc::clone(&declared));
                return self.remembering(plan, &results, RedactingConnection { inner, redactor });
            };
            let connection = at_home(plan, connection, self.world);
            let steady = matches!(self.lockfiles.pins(plan), Pins::Accepted(_));
            let server =
                McpConnection::new(plan, &connection, Arc::clone(&around_servers)).verify_accepted(steady);
            let server = Arc::new(server);
            servers.push((plan.name.clone(), Arc::clone(&server)));
            let notices = Arc::clone(&self.context.notices);
            let inner = ProgressConnection { inner: server, notices, what: waited_for(plan, &connection) };
            self.remembering(plan, &results, RedactingConnection { inner, redactor })
        };
        let mut sharing = |plan: &EnsemblePlan| -> Box<dyn Connection> {
            let inner = self.context.cassette.connection(plan, self.contents, || connection(plan));
            match shared {
                Some(runs) => Box::new(Shared { inner, runs: runs.clone() }),
                None => inner,
            }
        };
        let ensembles = plans
            .iter()
            .map(|plan| Ensemble::new(plan, sharing(plan)).pinned(self.lockfiles.pins(plan)))
            .collect();
        (ensembles, servers)
    }

    fn guardian(&self) -> Guardian {
        guardian(self.context.program.as_deref())
    }

    fn rules(&self, list: Vec<Rule>) -> Rules {
        let rules = Rules::new(list).interactive(self.context.can_ask);
        let rules = match self.world.cwd.to_str() {
            Some(workspace) => rules.within(workspace),
            None => rules,
        };
        match self.world.home().as_deref().and_then(Path::to_str) {
            Some(home) => rules.at_home(home),
            None => rules,
        }
    }

    fn surroundings(&self, guardian: &Guardian, connection_notices: &ConnectionNotices) -> Surroundings {
        let connection_notices = connection_notices.clone();
        Surroundings {
            workspace: self.world.cwd.clone(),
            project: self.world.project().map(Path::to_path_buf),
            protected: protected(self.world, self.protected),
            clock: Arc::new(jiff::Timestamp::now),
            environment: self.environment(),
            inherited: self.inherited(),
            guardian: guardian.clone(),
            sandbox_launcher: self.context.program.as_deref().map(|program| {
                confined::sandbox_launcher(program, self.world, move |line| connection_notices.add(line))
            }),
            fetch: Arc::new(HttpFetch::new(CONNECT_TIMEOUT)),
            reach: Arc::new(HttpReach::new(CONNECT_TIMEOUT)),
            artefacts: Arc::new(self.contents.shown()),
        }
    }

    fn surroundings_of_servers(
        &self,
        guardian: &Guardian,
        connection_notices: &ConnectionNotices,
    ) -> converse_mcp::Surroundings {
        let (connection_notices, clients) = (connection_notices.clone(), clients_of_servers());
        converse_mcp::Surroundings {
            workspace: self.world.cwd.clone(),
            environment: self.environment(),
            inherited: self.inherited(),
            guardian: guardian.clone(),
            http: Box::new(move |https| clients.get(https).cloned().map_err(|cause| cause.message)),
            eras: Arc::new(EraFile::new(self.world.cache_dir())),
            lists: Arc::new(ListFiles::new(self.world.cache_dir(), self.context.redactor.clone())),
            artefacts: Arc::new(self.contents.shown()),
            project: self.world.project().map(Path::to_path_buf),
            warn: Arc::new(move |line| connection_notices.add(line)),
            responders: self.asked.clone(),
            reach: Some(Arc::new(HttpReach::new(CONNECT_TIMEOUT))),
            // What is granted to one run is forgotten with it.
            vault: if self.asked.consent.is_none() { self.vault() } else { None },
            consent: self.asked.consent.clone(),
        }
    }

    /// One server alone, for its tokens: with whoever grants access to it, and where that is kept.
    pub fn stranger(
        &self,
        plan: &EnsemblePlan,
        connection: &ConnectionPlan,
        consent: Option<Arc<dyn Consent>>,
    ) -> McpConnection {
        self.context.redactor.learn(self.secrets(plan));
        let surroundings = self.surroundings_of_servers(&self.guardian(), &ConnectionNotices::default());
        let surroundings = converse_mcp::Surroundings { vault: self.vault(), consent, ..surroundings };
        McpConnection::new(plan, connection, Arc::new(surroundings))
    }

    fn vault(&self) -> Option<Arc<dyn Vault>> {
        let dir = self.world.data_dir()?.join("tokens");
        Some(Arc::new(FileVault::new(dir, self.context.redactor.clone())))
    }

    fn environment(&self) -> Environment {
        Environment::new(self.world.env.clone())
    }

    fn inherited(&self) -> Vec<(String, String)> {
        inherited(self.world.env.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// What the variables hold that a descriptor hands to somebody: never to be printed. Those that every child gets
    /// are no secrets.
    fn secrets(&self, plan: &EnsemblePlan) -> Vec<Secret> {
        let of_builtins = variables_of_builtins(plan).filter(|variable| variable.is_secret);
        let names = plan.variables().chain(of_builtins.map(|variable| variable.name));
        let names = names.filter(|name| !INHERITED.contains(name));
        names.filter_map(|name| self.world.env.get(name)).map(|value| Secret::new(value.as_str())).collect()
    }

    /// Resolves when the run must not go on.
    async fn stopped(&self) -> Failure {
        let deadline = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.interrupt.token.cancelled() => self.interrupt.failure(),
            () = deadline => {
                Failure::new(Kind::Limit, "limit", "the deadline passed while ensembles were being connected")
            }
        }
    }
}

/// What its built-in tools may read.
fn variables_of_builtins(plan: &EnsemblePlan) -> impl Iterator<Item = &'static Variable> {
    let is_used = |builtin: &&Builtin| {
        plan.invokers
            .iter()
            .any(|invoker| matches!(&invoker.kind, InvokerKind::Builtin(name) if name == builtin.name))
    };
    let used = all_builtins().into_iter().filter(is_used);
    used.flat_map(|builtin| builtin.variables)
}

/// A server of the user's own starts at home, not in whatever repository the user happens to be: launchers and
/// interpreters look for code in the directory they are started in. `cwd = "."` asks for it.
pub fn at_home<'a>(
    plan: &EnsemblePlan,
    connection: &'a ConnectionPlan,
    world: &World,
) -> Cow<'a, ConnectionPlan> {
    let own = matches!(plan.origin.scope, Scope::User | Scope::Shipped);
    match &connection.way {
        Way::Stdio { command, environment, cwd: None } if own => {
            let (command, environment) = (command.clone(), environment.clone());
            let cwd = Some(world.home().unwrap_or_else(|| PathBuf::from("/")));
            Cow::Owned(ConnectionPlan { way: Way::Stdio { command, environment, cwd }, ..connection.clone() })
        }
        _ => Cow::Borrowed(connection),
    }
}

/// In the words of a progress.
fn waited_for(plan: &EnsemblePlan, connection: &ConnectionPlan) -> String {
    let verb = if matches!(connection.way, Way::Stdio { .. }) { "starting" } else { "connecting" };
    format!("{verb} {}", plan.name)
}

fn required_failure(plans: &[&EnsemblePlan], failures: &[ConnectError]) -> Option<Failure> {
    let required = plans.iter().filter(|plan| plan.required);
    let failed = |plan: &EnsemblePlan| failures.iter().find(|failure| failure.ensemble == plan.name.as_str());
    let (plan, error) = required.filter_map(|plan| Some((plan, failed(plan)?))).next()?;
    let place = format!("{}:{}", plan.origin.file, plan.origin.line);
    let failure = Failure::new(Kind::Ensemble, "required-ensemble", error.to_string());
    Some(failure.hint(format!("{place} says that it is required")))
}

/// Connections are not kept for the next request: a server that answers and then waits for the acknowledgement would
/// make each one 40 ms late.
fn clients_of_servers() -> Clients {
    let redirects = Redirects::SameOrigin;
    Clients::new(ClientPlan { connect_timeout: CONNECT_TIMEOUT, redirects, reuse: false })
}

/// What tools may never write to: our own configuration, sessions, whom the user has trusted, lists of tools, and what
/// the catalogue says.
fn protected(world: &World, declared: &[PathBuf]) -> Vec<PathBuf> {
    confined::private(world).into_iter().chain(declared.iter().cloned()).collect()
}

pub fn wire(model: &Model, connect_timeout: Duration, cassette: &CassetteMode) -> Box<dyn Wire> {
    cassette.wire(model, || {
        if model.is_understudy() {
            return Box::new(UnderstudyWire);
        }
        Box::new(HttpWire::new(model.credentials.clone(), connect_timeout))
    })
}

#[cfg(test)]
mod tests {
    use converse_config::{InvokerPlan, Origin, Policy};

    use super::*;

    #[test]
    fn the_keys_of_a_builtin_are_known_and_its_other_variables_are_no_secrets() {
        let origin = Origin { scope: Scope::User, file: "t.toml".into(), line: 1 };
        let invoker = |name: &str| InvokerPlan {
            name: name.to_owned().try_into().unwrap(),
            description: String::new(),
            arguments: None,
            kind: InvokerKind::Builtin(name.to_owned()),
            policy: Policy::default(),
            tests: Vec::new(),
            origin: origin.clone(),
        };
        let mut plan = EnsemblePlan::bare("t".to_owned().try_into().unwrap(), origin.clone());
        plan.invokers = vec![invoker("calculator"), invoker("fetch")];
        assert_eq!(variables_of_builtins(&plan).filter(|variable| variable.is_secret).count(), 0);
        plan.invokers.push(invoker("web_search"));
        let secrets = variables_of_builtins(&plan).filter(|variable| variable.is_secret);
        let secrets: Vec<&str> = secrets.map(|variable| variable.name).collect();
        assert_eq!(secrets, ["TAVILY_API_KEY", "SERPAPI_API_KEY", "BRAVE_API_KEY"]);
    }
}
