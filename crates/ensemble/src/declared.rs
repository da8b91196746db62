//! The connection of ensembles that a descriptor declares completely: built-in tools, commands and HTTP requests. Nothing is
//! reached before the first invocation, so connecting only builds the tools.

mod defined;
mod whole;

use std::sync::Arc;

use converse_canister::InvokerName;
use converse_config::{EnsemblePlan, Environment, InvokerKind, InvokerPlan, Scope, UnsetVariable};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, Settings, Variable};
use crate::command::Command;
use crate::ensemble::{ConnectError, Connection, Ensemble};
use crate::request::{Request, check_variables};
use crate::surroundings::{StartCheck, Surroundings};
use crate::tool::Tool;
use crate::{Definition, Invocable};

pub use whole::declared_ensemble;

/// Why a tool was not built.
enum NotBuilt {
    /// The tool is left out; the other tools of the ensemble work.
    Unset(UnsetVariable),
    /// The ensemble cannot be used.
    Broken(String),
}

/// Builds the invokers of one plan.
pub struct DeclaredConnection {
    invokers: Vec<Arc<InvokerPlan>>,
    configuration: Map<String, Value>,
    scope: Scope,
    trusted: bool,
    builtins: Vec<&'static Builtin>,
    start_check: StartCheck,
    surroundings: Arc<Surroundings>,
}

/// Returns the definition of a declared invoker without building it.
pub fn declared_definition(plan: &InvokerPlan) -> Definition {
    defined::definition(plan, &arguments(plan))
}

fn arguments(plan: &InvokerPlan) -> Arc<Value> {
    plan.arguments.clone().unwrap_or_else(|| json!({ "type": "object", "properties": {} }).into())
}

/// A tool that runs knows nothing of its tests.
fn without_tests(plan: &InvokerPlan) -> InvokerPlan {
    InvokerPlan {
        name: plan.name.clone(),
        description: plan.description.clone(),
        arguments: plan.arguments.clone(),
        kind: plan.kind.clone(),
        policy: plan.policy.clone(),
        tests: Vec::new(),
        origin: plan.origin.clone(),
    }
}

impl DeclaredConnection {
    /// `builtins` are the tools that `builtin = "name"` can name.
    pub fn new(
        plan: &EnsemblePlan,
        builtins: Vec<&'static Builtin>,
        surroundings: Arc<Surroundings>,
    ) -> Self {
        Self {
            invokers: plan.invokers.iter().map(|invoker| Arc::new(without_tests(invoker))).collect(),
            configuration: plan.configuration.clone(),
            scope: plan.origin.scope,
            trusted: plan.trusted,
            builtins,
            start_check: (surroundings.start_checks)(plan),
            surroundings,
        }
    }

    /// Builds the tools. A tool whose variables are not set is left out with a warning, unless no tool would remain.
    fn tools(&self, ensemble: &Ensemble) -> Result<Vec<Tool>, ConnectError> {
        let failed =
            |reason: &str| ConnectError { ensemble: ensemble.name.to_string(), reason: reason.to_owned() };
        let (mut tools, mut left_out) = (Vec::new(), Vec::new());
        for plan in &self.invokers {
            match self.tool(ensemble, plan) {
                Ok(tool) => tools.push(tool),
                Err(NotBuilt::Unset(unset)) => left_out.push(format!("{}: {unset}", plan.name)),
                Err(NotBuilt::Broken(reason)) => return Err(failed(&reason)),
            }
        }
        if let (true, Some(reason)) = (tools.is_empty(), left_out.first()) {
            return Err(failed(reason));
        }
        for reason in left_out {
            (self.surroundings.warn)(format!("ensemble `{}`: a tool is left out: {reason}", ensemble.name));
        }
        Ok(tools)
    }

    fn tool(&self, ensemble: &Ensemble, plan: &Arc<InvokerPlan>) -> Result<Tool, NotBuilt> {
        let invocable = self.build(plan)?;
        let arguments = arguments(plan);
        let (description, policy) = (plan.description.clone(), plan.policy.clone());
        let builtin = matches!(plan.kind, InvokerKind::Builtin(_));
        let tool = ensemble.tool(&plan.name, description, arguments, policy, builtin, invocable);
        Ok(tool.declared_by(Arc::clone(plan)))
    }

    fn build(&self, invoker: &InvokerPlan) -> Result<Arc<dyn Invocable>, NotBuilt> {
        let InvokerPlan { name, kind, .. } = invoker;
        if kind.reaches_out() && !self.trusted {
            // Untrusted invokers are made inert before; this check stops a caller that forgot it.
            return Err(NotBuilt::Broken(format!("{name}: it is not trusted")));
        }
        match kind {
            InvokerKind::Builtin(builtin) => self.builtin(name, builtin).map_err(NotBuilt::Broken),
            InvokerKind::Command(plan) => {
                let (schema, surroundings) = (invoker.arguments.as_deref(), Arc::clone(&self.surroundings));
                let (scope, sandbox) = (self.scope, invoker.policy.sandbox);
                let command = Command::new(Arc::clone(plan), schema, scope, sandbox, surroundings);
                let check = self.start_check.clone();
                command.map(|command| Arc::new(command.checked(check)) as _).map_err(NotBuilt::Unset)
            }
            InvokerKind::Http(plan) => {
                check_variables(plan, &self.surroundings.environment).map_err(NotBuilt::Unset)?;
                let request = Request::new(plan.clone(), Arc::clone(&self.surroundings));
                let broken = |reason| NotBuilt::Broken(format!("{name}: {reason}"));
                request.map(|request| Arc::new(request) as _).map_err(broken)
            }
        }
    }

    fn builtin(&self, name: &InvokerName, builtin: &str) -> Result<Arc<dyn Invocable>, String> {
        let found = self.builtins.iter().find(|known| known.name == builtin);
        let found = found.ok_or_else(|| format!("there is no built-in `{builtin}`"))?;
        let settings = Settings {
            configuration: &self.configuration,
            workspace: &self.surroundings.workspace,
            protected: &self.surroundings.protected,
            clock: self.surroundings.clock.clone(),
            trusted: self.trusted,
            environment: self.named(found.variables),
            fetch: Arc::clone(&self.surroundings.fetch),
            reach: Arc::clone(&self.surroundings.reach),
        };
        (found.build)(&settings).map_err(|error| format!("{name}: {error}"))
    }

    /// Returns the variables of the environment that a built-in tool names.
    fn named(&self, variables: &[Variable]) -> Environment {
        let value = |name: &str| self.surroundings.environment.get(name).map(str::to_owned);
        let set =
            variables.iter().filter_map(|variable| Some((variable.name.to_owned(), value(variable.name)?)));
        Environment::new(set)
    }
}

impl Connection for DeclaredConnection {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        Box::pin(std::future::ready(self.tools(ensemble)))
    }
}

impl std::fmt::Debug for DeclaredConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeclaredConnection").field("invokers", &self.invokers).finish_non_exhaustive()
    }
}
