//! Idempotency keys: one record for each, of its principal.
//!
//! The file `idempotency/<SHA-256 of the key>.json`, or a row of the database of the sessions, is written durably before the
//! turn begins, and again with the answer.

use std::io;
use std::sync::Arc;

use converse_canister::Digest;
use converse_host::world::World;
use converse_session::storage::{RecordKind, Records};
use serde::{Deserialize, Serialize};

use crate::front::records_of;

/// Keys of one principal. A further one is refused: a key that is removed earlier could run a turn twice.
pub(super) const MAX_KEYS: usize = 10_000;

/// Bytes of the keys of one principal with their answers. An answer without room is not kept, but its key is.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of one answer.
pub(super) const MAX_ANSWER: usize = 16 * 1024 * 1024;

const KIND: RecordKind = RecordKind::Idempotency;

/// The request that a key was first sent with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::front) struct Asked {
    pub(super) route: String,
    /// Digest of the body.
    pub(super) body: Digest,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) asked: Asked,
    pub(super) state: State,
    /// The server that runs the turn, if several have the same keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) process: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Began,
    Ended(Answer),
    /// It ended, and its answer was too large.
    NotKept,
}

/// A finished HTTP reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// Whether a key was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Began {
    New,
    /// Another process was faster.
    Known,
    /// The principal has no room.
    Full,
}

/// The keys of a principal.
#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    records: Arc<dyn Records>,
}

impl KeyFiles {
    /// `None` without a home.
    pub(super) fn of(world: &World) -> Option<Self> {
        records_of(world).map(|records| Self { records })
    }

    /// Returns what is kept of a key.
    ///
    /// # Errors
    /// The record cannot be read or is damaged: the turn of the key may have run.
    pub(super) fn read(&self, key: &Digest) -> io::Result<Option<Record>> {
        let Some(bytes) = self.records.get(KIND, &key.to_string())? else { return Ok(None) };
        Ok(Some(serde_json::from_slice(&bytes)?))
    }

    /// Writes a new key, durably, and removes keys that are too old.
    ///
    /// # Errors
    /// The key is not saved.
    pub(super) fn begin(&self, key: &Digest, asked: Asked, process: Option<String>) -> io::Result<Began> {
        if self.records.sweep(KIND)?.count >= MAX_KEYS {
            return Ok(Began::Full);
        }
        let record = serde_json::to_vec(&Record { asked, state: State::Began, process })?;
        let is_new = self.records.insert(KIND, &key.to_string(), &record)?;
        Ok(if is_new { Began::New } else { Began::Known })
    }

    /// Writes the answer of a key, durably. `None`: it is too large to be kept.
    pub(super) fn end(&self, key: &Digest, asked: Asked, answer: Option<Answer>) -> io::Result<()> {
        let state = answer.map_or(State::NotKept, State::Ended);
        let mut record = serde_json::to_vec(&Record { asked: asked.clone(), state, process: None })?;
        let kept = self.records.sweep(KIND)?.bytes;
        if kept.saturating_add(record.len() as u64) > MAX_BYTES {
            record = serde_json::to_vec(&Record { asked, state: State::NotKept, process: None })?;
        }
        self.records.put(KIND, &key.to_string(), &record)
    }

    /// Notes that the turn of a key was cut: no server runs it any more.
    pub(super) fn cut(&self, key: &Digest, asked: Asked) -> io::Result<()> {
        let record = serde_json::to_vec(&Record { asked, state: State::Began, process: None })?;
        self.records.put(KIND, &key.to_string(), &record)
    }

    /// Removes a key whose turn did not begin.
    pub(super) fn release(&self, key: &Digest) -> io::Result<()> {
        self.records.remove(KIND, &key.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, SystemTime};

    use converse_session::digest;
    use converse_session::storage::RecordFiles;

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn files(dir: &Path) -> KeyFiles {
        KeyFiles { records: Arc::new(RecordFiles::new(dir)) }
    }

    fn path(dir: &Path, key: &Digest) -> PathBuf {
        dir.join(format!("idempotency/{key}.json"))
    }

    fn asked() -> Asked {
        Asked { route: "/v1/responses".to_owned(), body: digest(b"{}") }
    }

    fn answer() -> Answer {
        Answer { status: 200, headers: Vec::new(), body: "{}".to_owned() }
    }

    fn age(path: &Path, age: Duration) {
        File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_key_is_kept_for_a_day_and_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key, other) = (files(dir.path()), digest(b"a"), digest(b"b"));
        let begin = |key: &Digest| files.begin(key, asked(), None).unwrap();
        assert!(files.read(&key).unwrap().is_none());
        assert_eq!(begin(&key), Began::New);
        assert!(matches!(files.read(&key).unwrap().unwrap().state, State::Began));
        assert_eq!(begin(&key), Began::Known);
        files.end(&key, asked(), Some(answer())).unwrap();
        let Some(Record { asked: first, state: State::Ended(kept), .. }) = files.read(&key).unwrap() else {
            panic!("no answer");
        };
        assert_eq!((first, kept), (asked(), answer()));
        let at = path(dir.path(), &key);
        age(&at, DAY - Duration::from_secs(600));
        assert!(files.read(&key).unwrap().is_some());
        age(&at, DAY + Duration::from_secs(600));
        assert!(files.read(&key).unwrap().is_none());
        assert!(begin(&other) == Began::New && !at.exists());
        files.release(&other).unwrap();
        assert!(files.read(&other).unwrap().is_none());
    }

    #[test]
    fn a_damaged_key_is_an_error_and_not_a_new_key() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key) = (files(dir.path()), digest(b"a"));
        fs::create_dir(dir.path().join("idempotency")).unwrap();
        fs::write(path(dir.path(), &key), "{").unwrap();
        assert!(files.read(&key).is_err());
        assert_eq!(files.begin(&key, asked(), None).unwrap(), Began::Known);
    }

    #[test]
    fn keys_and_their_bytes_are_bounded_and_no_key_is_given_up_early() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key) = (files(dir.path()), digest(b"a"));
        let begin = |key: &Digest| files.begin(key, asked(), None).unwrap();
        begin(&key);
        let large = dir.path().join("idempotency/large.json");
        File::create(&large).unwrap().set_len(MAX_BYTES).unwrap();
        files.end(&key, asked(), Some(answer())).unwrap();
        assert!(matches!(files.read(&key).unwrap().unwrap().state, State::NotKept));
        fs::remove_file(large).unwrap();
        for index in 1..MAX_KEYS {
            fs::write(dir.path().join(format!("idempotency/{index}.json")), "{}").unwrap();
        }
        assert_eq!(begin(&digest(b"b")), Began::Full);
        assert!(files.read(&key).unwrap().is_some());
        age(&dir.path().join("idempotency/1.json"), DAY + Duration::from_secs(600));
        assert_eq!(begin(&digest(b"b")), Began::New);
    }
}
