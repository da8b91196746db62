//! A kernel without Landlock: `converse without-landlock PROGRAM ARGS…` becomes that program, for which the three system
//! calls do not exist. What a filter takes away is gone for all that it starts, as on an older machine.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};

use super::server::complain;

/// `landlock_create_ruleset` and the two after it: the same numbers on every processor.
const LANDLOCK: std::ops::RangeInclusive<i64> = 444..=446;
const ENOSYS: u32 = 38;

/// Starts the program if the command line requests it; returns only otherwise or after an error.
pub(crate) fn run_requested() -> Option<u8> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != "without-landlock" {
        return None;
    }
    let program = words.next()?;
    let filtered = filter().and_then(|filter| apply_filter(&filter).map_err(|error| error.to_string()));
    let failure = match filtered {
        Ok(()) => Command::new(program).args(words).exec().to_string(),
        Err(error) => error,
    };
    complain(&format!("without-landlock: {failure}"));
    Some(64)
}

fn filter() -> Result<BpfProgram, String> {
    let calls: BTreeMap<_, _> = LANDLOCK.map(|number| (number, Vec::new())).collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    SeccompFilter::new(calls, SeccompAction::Allow, SeccompAction::Errno(ENOSYS), arch)
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())
}
