//! `converse models list`: who can be asked, and what is missing to ask them.

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::model::{self, Reach, UNDERSTUDY};
use crate::render::output::{write_json, write_stdout};
use crate::render::table::table;
use crate::settings::Files;
use crate::world::World;

pub(crate) fn list(as_json: bool, world: &World) -> Result<(), Failure> {
    let (files, _) = Files::read(world).checked()?;
    let all = model::all(&files, world)?;
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
    let key = match (&reach.key, reach.key_variables.first()) {
        (Some(_), _) => "set".to_owned(),
        (None, Some(variable)) => format!("{variable} is not set"),
        (None, None) => "none needed".to_owned(),
    };
    let default = reach.default_model.clone().unwrap_or_else(|| "–".to_owned());
    vec![reach.provider.to_string(), key, default, without_user(&reach.base_url)]
}

/// Whoever put a password into a base URL does not want it shown.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}{path}"),
        None => url.to_owned(),
    }
}

fn row(reach: &Reach) -> Value {
    json!({
        "provider": reach.provider,
        "dialect": reach.dialect.label(),
        "base_url": without_user(&reach.base_url),
        "key_variables": reach.key_variables,
        "key_set": reach.key.is_some() || reach.key_variables.is_empty(),
        "default_model": reach.default_model,
    })
}
