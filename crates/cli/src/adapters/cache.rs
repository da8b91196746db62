//! Small files in the user's cache directory. All of them are hints that save time: they may be lost, and nothing here
//! fails or is synced to the disk.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// `None`: without a home nothing is kept.
#[derive(Debug, Clone)]
pub(crate) struct Cache(pub(crate) Option<PathBuf>);

impl Cache {
    /// A regular file of at most so many bytes.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Option<Vec<u8>> {
        let path = self.0.as_deref()?.join(name);
        let metadata = fs::metadata(&path).ok()?;
        if metadata.is_file() && metadata.len() <= limit { fs::read(path).ok() } else { None }
    }

    /// The file has all of these bytes or is as it was before.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        if let Some(dir) = &self.0
            && let Err(error) = replace(dir, name, bytes)
        {
            tracing::debug!(%error, name, "a cached file was not kept");
        }
    }
}

fn replace(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let temporary = dir.join(format!(".{name}-{}", std::process::id()));
    fs::write(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, dir.join(name)))
        .inspect_err(|_| drop(fs::remove_file(&temporary)))
}
