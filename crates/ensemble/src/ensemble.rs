//! A group of tools that connect and disconnect together.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::{Declaration, Digest, EnsembleName, InvokerName};
use converse_config::{ConnectionPlan, EnsemblePlan, Origin, Policy};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::time::timeout;

use crate::naming::tool_name;
use crate::tool::{Tool, own_permission};
use crate::{Instructions, Invocable, Pins, Relay};

/// The source of an ensemble's tools: a server, or the binary itself.
pub trait Connection: Send + Sync {
    /// Connects and returns the tools. Called once. The implementation limits the time.
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>>;

    /// Returns the tools if they have changed since the last time. Called before each model call, also if connecting
    /// failed: the connection may come later. The implementation limits the time. On an error the old tools stay.
    fn refresh<'a>(&'a self, _ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        Box::pin(std::future::ready(None))
    }

    /// Returns what the server tells models about its tools, as known after connecting.
    fn instructions(&self) -> Option<Instructions> {
        None
    }

    /// Returns what the server offers beside tools; `None` for connections that are not to a server.
    fn relay(&self) -> Option<&dyn Relay> {
        None
    }

    /// Disconnects. The implementation limits the time, and does nothing if it never connected.
    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Lets the owner of another clone use more than this trait.
impl<C: Connection + ?Sized> Connection for Arc<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.as_ref().connect(ensemble)
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.as_ref().refresh(ensemble)
    }

    fn instructions(&self) -> Option<Instructions> {
        self.as_ref().instructions()
    }

    fn relay(&self) -> Option<&dyn Relay> {
        self.as_ref().relay()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.as_ref().disconnect()
    }
}

/// Why an ensemble has no tools in this run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("ensemble `{ensemble}` could not be connected: {reason}")]
pub struct ConnectError {
    pub ensemble: String,
    pub reason: String,
}

/// An ensemble as planned, with the connection to its tools.
pub struct Ensemble {
    pub name: EnsembleName,
    pub required: bool,
    pub trusted: bool,
    pub origin: Origin,
    /// Whether its server is reached over a network.
    pub remote: bool,
    /// Digest of how it is reached and configured. Answers "always" are bound to it.
    pub reached: Digest,
    /// The part before `__` in the shown names of its tools.
    prefix: String,
    /// How long connecting may take, in addition to the connection's own limits.
    connect_limit: Duration,
    connection: Box<dyn Connection>,
    acceptance: RwLock<Acceptance>,
    instructions: OnceLock<Instructions>,
    /// Its tools, also those that are held back; `None` before it is connected.
    tools: Mutex<Option<Vec<Arc<Tool>>>>,
    pub(crate) calls: Arc<EnsembleCalls>,
}

/// The calls of the tools of one ensemble.
#[derive(Debug, Default)]
pub(crate) struct EnsembleCalls {
    /// Locked exclusively by tools that may not run in parallel, and shared by the others. Those of an ensemble that
    /// takes the place of another one have its gate.
    pub(crate) gate: Arc<tokio::sync::RwLock<()>>,
    /// Shared by the calls that are approved and have not ended.
    pub(crate) open: Arc<()>,
}

/// What the lockfile accepts of an ensemble.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Acceptance {
    pub pins: Pins,
    /// The digest of the instructions that were accepted. Without effect if any tools are offered.
    pub instructions: Option<Digest>,
}

/// Returns the digest of the connection and the `[configuration]` of an ensemble, as in its descriptor.
pub fn reached(plan: &EnsemblePlan) -> Digest {
    converse_config::lock::digest(&plan.connection_json())
}

/// Default time limit of connecting.
const CONNECT: Duration = Duration::from_secs(30);
/// Added to the limits of connections, whose own error messages are better.
const MARGIN: Duration = Duration::from_secs(5);
const REFRESH: Duration = Duration::from_secs(5);
const DISCONNECT: Duration = Duration::from_secs(10);

/// Why guarded work was ended.
enum GuardError {
    TimedOut,
    Panicked,
}

/// Runs work with a time limit, and catches panics. For connections that do not keep their own limits.
async fn guarded<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, GuardError> {
    match timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(GuardError::Panicked),
        Err(_) => Err(GuardError::TimedOut),
    }
}

impl Ensemble {
    pub fn new(plan: &EnsemblePlan, connection: Box<dyn Connection>) -> Self {
        Self {
            name: plan.name.clone(),
            required: plan.required,
            trusted: plan.trusted,
            origin: plan.origin.clone(),
            remote: plan.connection.as_ref().is_some_and(ConnectionPlan::is_remote),
            reached: reached(plan),
            prefix: plan.prefix.clone().unwrap_or_else(|| plan.name.to_string()),
            connect_limit: plan.connection.as_ref().and_then(|way| way.connect_timeout).unwrap_or(CONNECT)
                + MARGIN,
            connection,
            acceptance: RwLock::default(),
            instructions: OnceLock::new(),
            tools: Mutex::default(),
            calls: Arc::default(),
        }
    }

    /// Restricts its tools to those that were accepted.
    #[must_use]
    pub fn pinned(self, pins: Pins) -> Self {
        self.acceptance.write().pins = pins;
        self
    }

    /// Sets the digest of the instructions that were accepted together with the tools.
    #[must_use]
    pub fn accepting_instructions(self, accepted_instructions: Option<Digest>) -> Self {
        self.acceptance.write().instructions = accepted_instructions;
        self
    }

    /// Makes this ensemble take the place of another one, whose running calls count for tools that may not run in
    /// parallel. To be called before it is connected.
    #[must_use]
    pub fn succeeding(self, before: &Self) -> Self {
        let calls = EnsembleCalls { gate: Arc::clone(&before.calls.gate), open: Arc::default() };
        Self { calls: Arc::new(calls), ..self }
    }

    /// Replaces what is accepted, and holds back its tools accordingly. Returns whether anything has changed.
    pub(crate) fn accept(&self, acceptance: Acceptance) -> bool {
        if *self.acceptance.read() == acceptance {
            return false;
        }
        *self.acceptance.write() = acceptance;
        if let Some(tools) = self.tools() {
            self.has(self.held(tools.iter().map(|tool| tool.as_ref().clone()).collect()));
        }
        true
    }

    /// Returns its tools, also those that are held back; `None` if it is not connected.
    pub(crate) fn tools(&self) -> Option<Vec<Arc<Tool>>> {
        self.tools.lock().clone()
    }

    pub(crate) fn has(&self, tools: Vec<Tool>) {
        *self.tools.lock() = Some(tools.into_iter().map(Arc::new).collect());
    }

    /// Returns whether no call of its tools is approved and has not ended.
    pub fn is_idle(&self) -> bool {
        Arc::strong_count(&self.calls.open) == 1
    }

    /// Returns the server's instructions as they were when it was connected, if models may see them.
    pub fn instructions(&self) -> Option<&Instructions> {
        self.instructions.get().filter(|instructions| self.accepts(instructions))
    }

    /// Returns whether the server has instructions that were not accepted.
    pub fn holds_instructions(&self) -> bool {
        self.instructions.get().is_some_and(|instructions| !self.accepts(instructions))
    }

    fn accepts(&self, instructions: &Instructions) -> bool {
        let Acceptance { pins, instructions: accepted } = &*self.acceptance.read();
        *pins == Pins::Free || *accepted == Some(instructions.sha256)
    }

    /// Connects and returns the tools. A connection that hangs or panics fails alone.
    pub async fn connect(&self) -> Result<Vec<Tool>, ConnectError> {
        let failed = |reason| ConnectError { ensemble: self.name.to_string(), reason };
        match guarded(self.connect_limit, async { self.connection.connect(self).await }).await {
            Ok(connected) => connected.map(|tools| {
                self.keep_instructions();
                self.held(tools)
            }),
            Err(GuardError::TimedOut) => {
                Err(failed(format!("it was not done within {} s", self.connect_limit.as_secs())))
            }
            Err(GuardError::Panicked) => Err(failed("connecting it crashed".to_owned())),
        }
    }

    /// Returns the tools if they have changed.
    pub async fn refresh(&self) -> Option<Vec<Tool>> {
        let news = guarded(REFRESH, async { self.connection.refresh(self).await }).await;
        let tools = news.ok().flatten()?;
        // It may have been connected for the first time.
        self.keep_instructions();
        Some(self.held(tools))
    }

    /// Keeps the instructions that the server had when it was first connected.
    fn keep_instructions(&self) {
        if self.instructions.get().is_none() {
            let instructions = self.connection.instructions().map(Instructions::shortened);
            instructions.into_iter().for_each(|instructions| drop(self.instructions.set(instructions)));
        }
    }

    /// Returns the part before `__` in the shown names of its tools.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns what its server offers beside tools.
    pub fn relay(&self) -> Option<&dyn Relay> {
        self.connection.relay()
    }

    pub(crate) fn held(&self, tools: Vec<Tool>) -> Vec<Tool> {
        self.acceptance.read().pins.hold(tools, &self.origin)
    }

    pub async fn disconnect(&self) {
        // There is nothing left to do about one that hangs or panics.
        let _ = guarded(DISCONNECT, async { self.connection.disconnect().await }).await;
    }

    /// Returns whether a tool with this shown name would be of this ensemble.
    pub fn is_prefix_of(&self, shown: &str) -> bool {
        shown.strip_prefix(self.prefix.as_str()).is_some_and(|rest| rest.starts_with("__"))
    }

    /// Makes a tool of this ensemble, named and judged as the plan says. `builtin` says whether its effects are reliable.
    pub fn tool(
        &self,
        invoker: &InvokerName,
        description: String,
        arguments: impl Into<Arc<Value>>,
        policy: Policy,
        builtin: bool,
        invocable: Arc<dyn Invocable>,
    ) -> Tool {
        let (name, arguments) = (tool_name(&self.prefix, invoker), arguments.into());
        let declaration = Declaration { name, description, arguments };
        let own = own_permission(&policy, builtin, self.trusted, &self.origin.to_string());
        let mut tool = Tool::new(self, invoker, declaration, policy, own, invocable);
        tool.builtin = builtin;
        tool
    }
}

impl std::fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ensemble").field("name", &self.name).finish_non_exhaustive()
    }
}
