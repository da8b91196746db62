//! Replaces a file as a whole: writes a temporary file beside it, syncs it and renames it over the old one. Other hard links
//! keep their content, and a reader sees the old text or the new text. All through an open directory, unlike
//! `converse_session::files`.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering};

use cap_std::fs::{Dir, Metadata, OpenOptions, Permissions};

/// Replaces the file `name`. The new file gets the owner and the permissions of the old one.
pub(super) fn replace(dir: &Dir, name: &OsStr, bytes: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    let (temporary, mut file) = temporary(dir)?;
    let written = (|| {
        file.write_all(bytes)?;
        if let Some(old) = old {
            keep_owner(&file, old);
            file.set_permissions(permissions(old))?;
        }
        file.sync_all()?;
        dir.rename(&temporary, dir, name)
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = dir.remove_file(&temporary);
        return written;
    }
    sync_directory(dir);
    Ok(())
}

/// Creates a temporary file beside the old one: a rename must not cross file systems.
fn temporary(dir: &Dir) -> io::Result<(String, cap_std::fs::File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut tries = 0;
    loop {
        let name = format!(".converse-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        match dir.open_with(&name, &options) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            Err(error) => return Err(error),
            Ok(file) => return Ok((name, file)),
        }
    }
}

/// Keeps the owner. Only root can change it; for other users the file is their own already.
#[cfg(unix)]
fn keep_owner(file: &cap_std::fs::File, old: &Metadata) {
    use cap_std::fs::MetadataExt;
    use rustix::fs::{Gid, Uid, fchown};
    let _ = fchown(file, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid())));
}

/// Returns the permission bits without set-uid and set-gid, because the content has changed.
#[cfg(unix)]
fn permissions(old: &Metadata) -> Permissions {
    use cap_std::fs::PermissionsExt;
    Permissions::from_mode(old.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(old: &Metadata) -> Permissions {
    old.permissions()
}

#[cfg(not(unix))]
fn keep_owner(_: &cap_std::fs::File, _: &Metadata) {}

/// Makes the rename itself durable. Not every file system can; the content is safe either way.
fn sync_directory(dir: &Dir) {
    if let Ok(directory) = dir.try_clone() {
        let _ = directory.into_std_file().sync_all();
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use super::*;
    use crate::builtin::testing::TempDir;

    #[test]
    fn a_rename_that_fails_leaves_no_temporary_file() {
        let temp = TempDir::new();
        std::fs::create_dir(temp.path().join("taken")).unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).unwrap();
        assert!(replace(&dir, OsStr::new("taken"), b"x", None).is_err());
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
