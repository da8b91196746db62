//! The capabilities that root keeps: those that bypass the permissions of files, because the sandbox itself limits the
//! accessible files. Other users have no capabilities.
//!
//! <https://man7.org/linux/man-pages/man7/capabilities.7.html> (checked 2026-11)

use rustix::thread::{
    CapabilitySet, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::sandbox::error::SandboxError;

const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE;
/// Numbers of capabilities are below it.
const MOST: u32 = 64;

/// No program that is started from now on has more rights than we have.
pub(crate) fn renounce() -> Result<(), SandboxError> {
    set_no_new_privs(true).map_err(|error| SandboxError::Privileges(error.into()))
}

/// Drops the capabilities of this thread and of what it becomes. A process that is not allowed to drop them has none,
/// or is in a container that restricts them: the refused calls are refused all the same.
pub(crate) fn drop_capabilities() {
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
