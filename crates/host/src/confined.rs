//! The sandbox of commands: our own binary again, run with a word that stands in no help, which shuts itself in and
//! becomes the program; and what a run decides of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use converse_config::SandboxMethod;
use converse_ensemble::{SandboxKind, SandboxLauncher};
use converse_process::find_program;
use parking_lot::Mutex;

use crate::settings::Files;
use crate::world::World;

/// No command has this name.
const WORD: &str = "confined";

/// Does not return if these words are ours and all goes well: this process is another program then.
pub fn called(words: &[OsString]) -> Option<u8> {
    match words {
        [_, word, rest @ ..] if word == WORD => Some(converse_process::sandbox::confined(rest)),
        _ => None,
    }
}

/// For all commands of a run. `warn` is told each thing once.
pub(crate) fn sandbox_launcher(
    program: &Path,
    world: &World,
    warn: impl Fn(String) + Send + Sync + 'static,
) -> SandboxLauncher {
    let told = Mutex::new(Vec::new());
    let warn = move |line: String| {
        let mut told = told.lock();
        if !told.contains(&line) {
            told.push(line.clone());
            warn(line);
        }
    };
    let settings = world.clone();
    SandboxLauncher {
        program: program.to_path_buf(),
        words: vec![WORD.to_owned()],
        method: LazyLock::new(Box::new(move || method(&settings))),
        private: private(world),
        temporary: temporary(world).to_owned(),
        warn: Arc::new(warn),
    }
}

/// The settings are sound by now: a run stops for their errors.
fn method(world: &World) -> SandboxKind {
    match Files::read(world).plan.sandbox.unwrap_or_default() {
        SandboxMethod::Own => SandboxKind::Own,
        SandboxMethod::Bubblewrap => SandboxKind::Bubblewrap(bwrap(world)),
    }
}

pub fn bwrap(world: &World) -> Option<PathBuf> {
    program(world, "bwrap")
}

/// What a bare name means to a command of the project: never a program that the project brings.
pub fn program(world: &World, name: &str) -> Option<PathBuf> {
    find_program(name, world.var("PATH"), &world.cwd, world.project()).ok()
}

/// Where commands in a sandbox have their directories.
pub fn temporary(world: &World) -> &Path {
    let named = world.var("TMPDIR").map(Path::new).filter(|path| path.is_absolute());
    named.unwrap_or(Path::new("/tmp"))
}

/// What nothing in a sandbox may read.
pub fn private(world: &World) -> Vec<PathBuf> {
    [world.config_dir(), world.data_dir(), world.state_dir(), world.cache_dir()]
        .into_iter()
        .flatten()
        .collect()
}
