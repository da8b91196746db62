//! Files and directories for one pair of eyes.
//!
//! The mode given at creation is narrowed by the umask and never widened, and an existing file keeps its own; so the
//! mode is looked at afterwards and set if it is another.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use crate::witness;

pub(crate) const TEMPORARY: &str = ".tmp-";

/// Makes the directory and those above it that are missing.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    witness::made_dir(path);
    Ok(())
}

/// One that was not there; nobody else can look into it, not even at first.
pub(crate) fn new_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// The same as `make_dir`; one that was there has this mode afterwards too.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    make_dir(path)?;
    if fs::metadata(path)?.permissions().mode() & 0o7777 != 0o700 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(crate) fn private_file(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = options.mode(0o600).open(path)?;
    witness::opened(path, &file);
    if file.metadata()?.permissions().mode() & 0o7777 != 0o600 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

/// Opens a file for reading; a pipe in its place, which nobody may ever write to, is an error at once.
pub(crate) fn regular(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_file() { File::open(path) } else { Err(io::Error::other("not a regular file")) }
}

/// Names in a directory are durable once the directory is.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()?;
    witness::synced_dir(path);
    Ok(())
}

/// What is written is durable when this returns; the file's name, if it is new, is not yet.
pub(crate) fn write_durably(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    witness::wrote(file, bytes);
    file.sync_all()?;
    witness::synced(file);
    Ok(())
}

/// The file has all of these bytes or is as it was before. Two writers at once must not share a `mark`.
pub(crate) fn replace(dir: &Path, name: &str, mark: u64, bytes: &[u8]) -> io::Result<()> {
    let temporary = dir.join(format!("{TEMPORARY}{mark}-{name}"));
    let written = private_file(&temporary, OpenOptions::new().write(true).create(true).truncate(true))
        .and_then(|mut file| write_durably(&mut file, bytes))
        .and_then(|()| rename(&temporary, &dir.join(name)))
        .and_then(|()| sync_dir(dir));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    witness::renamed(from, to);
    Ok(())
}

/// Removes what [`replace`] left when it was killed. Only for who holds the lock.
pub(crate) fn sweep(dir: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            fs::remove_file(entry.path())?;
            witness::removed(&entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_that_fails_leaves_nothing_and_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("taken/by-a-directory")).unwrap();
        replace(dir.path(), "taken", 0, b"new").unwrap_err();
        assert!(dir.path().join("taken/by-a-directory").is_dir());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
