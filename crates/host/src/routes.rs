//! The models of a run, and the connections to them.

use std::sync::Arc;

use converse_engine::{Route, Wire};
use converse_provider::processor_of;

use crate::model::Model;
use crate::settings::Settings;
use crate::wiring;

/// The connection of each model. Cheap to share; a clone uses the same connections.
#[derive(Clone)]
pub struct Wires {
    first: Arc<dyn Wire>,
    others: Vec<Arc<dyn Wire>>,
}

crate::opaque_debug!(Wires);

impl Settings {
    pub fn wires(&self) -> Wires {
        let wire = |model: &Model| Arc::from(wiring::wire(model, self.connect_timeout, &self.cassette));
        Wires { first: wire(&self.model), others: self.fallbacks.models.iter().map(wire).collect() }
    }

    /// The first model and its fallbacks.
    pub fn routes<'w>(&self, wires: &'w Wires) -> (Route<'w>, Vec<Route<'w>>) {
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
