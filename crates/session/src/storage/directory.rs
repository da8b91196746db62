//! Sessions in a directory with one directory per session.

use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::session_directory::Begun;
use super::{SessionDirectory, SessionStorage, Storage, is_missing};
use crate::lock::{Lock, is_in_use};
use crate::{SessionError, files, list_index};

/// Prefix of the directory of a session that is being deleted.
const DELETED: &str = ".deleted-";

/// Prefix of the directory of a session that is being created from another.
const UNFINISHED: &str = ".new-";

/// Limit on attempts to create such a directory, because another process may remove it each time.
pub(crate) const BEGINNINGS: u32 = 100;

/// The directory `sessions`. It is created with the first session.
#[derive(Debug)]
pub struct Directory {
    dir: PathBuf,
}

impl Directory {
    /// `dir` is the directory `sessions` itself.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn make(&self, dir: &Path) -> Result<(), SessionError> {
        let begun = files::private_dir(&self.dir).and_then(|()| files::new_dir(dir));
        begun.map_err(SessionError::io(dir))?;
        let made = files::private_dir(dir).and_then(|()| files::sync_dir(&self.dir));
        made.inspect_err(|_| drop(fs::remove_dir(dir))).map_err(SessionError::io(dir))
    }
}

impl Storage for Directory {
    fn ids(&self) -> Result<Vec<Uuid>, SessionError> {
        let mut ids: Vec<_> = entries(&self.dir)?.iter().filter_map(id_of).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    fn session(&self, id: Uuid) -> Arc<dyn SessionStorage> {
        Arc::new(SessionDirectory::new(self.dir.join(id.to_string())))
    }

    fn begin(&self, id: Uuid, staged: bool) -> Result<Arc<dyn SessionStorage>, SessionError> {
        let (name, begun) = match staged {
            true => (format!("{UNFINISHED}{id}"), Begun::Staged),
            false => (id.to_string(), Begun::Published),
        };
        let dir = self.dir.join(name);
        let mut left = BEGINNINGS;
        loop {
            left -= 1;
            match self.make(&dir) {
                Err(SessionError::Io { source, .. }) if left > 0 && is_missing(&source) => {}
                made => {
                    return made
                        .map(|()| Arc::new(SessionDirectory::begun(dir, begun)) as Arc<dyn SessionStorage>);
                }
            }
        }
    }

    fn litter(&self) -> Vec<PathBuf> {
        let unfinished = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            [DELETED, UNFINISHED, files::TEMPORARY].iter().any(|start| name.starts_with(start))
                && !is_in_use(path)
        };
        names(&self.dir).into_iter().filter(unfinished).collect()
    }

    fn sweep(&self, path: &Path) -> Result<bool, SessionError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with(files::TEMPORARY) {
            return gone(fs::remove_file(path)).map(|()| true).map_err(SessionError::io(path));
        }
        // A directory that is being deleted has no owner; one that is being created is in use while it is locked.
        let _lock = match name.starts_with(UNFINISHED).then(|| Lock::take_at_once(path)).transpose() {
            Err(SessionError::InUse { .. }) => return Ok(false),
            Err(SessionError::Io { source, .. }) if is_missing(&source) => return Ok(false),
            lock => lock?,
        };
        let Some(id) = name.strip_prefix(UNFINISHED) else { return remove(path).map(|()| true) };
        // Renamed first, so that a process that has just created it finds nothing rather than a part.
        let doomed = self.dir.join(format!("{DELETED}{id}"));
        remove(&doomed)?;
        fs::rename(path, &doomed).map_err(SessionError::io(path))?;
        remove(&doomed).map(|()| true)
    }

    fn forget(&self, id: Uuid) -> Result<(), SessionError> {
        list_index::forget(&self.dir, &id.to_string());
        for entry in entries(&self.dir)? {
            if entry.file_name().to_string_lossy().starts_with(DELETED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.dir)
    }
}

/// Gives a directory under construction the name of its session, durably.
pub(super) fn publish(unfinished: &Path) -> Result<(), SessionError> {
    let (all, name) = (unfinished.parent().unwrap_or(unfinished), unfinished.file_name().unwrap_or_default());
    let name = name.to_string_lossy();
    let dir = all.join(name.strip_prefix(UNFINISHED).unwrap_or(&name));
    fs::rename(unfinished, &dir).and_then(|()| files::sync_dir(all)).map_err(SessionError::io(&dir))
}

/// Renames a session's directory, so that it is no longer a session, and returns the new path.
pub(super) fn doom(dir: &Path) -> Result<PathBuf, SessionError> {
    let (all, doomed) = (dir.parent().unwrap_or(dir), doomed(dir));
    let renamed = fs::rename(dir, &doomed).and_then(|()| files::sync_dir(all));
    renamed.map(|()| doomed).map_err(SessionError::io(dir))
}

/// Returns the path of a session's directory after it was renamed for its deletion.
pub(super) fn doomed(dir: &Path) -> PathBuf {
    let id = dir.file_name().unwrap_or_default().to_string_lossy();
    dir.with_file_name(format!("{DELETED}{id}"))
}

fn entries(dir: &Path) -> Result<Vec<DirEntry>, SessionError> {
    let read = match fs::read_dir(dir) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        read => read,
    };
    read.and_then(Iterator::collect).map_err(SessionError::io(dir))
}

/// Returns the id of a directory; `None` if the name is not in our form.
fn id_of(entry: &DirEntry) -> Option<Uuid> {
    let name = entry.file_name();
    let name = name.to_str()?;
    Uuid::parse_str(name).ok().filter(|id| id.to_string() == name)
}

/// Removes a directory. Another process may remove it at the same time.
pub(super) fn remove(dir: &Path) -> Result<(), SessionError> {
    gone(fs::remove_dir_all(dir)).map_err(SessionError::io(dir))
}

/// Treats a file that is already absent as removed.
pub(super) fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if is_missing(&error) => Ok(()),
        removed => removed,
    }
}

/// Returns the paths in a directory, sorted; none if it cannot be read.
pub(super) fn names(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.path()).collect();
    names.sort_unstable();
    names
}
