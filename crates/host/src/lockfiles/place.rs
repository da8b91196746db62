//! The place of the lockfile of a directory.

use std::path::{Path, PathBuf};

/// Returns the path beside the directory; `None` for a directory without a name, such as the root of the file system.
pub(crate) fn lock_path(directory: &Path) -> Option<PathBuf> {
    let named = match directory.file_name() {
        Some(_) => directory.to_owned(),
        None => directory.canonicalize().ok()?,
    };
    let mut name = named.file_name()?.to_owned();
    name.push(".lock");
    Some(named.with_file_name(name))
}

/// Returns the path for messages.
pub(super) fn shown(directory: &str, path: &Path) -> String {
    let is_plain = Path::new(directory).file_name().is_some() && !directory.ends_with('.');
    if is_plain { format!("{directory}.lock") } else { path.display().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_beside_the_directory() {
        for (directory, path) in [
            ("/p/ensembles", Some("/p/ensembles.lock")),
            ("/p/tools/", Some("/p/tools.lock")),
            ("/p/a.b", Some("/p/a.b.lock")),
            ("/", None),
        ] {
            assert_eq!(lock_path(Path::new(directory)).as_deref(), path.map(Path::new), "{directory}");
        }
        assert_eq!(shown("tools", Path::new("/p/tools.lock")), "tools.lock");
        assert_eq!(shown(".", Path::new("/p.lock")), "/p.lock");
    }
}
