//! Resource limits. Lowered for good: neither the program nor its children can raise them again.
//!
//! <https://man7.org/linux/man-pages/man2/getrlimit.2.html> (checked 2026-11)

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::sandbox::confinement::Limits;
use crate::sandbox::error::SandboxError;

pub(crate) fn lower(limits: &Limits) -> Result<(), SandboxError> {
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
