//! The parts of a question that come from MCP servers: attached resources and a prompt. Servers that the run connects
//! anyway are used; other servers are started for this and ended again.

use std::sync::Arc;

use converse_config::EnsemblePlan;

use super::Candidate;
use super::ask_run::AskRun;
use converse_host::attach::UserInput;
use converse_host::catalogue::Catalogue;
use converse_host::context::while_waiting;
use converse_host::failure::{Failure, Kind};
use converse_host::wiring::{Connected, Wiring};

impl AskRun<'_> {
    /// The ensembles whose servers are asked for something: known, trusted, with a server. Before anything is started.
    pub(super) fn read_from<'c>(&self, catalogue: &'c Catalogue) -> Result<Vec<&'c EnsemblePlan>, Failure> {
        let plan = |name: &str| {
            let plan = catalogue.named(name)?;
            match plan.connection {
                Some(_) => Ok(plan),
                None => {
                    let message = format!("the ensemble `{name}` has no MCP server: it has tools only");
                    Err(Failure::usage("no-server", message))
                }
            }
        };
        self.said.servers().into_iter().map(plan).collect()
    }

    pub(super) async fn gathered(
        &self,
        read_from: &[&EnsemblePlan],
        wiring: &Wiring<'_>,
        connected: &Connected,
        candidates: &[Candidate],
    ) -> Result<Arc<UserInput>, Failure> {
        if read_from.is_empty() {
            return Ok(Arc::clone(&self.said));
        }
        let apart = read_from.iter().copied().filter(|plan| connected.server(plan.name.as_str()).is_none());
        let readers = wiring.readers(&apart.collect::<Vec<_>>());
        let server = |name: &str| {
            if let Some(failed) = connected.failures.iter().find(|failure| failure.ensemble == name) {
                return Err(Failure::new(Kind::Ensemble, "ensemble", failed.to_string()));
            }
            let server = connected.server(name).or_else(|| readers.server(name));
            server.ok_or_else(|| super::internal(format!("nobody reads from `{name}`")))
        };
        let (redactor, held) = (&wiring.context.redactor, wiring.contents.in_memory());
        let names: Vec<&str> = read_from.iter().map(|plan| plan.name.as_str()).collect();
        let what = format!("reading from {}", names.join(", "));
        let gathering = self.said.gathered(server, redactor, &held);
        let gathering = while_waiting(wiring.context.notices.as_ref(), &what, gathering);
        let said = wiring.unless_stopped(gathering).await;
        readers.disconnect(wiring.context).await;
        let said = said??;
        for Candidate { settings, .. } in candidates {
            let model = &settings.model;
            said.fits(&model.endpoint, &model.facts, &model.id)?;
        }
        Ok(Arc::new(said))
    }
}
