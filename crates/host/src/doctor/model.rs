//! Which model a run would ask, and whether it could.

use converse_config::SettingsPlan;

use super::finding::Finding;
use crate::model::choose;
use crate::world::World;

pub(super) fn look(world: &World, files: Option<&SettingsPlan>) -> Vec<Finding> {
    let Some(files) = files else { return vec![Finding::note("chosen", "the settings have errors")] };
    let named = world.var("CONVERSE_MODEL").or(files.model.as_deref());
    let model = match choose(named, files, world) {
        Ok(model) => model,
        Err(failure) => return vec![Finding::broken("chosen", failure.message)],
    };
    let why = match named {
        Some(_) if world.var("CONVERSE_MODEL").is_some() => "set by CONVERSE_MODEL",
        Some(_) => "set in the settings",
        None => "chosen automatically",
    };
    let key = match model.require_key() {
        Err(failure) => Finding::broken("key", failure.message),
        Ok(()) if model.credentials.are_set() => Finding::fine("key", "set"),
        Ok(()) => Finding::fine("key", "none needed"),
    };
    vec![Finding::fine("chosen", format!("{} ({why})", model.id)), key]
}
