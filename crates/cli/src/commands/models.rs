//! `converse models`: providers, the models that they offer, and the facts of a model.

mod facts;

use converse_config::SettingsPlan;
use serde_json::{Value, json};

use crate::args::{ModelsListArgs, ModelsShowArgs};
use converse_host::failure::Failure;
use converse_host::model::{self, Lore, Model, Reach, UNDERSTUDY};
use converse_host::model_lists::{Freshness, OfferedModel, offered_models, provider_list, understudy};
use converse_host::settings::Files;
use converse_host::world::World;
use converse_terminal::console::Console;
use converse_terminal::render::models::{UNKNOWN, cells, ends};
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};
use converse_terminal::render::table::{headed, table};

use facts::lines;

pub(crate) fn list(args: &ModelsListArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let (files, _) = Files::read(world).checked()?;
    let Some(provider) = args.provider.as_deref() else { return providers(args.json, &files, world) };
    console.context.redactor.learn(model::keys(&files, world)?);
    let models = offered(provider, args, &files, world)?;
    if args.json {
        return Ok(write_json(&models.iter().map(model_row).collect())?);
    }
    if models.is_empty() {
        write_stderr(&format!("no model of `{provider}` is known here\n"));
        return Ok(());
    }
    let heading = ["model", "window", "price per million tokens", "known from", ""];
    Ok(write_stdout(&headed(&heading, models.iter().map(model_cells)))?)
}

fn offered(
    provider: &str,
    args: &ModelsListArgs,
    files: &SettingsPlan,
    world: &World,
) -> Result<Vec<OfferedModel>, Failure> {
    if provider == UNDERSTUDY {
        return Ok(vec![understudy()]);
    }
    let reach = model::reach(provider, files, world).ok_or_else(|| model::unknown(provider, files))?;
    let freshness = match (args.refresh, args.offline) {
        (true, _) => Freshness::New,
        (_, true) => Freshness::Kept,
        _ => Freshness::Recent,
    };
    let list = provider_list(&reach, freshness, world)?;
    if list.as_ref().is_some_and(|list| !list.whole) {
        write_stderr(&format!("note: `{provider}` lists more models; only the first ones are shown\n"));
    }
    Ok(offered_models(&reach, list.map(|list| list.models), files))
}

fn model_cells(offered: &OfferedModel) -> Vec<String> {
    let mut row = cells(offered);
    row.push(offered.lore.sources().join(", "));
    row.push(ends(offered).unwrap_or_default());
    row
}

fn model_row(offered: &OfferedModel) -> Value {
    json!({
        "id": offered.id,
        "facts": offered.lore.facts(),
        "known_from": offered.lore.sources(),
        "ends": offered.lore.ends(),
    })
}

/// Every known provider: whether its key is set, its default model, its address.
fn providers(as_json: bool, files: &SettingsPlan, world: &World) -> Result<(), Failure> {
    let all = model::all(files, world);
    if as_json {
        let mut rows: Vec<Value> = all.iter().map(provider_row).collect();
        rows.push(
            json!({ "provider": UNDERSTUDY, "dialect": "openai-chat", "base_url": null, "key_variables": [],
            "key_set": true, "default_model": UNDERSTUDY }),
        );
        return Ok(write_json(&Value::Array(rows))?);
    }
    let last = [UNDERSTUDY, "none needed", UNDERSTUDY, "in this program: no network, no language model"];
    let rows = all.iter().map(provider_cells).chain([last.map(str::to_owned).to_vec()]);
    Ok(write_stdout(&headed(&["provider", "key", "default model", "base URL"], rows))?)
}

fn provider_cells(reach: &Reach) -> Vec<String> {
    let key = match unset(reach) {
        Some(variable) => format!("{variable} is not set"),
        None if reach.credentials.are_set() => "set".to_owned(),
        None => "none needed".to_owned(),
    };
    let default = reach.default_model.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let base_url = match (&reach.unusable, reach.endpoint.base_url.as_str()) {
        (Some((from, _)), _) => format!("{from} cannot be used"),
        (None, "") => UNKNOWN.to_owned(),
        (None, url) => url.to_owned(),
    };
    vec![reach.endpoint.provider.to_string(), key, default, base_url]
}

fn provider_row(reach: &Reach) -> Value {
    // Headers may be as secret as the key.
    let variables = reach.key_variables.iter().map(String::as_str).chain(reach.credentials.variables());
    json!({
        "provider": reach.endpoint.provider,
        "dialect": reach.endpoint.dialect.label(),
        "base_url": Some(&reach.endpoint.base_url).filter(|url| !url.is_empty()),
        "key_variables": variables.collect::<Vec<_>>(),
        "key_set": unset(reach).is_none(),
        "default_model": reach.default_model,
    })
}

/// The first variable that is needed and not set.
fn unset(reach: &Reach) -> Option<&str> {
    let key = reach.key_variables.first().filter(|_| reach.credentials.key.is_none());
    key.map(String::as_str).or_else(|| reach.credentials.unset())
}

pub(crate) fn show(args: &ModelsShowArgs, console: &Console, world: &World) -> Result<(), Failure> {
    let (files, _) = Files::read(world).checked()?;
    console.context.redactor.learn(model::keys(&files, world)?);
    let model = model::choose(Some(&args.model), &files, world)?;
    let lore = match model::reach(model.endpoint.provider.as_str(), &files, world) {
        Some(reach) => {
            let freshness = if args.offline { Freshness::Kept } else { Freshness::Recent };
            // Without the list, the other sources are shown.
            if let Err(failure) = provider_list(&reach, freshness, world) {
                write_stderr(&format!("note: {}\n", failure.message));
            }
            Lore::of(&reach, &model.name, &files, world)
        }
        None => Lore { free: true, ..Lore::default() },
    };
    if args.json {
        return Ok(write_json(&model_json(&model, &lore))?);
    }
    let row = |name: &str, value: &str, from: &str| {
        let from = if from.is_empty() { String::new() } else { format!(" ({from})") };
        vec![name.to_owned(), format!("{value}{from}")]
    };
    let mut rows = vec![
        row("model", &model.id, ""),
        row("wire", model.endpoint.dialect.label(), ""),
        row("base URL", &model.endpoint.base_url, ""),
    ];
    rows.extend(lines(&lore).iter().map(|line| row(line.name, &line.value, line.from)));
    rows.extend(lore.ends().map(|day| row("shut down on", day, "")));
    rows.extend(lore.table.as_ref().map(|known| row("the table's source", known.source, "")));
    Ok(write_stdout(&table(&rows))?)
}

fn model_json(model: &Model, lore: &Lore) -> Value {
    json!({
        "id": model.id,
        "dialect": model.endpoint.dialect.label(),
        "base_url": model.endpoint.base_url,
        "facts": lore.facts(),
        "known_from": lore.sources(),
        "ends": lore.ends(),
        "source": lore.table.as_ref().map(|known| known.source),
    })
}
