//! [`FileWatch`]: whether files have changed, for programs that run for long.

use std::fs::metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::SystemTime;

/// Files that are looked at every second or so.
#[derive(Debug)]
pub struct FileWatch {
    files: Vec<PathBuf>,
    seen: Vec<Option<Stamp>>,
    /// Something has changed and may still be changing.
    changing: bool,
}

/// What tells two states of a file apart; `None` if there is no such file.
type Stamp = (Option<SystemTime>, u64, u64);

impl FileWatch {
    pub fn new(files: Vec<PathBuf>) -> Self {
        let seen = stamps(&files);
        Self { files, seen, changing: false }
    }

    /// Returns whether files have changed, once for each change: when they are the same at two looks.
    pub fn has_changed(&mut self) -> bool {
        let now = stamps(&self.files);
        let is_new = now != self.seen;
        self.seen = now;
        let settled = self.changing && !is_new;
        self.changing = is_new;
        settled
    }
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |file: &PathBuf| {
        let metadata = metadata(file).ok()?;
        Some((metadata.modified().ok(), metadata.len(), metadata.ino()))
    };
    files.iter().map(stamp).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_when_it_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a");
        let mut watch = FileWatch::new(vec![file.clone()]);
        assert!(!watch.has_changed());
        for text in ["one", "longer"] {
            std::fs::write(&file, text).unwrap();
            assert!(!watch.has_changed(), "it may go on");
        }
        assert!(watch.has_changed());
        assert!(!watch.has_changed());
        std::fs::remove_file(&file).unwrap();
        assert!(!watch.has_changed());
        assert!(watch.has_changed(), "a file that is gone has changed");
    }
}
