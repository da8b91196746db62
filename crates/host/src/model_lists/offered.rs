//! The models that a provider offers.

use std::time::Duration;

use converse_config::SettingsPlan;
use converse_provider::{ListedModel, known_models};

use super::{A_DAY, ALL, ModelList, ModelLists, Offered, Unlisted, ask};
use crate::failure::{Failure, Kind};
use crate::model::{self, Lore, Reach, UNDERSTUDY};
use crate::runtime::block_on;
use crate::world::World;

/// The time for a whole list, all pages of it.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How recent a list must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// Requested now.
    New,
    /// At most a day old, else requested.
    Recent,
    /// As it was kept; nothing is requested.
    Kept,
}

/// A model, and what is known of it.
#[derive(Debug)]
pub struct OfferedModel {
    /// As `provider/model`.
    pub id: String,
    pub lore: Lore,
}

/// The list of the provider, outside an async runtime. A requested list is kept. `None`: there is no kept list.
pub fn provider_list(
    reach: &Reach,
    freshness: Freshness,
    world: &World,
) -> Result<Option<ModelList>, Failure> {
    block_on(provider_list_within(reach, freshness, TIMEOUT, world))?
}

/// The same; a request takes no longer than `timeout`.
pub async fn provider_list_within(
    reach: &Reach,
    freshness: Freshness,
    timeout: Duration,
    world: &World,
) -> Result<Option<ModelList>, Failure> {
    let (lists, now) = (ModelLists::new(world), World::now());
    let kept = match freshness {
        Freshness::New => None,
        Freshness::Recent => lists.get(&reach.endpoint, now, A_DAY),
        Freshness::Kept => return Ok(lists.get(&reach.endpoint, now, Duration::MAX)),
    };
    if kept.is_some() {
        return Ok(kept);
    }
    reach.require_base_url()?;
    model::require_key(reach)?;
    let endpoint = reach.signed();
    let asked = ask(&endpoint, reach.credentials.clone(), ALL, timeout);
    let Offered { models, whole } = asked.await.map_err(|why| unlisted(reach, why, timeout))?;
    let list = ModelList { models, whole, at: now };
    lists.put(&reach.endpoint, &list);
    Ok(Some(list))
}

fn unlisted(reach: &Reach, why: Unlisted, timeout: Duration) -> Failure {
    let name = &reach.endpoint.provider;
    let unreachable = |message| Failure::new(Kind::ProviderUnreachable, "unreachable", message);
    let no_list = |message| Failure::new(Kind::ProviderNonsense, "no-list", message);
    let failure = match why {
        Unlisted::Wire(error) => unreachable(format!("`{name}` cannot be reached: {}", error.message)),
        Unlisted::Late => {
            unreachable(format!("`{name}` did not answer within {} seconds", timeout.as_secs()))
        }
        Unlisted::Status(401 | 403) => {
            Failure::new(Kind::ProviderRefused, "auth", format!("`{name}` does not accept the key"))
        }
        Unlisted::Status(status) => no_list(format!("`{name}` does not list its models (status {status})")),
        Unlisted::Nonsense(why) => no_list(format!("`{name}` does not list its models: {why}")),
    };
    failure.hint("`--offline` shows the cached list and the built-in models")
}

/// The one model of the understudy, which has no list.
pub fn understudy() -> OfferedModel {
    OfferedModel { id: UNDERSTUDY.to_owned(), lore: Lore { free: true, ..Lore::default() } }
}

/// The models in the list of the provider. Without a list, those in the built-in table and the settings.
pub fn offered_models(
    reach: &Reach,
    listed: Option<Vec<ListedModel>>,
    files: &SettingsPlan,
) -> Vec<OfferedModel> {
    let prefix = format!("{}/", reach.endpoint.provider);
    let offered = |name: String, listed| OfferedModel {
        id: format!("{prefix}{name}"),
        lore: Lore::with(reach, &name, files, listed),
    };
    let mut models: Vec<OfferedModel> = match listed {
        Some(listed) => listed.into_iter().map(|model| offered(model.name.clone(), Some(model))).collect(),
        None => {
            let today = model::today();
            let known = reach.row.into_iter().flat_map(|row| known_models(row.vendor(), &today));
            let known = known.map(|known| known.name.to_owned());
            let own = files.models.keys().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned);
            let mut names: Vec<String> = known.chain(own).collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().map(|name| offered(name, None)).collect()
        }
    };
    models.sort_by(|a, b| a.id.cmp(&b.id));
    models
}
