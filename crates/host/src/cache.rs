//! Small files in the user's cache directory. They only save time: they may be lost, failures are ignored, and nothing
//! is synced to disk.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use converse_session::files::{self, Replace};

/// `None`: without a home nothing is kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache(pub Option<PathBuf>);

impl Cache {
    /// Returns a regular file of at most `limit` bytes.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        let path = self.0.as_deref()?.join(name);
        let metadata = fs::metadata(&path).ok()?;
        if metadata.is_file() && metadata.len() <= limit { fs::read(path).ok() } else { None }
    }

    /// Returns the age of a file.
    pub(crate) fn age(&self, name: &str) -> Option<Duration> {
        let metadata = fs::metadata(self.0.as_deref()?.join(name)).ok()?;
        metadata.modified().ok()?.elapsed().ok()
    }

    /// Returns whether a file has exactly these bytes. If so, it counts as written now.
    pub(crate) fn renew(&self, name: &str, bytes: &[u8]) -> bool {
        let renewed = self.0.as_deref().map(|dir| renew(&dir.join(name), bytes));
        renewed.is_some_and(|renewed| renewed.unwrap_or(false))
    }

    /// Writes a file atomically.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        if let Some(dir) = &self.0
            && let Err(error) = write(dir, name, bytes)
        {
            tracing::debug!(%error, name, "a cached file was not kept");
        }
    }

    /// Makes room for one more file: beyond the limit, the oldest tenth is deleted.
    pub(crate) fn prune(&self, most: usize) {
        let Some(dir) = &self.0 else { return };
        let Ok(entries) = fs::read_dir(dir) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if files.len() < most {
            return;
        }
        files.sort_unstable();
        for (_, path) in files.iter().take(most / 10 + files.len() - most) {
            let _ = fs::remove_file(path);
        }
    }
}

fn renew(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let mut kept = Vec::with_capacity(bytes.len());
    file.by_ref().take(metadata.len()).read_to_end(&mut kept)?;
    if kept != bytes {
        return Ok(false);
    }
    file.set_modified(SystemTime::now())?;
    Ok(true)
}

/// Creates the directory if need be. Only the user can read what servers and tools have answered.
fn write(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    files::replace(&dir.join(name), bytes, Replace::CACHE)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Whatever the umask is: it takes nothing away that the world may not have.
    #[test]
    fn what_is_kept_is_for_nobody_else() {
        let place = tempfile::tempdir().unwrap();
        let dir = place.path().join("one/two");
        Cache(Some(dir.clone())).write("name", b"x");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode(&dir), mode(&dir.join("name"))), (0o700, 0o600));
    }
}
