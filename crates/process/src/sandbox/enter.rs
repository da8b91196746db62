//! Into the sandbox, for good.

use crate::sandbox::confinement::{Confinement, Strictness};
use crate::sandbox::error::SandboxError;
use crate::sandbox::survey::LEAST_LANDLOCK;
use crate::sandbox::{calls, files, limits, privileges};

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
    limits::lower(&confinement.limits)?;
    privileges::renounce()?;
    privileges::drop_capabilities();
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
