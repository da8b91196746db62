//! The tools of a replay, which replace everything that could answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use converse_canister::{Arguments, Cost, InvokerName};
use converse_config::{EnsemblePlan, InvokerKind};
use converse_ensemble::{
    Answer, Artefacts as _, ConnectError, Connection, Context, Definition, Ensemble, Instructions, Invocable,
    InvokeError, Tool, declared_definition,
};
use converse_session::cassette::{Blob, Call, Offer, Offered, Player, ServerInstructions};
use futures_util::future::BoxFuture;
use serde_json::json;

use super::given::outcome;
use super::recorded::compared;
use crate::contents::Kept;
use crate::secrets::Redactor;

/// A connection without a server, which offers the recorded tools.
pub(super) struct Replayed {
    plan: EnsemblePlan,
    player: Arc<Player>,
    redactor: Redactor,
    contents: Kept,
    looks: AtomicU64,
}

impl Replayed {
    pub(super) fn new(plan: &EnsemblePlan, player: Arc<Player>, redactor: Redactor, contents: Kept) -> Self {
        Self { plan: plan.clone(), player, redactor, contents, looks: AtomicU64::new(0) }
    }

    fn tools(&self, ensemble: &Ensemble, look: u64) -> Result<Vec<Tool>, String> {
        let Some(Offer { offered, .. }) = self.player.offer(ensemble.name.as_str(), look) else {
            return Err("it is not on the cassette".to_owned());
        };
        match offered {
            Offered::Failed(reason) => Err(reason.clone()),
            Offered::Declared(_) | Offered::Tools(_) if self.plan.connection.is_none() => {
                Ok(self.declared(ensemble))
            }
            Offered::Declared(_) => Err("its tools were declared in the recording".to_owned()),
            Offered::Tools(tools) => tools.iter().map(|tool| self.listed(ensemble, tool)).collect(),
        }
    }

    /// Returns the tools of the current descriptor, so that changes become visible.
    fn declared(&self, ensemble: &Ensemble) -> Vec<Tool> {
        let tool = |plan: &converse_config::InvokerPlan| {
            let nothing = || json!({ "type": "object", "properties": {} }).into();
            let arguments = plan.arguments.clone().unwrap_or_else(nothing);
            let builtin = matches!(plan.kind, InvokerKind::Builtin(_));
            let (description, policy) = (plan.description.clone(), plan.policy.clone());
            let tool = ensemble.tool(&plan.name, description, arguments, policy, builtin, self.invocable());
            tool.defined_as(declared_definition(plan))
        };
        self.plan.invokers.iter().map(tool).collect()
    }

    /// As its server had it then, under the policy of today.
    fn listed(&self, ensemble: &Ensemble, tool: &converse_session::cassette::Tool) -> Result<Tool, String> {
        let converse_session::cassette::Tool { name, description, arguments, definition } = tool;
        let name = InvokerName::try_from(name.clone()).map_err(|error| format!("{name}: {error}"))?;
        let policy = self.plan.tools.get(&name).unwrap_or(&self.plan.defaults).clone();
        let (description, arguments) = (description.clone(), arguments.clone());
        let tool = ensemble.tool(&name, description, arguments, policy, false, self.invocable());
        Ok(match definition {
            Some(definition) => tool.defined_as(Definition::of(definition)),
            None => tool,
        })
    }

    fn invocable(&self) -> Arc<dyn Invocable> {
        Arc::new(ReplayedTool {
            player: Arc::clone(&self.player),
            redactor: self.redactor.clone(),
            contents: self.contents.clone(),
        })
    }
}

impl Connection for Replayed {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        let failed = |reason| ConnectError { ensemble: ensemble.name.to_string(), reason };
        Box::pin(std::future::ready(self.tools(ensemble, 0).map_err(failed)))
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        let look = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let news = self.player.offer(ensemble.name.as_str(), look);
        let tools = news.and_then(|_| self.tools(ensemble, look).ok());
        Box::pin(std::future::ready(tools))
    }

    fn instructions(&self) -> Option<Instructions> {
        let ServerInstructions { text, sha256 } =
            self.player.offer(self.plan.name.as_str(), 0)?.instructions.clone()?;
        Some(Instructions { text, sha256 })
    }
}

struct ReplayedTool {
    player: Arc<Player>,
    redactor: Redactor,
    contents: Kept,
}

impl Invocable for ReplayedTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        let call = self.player.call(&context.invoker, &compared(arguments, &self.redactor));
        Box::pin(std::future::ready(match call {
            Err(miss) => Err(InvokeError::Failed(miss.message)),
            Ok(Call { given, blobs, cost, .. }) => {
                let shown = self.contents.shown();
                for bytes in blobs.iter().filter_map(Blob::bytes) {
                    let _ = shown.keep(&bytes);
                }
                if cost > 0 {
                    context.cost.add(Cost(cost));
                }
                outcome(given)
            }
        }))
    }
}
