//! The instructions of a run: of the user, and of the project if the user trusts it.

use std::io::{self, Read as _};
use std::path::Path;

use converse_project::Instructions;
use converse_session::files::open_regular;

use crate::catalogue::Catalogue;
use crate::settings::Settings;
use crate::trust::HOW;
use crate::world::World;

/// Finds the instructions. What is left out is in their warnings.
pub fn instructions(catalogue: &Catalogue, world: &World) -> Instructions {
    let mut own = world.config_dir().map(|dir| Instructions::of_user(&dir, &read)).unwrap_or_default();
    let Some(steering) = catalogue.steering() else { return own };
    if catalogue.trusts_instructions() {
        return own.and(steering.instructions.clone());
    }
    let names: Vec<_> = steering.instructions.files.iter().map(|file| format!("`{}`", file.path)).collect();
    if !names.is_empty() {
        own.warnings.push(format!("not trusted, so not sent to the model: {}; {HOW}", names.join(", ")));
    }
    own
}

/// Returns the instructions of the project, trusted or not.
pub(crate) fn of_project(world: &World) -> Instructions {
    world.project_root().map(|root| Instructions::of_project(&world.cwd, root, &read)).unwrap_or_default()
}

fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Settings {
    /// Returns the note that goes with each request: the instructions of files, then what differs more often from run to run.
    /// What does not change comes first for the prompt caches of providers.
    pub fn note(&self, of_run: Option<&str>) -> Option<String> {
        let parts: Vec<&str> = self.instructions.as_deref().into_iter().chain(of_run).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}
