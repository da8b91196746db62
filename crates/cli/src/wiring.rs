//! Plans to live things: a roster of ensembles, a wire to the model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use converse_config::{EnsemblePlan, Rule};
use converse_engine::Wire;
use converse_ensemble::{Artefacts, BuiltinConnection, Ensemble, Roster, Surroundings};

use crate::adapters::http::HttpWire;
use crate::adapters::understudy::UnderstudyWire;
use crate::catalogue::all_builtins;
use crate::failure::{Failure, Kind};
use crate::model::Model;
use crate::world::World;

/// The roster, and what could not be connected, in words.
pub(crate) struct Connected {
    pub(crate) roster: Roster,
    pub(crate) errors: Vec<String>,
}

/// Connects the chosen ensembles. A `required` one that fails stops the run.
pub(crate) async fn connect(
    plans: &[&EnsemblePlan],
    rules: Vec<Rule>,
    artefacts: Arc<dyn Artefacts>,
    world: &World,
) -> Result<Connected, Failure> {
    let surroundings = Arc::new(Surroundings {
        workspace: world.cwd.clone(),
        protected: protected(world),
        clock: Arc::new(jiff::Timestamp::now),
    });
    let mut errors = Vec::new();
    let mut ensembles = Vec::new();
    for plan in plans {
        if plan.connection.is_some() {
            let error = format!("ensemble `{}`: this version cannot connect to servers yet", plan.name);
            stop_if_required(plan, &error)?;
            errors.push(error);
            continue;
        }
        let connection = BuiltinConnection::new(plan, all_builtins(), Arc::clone(&surroundings));
        ensembles.push(Ensemble::new(plan, Box::new(connection)));
    }
    let (roster, failures) = Roster::connect(ensembles, rules, artefacts).await;
    for failure in failures {
        let error = failure.to_string();
        if let Some(plan) = plans.iter().find(|plan| plan.name.as_str() == failure.ensemble) {
            stop_if_required(plan, &error)?;
        }
        errors.push(error);
    }
    Ok(Connected { roster, errors })
}

fn stop_if_required(plan: &EnsemblePlan, error: &str) -> Result<(), Failure> {
    if plan.required {
        let place = format!("{}:{}", plan.origin.file, plan.origin.line);
        return Err(Failure::new(Kind::Ensemble, "required-ensemble", error)
            .hint(format!("{place} says that it is required")));
    }
    Ok(())
}

/// What tools may never write to: our own configuration, sessions, and whom the user has trusted.
fn protected(world: &World) -> Vec<PathBuf> {
    [world.config_dir(), world.data_dir(), world.state_dir()].into_iter().flatten().collect()
}

pub(crate) fn wire(model: &Model, connect_timeout: Duration) -> Box<dyn Wire> {
    if model.is_understudy() {
        return Box::new(UnderstudyWire);
    }
    Box::new(HttpWire::new(model.key.clone(), connect_timeout))
}
