//! A sandbox for one program: Landlock, seccomp, resource limits, no new privileges.
//!
//! A [`Confinement`] says what stays open. [`confined()`] is the body of a process of its own (our binary, run with a
//! hidden word): it shuts itself in and becomes the program, so that nothing of it runs between fork and exec.
//! [`survey()`] says what this machine has. Linux only, see `docs/decisions/015-sandbox-re-executes-converse.md`.

mod bubblewrap;
mod calls;
mod confinement;
mod enter;
mod files;
mod refused;
mod report;
mod survey;
mod system;

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use report::Reporter;

pub use bubblewrap::bubblewrap;
pub use confinement::{Confinement, Limits, Strictness};
pub use enter::{Effective, enter};
pub use report::Report;
pub use survey::{LEAST_LANDLOCK, Survey, survey};
pub use system::{is_open_to_all, system};

/// Why a sandbox cannot be entered. Nothing of the program has run.
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

/// For observers of the process; the caller reads the report.
const REFUSED: u8 = 125;

/// `words`: a [`Confinement`] as JSON, the program (an absolute path), its arguments. Enters the sandbox and becomes the
/// program, with the same environment and directory; returns, with an exit code, only if that fails.
pub fn confined(words: &[OsString]) -> u8 {
    let [confinement, program, arguments @ ..] = words else { return REFUSED };
    let confinement = confinement.to_str().and_then(|text| serde_json::from_str::<Confinement>(text).ok());
    let Some(confinement) = confinement else { return REFUSED };
    let Ok(mut reporter) = Reporter::open(&confinement.report) else { return REFUSED };
    if let Err(error) = enter(&confinement) {
        reporter.refused(&error);
        return REFUSED;
    }
    // Unsaid it counts as not entered, so the program must not run.
    if reporter.entered().is_err() {
        return REFUSED;
    }
    let error = Command::new(program).args(arguments).exec();
    reporter.unstarted(&error);
    REFUSED
}
