//! Landlock: which files can be read, executed and changed, and, where the kernel is new enough, connections by TCP,
//! abstract UNIX sockets and signals.
//!
//! An allow-list of hierarchies: what is open is open with all below it. It does not cover the mode, owner and times of
//! files, which seccomp cannot tell apart by path either. <https://docs.kernel.org/userspace-api/landlock.html> (checked
//! 2026-11)

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use crate::sandbox::SandboxError;
use crate::sandbox::confinement::{Confinement, Strictness};
use crate::sandbox::system::{VOID, system};

/// What we know and try.
const NEWEST: ABI = ABI::V6;
/// Below it files can be cut to nothing that cannot be written.
const LEAST: ABI = ABI::V3;

/// Shuts this thread in, and all that it becomes and starts. The version of Landlock that is in force; 0 if none is.
pub(crate) fn shut(confinement: &Confinement) -> Result<u32, SandboxError> {
    let everything = confinement.strictness == Strictness::Everything;
    let mut rules = ruleset(everything, confinement.network).map_err(ruleset_error)?;
    for path in system() {
        rules = add(rules, &path, looking(), false)?;
    }
    for path in VOID.map(PathBuf::from) {
        rules = add(rules, &path, looking() | AccessFs::WriteFile | AccessFs::Truncate, false)?;
    }
    for path in &confinement.reads {
        rules = add(rules, path, looking(), true)?;
    }
    for path in &confinement.writes {
        rules = add(rules, path, changing(), true)?;
    }
    enforce(rules)
}

/// Everything is shut: to see what is in force then.
pub(crate) fn shut_all() -> Result<u32, SandboxError> {
    enforce(ruleset(false, false).map_err(ruleset_error)?)
}

fn enforce(rules: RulesetCreated) -> Result<u32, SandboxError> {
    let status = rules.restrict_self().map_err(ruleset_error)?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    })
}

fn ruleset(everything: bool, network: bool) -> Result<RulesetCreated, RulesetError> {
    let level = if everything { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    rules.create()
}

/// A `wanted` path must be there; of the others those are opened that are.
fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    wanted: bool,
) -> Result<RulesetCreated, SandboxError> {
    let failed = |reason: String| SandboxError::Opening { path: path.to_owned(), reason };
    let opened = fs::metadata(path)
        .map_err(|error| error.to_string())
        .and_then(|metadata| Ok((metadata.is_dir(), PathFd::new(path).map_err(|error| error.to_string())?)));
    let (is_dir, opened) = match opened {
        Ok(opened) => opened,
        Err(_) if !wanted => return Ok(rules),
        Err(reason) => return Err(failed(reason)),
    };
    let access = if is_dir { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| failed(error.to_string()))
}

fn looking() -> BitFlags<AccessFs> {
    AccessFs::from_read(NEWEST)
}

/// All but devices: root could make one that is the disk.
fn changing() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

fn ruleset_error(error: RulesetError) -> SandboxError {
    SandboxError::Landlock(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_changed_makes_no_devices_and_what_can_be_read_changes_nothing() {
        let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
        assert!(!changing().intersects(devices));
        assert!(changing().contains(AccessFs::WriteFile | AccessFs::Truncate | AccessFs::Refer));
        assert!(!looking().intersects(AccessFs::from_write(NEWEST)));
        assert_eq!(LEAST as u32, crate::sandbox::survey::LEAST_LANDLOCK);
    }
}
