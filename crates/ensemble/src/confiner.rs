//! What commands need to get into their sandbox.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

/// One value for all commands of a run.
pub struct Confiner {
    /// `program words…` must run [`converse_process::sandbox::confined()`] with the words that follow; usually our own binary with
    /// a hidden subcommand. Absolute, and not a link that means something else to another process.
    pub program: PathBuf,
    pub words: Vec<String>,
    /// Found out at the first command that runs in a sandbox: most runs have none.
    pub method: LazyLock<Method, Box<dyn FnOnce() -> Method + Send>>,
    /// Directories of converse's own, which nothing in a sandbox may so much as read: configuration, sessions.
    pub private: Vec<PathBuf>,
    /// Where each command gets a directory for a while.
    pub temporary: PathBuf,
    /// Takes what the user should hear of a sandbox that is not whole. May be told the same again.
    pub warn: Arc<dyn Fn(String) + Send + Sync>,
}

/// Who keeps the program from files and the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// Landlock.
    Own,
    /// Bubblewrap, if it was found.
    Bubblewrap(Option<PathBuf>),
}

impl std::fmt::Debug for Confiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Confiner").field("program", &self.program).finish_non_exhaustive()
    }
}
