//! Small values beside the sessions of an owner: idempotency keys, and questions that wait for answers.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::files::{Replace, open_regular, private_dir, replace};

/// Bytes of a value that are read, at most.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// What a value is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    /// An `Idempotency-Key`, by its digest.
    Idempotency,
    /// The questions of a turn and the answers so far, by the id of its session.
    Waiting,
}

impl RecordKind {
    /// Returns the name of its directory or column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idempotency => "idempotency",
            Self::Waiting => "waiting",
        }
    }

    /// Returns the age at which a value that was not written since counts as gone. `None`: never.
    pub fn max_age(self) -> Option<Duration> {
        match self {
            Self::Idempotency => Some(Duration::from_secs(24 * 3600)),
            Self::Waiting => None,
        }
    }
}

/// How much there is of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordUsage {
    pub count: usize,
    pub bytes: u64,
}

/// The values of one owner. What is written is durable. A value that is too old does not exist.
pub trait Records: fmt::Debug + Send + Sync {
    /// Returns a value.
    ///
    /// # Errors
    ///
    /// It cannot be read. That it does not exist is not an error.
    fn get(&self, kind: RecordKind, key: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes a value if there is none; returns false if there is one. Of several writers, one gets true.
    ///
    /// # Errors
    ///
    /// It may not be written.
    fn insert(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<bool>;

    /// Writes a value, whatever there was.
    ///
    /// # Errors
    ///
    /// It may not be written.
    fn put(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<()>;

    /// Replaces a value if it is still `old`; returns whether it was. Files compare and replace in two steps: processes
    /// that share them must exclude each other.
    ///
    /// # Errors
    ///
    /// It may not be written.
    fn update(&self, kind: RecordKind, key: &str, old: &[u8], new: &[u8]) -> io::Result<bool>;

    /// Removes a value, if it exists.
    ///
    /// # Errors
    ///
    /// It may not be removed.
    fn remove(&self, kind: RecordKind, key: &str) -> io::Result<()>;

    /// Removes a value if it is still `old`, as [`Records::update`] replaces one; returns whether it was.
    ///
    /// # Errors
    ///
    /// It may not be removed.
    fn remove_known(&self, kind: RecordKind, key: &str, old: &[u8]) -> io::Result<bool>;

    /// Returns all keys of a kind, sorted.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    fn keys(&self, kind: RecordKind) -> io::Result<Vec<String>>;

    /// Removes the values that are too old, and returns how much is left.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    fn sweep(&self, kind: RecordKind) -> io::Result<RecordUsage>;
}

/// Values as files: `<dir>/<kind>/<key>.json`.
#[derive(Debug, Clone)]
pub struct RecordFiles {
    dir: PathBuf,
}

impl RecordFiles {
    /// `dir` is the directory that has one directory for each kind. They are created when needed.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    fn path(&self, kind: RecordKind, key: &str) -> PathBuf {
        self.dir.join(kind.as_str()).join(format!("{key}.json"))
    }

    fn written(&self, kind: RecordKind, key: &str, value: &[u8], only_new: bool) -> io::Result<()> {
        private_dir(&self.dir.join(kind.as_str()))?;
        replace(&self.path(kind, key), value, Replace { only_new, ..Replace::PRIVATE })
    }

    /// Returns the keys of a kind with the metadata of their files.
    fn entries(&self, kind: RecordKind) -> Vec<(String, fs::Metadata)> {
        let entries = fs::read_dir(self.dir.join(kind.as_str())).into_iter().flatten().flatten();
        let named = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".json")?.to_owned(), entry.metadata().ok()?))
        });
        named.collect()
    }
}

/// Returns whether a value was written too long ago. A time in the future is not.
fn is_too_old(kind: RecordKind, metadata: &fs::Metadata) -> bool {
    let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
    kind.max_age().zip(age).is_some_and(|(most, age)| age > most)
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    unless_missing(fs::remove_file(path))
}

impl Records for RecordFiles {
    fn get(&self, kind: RecordKind, key: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match open_regular(&self.path(kind, key)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if is_too_old(kind, &file.metadata()?) {
            return Ok(None);
        }
        let mut value = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut value)?;
        Ok(Some(value))
    }

    fn insert(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<bool> {
        if fs::metadata(self.path(kind, key)).is_ok_and(|metadata| is_too_old(kind, &metadata)) {
            remove(&self.path(kind, key))?;
        }
        match self.written(kind, key, value, true) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            written => written.map(|()| true),
        }
    }

    fn put(&self, kind: RecordKind, key: &str, value: &[u8]) -> io::Result<()> {
        self.written(kind, key, value, false)
    }

    fn update(&self, kind: RecordKind, key: &str, old: &[u8], new: &[u8]) -> io::Result<bool> {
        if self.get(kind, key)?.as_deref() != Some(old) {
            return Ok(false);
        }
        self.put(kind, key, new).map(|()| true)
    }

    fn remove(&self, kind: RecordKind, key: &str) -> io::Result<()> {
        remove(&self.path(kind, key))
    }

    fn remove_known(&self, kind: RecordKind, key: &str, old: &[u8]) -> io::Result<bool> {
        if self.get(kind, key)?.as_deref() != Some(old) {
            return Ok(false);
        }
        self.remove(kind, key).map(|()| true)
    }

    fn keys(&self, kind: RecordKind) -> io::Result<Vec<String>> {
        let entries = self.entries(kind).into_iter();
        let kept = entries.filter(|(_, metadata)| !is_too_old(kind, metadata));
        let mut keys: Vec<String> = kept.map(|(key, _)| key).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    fn sweep(&self, kind: RecordKind) -> io::Result<RecordUsage> {
        let mut usage = RecordUsage::default();
        for (key, metadata) in self.entries(kind) {
            if is_too_old(kind, &metadata) {
                // One that stays does not exist all the same.
                let _ = fs::remove_file(self.path(kind, &key));
                continue;
            }
            usage.count += 1;
            usage.bytes += metadata.len();
        }
        Ok(usage)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use super::*;

    const KEY: RecordKind = RecordKind::Idempotency;

    #[test]
    fn a_value_is_inserted_once_and_gone_after_its_time() {
        let dir = tempfile::tempdir().unwrap();
        let files = RecordFiles::new(dir.path());
        assert!(files.get(KEY, "a").unwrap().is_none() && files.keys(KEY).unwrap().is_empty());
        assert!(files.insert(KEY, "a", b"one").unwrap() && !files.insert(KEY, "a", b"two").unwrap());
        assert!(!files.update(KEY, "a", b"two", b"three").unwrap());
        assert!(files.update(KEY, "a", b"one", b"three").unwrap());
        assert_eq!(files.get(KEY, "a").unwrap().unwrap(), b"three");
        assert_eq!(files.sweep(KEY).unwrap(), RecordUsage { count: 1, bytes: 5 });
        let old = SystemTime::now() - KEY.max_age().unwrap() - Duration::from_secs(600);
        File::options().write(true).open(files.path(KEY, "a")).unwrap().set_modified(old).unwrap();
        assert!(files.get(KEY, "a").unwrap().is_none() && files.keys(KEY).unwrap().is_empty());
        assert!(files.insert(KEY, "a", b"new").unwrap());
        File::options().write(true).open(files.path(KEY, "a")).unwrap().set_modified(old).unwrap();
        assert_eq!(files.sweep(KEY).unwrap(), RecordUsage::default());
        assert!(!files.path(KEY, "a").exists());
        files.remove(KEY, "a").unwrap();
        files.put(RecordKind::Waiting, "b", b"asked").unwrap();
        assert_eq!(files.keys(RecordKind::Waiting).unwrap(), ["b"]);
        assert!(!files.remove_known(RecordKind::Waiting, "b", b"another").unwrap());
        assert!(files.remove_known(RecordKind::Waiting, "b", b"asked").unwrap());
        assert!(!files.remove_known(RecordKind::Waiting, "b", b"asked").unwrap());
    }
}
