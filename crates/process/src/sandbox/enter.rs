//! Into the sandbox, for good.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::sandbox::SandboxError;
use crate::sandbox::confinement::{Confinement, Limits, Strictness};
use crate::sandbox::survey::LEAST_LANDLOCK;
use crate::sandbox::{calls, files};

/// What is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// Its version; 0: none.
    pub landlock: u32,
    pub seccomp: bool,
}

/// Confines the calling thread and everything that it becomes or starts; the limits apply to the whole process. Call it
/// only in a process with a single thread. After an error, parts of the confinement may be active.
pub fn enter(confinement: &Confinement) -> Result<Effective, SandboxError> {
    let all = confinement.strictness != Strictness::WhatIsThere;
    lower_limits(&confinement.limits)?;
    renounce_new_privileges()?;
    drop_capabilities();
    let landlock = files::shut(confinement)?;
    if confinement.strictness == Strictness::Everything && landlock < LEAST_LANDLOCK {
        return Err(SandboxError::Lacking("this kernel has no Landlock, or one that is too old"));
    }
    // The last: what comes before needs calls that it refuses.
    let seccomp = match calls::refuse(confinement.network) {
        Ok(()) => true,
        Err(error) if all => return Err(error),
        Err(_) => false,
    };
    Ok(Effective { landlock, seccomp })
}

/// Lowers the resource limits for good: neither the program nor its children can raise them again.
///
/// <https://man7.org/linux/man-pages/man2/getrlimit.2.html> (checked 2026-11)
fn lower_limits(limits: &Limits) -> Result<(), SandboxError> {
    for (resource, most) in [
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Data, limits.memory_bytes),
    ] {
        // What is lower already stays so.
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| SandboxError::Limit(error.into()))?;
    }
    Ok(())
}

/// The capabilities that root keeps: those that bypass the permissions of files, because the sandbox itself limits the
/// accessible files. Other users have no capabilities.
///
/// <https://man7.org/linux/man-pages/man7/capabilities.7.html> (checked 2026-11)
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE;
/// Numbers of capabilities are below it.
const MOST: u32 = 64;

/// No program that is started from now on has more rights than we have.
pub(super) fn renounce_new_privileges() -> Result<(), SandboxError> {
    set_no_new_privs(true).map_err(|error| SandboxError::Privileges(error.into()))
}

/// Drops the capabilities of this thread and of what it becomes. A process that is not allowed to drop them has none,
/// or is in a container that restricts them: the refused calls are refused all the same.
fn drop_capabilities() {
    for number in 0..MOST {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if one == KEPT {
            continue;
        }
        // The first number that the kernel does not know ends them.
        match capability_is_in_bounding_set(one) {
            Ok(true) => drop(remove_capability_from_bounding_set(one)),
            Ok(false) => {}
            Err(_) => break,
        }
    }
    let _ = clear_ambient_capability_set();
    if let Ok(mut sets) = capabilities(None) {
        sets.effective &= KEPT;
        sets.permitted &= KEPT;
        sets.inheritable = CapabilitySet::empty();
        let _ = set_capabilities(None, sets);
    }
}
