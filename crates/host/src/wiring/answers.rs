//! Cached results of tools: which results are reused, and what must be equal for that.

use std::sync::Arc;

use converse_canister::{Digest, canonical};
use converse_config::EnsemblePlan;
use converse_ensemble::{Cached, Connection, Results, ResultsInMemory};
use serde_json::json;

use super::{Wiring, variables_of_builtins};
use crate::results::{ResultFiles, now};

impl Wiring<'_> {
    /// A run without a session caches in memory only.
    pub(super) fn results(&self) -> Arc<dyn Results> {
        if self.contents.is_of_a_session() {
            Arc::new(ResultFiles::new(self.world.cache_dir(), now))
        } else {
            Arc::new(ResultsInMemory::new(now))
        }
    }

    /// Wraps the connection with the cache if any of its tools may reuse results, because the cache has a cost.
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

    /// Returns a digest of everything that a result depends on beside the tool and its arguments: the declaration, and
    /// the values of variables that it refers to or that its built-ins read.
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
