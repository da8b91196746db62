//! The models of a run, and the connections to them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use converse_engine::{ByteStream, Route, Wire, WireError};
use converse_provider::{AuthScheme, processor_of};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};

use crate::cassette::CassetteMode;
use crate::http::HttpWire;
use crate::model::Model;
use crate::settings::Settings;

/// The connection of each model. Cheap to share; a clone uses the same connections.
#[derive(Clone)]
pub struct Wires {
    first: Arc<dyn Wire>,
    others: Vec<Arc<dyn Wire>>,
}

crate::opaque_debug!(Wires);

impl Wires {
    /// Puts something around the connection of each model of these settings.
    #[must_use]
    pub fn map(self, settings: &Settings, around: impl Fn(&Model, Arc<dyn Wire>) -> Arc<dyn Wire>) -> Self {
        let others = settings.fallbacks.models.iter().zip(self.others);
        let others = others.map(|(model, wire)| around(model, wire)).collect();
        Self { first: around(&settings.model, self.first), others }
    }
}

impl Settings {
    pub fn wires(&self) -> Wires {
        let wires = |model: &Model| Arc::from(wire(model, self.connect_timeout, &self.cassette));
        Wires { first: wires(&self.model), others: self.fallbacks.models.iter().map(wires).collect() }
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

/// Returns the connection to a model, which may be recorded or replayed.
pub(crate) fn wire(model: &Model, connect_timeout: Duration, cassette: &CassetteMode) -> Box<dyn Wire> {
    cassette.wire(model, || {
        if model.is_understudy() {
            return Box::new(UnderstudyWire);
        }
        Box::new(HttpWire::new(model.credentials.clone(), connect_timeout))
    })
}

/// The embedded understudy behind the same port as HTTP, so that every layer above it is the real one.
#[derive(Debug)]
struct UnderstudyWire;

impl Wire for UnderstudyWire {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        let response = converse_understudy::respond(&request);
        let response = response.map(|body| stream::iter([Ok(body)]).boxed());
        Box::pin(std::future::ready(Ok(response)))
    }
}
