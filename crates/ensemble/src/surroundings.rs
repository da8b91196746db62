//! What tools get from the host: directories, environment, clock, network and sandbox.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use converse_config::{EnsemblePlan, Environment};
use converse_process::Guardian;

use crate::builtin::Clock;
use crate::fetch::{Fetch, Reach};
use crate::roster::Artefacts;

/// What all ensembles of a run get from the host, which has read the environment.
pub struct Surroundings {
    /// The directory converse runs in, canonical.
    pub workspace: PathBuf,
    /// The project, in which its own commands find no program by its bare name. `None` if there is no project.
    pub project: Option<PathBuf>,
    /// Places that no tool may write to: configuration, trust, sessions, and the files that commands name, once for each
    /// command that names them.
    pub protected: Vec<PathBuf>,
    pub clock: Clock,
    /// Values of secrets and of `${VAR}` in descriptors, looked up at each invocation.
    pub environment: Environment,
    /// Variables of every child process. Its descriptor may replace them.
    pub inherited: Vec<(String, String)>,
    /// Ends child processes that outlive this process.
    pub guardian: Guardian,
    /// Starts commands in their sandbox. Without it, commands that require a sandbox are refused.
    pub sandbox_launcher: Option<SandboxLauncher>,
    pub fetch: Arc<dyn Fetch>,
    /// HTTP to places that a model names.
    pub reach: Arc<dyn Reach>,
    /// Keeps pictures and sounds of answers.
    pub artefacts: Arc<dyn Artefacts>,
    /// Shows the user a one-line warning.
    pub warn: Arc<dyn Fn(String) + Send + Sync>,
    pub start_checks: StartChecks,
}

/// Makes the check of an ensemble.
pub type StartChecks = Arc<dyn Fn(&EnsemblePlan) -> StartCheck + Send + Sync>;

/// Decides before each start of a process whether it may start: the files that a project's command names may have changed
/// since the user trusted them. The default allows everything.
#[derive(Clone, Default)]
pub struct StartCheck(Option<Arc<dyn Fn() -> Result<(), String> + Send + Sync>>);

impl StartCheck {
    pub fn new(check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(check)))
    }

    /// Returns an error if the process must not start. Reads files.
    ///
    /// # Errors
    ///
    /// Why the process must not start.
    pub fn run(&self) -> Result<(), String> {
        self.0.as_ref().map_or(Ok(()), |check| check())
    }
}

impl std::fmt::Debug for StartCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartCheck").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("workspace", &self.workspace).finish_non_exhaustive()
    }
}

/// How commands of a run are started in a sandbox.
pub struct SandboxLauncher {
    /// `program words…` must run [`converse_process::sandbox::confined()`] with the words that follow; usually our own binary with
    /// a hidden subcommand. Absolute, and not a link that means something else to another process.
    pub program: PathBuf,
    pub words: Vec<String>,
    /// Determined at the first command that runs in a sandbox: most runs have none.
    pub method: LazyLock<SandboxKind, Box<dyn FnOnce() -> SandboxKind + Send>>,
    /// Private directories of converse, which nothing in a sandbox may read: configuration, sessions.
    pub private: Vec<PathBuf>,
    /// Where each command gets a temporary directory.
    pub temporary: PathBuf,
    /// Receives warnings about an incomplete sandbox, possibly repeated.
    pub warn: Arc<dyn Fn(String) + Send + Sync>,
}

/// What keeps the program from files and the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxKind {
    /// Landlock.
    Own,
    /// Bubblewrap, if it was found.
    Bubblewrap(Option<PathBuf>),
}

impl std::fmt::Debug for SandboxLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxLauncher").field("program", &self.program).finish_non_exhaustive()
    }
}
