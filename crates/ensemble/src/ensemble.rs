//! A group of tools that connect and disconnect together.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use converse_canister::{Declaration, Digest, EnsembleName, InvokerName};
use converse_config::{EnsemblePlan, Origin, Policy};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::timeout;

use crate::naming::tool_name;
use crate::tool::{Tool, own_permission};
use crate::{Invocable, Pins};

/// Where an ensemble's tools come from: a server, or the binary itself.
pub trait Connection: Send + Sync {
    /// Bounded in time by the implementor; called once.
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>>;

    /// The tools anew, if they have changed since they were last told; asked before each call of a model. Bounded in
    /// time. Whatever goes wrong keeps the old ones.
    fn refresh<'a>(&'a self, _ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        Box::pin(std::future::ready(None))
    }

    /// Bounded in time; must be harmless when never connected. By default there is nothing to end.
    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Whoever holds another clone may ask it for more than this port offers.
impl<C: Connection + ?Sized> Connection for Arc<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        self.as_ref().connect(ensemble)
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.as_ref().refresh(ensemble)
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

/// An ensemble as planned, with the way to its tools.
pub struct Ensemble {
    pub name: EnsembleName,
    pub required: bool,
    pub trusted: bool,
    pub origin: Origin,
    /// Of how it is reached and configured: what answers "always" are bound to beside the tool.
    pub reached: Digest,
    /// What stands before `__` in the names its tools are shown by.
    prefix: String,
    /// How long connecting may take, whatever the connection's own limit comes to.
    patience: Duration,
    connection: Box<dyn Connection>,
    pins: Pins,
}

/// Of the connection of an ensemble and its `[configuration]`, as its descriptor has them.
pub fn reached(plan: &EnsemblePlan) -> Digest {
    converse_config::lock::digest(&plan.whole_connection())
}

/// The product's own limit of a connection that declares none.
const CONNECT: Duration = Duration::from_secs(30);
/// Beyond the limits that connections keep themselves: they know better what to say of it.
const MARGIN: Duration = Duration::from_secs(5);
const REFRESH: Duration = Duration::from_secs(5);
const DISCONNECT: Duration = Duration::from_secs(10);

/// How a connection failed to keep its word.
enum Astray {
    Late,
    Panicked,
}

/// The second line of defence: connections bound themselves, and this holds when one does not.
async fn guarded<T>(limit: Duration, work: impl Future<Output = T>) -> Result<T, Astray> {
    match timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(Astray::Panicked),
        Err(_) => Err(Astray::Late),
    }
}

impl Ensemble {
    pub fn new(plan: &EnsemblePlan, connection: Box<dyn Connection>) -> Self {
        Self {
            name: plan.name.clone(),
            required: plan.required,
            trusted: plan.trusted,
            origin: plan.origin.clone(),
            reached: reached(plan),
            prefix: plan.prefix.clone().unwrap_or_else(|| plan.name.to_string()),
            patience: plan.connection.as_ref().and_then(|way| way.connect_timeout).unwrap_or(CONNECT)
                + MARGIN,
            connection,
            pins: Pins::Free,
        }
    }

    /// With its tools held to what was accepted of them.
    #[must_use]
    pub fn pinned(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// One that hangs or panics fails alone.
    pub async fn connect(&self) -> Result<Vec<Tool>, ConnectError> {
        let failed = |reason| ConnectError { ensemble: self.name.to_string(), reason };
        match guarded(self.patience, async { self.connection.connect(self).await }).await {
            Ok(connected) => connected.map(|tools| self.pins.hold(tools, &self.origin)),
            Err(Astray::Late) => Err(failed(format!("it was not done within {} s", self.patience.as_secs()))),
            Err(Astray::Panicked) => Err(failed("connecting it crashed".to_owned())),
        }
    }

    /// The tools anew, if they have changed.
    pub async fn refresh(&self) -> Option<Vec<Tool>> {
        let news = guarded(REFRESH, async { self.connection.refresh(self).await }).await;
        news.ok().flatten().map(|tools| self.pins.hold(tools, &self.origin))
    }

    pub async fn disconnect(&self) {
        // There is nothing left to do about one that hangs or panics.
        let _ = guarded(DISCONNECT, async { self.connection.disconnect().await }).await;
    }

    /// A tool of this ensemble, named and judged as the plan says. `builtin` tells whether its effects are our own word.
    pub fn tool(
        &self,
        invoker: &InvokerName,
        description: String,
        arguments: Value,
        policy: Policy,
        builtin: bool,
        invocable: Arc<dyn Invocable>,
    ) -> Tool {
        let declaration = Declaration { name: tool_name(&self.prefix, invoker), description, arguments };
        let declared_in = format!("{}:{}", self.origin.file, self.origin.line);
        let own = own_permission(&policy, builtin, self.trusted, &declared_in);
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
