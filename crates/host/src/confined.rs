//! The sandbox of commands: this binary, started with a hidden command, which confines itself and becomes the program.
//! Also decides whether a run uses the sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use converse_config::SandboxMethod;
use converse_ensemble::{SandboxKind, SandboxLauncher};
use converse_process::{Guardian, find_program};
use parking_lot::Mutex;

use crate::settings::Files;
use crate::world::World;

/// The hidden command. No command of the CLI has this name.
const WORD: &str = "confined";

/// Enters the sandbox if the command line asks for it. Does not return on success: this process becomes the program.
pub fn called(words: &[OsString]) -> Option<u8> {
    match words {
        [_, word, rest @ ..] if word == WORD => Some(converse_process::sandbox::confined(rest)),
        _ => None,
    }
}

/// Returns the launcher for all commands of a run. `warn` gets each warning once.
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

/// Returns the search path for a command of the project, which never contains programs of the project.
pub fn program(world: &World, name: &str) -> Option<PathBuf> {
    find_program(name, world.var("PATH"), &world.cwd, world.project()).ok()
}

/// Returns the parent of the private directories of sandboxed commands.
pub fn temporary(world: &World) -> &Path {
    let named = world.var("TMPDIR").map(Path::new).filter(|path| path.is_absolute());
    named.unwrap_or(Path::new("/tmp"))
}

/// Returns paths that sandboxed commands must not read.
pub fn private(world: &World) -> Vec<PathBuf> {
    [world.config_dir(), world.data_dir(), world.state_dir(), world.cache_dir()]
        .into_iter()
        .flatten()
        .collect()
}

/// The hidden command. No command of the CLI has this name.
const GUARD_WORD: &str = "guard-children";

/// Creates a guardian that starts with the first child process. If it cannot be started, the user is warned once.
pub fn guardian(program: Option<&Path>) -> Guardian {
    Guardian::new(program.map(Path::to_path_buf).unwrap_or_default(), vec![GUARD_WORD.to_owned()])
}

/// Returns whether a command line is that of the guardian.
pub(crate) fn is_guardian(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == GUARD_WORD)
}
