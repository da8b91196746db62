//! `converse models list PROVIDER`: what it offers, from its own endpoint, with what the program's table adds.

use converse_config::SettingsPlan;
use converse_provider::known_models;
use serde_json::{Value, json};

use super::facts::{UNKNOWN, price, sources};
use super::{Wanted, provider_list};
use crate::args::ModelsListArgs;
use converse_host::failure::Failure;
use converse_host::model::{self, Lore, Reach, UNDERSTUDY};
use converse_host::model_lists::as_json;
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};
use converse_terminal::render::table::table;

/// A model and what is known of it.
struct Offer {
    /// As `provider/model`.
    id: String,
    lore: Lore,
}

pub(super) fn list(
    provider: &str,
    args: &ModelsListArgs,
    files: &SettingsPlan,
    world: &World,
) -> Result<(), Failure> {
    if provider == UNDERSTUDY {
        return shown(vec![understudy()], provider, args);
    }
    let reach = model::reach(provider, files, world).ok_or_else(|| model::unknown(provider, files))?;
    let wanted = match (args.refresh, args.offline) {
        (true, _) => Wanted::New,
        (_, true) => Wanted::Kept,
        _ => Wanted::Fresh,
    };
    let list = provider_list(&reach, wanted, world)?;
    if list.as_ref().is_some_and(|list| !list.whole) {
        write_stderr(&format!(
            "note: `{provider}` lists more models than are read here; these are the first\n"
        ));
    }
    shown(offers(&reach, list.map(|list| list.models), files), provider, args)
}

fn shown(offers: Vec<Offer>, provider: &str, args: &ModelsListArgs) -> Result<(), Failure> {
    if args.json {
        return Ok(write_json(&offers.iter().map(row).collect())?);
    }
    if offers.is_empty() {
        write_stderr(&format!("no model of `{provider}` is known here\n"));
        return Ok(());
    }
    let heading =
        ["model", "window", "price per million tokens", "known from", ""].map(str::to_owned).to_vec();
    let rows: Vec<_> = std::iter::once(heading).chain(offers.iter().map(cells)).collect();
    Ok(write_stdout(&table(&rows))?)
}

/// It has one model, and no list.
fn understudy() -> Offer {
    Offer { id: UNDERSTUDY.to_owned(), lore: Lore { free: true, ..Lore::default() } }
}

/// What the provider lists; without its list, what the table and the settings know.
fn offers(
    reach: &Reach,
    listed: Option<Vec<converse_provider::ListedModel>>,
    files: &SettingsPlan,
) -> Vec<Offer> {
    let prefix = format!("{}/", reach.endpoint.provider);
    let mut offers: Vec<Offer> = match listed {
        Some(listed) => {
            let offer = |model: converse_provider::ListedModel| {
                let name = model.name.clone();
                Offer { id: format!("{prefix}{name}"), lore: Lore::with(reach, &name, files, Some(model)) }
            };
            listed.into_iter().map(offer).collect()
        }
        None => {
            let today = model::today();
            let known = reach.row.into_iter().flat_map(|row| known_models(row.vendor(), &today));
            let known = known.map(|known| known.name.to_owned());
            let own = files.models.keys().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_owned);
            let mut names: Vec<String> = known.chain(own).collect();
            names.sort_unstable();
            names.dedup();
            let offer = |name: String| Offer {
                id: format!("{prefix}{name}"),
                lore: Lore::with(reach, &name, files, None),
            };
            names.into_iter().map(offer).collect()
        }
    };
    offers.sort_by(|a, b| a.id.cmp(&b.id));
    offers
}

fn cells(offer: &Offer) -> Vec<String> {
    let facts = offer.lore.facts();
    let unknown = || UNKNOWN.to_owned();
    vec![
        offer.id.clone(),
        facts.window.map_or_else(unknown, |tokens| tokens.to_string()),
        facts.price.as_ref().map_or_else(unknown, price),
        sources(&offer.lore).join(", "),
        offer.lore.ends().map(|day| format!("ends {day}")).unwrap_or_default(),
    ]
}

fn row(offer: &Offer) -> Value {
    json!({
        "id": offer.id,
        "facts": as_json(&offer.lore.facts()),
        "known_from": sources(&offer.lore),
        "ends": offer.lore.ends(),
    })
}
