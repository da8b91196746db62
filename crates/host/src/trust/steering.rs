//! What a project's settings say to models: the part of `converse.toml` that does more than restrict.

use converse_config::{Scope, SettingsPlan, SourceMap, Steer, load_settings};
use converse_session::digest;

use super::FileDigest;
use crate::settings::{PROJECT_FILE, leads_out};
use crate::world::World;

/// The model, system text and presets that a project's settings name. They have no effect without trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steering {
    pub steers: Vec<Steer>,
    /// The file, with the text that was read.
    pub file: FileDigest,
}

impl Steering {
    /// Reads the settings of the project. Returns `None` if they only restrict, or cannot be read.
    pub(crate) fn read(world: &World) -> Option<Self> {
        let path = world.cwd.join(PROJECT_FILE);
        if leads_out(&path, &world.cwd) {
            return None;
        }
        let mut sources = SourceMap::new();
        let plan = load_settings(&mut sources, &path, PROJECT_FILE, Scope::Project).value?;
        Self::of(&plan, &sources)
    }

    /// Returns what these settings say; `sources` has their text.
    pub(crate) fn of(plan: &SettingsPlan, sources: &SourceMap) -> Option<Self> {
        let steers = plan.steering();
        let (_, source) = sources.iter().find(|(_, source)| source.scope == Scope::Project)?;
        let sha256 = digest(source.text.as_bytes()).to_string();
        let file = FileDigest { path: PROJECT_FILE.to_owned(), sha256 };
        (!steers.is_empty()).then_some(Self { steers, file })
    }

    /// Returns the keys, separated by commas.
    pub fn keys(&self) -> String {
        let keys: Vec<String> = self.steers.iter().map(|steer| format!("`{}`", steer.key)).collect();
        keys.join(", ")
    }
}
