//! [`PrivateText`]: a small file that decides what may run. It is read only if it is a regular file within its limit that
//! nobody else owns, can write or can replace.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::PathBuf;

use rustix::fs::OFlags;

use super::Replace;
use crate::{LOCK_TIMEOUT, lock_within};

#[derive(Debug)]
pub struct PrivateText {
    pub dir: PathBuf,
    pub name: &'static str,
    /// Limit in bytes.
    pub most: u64,
}

impl PrivateText {
    pub fn path(&self) -> PathBuf {
        self.dir.join(self.name)
    }

    /// Returns the text; `None` if the file does not exist.
    ///
    /// # Errors
    ///
    /// Why the file cannot be used, as the end of a sentence.
    pub fn read(&self) -> Result<Option<String>, String> {
        let unreadable = |error: io::Error| format!("cannot be read: {error}");
        // Checks the open file itself. Opening a pipe must not block.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(self.path()) {
            Ok(file) => file,
            // If a parent is not a directory, the file does not exist.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error)),
        };
        let own = rustix::process::geteuid().as_raw();
        sound_file(&file.metadata().map_err(unreadable)?, own)?;
        sound_directory(&fs::metadata(&self.dir).map_err(unreadable)?, own)?;
        let mut text = String::new();
        file.take(self.most + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > self.most {
            return Err(format!("has more than {} bytes", self.most));
        }
        Ok(Some(text))
    }

    /// Locks the file, so that two concurrent writers lose no entry, least of all a revocation.
    pub fn lock(&self) -> io::Result<File> {
        super::private_dir(&self.dir)?;
        let path = self.path().with_extension("lock");
        let lock = super::private_file(&path, OpenOptions::new().write(true).create(true))?;
        if lock_within(&lock, LOCK_TIMEOUT)? {
            return Ok(lock);
        }
        Err(io::Error::other("another process has been changing it for ten seconds"))
    }

    /// Writes the file atomically. Requires the lock.
    pub fn replace(&self, text: &str) -> io::Result<()> {
        if text.len() as u64 > self.most {
            return Err(io::Error::other(format!("the file would have more than {} bytes", self.most)));
        }
        super::replace(&self.path(), text.as_bytes(), Replace::LOCKED)
    }
}

/// Checks that only the owner, who is the user or root, can write the file.
fn sound_file(file: &Metadata, own: u32) -> Result<(), String> {
    if !file.is_file() {
        return Err("is not a regular file".to_owned());
    }
    if file.permissions().mode() & 0o022 != 0 {
        return Err("is writable by other users; expected the mode 0600".to_owned());
    }
    sound_owner(file, own, "belongs to another user")
}

/// Checks that other users cannot replace the file.
fn sound_directory(directory: &Metadata, own: u32) -> Result<(), String> {
    let mode = directory.permissions().mode();
    if mode & 0o022 != 0 && mode & 0o1000 == 0 {
        return Err("is in a directory that other users can write to; expected the mode 0700".to_owned());
    }
    sound_owner(directory, own, "is in a directory of another user")
}

fn sound_owner(metadata: &Metadata, own: u32, otherwise: &str) -> Result<(), String> {
    if [own, 0].contains(&metadata.uid()) { Ok(()) } else { Err(otherwise.to_owned()) }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::path::Path;

    use super::*;

    #[test]
    fn others_can_neither_write_it_nor_put_another_in_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let text = PrivateText { dir: dir.path().join("state"), name: "a.toml", most: 10 };
        assert_eq!(text.read(), Ok(None));
        crate::files::private_dir(&text.dir).unwrap();
        fs::write(text.path(), "x").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for (file, directory, sound) in [
            (0o600, 0o700, true),
            (0o644, 0o755, true),
            (0o600, 0o1777, true),
            (0o600, 0o777, false),
            (0o600, 0o770, false),
            (0o620, 0o700, false),
        ] {
            mode(&text.path(), file);
            mode(&text.dir, directory);
            assert_eq!(text.read().is_ok(), sound, "{file:o} {directory:o}: {:?}", text.read());
        }
        mode(&text.path(), 0o600);
        mode(&text.dir, 0o700);
        assert_eq!(text.read(), Ok(Some("x".to_owned())));
        let (file, directory) = (fs::metadata(text.path()).unwrap(), fs::metadata(&text.dir).unwrap());
        let (own, other) = (file.uid(), file.uid() + 1);
        let is_roots = own == 0;
        assert!(sound_file(&file, own).is_ok() && sound_directory(&directory, own).is_ok());
        assert_eq!(sound_file(&file, other).is_ok(), is_roots);
        assert_eq!(sound_directory(&directory, other).is_ok(), is_roots);
        if is_roots {
            std::os::unix::fs::chown(text.path(), Some(other), None).unwrap();
            assert!(text.read().unwrap_err().contains("another user"));
        }
        fs::remove_file(text.path()).unwrap();
        std::os::unix::fs::symlink("/dev/null", text.path()).unwrap();
        assert!(text.read().unwrap_err().contains("regular"));
    }
}
