//! A group of tools that connect and disconnect together.

use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::{Declaration, EnsembleName, InvokerName};
use converse_config::{EnsemblePlan, InvokerKind, InvokerPlan, Origin, Policy};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::Invocable;
use crate::builtin::{Builtin, Clock, Settings};
use crate::naming::tool_name;
use crate::tool::{Tool, own_permission};

/// Where an ensemble's tools come from: a server, or the binary itself.
pub trait Connection: Send + Sync {
    /// Bounded in time by the implementor; called once.
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>>;

    /// Bounded in time; must be harmless when never connected.
    fn disconnect(&self) -> BoxFuture<'_, ()>;
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
    /// What stands before `__` in the names its tools are shown by.
    prefix: String,
    connection: Box<dyn Connection>,
}

impl Ensemble {
    pub fn new(plan: &EnsemblePlan, connection: Box<dyn Connection>) -> Self {
        Self {
            name: plan.name.clone(),
            required: plan.required,
            trusted: plan.trusted,
            origin: plan.origin.clone(),
            prefix: plan.prefix.clone().unwrap_or_else(|| plan.name.to_string()),
            connection,
        }
    }

    pub async fn connect(&self) -> Result<Vec<Tool>, ConnectError> {
        self.connection.connect(self).await
    }

    pub async fn disconnect(&self) {
        self.connection.disconnect().await;
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
        Tool::new(self, invoker, declaration, policy, own, invocable)
    }
}

impl std::fmt::Debug for Ensemble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ensemble").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The connection of ensembles made of built-ins: nothing to reach, so connecting is building.
pub struct BuiltinConnection {
    invokers: Vec<InvokerPlan>,
    configuration: serde_json::Map<String, Value>,
    builtins: Vec<&'static Builtin>,
    surroundings: Arc<Surroundings>,
}

/// What built-ins are given of the world.
pub struct Surroundings {
    /// The directory converse runs in, canonical.
    pub workspace: PathBuf,
    /// Directories no tool may write to: configuration, trust, sessions.
    pub protected: Vec<PathBuf>,
    pub clock: Clock,
}

impl BuiltinConnection {
    pub fn new(
        plan: &EnsemblePlan,
        builtins: Vec<&'static Builtin>,
        surroundings: Arc<Surroundings>,
    ) -> Self {
        Self {
            invokers: plan.invokers.clone(),
            configuration: plan.configuration.clone(),
            builtins,
            surroundings,
        }
    }

    fn build(&self, ensemble: &Ensemble, plan: &InvokerPlan) -> Result<Tool, ConnectError> {
        let failed = |reason: String| ConnectError { ensemble: ensemble.name.to_string(), reason };
        let InvokerKind::Builtin(name) = &plan.kind;
        let builtin = self.builtins.iter().find(|builtin| builtin.name == name);
        let builtin = builtin.ok_or_else(|| failed(format!("there is no built-in `{name}`")))?;
        let settings = Settings {
            configuration: &self.configuration,
            workspace: &self.surroundings.workspace,
            protected: &self.surroundings.protected,
            clock: self.surroundings.clock.clone(),
        };
        let invocable =
            (builtin.build)(&settings).map_err(|error| failed(format!("{}: {error}", plan.name)))?;
        let arguments =
            plan.arguments.clone().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
        Ok(ensemble.tool(
            &plan.name,
            plan.description.clone(),
            arguments,
            plan.policy.clone(),
            true,
            invocable,
        ))
    }
}

impl Connection for BuiltinConnection {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let tools = self.invokers.iter().map(|plan| self.build(ensemble, plan)).collect();
        Box::pin(std::future::ready(tools))
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl std::fmt::Debug for BuiltinConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BuiltinConnection").field("invokers", &self.invokers).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}
