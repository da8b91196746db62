//! `converse models show PROVIDER/MODEL`: each fact, and who says so.

use converse_config::SettingsPlan;
use serde_json::{Value, json};

use super::facts::{lines, sources};
use super::{Wanted, provider_list};
use crate::args::ModelsShowArgs;
use converse_host::failure::Failure;
use converse_host::model::{self, Lore, Model};
use converse_host::model_lists::as_json;
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stderr, write_stdout};
use converse_terminal::render::table::table;

pub(super) fn show(args: &ModelsShowArgs, files: &SettingsPlan, world: &World) -> Result<(), Failure> {
    let model = model::choose(Some(&args.model), files, world)?;
    let lore = match model::reach(model.endpoint.provider.as_str(), files, world) {
        Some(reach) => {
            let wanted = if args.offline { Wanted::Kept } else { Wanted::Fresh };
            // What is known without it is worth showing as well.
            if let Err(failure) = provider_list(&reach, wanted, world) {
                write_stderr(&format!("note: {}\n", failure.message));
            }
            Lore::of(&reach, &model.name, files, world)
        }
        None => Lore { free: true, ..Lore::default() },
    };
    if args.json {
        return Ok(write_json(&object(&model, &lore))?);
    }
    let mut rows = vec![
        row("model", &model.id, ""),
        row("wire", model.endpoint.dialect.label(), ""),
        row("base URL", &model.endpoint.base_url, ""),
    ];
    rows.extend(lines(&lore).iter().map(|line| row(line.name, &line.value, line.from)));
    if let Some(day) = lore.ends() {
        rows.push(row("shut down on", day, ""));
    }
    if let Some(known) = &lore.table {
        rows.push(row("the table's source", known.source, ""));
    }
    Ok(write_stdout(&table(&rows))?)
}

fn row(name: &str, value: &str, from: &str) -> Vec<String> {
    let from = if from.is_empty() { String::new() } else { format!(" ({from})") };
    vec![name.to_owned(), format!("{value}{from}")]
}

fn object(model: &Model, lore: &Lore) -> Value {
    json!({
        "id": model.id,
        "dialect": model.endpoint.dialect.label(),
        "base_url": model.endpoint.base_url,
        "facts": as_json(&lore.facts()),
        "known_from": sources(lore),
        "ends": lore.ends(),
        "source": lore.table.as_ref().map(|known| known.source),
    })
}
