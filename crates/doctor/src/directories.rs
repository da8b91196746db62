//! The directories of converse: whether they exist, are writable, and are private.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::finding::{Finding, State};
use converse_host::world::World;

/// What it means if we may not write there.
const NAMES: [(&str, State); 4] = [
    ("configuration", State::Fine),
    ("data", State::Broken),
    ("state", State::Broken),
    ("cache", State::Note),
];

pub(super) fn look(world: &World) -> Vec<Finding> {
    let places = [world.config_dir(), world.data_dir(), world.state_dir(), world.cache_dir()];
    NAMES.into_iter().zip(places).map(|((name, unwritable), place)| one(name, unwritable, place)).collect()
}

fn one(name: &str, unwritable: State, place: Option<PathBuf>) -> Finding {
    let Some(path) = place else {
        return Finding::new(unwritable, name, "neither HOME nor the XDG variable is set");
    };
    let shown = path.display();
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return missing(name, unwritable, &path);
        }
        Err(error) => {
            return Finding::new(unwritable.max_with(State::Note), name, format!("{shown}: {error}"));
        }
    };
    let mode = metadata.mode();
    match () {
        () if !metadata.is_dir() => Finding::broken(name, format!("{shown} is not a directory")),
        () if mode & 0o002 != 0 => {
            Finding::broken(name, format!("every user can write to {shown}: `chmod o-w {shown}`"))
        }
        () if access(&path, Access::WRITE_OK | Access::EXEC_OK).is_err() => {
            Finding::new(unwritable.max_with(State::Note), name, format!("{shown} is not writable"))
        }
        () if mode & 0o020 != 0 => Finding::note(name, format!("the group can write to {shown}")),
        () => Finding::fine(name, format!("{shown} (mode {:03o})", mode & 0o777)),
    }
}

/// It is made when it is needed, if its parents let us.
fn missing(name: &str, unwritable: State, path: &Path) -> Finding {
    let parent = path.ancestors().find(|parent| parent.exists()).unwrap_or(Path::new("/"));
    let shown = path.display();
    if access(parent, Access::WRITE_OK | Access::EXEC_OK).is_ok() {
        return Finding::fine(name, format!("{shown} (does not exist yet)"));
    }
    let detail = format!("{shown} does not exist and cannot be created in {}", parent.display());
    Finding::new(unwritable, name, detail)
}

impl State {
    fn max_with(self, other: Self) -> Self {
        if self == Self::Fine { other } else { self }
    }
}
