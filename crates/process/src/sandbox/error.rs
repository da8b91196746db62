//! What can be wrong with a sandbox.

use std::path::PathBuf;

/// Nothing of the program has run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel lacks it, or who started us forbids it.
    #[error("{0}")]
    Lacking(&'static str),
    /// The support of this machine is unknown.
    #[error("what this machine has of it cannot be tried: no thread can be started ({0})")]
    Untried(std::io::Error),
    #[error("Landlock: {0}")]
    Landlock(String),
    #[error("seccomp: {0}")]
    Seccomp(String),
    #[error("`{}` cannot be opened to the program: {reason}", path.display())]
    Opening { path: PathBuf, reason: String },
    #[error("a limit cannot be set: {0}")]
    Limit(std::io::Error),
    #[error("new privileges cannot be ruled out: {0}")]
    Privileges(std::io::Error),
}
