//! `converse models`: who can be asked, what they offer, and what is known of a model.

mod facts;
mod offered;
mod providers;
mod show;

use std::time::Duration;

use crate::args::{ModelsListArgs, ModelsShowArgs};
use converse_host::failure::{Failure, Kind};
use converse_host::model::{self, Reach};
use converse_host::model_lists::{self, A_DAY, ModelList, ModelLists, Offered, Unlisted};
use converse_host::settings::Files;
use converse_host::world::World;
use converse_terminal::console::Console;

/// For a whole list, all pages of it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn list(args: &ModelsListArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let (files, _) = Files::read(world).checked()?;
    match &args.provider {
        None => providers::list(args.json, &files, world),
        Some(provider) => {
            console.context.redactor.learn(model::keys(&files, world)?);
            offered::list(provider, args, &files, world)
        }
    }
}

pub(crate) fn show(args: &ModelsShowArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let (files, _) = Files::read(world).checked()?;
    console.context.redactor.learn(model::keys(&files, world)?);
    show::show(args, &files, world)
}

/// How much a list of the provider is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Asked for, whatever is kept.
    New,
    /// One of today is as good.
    Fresh,
    /// Nobody is asked.
    Kept,
}

/// The provider's list, asked for or kept; an asked one is kept.
fn provider_list(reach: &Reach, wanted: Wanted, world: &World) -> Result<Option<ModelList>, Failure> {
    let (lists, now) = (ModelLists::new(world), World::now());
    let age = if wanted == Wanted::Kept { Duration::MAX } else { A_DAY };
    if wanted != Wanted::New
        && let Some(list) = lists.get(&reach.endpoint, now, age)
    {
        return Ok(Some(list));
    }
    if wanted == Wanted::Kept {
        return Ok(None);
    }
    reach.require_base_url()?;
    model::require_key(reach)?;
    let endpoint = reach.signed();
    let asked = model_lists::ask(&endpoint, reach.credentials.clone(), model_lists::ALL, PATIENCE);
    let Offered { models, whole } =
        converse_host::runtime::block_on(asked)?.map_err(|why| unlisted(reach, why))?;
    let list = ModelList { models, whole, at: now };
    lists.put(&reach.endpoint, &list);
    Ok(Some(list))
}

fn unlisted(reach: &Reach, why: Unlisted) -> Failure {
    let name = &reach.endpoint.provider;
    let failure = match why {
        Unlisted::Wire(error) => Failure::new(
            Kind::ProviderUnreachable,
            "unreachable",
            format!("`{name}` cannot be reached: {}", error.message),
        ),
        Unlisted::Late => {
            let message = format!("`{name}` did not answer within {} seconds", PATIENCE.as_secs());
            Failure::new(Kind::ProviderUnreachable, "unreachable", message)
        }
        Unlisted::Status(401 | 403) => {
            Failure::new(Kind::ProviderRefused, "auth", format!("`{name}` does not take the key"))
        }
        Unlisted::Status(status) => {
            let message = format!("`{name}` gives no list of its models (status {status})");
            Failure::new(Kind::ProviderNonsense, "no-list", message)
        }
        Unlisted::Nonsense(why) => {
            let message = format!("`{name}` gives no list of its models: {why}");
            Failure::new(Kind::ProviderNonsense, "no-list", message)
        }
    };
    failure.hint("`--offline` shows what is kept and what the program knows")
}
