//! What this machine has of it.

use std::thread;

use rustix::thread::no_new_privs;

use crate::sandbox::SandboxError;
use crate::sandbox::enter::renounce_new_privileges;
use crate::sandbox::{calls, files};

/// The version of Landlock that `require` needs: the first that keeps files from being cut to nothing (Linux 6.2).
pub const LEAST_LANDLOCK: u32 = 3;

/// What is effective here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Survey {
    /// Its version; 0: none.
    pub landlock: u32,
    pub seccomp: bool,
    pub no_new_privs: bool,
}

impl Survey {
    /// What is missing for all of it to be in force, in words. Empty: nothing.
    pub fn lacks(&self) -> Vec<String> {
        let mut lacks = self.lacks_but_files();
        if self.landlock == 0 {
            lacks.push("this kernel has no Landlock, which restricts access to files".to_owned());
        } else if self.landlock < LEAST_LANDLOCK {
            let version = self.landlock;
            lacks.push(format!("Landlock is too old: found version {version}, expected {LEAST_LANDLOCK}"));
        }
        lacks
    }

    /// Returns what the machine lacks if something else restricts access to files.
    pub fn lacks_but_files(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        if !self.seccomp {
            lacks.push("seccomp filters, which restrict system calls, cannot be used here".to_owned());
        }
        if !self.no_new_privs {
            lacks.push("set-uid programs cannot be ruled out here".to_owned());
        }
        lacks
    }
}

/// Tries everything in a thread that ends: a feature that is reported but does not work counts as missing.
///
/// # Errors
///
/// Fails if no thread can be started; then nothing is known.
pub fn survey() -> Result<Survey, SandboxError> {
    survey_by(thread::Builder::new().name("survey".to_owned()))
}

fn survey_by(thread: thread::Builder) -> Result<Survey, SandboxError> {
    let tried = thread.spawn(|| {
        let renounced = renounce_new_privileges().is_ok();
        let landlock = files::shut_all().unwrap_or(0);
        let seccomp = calls::refuse(false).is_ok();
        Survey { landlock, seccomp, no_new_privs: renounced && no_new_privs().unwrap_or(false) }
    });
    Ok(tried.map_err(SandboxError::Untried)?.join().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_changes_nothing() {
        let first = survey().unwrap();
        assert!(!no_new_privs().unwrap(), "this thread is as free as it was");
        assert!(std::fs::read_dir("/").is_ok());
        assert_eq!(survey().unwrap(), first);
    }

    #[test]
    fn what_was_not_tried_is_not_missing() {
        // A stack larger than the address space: no machine has such a thread.
        let refused = survey_by(thread::Builder::new().stack_size(1 << 60)).unwrap_err();
        assert!(refused.to_string().contains("no thread can be started"), "{refused}");
    }

    #[test]
    fn what_is_missing_is_said() {
        let all = Survey { landlock: 7, seccomp: true, no_new_privs: true };
        for (survey, lacks, lacks_but_files) in [
            (all, 0, 0),
            (Survey { landlock: LEAST_LANDLOCK, ..all }, 0, 0),
            (Survey { landlock: 2, ..all }, 1, 0),
            (Survey { landlock: 0, ..all }, 1, 0),
            (Survey { seccomp: false, ..all }, 1, 1),
            (Survey::default(), 3, 2),
        ] {
            assert_eq!(survey.lacks().len(), lacks, "{survey:?}");
            assert_eq!(survey.lacks_but_files().len(), lacks_but_files, "{survey:?}");
        }
    }
}
