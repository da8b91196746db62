//! Whom the user has trusted: `trust.jsonl` in the user's state directory, an object a line, the last one for a root wins.
//!
//! It fails closed. A file that is damaged, too large, no file, or that others may write to, trusts nobody and is never
//! mended by writing over it: what it held is for the user to look at.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use converse_session::{LOCK_TRIES, lock_within};
use serde::{Deserialize, Serialize};

use super::FileDigest;
use super::private::{private_dir, private_file};
use crate::world::World;

const NAME: &str = "trust.jsonl";
/// Thousands of projects.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// One project as it was trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The project's canonical path.
    pub(crate) root: String,
    /// SHA-256 of everything it declared, lower-case hex.
    pub(crate) hash: String,
    /// RFC 3339.
    pub(crate) at: String,
    pub(crate) files: Vec<FileDigest>,
}

/// The file cannot be relied upon; says why, with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsound(String);

impl std::fmt::Display for Unsound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an entry could not be kept or removed.
#[derive(Debug)]
pub(crate) enum StoreError {
    Unsound(Unsound),
    Unwritten(String),
}

impl From<Unsound> for StoreError {
    fn from(unsound: Unsound) -> Self {
        Self::Unsound(unsound)
    }
}

#[derive(Debug)]
pub(crate) struct Store {
    dir: PathBuf,
}

impl Store {
    /// `None` without a home.
    pub(crate) fn of(world: &World) -> Option<Self> {
        world.state_dir().map(|dir| Self { dir })
    }

    pub(crate) fn find(&self, root: &str) -> Result<Option<Entry>, Unsound> {
        Ok(self.read()?.into_iter().rfind(|entry| entry.root == root))
    }

    /// Replaces what was recorded of this root.
    pub(crate) fn record(&self, entry: Entry) -> Result<(), StoreError> {
        let _lock = self.lock().map_err(|error| self.unwritten(&error))?;
        let mut entries = self.read()?;
        entries.retain(|known| known.root != entry.root);
        entries.push(entry);
        self.replace(&entries).map_err(|error| self.unwritten(&error))
    }

    /// False if there was nothing to remove.
    pub(crate) fn forget(&self, root: &str) -> Result<bool, StoreError> {
        // Without a file nothing is made.
        if self.read()?.is_empty() {
            return Ok(false);
        }
        let _lock = self.lock().map_err(|error| self.unwritten(&error))?;
        let mut entries = self.read()?;
        let before = entries.len();
        entries.retain(|known| known.root != root);
        if entries.len() < before {
            self.replace(&entries).map_err(|error| self.unwritten(&error))?;
        }
        Ok(entries.len() < before)
    }

    /// The digests of all files that are trusted anywhere.
    pub(crate) fn digests(&self) -> Result<BTreeSet<String>, Unsound> {
        Ok(self.read()?.into_iter().flat_map(|entry| entry.files).map(|file| file.sha256).collect())
    }

    fn path(&self) -> PathBuf {
        self.dir.join(NAME)
    }

    fn unsound(&self, reason: impl std::fmt::Display) -> Unsound {
        Unsound(format!("`{}` {reason}", self.path().display()))
    }

    fn unwritten(&self, error: &io::Error) -> StoreError {
        StoreError::Unwritten(format!("`{}` cannot be written: {error}", self.path().display()))
    }

    fn read(&self) -> Result<Vec<Entry>, Unsound> {
        let Some(text) = self.text()? else { return Ok(Vec::new()) };
        if !text.is_empty() && !text.ends_with('\n') {
            return Err(self.unsound("is damaged: its last line is not whole"));
        }
        let entry = |(at, line): (usize, &str)| {
            let damaged = |why: String| self.unsound(format!("is damaged in line {}: {why}", at + 1));
            let entry: Entry = serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
            let hex = |text: &str| text.len() == 64 && text.bytes().all(|b| b"0123456789abcdef".contains(&b));
            match hex(&entry.hash) {
                true => Ok(entry),
                false => Err(damaged("`hash` is no SHA-256".to_owned())),
            }
        };
        text.lines().enumerate().map(entry).collect()
    }

    fn text(&self) -> Result<Option<String>, Unsound> {
        let unreadable = |error: io::Error| self.unsound(format!("cannot be read: {error}"));
        let metadata = match fs::metadata(self.path()) {
            Ok(metadata) => metadata,
            // Without a directory that can be one there is no file either.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(error)),
        };
        if !metadata.is_file() {
            return Err(self.unsound("is not a regular file"));
        }
        if metadata.permissions().mode() & 0o022 != 0 {
            return Err(self.unsound("may be written by others: it must have the mode 0600"));
        }
        let mut text = String::new();
        let file = File::open(self.path()).map_err(unreadable)?;
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(self.unsound(format!("has more than {MAX_BYTES} bytes")));
        }
        Ok(Some(text))
    }

    /// Two runs that write must not lose each other's word, least of all a revocation.
    fn lock(&self) -> io::Result<File> {
        private_dir(&self.dir)?;
        let lock = private_file(OpenOptions::new().write(true).create(true), &self.dir.join("trust.lock"))?;
        if lock_within(&lock, LOCK_TRIES)? {
            return Ok(lock);
        }
        Err(io::Error::other("another process has been changing it for ten seconds"))
    }

    /// The file has all of these or is as it was before. Only for who holds the lock.
    fn replace(&self, entries: &[Entry]) -> io::Result<()> {
        let mut text = String::new();
        for entry in entries {
            text.push_str(&serde_json::to_string(entry)?);
            text.push('\n');
        }
        if text.len() as u64 > MAX_BYTES {
            return Err(io::Error::other(format!("it would have more than {MAX_BYTES} bytes")));
        }
        let temporary = self.dir.join(format!(".tmp-{NAME}"));
        let written = private_file(OpenOptions::new().write(true).create(true).truncate(true), &temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.path()))
            .and_then(|()| File::open(&self.dir)?.sync_all());
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store { dir: dir.path().join("state/converse") };
        (dir, store)
    }

    fn entry(root: &str, digit: &str) -> Entry {
        let files = vec![FileDigest { path: "ensembles/a.toml".into(), sha256: digit.repeat(64) }];
        Entry { root: root.into(), hash: digit.repeat(64), at: "2026-11-20T00:00:00Z".into(), files }
    }

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_recorded_is_found_until_it_is_forgotten() {
        let (_dir, store) = store();
        assert_eq!(store.find("/p"), Ok(None));
        assert!(!store.forget("/p").unwrap() && !store.dir.exists(), "looking makes nothing");
        for written in [entry("/p", "a"), entry("/q", "b"), entry("/p", "c")] {
            store.record(written).unwrap();
        }
        assert_eq!(store.find("/p"), Ok(Some(entry("/p", "c"))));
        assert_eq!(store.read().unwrap().len(), 2, "what is replaced is not kept");
        assert!(store.forget("/p").unwrap() && !store.forget("/p").unwrap());
        assert_eq!((store.find("/p"), store.find("/q")), (Ok(None), Ok(Some(entry("/q", "b")))));
        assert_eq!((mode(&store.dir), mode(&store.path())), (0o700, 0o600));
        let mut names: Vec<_> = fs::read_dir(&store.dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["trust.jsonl", "trust.lock"]);
    }

    #[test]
    fn the_last_line_of_a_root_wins() {
        let (_dir, store) = store();
        store.record(entry("/p", "a")).unwrap();
        let line = serde_json::to_string(&entry("/p", "b")).unwrap() + "\n";
        OpenOptions::new().append(true).open(store.path()).unwrap().write_all(line.as_bytes()).unwrap();
        assert_eq!(store.find("/p"), Ok(Some(entry("/p", "b"))));
    }

    #[test]
    fn what_cannot_be_relied_upon_trusts_nobody_and_stays() {
        let good = serde_json::to_string(&entry("/p", "a")).unwrap();
        let cut = &good[..good.len() - 1];
        let short = good.replace(&"a".repeat(64), "a");
        for (text, what) in [
            (format!("{good}\nnonsense\n"), "line 2"),
            (format!("{good}\n{cut}"), "not whole"),
            (good.clone(), "not whole"),
            (format!("{short}\n"), "no SHA-256"),
            (format!("\n{good}\n"), "line 1"),
            (format!("{good}\n{{\"root\":\"/q\"}}\n"), "line 2"),
        ] {
            let (_dir, store) = store();
            store.record(entry("/x", "b")).unwrap();
            fs::write(store.path(), &text).unwrap();
            let unsound = store.find("/p").unwrap_err().to_string();
            assert!(unsound.contains(what) && unsound.contains(NAME), "{unsound}");
            assert!(matches!(store.record(entry("/p", "a")), Err(StoreError::Unsound(_))));
            assert!(matches!(store.forget("/p"), Err(StoreError::Unsound(_))));
            assert_eq!(fs::read_to_string(store.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_file_that_others_may_write_to_trusts_nobody() {
        let (_dir, store) = store();
        store.record(entry("/p", "a")).unwrap();
        for others in [0o620, 0o602, 0o666] {
            fs::set_permissions(store.path(), Permissions::from_mode(others)).unwrap();
            assert!(store.find("/p").unwrap_err().to_string().contains("0600"), "{others:o}");
        }
        fs::set_permissions(store.path(), Permissions::from_mode(0o600)).unwrap();
        assert!(store.find("/p").unwrap().is_some());
        fs::remove_file(store.path()).unwrap();
        fs::create_dir(store.path()).unwrap();
        assert!(store.find("/p").unwrap_err().to_string().contains("regular"));
    }
}
