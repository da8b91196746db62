//! [`OwnTool`]: a tool of the program that embeds this library.

use std::fmt;
use std::sync::Arc;

use converse_canister::{Arguments, EnsembleName, InvokerName};
use converse_config::{Effects, EnsemblePlan, Origin, Policy, Scope};
use converse_ensemble::{Answer, ConnectError, Connection, Context, Ensemble, Invocable, InvokeError, Tool};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::failure::Failure;

/// The ensemble of these tools; rules name a tool `own.NAME`.
const ENSEMBLE: &str = "own";

/// A tool: a name, a description, a JSON Schema and an async method.
///
/// Arguments are checked against the schema before the call. Rules, approval, timeout and the audit log apply as for
/// every other tool.
pub trait OwnTool: Send + Sync + 'static {
    /// The name: letters, digits, `_` and `-`.
    const NAME: &'static str;
    /// The description for the model.
    const DESCRIPTION: &'static str;
    /// The effect of a call. A tool that only computes or reads runs without approval.
    const EFFECTS: Effects = Effects::External;

    /// The JSON Schema of the arguments, an object.
    fn schema() -> Value;

    /// Runs a call.
    ///
    /// # Errors
    ///
    /// The message for the model.
    fn call(&self, arguments: Value) -> impl Future<Output = Result<String, String>> + Send;
}

struct Adapted<T>(T);

impl<T: OwnTool> Invocable for Adapted<T> {
    fn invoke<'a>(
        &'a self,
        _: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        let arguments = Value::Object(arguments.object.clone());
        async move {
            let called = self.0.call(arguments).await;
            Ok(called.map_or_else(Answer::error, Answer::text))
        }
        .boxed()
    }
}

#[derive(Clone)]
struct Declared {
    name: &'static str,
    description: &'static str,
    effects: Effects,
    schema: Value,
    invocable: Arc<dyn Invocable>,
}

/// The tools of a program as an ensemble.
#[derive(Clone, Default)]
pub(crate) struct OwnTools(Vec<Declared>);

impl fmt::Debug for OwnTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| tool.name)).finish()
    }
}

impl OwnTools {
    pub(crate) fn add<T: OwnTool>(&mut self, tool: T) {
        self.0.push(Declared {
            name: T::NAME,
            description: T::DESCRIPTION,
            effects: T::EFFECTS,
            schema: T::schema(),
            invocable: Arc::new(Adapted(tool)),
        });
    }

    /// Returns `None` without tools.
    ///
    /// # Errors
    ///
    /// A name is not valid.
    pub(crate) fn ensemble(self) -> Result<Option<Ensemble>, Failure> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let bad = |name: &str| Failure::usage("bad-tool", format!("`{name}` is not a tool name"));
        for tool in &self.0 {
            InvokerName::try_from(tool.name.to_owned()).map_err(|_| bad(tool.name))?;
        }
        let name = EnsembleName::try_from(ENSEMBLE.to_owned()).map_err(|_| bad(ENSEMBLE))?;
        let origin = Origin { scope: Scope::Explicit, file: "this program".to_owned(), line: 1 };
        Ok(Some(Ensemble::new(&EnsemblePlan::new(name, origin), Box::new(self))))
    }
}

impl Connection for OwnTools {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let tool = |tool: &Declared| {
            let name = InvokerName::try_from(tool.name.to_owned()).ok()?;
            let policy = Policy { effects: tool.effects, ..Policy::default() };
            let (description, invocable) = (tool.description.to_owned(), Arc::clone(&tool.invocable));
            Some(ensemble.tool(&name, description, tool.schema.clone(), policy, true, invocable))
        };
        std::future::ready(Ok(self.0.iter().filter_map(tool).collect())).boxed()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}
