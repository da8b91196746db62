//! The ways of a run: the model that is asked, and those who answer instead.

use converse_canister::Cost;
use converse_config::SettingsPlan;
use converse_engine::{Route, Wire};
use converse_provider::processor_of;

use crate::adapters::tape::Tape;
use crate::failure::Failure;
use crate::model::{self, Model};
use crate::settings::Settings;
use crate::wiring;
use crate::world::World;

/// Who answers instead, and who was named for it and cannot.
#[derive(Debug, Default)]
pub(crate) struct Fallbacks {
    pub(crate) models: Vec<Model>,
    /// A line for each that is left out.
    pub(crate) left_out: Vec<String>,
}

/// The models of those names that can be asked. One without its key is left out: the first may well answer.
pub(crate) fn fallbacks(
    named: &[String],
    first: &Model,
    limit: Option<Cost>,
    tape: &Tape,
    files: &SettingsPlan,
    world: &World,
) -> Result<Fallbacks, Failure> {
    let mut fallbacks = Fallbacks::default();
    for name in named {
        let model = model::choose(Some(name), files, world)?;
        if model.id == first.id
            || fallbacks.models.iter().any(|known| known.id == model.id)
            || !tape.knows(&model.id)
        {
            continue;
        }
        let keyed = if tape.answers_for_models() { Ok(()) } else { model.require_key() };
        match keyed.and_then(|()| require_price(&model, limit)) {
            Ok(()) => fallbacks.models.push(model),
            Err(why) => {
                fallbacks.left_out.push(format!("warning: no fallback to {}: {}", model.id, why.message))
            }
        }
    }
    Ok(fallbacks)
}

/// A limit of costs holds only where it is known what things cost.
pub(crate) fn require_price(model: &Model, limit: Option<Cost>) -> Result<(), Failure> {
    let told = || model.row.is_some_and(|row| row.reports_cost());
    if limit.is_none() || model.facts.price.is_some() || model.is_understudy() || told() {
        return Ok(());
    }
    let message = format!("a limit of costs cannot be held: what `{}` costs is not known", model.id);
    Err(Failure::usage("unknown-price", message)
        .of_model(&model.id)
        .hint(format!(
            "say it in your own config.toml: `[models.\"{}\"] price = {{ input = USD, output = USD }}`, per million tokens",
            model.id
        ))
        .hint("or go without `--max-cost`, or `max_cost` of `[limits]`"))
}

/// What carries the requests of each.
pub(crate) struct Wires {
    first: Box<dyn Wire>,
    others: Vec<Box<dyn Wire>>,
}

impl Settings {
    pub(crate) fn wires(&self) -> Wires {
        let wire = |model: &Model| wiring::wire(model, self.connect_timeout, &self.tape);
        Wires { first: wire(&self.model), others: self.fallbacks.models.iter().map(wire).collect() }
    }

    /// The first, and those after it.
    pub(crate) fn routes<'w>(&self, wires: &'w Wires) -> (Route<'w>, Vec<Route<'w>>) {
        let others = self.fallbacks.models.iter().zip(&wires.others);
        (
            self.route(&self.model, wires.first.as_ref()),
            others.map(|(model, wire)| self.route(model, wire.as_ref())).collect(),
        )
    }

    fn route<'w>(&self, model: &Model, wire: &'w dyn Wire) -> Route<'w> {
        Route {
            endpoint: model.endpoint.clone(),
            processor: processor_of(&model.endpoint),
            model: model.name.clone(),
            controls: self.controls.clone(),
            facts: model.facts.clone(),
            wire,
        }
    }
}
