//! [`McpConnection`]: a server as the connection of an ensemble, with its tools named, checked and filtered by the
//! plan.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use converse_canister::Digest;
use converse_config::{ConnectionPlan, EnsemblePlan, Grants, Policy, Scope, ToolFilter};
use converse_ensemble::{
    ConnectError, Connection, Definition, Ensemble, Instructions, Relay, Tool, accepting,
};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::model::ServerCapabilities;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::accepted::Accepted;
use crate::call::McpTool;
use crate::error::Failure;
use crate::http::Bearer;
use crate::http::HttpEndpoint;
use crate::key::Keys;
use crate::launch::Launch;
use crate::link::{Link, Way};
use crate::listing::{Declared, Entries, Listed, sift};
use crate::oauth::Authority;
use crate::roots::Roots;
use crate::selection::Selection;
use crate::server::Server;
use crate::server_requests::ServerRequestHandler;
use crate::{Surroundings, Survey, sanitize};

const HTTP_TIMEOUT: Duration = Duration::from_secs(30);
/// Limit for disconnecting, regardless of the server.
const DISCONNECT: Duration = Duration::from_secs(6);
/// Number of warnings remembered; further new warnings are dropped.
const MAX_REPORTED: usize = 1000;
/// Warnings shown at a time; the rest is counted.
const MAX_WARNINGS: usize = 10;
/// Number of capability names reported, and bytes of each.
const MAX_CAPABILITIES: usize = 50;
const CAPABILITY: usize = 100;

/// The connection to the tools of one MCP server.
pub struct McpConnection {
    name: String,
    pub(crate) defaults: Policy,
    pub(crate) policies: std::collections::BTreeMap<converse_canister::InvokerName, Policy>,
    filter: ToolFilter,
    /// Whether the server is started at its first call, provided that its tools are known from an earlier run.
    lazy: bool,
    /// Whether each tool must match the definition that was listed before it is called.
    verify_accepted: Arc<AtomicBool>,
    /// With `auth = "oauth"`.
    pub(crate) authority: Option<Arc<Authority>>,
    pub(crate) server: Arc<Server>,
    survey: Mutex<Option<Survey>>,
    instructions: Mutex<Option<Instructions>>,
    /// Warnings already reported; each is reported once.
    reported: Mutex<HashSet<String>>,
}

impl McpConnection {
    /// Creates the connection without starting or contacting the server.
    pub fn new(plan: &EnsemblePlan, connection: &ConnectionPlan, surroundings: Arc<Surroundings>) -> Self {
        let authority = Authority::of(plan.name.as_str(), connection, &plan.origin, &surroundings);
        let bearer = authority.clone().map(|authority| authority as Arc<dyn Bearer>);
        let (way, default_timeout) = way(&connection.transport, plan, &surroundings, bearer);
        let timeout = connection.connect_timeout.unwrap_or(default_timeout);
        let keys = Keys::of(&connection.transport, &surroundings.workspace);
        let server_requests = server_requests(plan, connection.grants.clone(), &surroundings);
        let server = Server::new(way, connection.protocol, timeout, surroundings, keys)
            .with_server_requests(server_requests);
        Self { authority, ..Self::over(plan, server) }
    }

    pub(crate) fn over(plan: &EnsemblePlan, server: Server) -> Self {
        let _ = server.offers.accepting.set(accepting(&plan.origin));
        Self {
            name: plan.name.to_string(),
            defaults: plan.defaults.clone(),
            policies: plan.tools.clone(),
            filter: plan.filter.clone(),
            lazy: plan.lazy,
            verify_accepted: Arc::default(),
            authority: None,
            server: Arc::new(server),
            survey: Mutex::default(),
            instructions: Mutex::default(),
            reported: Mutex::default(),
        }
    }

    /// Sets whether tools are verified against their accepted definitions: after each start of the server, its tools
    /// are listed again before the first call.
    #[must_use]
    pub fn verify_accepted(self, verify_accepted: bool) -> Self {
        self.set_verify_accepted(verify_accepted);
        self
    }

    /// Sets the same for a connection whose tools are already known.
    pub fn set_verify_accepted(&self, verify_accepted: bool) {
        self.verify_accepted.store(verify_accepted, Ordering::Release);
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn is_lazy(&self) -> bool {
        self.lazy
    }

    /// Returns what the server reports about itself; `None` before it is connected or while a lazy server is not
    /// started.
    pub fn survey(&self) -> Option<Survey> {
        self.survey.lock().clone()
    }

    async fn connected(&self, ensemble: &Ensemble) -> Result<Vec<Tool>, Failure> {
        let begun = Instant::now();
        let selection = Selection::new(&self.filter)?;
        if let Some(entries) = self.remembered() {
            *self.instructions.lock() = self.remembered_instructions();
            if let Some(upstream) = self.upstream() {
                upstream.remembered(self.lazy);
            }
            return Ok(self.tools(ensemble, &selection, self.server.fit(sift(entries))));
        }
        if self.upstream().is_some() {
            return Err(Failure::Pending);
        }
        let (link, entries) = self.server.connect().await?;
        let listed = self.noted(entries);
        let (offered, skipped) = (listed.offered, skipped(&listed));
        self.note_instructions(&link);
        let unmatched = selection.unmatched(&listed.tools, &self.policies);
        let tools = self.tools(ensemble, &selection, listed);
        let survey =
            Survey { kept: tools.len(), skipped, unmatched, ..survey(&link, offered, begun.elapsed()) };
        *self.survey.lock() = Some(survey);
        Ok(tools)
    }

    async fn refreshed(&self, ensemble: &Ensemble) -> Option<Vec<Tool>> {
        let entries = match self.server.relist().await {
            Ok(entries) => entries?,
            Err(failure) => {
                self.warn(vec![format!("its tools have changed and could not be listed again: {failure}")]);
                return None;
            }
        };
        let listed = self.noted(entries);
        if let Some(link) = self.upstream().and_then(|_| self.server.current()) {
            self.note_instructions(&link);
        }
        Some(self.tools(ensemble, &Selection::new(&self.filter).ok()?, listed))
    }

    fn remembered(&self) -> Option<Entries> {
        let is_used = self.lazy || self.upstream().is_some();
        let lists = is_used.then_some(&self.server.surroundings.lists)?;
        let keys = &self.server.keys;
        // A lazy server stays with this list until its first call, so only the list of this directory will do.
        let elsewhere = || if self.lazy { None } else { lists.get(&keys.elsewhere) };
        Entries::read(&lists.get(&keys.list).or_else(elsewhere)?)
    }

    /// Returns the instructions that the server had when it was last started.
    fn remembered_instructions(&self) -> Option<Instructions> {
        let stored = self.server.surroundings.lists.get(&self.server.keys.instructions())?;
        let (text, sha256): (String, Digest) = serde_json::from_str(&stored).ok()?;
        Some(Instructions { text, sha256 })
    }

    /// Keeps the instructions, also for runs in which a lazy server is not started.
    fn note_instructions(&self, link: &Link) {
        let told = link.info().and_then(|info| Instructions::new(info.instructions.as_deref()?));
        let (lists, key) = (&self.server.surroundings.lists, self.server.keys.instructions());
        let written = told.as_ref().map(|told| json!([told.text, told.sha256]));
        if written.is_some() || lists.get(&key).is_some() {
            lists.put(&key, &written.unwrap_or_default().to_string());
        }
        *self.instructions.lock() = told;
    }

    fn noted(&self, entries: Entries) -> Listed {
        let (lists, key) = (&self.server.surroundings.lists, &self.server.keys.list);
        // Stored for every server: a lazy server is not started for its list, and `ensembles list` shows tools without
        // connecting.
        let written = entries.written();
        lists.put(key, &written);
        if self.server.keys.elsewhere != *key {
            lists.put(&self.server.keys.elsewhere, &written);
        }
        self.server.fit(sift(entries))
    }

    fn tools(&self, ensemble: &Ensemble, selection: &Selection, listed: Listed) -> Vec<Tool> {
        let mut warnings: Vec<String> = listed
            .skipped
            .iter()
            .map(|(name, reason)| format!("tool `{name}` is left out: {reason}"))
            .collect();
        let unmatched = selection.unmatched(&listed.tools, &self.policies);
        warnings.extend(unmatched.iter().filter(|one| !one.is_precaution()).map(ToString::to_string));
        self.warn(warnings);
        let kept = listed.tools.into_iter().filter(|tool| selection.keeps(&tool.name));
        kept.map(|declared| self.tool(ensemble, declared)).collect()
    }

    fn tool(&self, ensemble: &Ensemble, declared: Declared) -> Tool {
        let Declared { name, description, arguments, output, raw } = declared;
        let policy = self.policies.get(&name).unwrap_or(&self.defaults).clone();
        let definition = Definition::raw(raw);
        let invocable = McpTool {
            server: Arc::clone(&self.server),
            name: name.clone(),
            policy: policy.clone(),
            accepted: Accepted {
                definition: definition.clone(),
                anew: accepting(&ensemble.origin),
                is_verified: Arc::clone(&self.verify_accepted),
            },
            output,
            compiled_output: OnceLock::new(),
        };
        let tool = ensemble.tool(&name, description, arguments, policy, false, Arc::new(invocable));
        tool.defined_as(definition)
    }

    fn warn(&self, warnings: Vec<String>) {
        let mut reported = self.reported.lock();
        let mut is_fresh =
            |warning: &String| reported.len() < MAX_REPORTED && reported.insert(warning.clone());
        let fresh: Vec<_> = warnings.into_iter().filter(|warning| is_fresh(warning)).collect();
        drop(reported);
        let warn = &self.server.surroundings.warn;
        for warning in fresh.iter().take(MAX_WARNINGS) {
            warn(format!("ensemble `{}`: {warning}", self.name));
        }
        if fresh.len() > MAX_WARNINGS {
            warn(format!("ensemble `{}`: and {} more", self.name, fresh.len() - MAX_WARNINGS));
        }
    }
}

impl Connection for McpConnection {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        Box::pin(async move {
            let connected = self.connected(ensemble).await;
            connected
                .map_err(|failure| ConnectError { ensemble: self.name.clone(), reason: failure.to_string() })
        })
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        Box::pin(self.refreshed(ensemble))
    }

    fn instructions(&self) -> Option<Instructions> {
        self.instructions.lock().clone()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        Some(self)
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let _ = tokio::time::timeout(DISCONNECT, self.server.disconnect()).await;
        })
    }
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpConnection").field("name", &self.name).finish_non_exhaustive()
    }
}

fn way(
    way: &converse_config::TransportPlan,
    plan: &EnsemblePlan,
    surroundings: &Surroundings,
    bearer: Option<Arc<dyn Bearer>>,
) -> (Way, Duration) {
    match way.clone() {
        converse_config::TransportPlan::Stdio { command, environment, cwd } => {
            let start_check = (surroundings.start_checks)(plan);
            let of_project = plan.origin.scope == Scope::Project;
            let launch = Launch { command, environment, cwd, of_project, start_check };
            let timeout = launch.default_timeout();
            (Way::Stdio(launch), timeout)
        }
        converse_config::TransportPlan::Http { url, headers } => {
            let endpoint = HttpEndpoint { url, headers, bearer, parameters: Arc::default() };
            (Way::Http(endpoint), HTTP_TIMEOUT)
        }
    }
}

/// Builds the handler of the server's requests.
pub(crate) fn server_requests(
    plan: &EnsemblePlan,
    grants: Grants,
    surroundings: &Surroundings,
) -> ServerRequestHandler {
    let workspace = surroundings.workspace.clone();
    let is_own = plan.origin.scope == Scope::User;
    let within = (!is_own).then(|| surroundings.project.clone().unwrap_or_else(|| workspace.clone()));
    let roots = Roots { named: grants.roots.clone(), workspace, within };
    let (responders, warn) = (surroundings.responders.clone(), Arc::clone(&surroundings.warn));
    ServerRequestHandler::new(plan.name.to_string(), grants, responders, roots, warn)
}

fn skipped(listed: &Listed) -> Vec<String> {
    listed.skipped.iter().map(|(name, reason)| format!("{name}: {reason}")).collect()
}

/// Returns the names of the declared capabilities, with `tools.listChanged` for a flag that is on.
fn capabilities(declared: &ServerCapabilities) -> Vec<String> {
    let declared = serde_json::to_value(declared).unwrap_or_default();
    let mut names = Vec::new();
    for (name, within) in declared.as_object().into_iter().flatten() {
        names.push(sanitize::clean(name, CAPABILITY));
        let within = within.as_object().into_iter().flatten().filter(|(_, on)| **on == true);
        names.extend(within.map(|(flag, _)| sanitize::clean(&format!("{name}.{flag}"), CAPABILITY)));
    }
    names.truncate(MAX_CAPABILITIES);
    names
}

/// Builds the survey without the results for its tools.
fn survey(link: &Link, offered: usize, took: Duration) -> Survey {
    let info = link.info();
    let server = info.as_ref().and_then(|info| info.server_info.clone());
    let instructions = info.as_ref().and_then(|info| info.instructions.clone());
    Survey {
        era: link.era,
        protocol: info.as_ref().map_or_else(String::new, |info| info.protocol_version.to_string()),
        server: server.as_ref().map_or_else(String::new, |server| sanitize::clean(&server.name, 200)),
        version: server.as_ref().map_or_else(String::new, |server| sanitize::clean(&server.version, 100)),
        instructions: instructions.as_ref().map_or(0, String::len),
        capabilities: info.as_ref().map(|info| capabilities(&info.capabilities)).unwrap_or_default(),
        instructions_sha256: instructions.map(|text| Digest(Sha256::digest(text).into())),
        offered,
        kept: 0,
        skipped: Vec::new(),
        unmatched: Vec::new(),
        took,
    }
}
