//! The trusted projects: `trust.jsonl` in the user's state directory, one object per line; the last one for a root
//! counts.
//!
//! Fails closed: a file that is damaged, too large, not a regular file or writable by others trusts no project and is
//! not overwritten, so that the user can look at it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::FileDigest;
use crate::world::World;
use converse_session::files::PrivateText;

const NAME: &str = "trust.jsonl";
/// Bytes of the file; enough for thousands of projects.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A trusted project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The canonical path of the project.
    pub root: String,
    /// SHA-256 of everything that it declared, in lower-case hex.
    pub hash: String,
    /// The same without its instructions, if it had some and anything else. Trust in that outlasts other instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_instructions: Option<String>,
    /// Time in RFC 3339.
    pub at: String,
    pub files: Vec<FileDigest>,
}

/// Why the file cannot be used, with its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound(String);

impl std::fmt::Display for Unsound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why an entry could not be stored or removed.
#[derive(Debug)]
pub enum StoreError {
    Unsound(Unsound),
    Unwritten(String),
}

impl From<Unsound> for StoreError {
    fn from(unsound: Unsound) -> Self {
        Self::Unsound(unsound)
    }
}

#[derive(Debug)]
pub struct Store {
    file: PrivateText,
}

impl Store {
    /// `None` without a home.
    pub fn of(world: &World) -> Option<Self> {
        world.state_dir().map(Self::within)
    }

    fn within(dir: PathBuf) -> Self {
        Self { file: PrivateText { dir, name: NAME, most: MAX_BYTES } }
    }

    pub fn find(&self, root: &str) -> Result<Option<Entry>, Unsound> {
        Ok(self.read()?.into_iter().rfind(|entry| entry.root == root))
    }

    /// Replaces the entry of this root.
    pub fn record(&self, entry: Entry) -> Result<(), StoreError> {
        let _lock = self.file.lock().map_err(|error| self.unwritten(&error))?;
        let mut entries = self.read()?;
        entries.retain(|known| known.root != entry.root);
        entries.push(entry);
        self.replace(&entries).map_err(|error| self.unwritten(&error))
    }

    /// Removes an entry. Returns false if there was none.
    pub fn forget(&self, root: &str) -> Result<bool, StoreError> {
        // Does not create a missing file.
        if self.read()?.is_empty() {
            return Ok(false);
        }
        let _lock = self.file.lock().map_err(|error| self.unwritten(&error))?;
        let mut entries = self.read()?;
        let before = entries.len();
        entries.retain(|known| known.root != root);
        if entries.len() < before {
            self.replace(&entries).map_err(|error| self.unwritten(&error))?;
        }
        Ok(entries.len() < before)
    }

    /// Returns the digests of all trusted files.
    pub fn digests(&self) -> Result<BTreeSet<String>, Unsound> {
        Ok(self.read()?.into_iter().flat_map(|entry| entry.files).map(|file| file.sha256).collect())
    }

    fn path(&self) -> PathBuf {
        self.file.path()
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
            return Err(self.unsound("is damaged: the last line is incomplete"));
        }
        let entry = |(at, line): (usize, &str)| {
            let damaged = |why: String| self.unsound(format!("is damaged in line {}: {why}", at + 1));
            let entry: Entry = serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
            let hex = |text: &str| text.len() == 64 && text.bytes().all(|b| b"0123456789abcdef".contains(&b));
            match hex(&entry.hash) {
                true => Ok(entry),
                false => Err(damaged("`hash` is not a SHA-256".to_owned())),
            }
        };
        text.lines().enumerate().map(entry).collect()
    }

    fn text(&self) -> Result<Option<String>, Unsound> {
        self.file.read().map_err(|why| self.unsound(why))
    }

    /// Requires the lock.
    fn replace(&self, entries: &[Entry]) -> io::Result<()> {
        let mut text = String::new();
        for entry in entries {
            text.push_str(&serde_json::to_string(entry)?);
            text.push('\n');
        }
        self.file.replace(&text)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions, Permissions};
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn store() -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::within(dir.path().join("state/converse"));
        (dir, store)
    }

    fn entry(root: &str, digit: &str) -> Entry {
        let files = vec![FileDigest { path: "ensembles/a.toml".into(), sha256: digit.repeat(64) }];
        Entry {
            root: root.into(),
            hash: digit.repeat(64),
            without_instructions: None,
            at: "2026-11-20T00:00:00Z".into(),
            files,
        }
    }

    fn mode(path: &std::path::Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_recorded_is_found_until_it_is_forgotten() {
        let (_dir, store) = store();
        assert_eq!(store.find("/p"), Ok(None));
        assert!(!store.forget("/p").unwrap() && !store.file.dir.exists(), "looking makes nothing");
        for written in [entry("/p", "a"), entry("/q", "b"), entry("/p", "c")] {
            store.record(written).unwrap();
        }
        assert_eq!(store.find("/p"), Ok(Some(entry("/p", "c"))));
        assert_eq!(store.read().unwrap().len(), 2, "what is replaced is not kept");
        assert!(store.forget("/p").unwrap() && !store.forget("/p").unwrap());
        assert_eq!((store.find("/p"), store.find("/q")), (Ok(None), Ok(Some(entry("/q", "b")))));
        assert_eq!((mode(&store.file.dir), mode(&store.path())), (0o700, 0o600));
        let mut names: Vec<_> =
            fs::read_dir(&store.file.dir).unwrap().map(|e| e.unwrap().file_name()).collect();
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
            (format!("{good}\n{cut}"), "incomplete"),
            (good.clone(), "incomplete"),
            (format!("{short}\n"), "not a SHA-256"),
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
