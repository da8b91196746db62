//! The path of the running program, which is started again as the guardian and inside a sandbox.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::param::linux_execfn;

/// Refers to this very file, even if another file has taken its name.
const LINK: &str = "/proc/self/exe";

/// Without `/proc`, or if it does not show us: the name that the program was started by.
pub fn this_program() -> PathBuf {
    static FOUND: LazyLock<PathBuf> =
        LazyLock::new(|| program_path(Path::new(LINK), OsStr::from_bytes(linux_execfn().to_bytes())));
    FOUND.clone()
}

/// A relative name is below the current directory, which never changes.
fn program_path(link: &Path, name: &OsStr) -> PathBuf {
    let named = || Path::new(name).canonicalize().ok().filter(|file| file.is_file());
    let link = Some(link).filter(|link| link.exists()).map(Path::to_path_buf);
    link.or_else(named).unwrap_or_else(|| PathBuf::from(LINK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_without_proc() {
        let nowhere = Path::new("/nowhere/exe");
        let ours = Path::new(LINK).canonicalize().unwrap();
        assert_eq!(program_path(nowhere, OsStr::from_bytes(linux_execfn().to_bytes())), ours);
        assert_eq!(program_path(nowhere, OsStr::new("/nowhere/converse")), Path::new(LINK));
        assert_eq!(program_path(nowhere, OsStr::new("/")), Path::new(LINK), "no program");
        assert_eq!(this_program(), Path::new(LINK));
    }
}
