//! Lockfiles on disk: written atomically and never through a link.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_config::lock::{Lockfile, MAX_BYTES};
use converse_session::files::{self, Durability, Mode, Replace, open_regular};

use super::State;

/// The mode of a new lockfile, which is shared.
const NEW: Mode = Mode::Umasked(0o644);

pub(super) fn read(path: &Path) -> State {
    if path.is_symlink() {
        return State::Damaged("a symbolic link, which is not followed".to_owned());
    }
    match text(path) {
        Ok(None) => State::Absent,
        Ok(Some(text)) => match Lockfile::parse(&text) {
            Ok(lockfile) => State::Sound(lockfile),
            Err(error) => State::Damaged(error.to_string()),
        },
        Err(error) => State::Damaged(format!("it cannot be read: {error}")),
    }
}

/// Reads one byte more than allowed, so that a file that is too large is recognised.
fn text(path: &Path) -> io::Result<Option<String>> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Writes atomically and keeps the mode. Does not write through a link, and replaces the file only if it still equals
/// `before`.
pub(super) fn write(path: &Path, text: &str, before: &State) -> io::Result<()> {
    let _alone = alone(path)?;
    if read(path) != *before {
        return Err(io::Error::other(
            "another process has changed the file in the meantime; run the command again",
        ));
    }
    let mode = match fs::symlink_metadata(path) {
        Ok(old) if old.is_file() => Mode::Exact(old.permissions().mode() & 0o777),
        Ok(_) => return Err(io::Error::other("not a regular file, so it is not replaced")),
        Err(error) if error.kind() == ErrorKind::NotFound => NEW,
        Err(error) => return Err(error),
    };
    files::replace(
        path,
        text.as_bytes(),
        Replace { mode, durability: Durability::Content, ..Replace::PRIVATE },
    )
}

/// Locks the directory against other writers of lockfiles until dropped. Continues without a lock where none is
/// available.
fn alone(path: &Path) -> io::Result<Option<File>> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) else { return Ok(None) };
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other("another process is writing a lockfile here; run the command again"))
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(directory)),
    }
}

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
    fn it_is_replaced_whole_and_keeps_its_mode() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ensembles.lock");
        assert!(matches!(read(&path), State::Absent));
        write(&path, "{\"version\":1,\"ensembles\":{}}", &State::Absent).unwrap();
        assert!(matches!(read(&path), State::Sound(_)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        write(&path, "{", &read(&path)).unwrap();
        assert!(matches!(read(&path), State::Damaged(_)));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn no_link_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, target) = (dir.path().join("ensembles.lock"), dir.path().join("target"));
        fs::write(&target, "{\"version\":1,\"ensembles\":{}}").unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(matches!(read(&path), State::Damaged(why) if why.contains("symbolic link")));
        assert!(write(&path, "{}", &read(&path)).is_err());
        assert_eq!(fs::read_to_string(&target).unwrap().len(), 28);
        fs::remove_file(&target).unwrap();
        assert!(matches!(read(&path), State::Damaged(_)), "a link that leads nowhere is no missing lockfile");
        let directory = dir.path().join("directory.lock");
        fs::create_dir(&directory).unwrap();
        assert!(matches!(read(&directory), State::Damaged(_)));
        assert!(write(&directory, "{}", &read(&directory)).is_err());
    }

    #[test]
    fn of_two_who_write_at_once_the_second_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ensembles.lock");
        let (first, second) = (read(&path), read(&path));
        let whole = "{\"version\":1,\"ensembles\":{}}";
        write(&path, whole, &first).unwrap();
        let refused = write(&path, "{}", &second).unwrap_err();
        assert!(refused.to_string().contains("in the meantime"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        let writing = alone(&path).unwrap();
        let refused = write(&path, "{}", &read(&path)).unwrap_err();
        assert!(refused.to_string().contains("is writing a lockfile"), "{refused}");
        drop(writing);
        write(&path, "{}", &read(&path)).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_too_large_or_no_text_is_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.lock");
        fs::File::create(&path).unwrap().set_len(MAX_BYTES as u64 + 1).unwrap();
        assert!(matches!(read(&path), State::Damaged(why) if why.contains("more than")));
        fs::write(&path, b"\xff").unwrap();
        assert!(matches!(read(&path), State::Damaged(_)));
    }

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
