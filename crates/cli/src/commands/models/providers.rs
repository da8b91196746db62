//! Every provider that is known: whether its key is set, and how its models are named.

use converse_config::SettingsPlan;
use serde_json::{Value, json};

use super::facts::UNKNOWN;
use converse_host::failure::Failure;
use converse_host::model::{self, Reach, UNDERSTUDY};
use converse_host::world::World;
use converse_terminal::render::output::{write_json, write_stdout};
use converse_terminal::render::table::table;

pub(super) fn list(as_json: bool, files: &SettingsPlan, world: &World) -> Result<(), Failure> {
    let all = model::all(files, world);
    if as_json {
        let mut rows: Vec<Value> = all.iter().map(row).collect();
        rows.push(
            json!({ "provider": UNDERSTUDY, "dialect": "openai-chat", "base_url": null, "key_variables": [],
            "key_set": true, "default_model": UNDERSTUDY }),
        );
        return Ok(write_json(&Value::Array(rows))?);
    }
    let heading = ["provider", "key", "default model", "base URL"].map(str::to_owned).to_vec();
    let last = [UNDERSTUDY, "none needed", UNDERSTUDY, "in this program: no network, no language model"];
    let rows: Vec<Vec<String>> = [heading]
        .into_iter()
        .chain(all.iter().map(cells))
        .chain([last.map(str::to_owned).to_vec()])
        .collect();
    Ok(write_stdout(&table(&rows))?)
}

fn cells(reach: &Reach) -> Vec<String> {
    let key = match unset(reach) {
        Some(variable) => format!("{variable} is not set"),
        None if reach.credentials.are_set() => "set".to_owned(),
        None => "none needed".to_owned(),
    };
    let default = reach.default_model.clone().unwrap_or_else(|| "–".to_owned());
    vec![reach.endpoint.provider.to_string(), key, default, base_url(reach)]
}

/// Of the key, and of headers that are as secret.
fn variables(reach: &Reach) -> impl Iterator<Item = &str> {
    reach.key_variables.iter().map(String::as_str).chain(reach.credentials.variables())
}

fn unset(reach: &Reach) -> Option<&str> {
    let key = reach.key_variables.first().filter(|_| reach.credentials.key.is_none());
    key.map(String::as_str).or_else(|| reach.credentials.unset())
}

fn base_url(reach: &Reach) -> String {
    match (&reach.unusable, reach.endpoint.base_url.as_str()) {
        (Some((from, _)), _) => format!("{from} cannot be used"),
        (None, "") => UNKNOWN.to_owned(),
        (None, url) => url.to_owned(),
    }
}

fn row(reach: &Reach) -> Value {
    json!({
        "provider": reach.endpoint.provider,
        "dialect": reach.endpoint.dialect.label(),
        "base_url": Some(&reach.endpoint.base_url).filter(|url| !url.is_empty()),
        "key_variables": variables(reach).collect::<Vec<_>>(),
        "key_set": unset(reach).is_none(),
        "default_model": reach.default_model,
    })
}
