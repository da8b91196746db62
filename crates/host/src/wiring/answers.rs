//! Which answers of tools are given again, and what must be the same for that.

use std::sync::Arc;

use converse_canister::{Digest, canonical};
use converse_config::EnsemblePlan;
use converse_ensemble::{Cached, Connection, Results};
use serde_json::json;

use super::{Wiring, variables_of_builtins};
use crate::results::{ResultFiles, ResultsInMemory, now};

impl Wiring<'_> {
    /// What a run without a session learns is forgotten with it.
    pub(super) fn results(&self) -> Arc<dyn Results> {
        if self.contents.is_of_a_session() {
            Arc::new(ResultFiles::new(self.world.cache_dir(), now))
        } else {
            Arc::new(ResultsInMemory::new(now))
        }
    }

    /// The connection, with tools that give answers again if any of them may: what that takes is not for free.
    pub(super) fn remembering<C: Connection + 'static>(
        &self,
        plan: &EnsemblePlan,
        results: &Arc<dyn Results>,
        inner: C,
    ) -> Box<dyn Connection> {
        let of_invokers = plan.invokers.iter().map(|invoker| &invoker.policy);
        let mut policies = of_invokers.chain(plan.tools.values()).chain([&plan.defaults]);
        if policies.all(|policy| policy.cache.is_none()) {
            return Box::new(inner);
        }
        Box::new(Cached { inner, results: Arc::clone(results), circumstances: self.circumstances(plan) })
    }

    /// What an answer depends on beside the tool and its arguments: all that is declared, and what the variables hold
    /// that it refers to or that its built-ins read. Values go into the digest only.
    fn circumstances(&self, plan: &EnsemblePlan) -> Digest {
        let of_builtins = variables_of_builtins(plan).map(|variable| variable.name);
        let mut names: Vec<&str> = plan.variables().chain(of_builtins).collect();
        names.sort_unstable();
        names.dedup();
        let variables: Vec<_> = names.iter().map(|name| (name, self.world.env.get(*name))).collect();
        let whole = json!({
            "workspace": self.world.cwd.to_string_lossy(),
            "plan": format!("{plan:?}"),
            "variables": variables,
        });
        converse_session::digest(canonical(&whole).as_bytes())
    }
}
