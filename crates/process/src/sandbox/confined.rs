//! The body of the process that becomes the program.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::sandbox::confinement::Confinement;
use crate::sandbox::enter::enter;
use crate::sandbox::report::Reporter;

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
