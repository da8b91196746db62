//! Known facts about a model, from the settings, the provider's cached list and the built-in table. The nearer source
//! wins, field by field.

use converse_config::SettingsPlan;
use converse_provider::{Facts, KnownModel, ListedModel, Price, known};

use super::{Reach, from_settings};
use crate::model_lists::ModelLists;
use crate::world::World;

/// The sources of facts about a model.
#[derive(Debug, Default)]
pub struct Lore {
    /// From the settings.
    pub own: Option<Facts>,
    /// From the provider's list.
    pub listed: Option<ListedModel>,
    pub table: Option<KnownModel>,
    /// Whether the model runs on this machine and is therefore free.
    pub free: bool,
    /// Whether the model needs the Responses API. Settings can say yes or no, other sources only yes.
    pub needs_responses: Option<bool>,
}

impl Lore {
    pub fn of(reach: &Reach, model: &str, files: &SettingsPlan, world: &World) -> Self {
        let listed = ModelLists::new(world).find(&reach.endpoint, model, World::now());
        Self::with(reach, model, files, listed)
    }

    /// Adds the facts from the provider's list.
    pub fn with(reach: &Reach, model: &str, files: &SettingsPlan, listed: Option<ListedModel>) -> Self {
        let plan = files.models.get(&format!("{}/{model}", reach.endpoint.provider));
        Self {
            own: plan.map(from_settings::facts),
            listed,
            table: of_table(reach, model),
            free: reach.row.is_some_and(|row| row.local) && reach.endpoint.is_loopback(),
            needs_responses: plan.and_then(|plan| plan.needs_responses),
        }
    }

    pub fn facts(&self) -> Facts {
        let table = self.table.as_ref().map(|known| known.facts.clone()).unwrap_or_default();
        let listed = self.listed.as_ref().map(|listed| listed.facts.clone()).unwrap_or_default();
        let facts = self.own.clone().unwrap_or_default().or(&listed).or(&table);
        Facts {
            price: facts.price.or(self.free.then_some(Price::NOTHING)),
            needs_responses: self.needs_responses.unwrap_or(facts.needs_responses),
            ..facts
        }
    }

    /// The sources that know anything: `settings`, `provider`, `table`.
    pub fn sources(&self) -> Vec<&'static str> {
        let sources = [
            (self.own.is_some(), "settings"),
            (self.listed.is_some(), "provider"),
            (self.table.is_some(), "table"),
        ];
        sources.into_iter().filter(|(knows, _)| *knows).map(|(_, name)| name).collect()
    }

    /// The day on which it is shut down.
    pub fn ends(&self) -> Option<&str> {
        let listed = self.listed.as_ref().and_then(|listed| listed.ends.as_deref());
        listed.or(self.table.as_ref().and_then(|known| known.ends))
    }
}

/// Formats a day as the table does.
pub fn today() -> String {
    World::now().strftime("%F").to_string()
}

/// The table describes the servers of vendors. Elsewhere a model of the same name may have other prices.
fn of_table(reach: &Reach, model: &str) -> Option<KnownModel> {
    let mut known = known(reach.row?.vendor(), model, &today())?;
    if !reach.is_vendors_own() {
        known.facts.price = None;
    }
    Some(known)
}
