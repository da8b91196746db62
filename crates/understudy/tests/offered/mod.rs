//! The tools that tests offer: the shipped ones, read from their descriptors so that the two cannot drift apart, and the
//! foreign ones of `tools.json`.
#![allow(clippy::disallowed_methods, reason = "the descriptors are files")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Every invoker of every ensemble in the repository, as an entry of `tools` each; with `off`, of those as well that are
/// offered to nobody who does not name them.
pub(crate) fn shipped(off: bool) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ensembles");
    let mut ensembles: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    ensembles.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    ensembles.sort();
    let invokers: Vec<Value> = ensembles.iter().flat_map(|path| invokers(&folder, path, off)).collect();
    assert!(invokers.len() >= 5, "{invokers:?}");
    invokers
}

/// The shipped tools and six foreign ones.
pub(crate) fn all() -> Vec<Value> {
    let foreign: Vec<Value> = serde_json::from_str(include_str!("../tools.json")).unwrap();
    assert_eq!(foreign.len(), 6);
    shipped(false).into_iter().chain(foreign).collect()
}

fn invokers(folder: &Path, path: &Path, off: bool) -> Vec<Value> {
    let ensemble = table(path);
    if !off && ensemble["ensemble"].get("enabled") == Some(&toml::Value::Boolean(false)) {
        return Vec::new();
    }
    let name = ensemble["ensemble"]["name"].as_str().unwrap();
    let sources = ensemble["invokers"].as_array().unwrap();
    sources.iter().map(|one| entry(name, &table(&folder.join(one["source"].as_str().unwrap())))).collect()
}

fn entry(ensemble: &str, descriptor: &toml::Table) -> Value {
    let invoker = &descriptor["invoker"];
    json!({"type": "function", "function": {
        "name": format!("{ensemble}__{}", invoker["name"].as_str().unwrap()),
        "description": invoker["description"].as_str().unwrap(),
        "parameters": serde_json::to_value(&descriptor["arguments"]).unwrap(),
    }})
}

fn table(path: &Path) -> toml::Table {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .parse()
        .unwrap()
}
