//! Idempotency keys: one file for each, below the directory of its principal.
//!
//! `idempotency/<SHA-256 of the key>.json` is written and synced before the turn begins, and again with the answer.

use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use converse_canister::Digest;
use converse_host::world::World;
use converse_session::files::{Replace, open_regular, private_dir, replace};
use serde::{Deserialize, Serialize};

use crate::front::entries::{entries, is_older_than};

/// Keys of one principal. A further one is refused: a key that is removed earlier could run a turn twice.
pub(super) const MAX_KEYS: usize = 10_000;
pub(super) const MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// Bytes of the keys of one principal with their answers. An answer without room is not kept, but its key is.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of one answer.
pub(super) const MAX_ANSWER: usize = 16 * 1024 * 1024;

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

/// The keys of a principal.
#[derive(Debug, Clone)]
pub(super) struct KeyFiles {
    dir: PathBuf,
}

impl KeyFiles {
    /// `None` without a home.
    pub(super) fn of(world: &World) -> Option<Self> {
        world.data_dir().map(|dir| Self { dir: dir.join("idempotency") })
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.dir.join(format!("{key}.json"))
    }

    /// Returns what is kept of a key.
    ///
    /// # Errors
    /// The file cannot be read or is damaged: the turn of the key may have run.
    pub(super) fn read(&self, key: &Digest) -> io::Result<Option<Record>> {
        let file = match open_regular(&self.path(key)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        if is_older_than(file.metadata()?.modified()?, MAX_AGE) {
            return Ok(None);
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// Writes a new key, durably, and removes keys that are too old. Returns false if the principal has no room.
    ///
    /// # Errors
    /// The key is not saved, or another process has saved it ([`ErrorKind::AlreadyExists`]).
    pub(super) fn begin(&self, key: &Digest, asked: Asked) -> io::Result<bool> {
        private_dir(&self.dir)?;
        let (old, kept): (Vec<_>, Vec<_>) =
            entries(&self.dir).into_iter().partition(|entry| entry.is_older_than(MAX_AGE));
        for entry in old {
            // One that stays is not a new key.
            let _ = fs::remove_file(self.dir.join(format!("{}.json", entry.id)));
        }
        if kept.len() >= MAX_KEYS {
            return Ok(false);
        }
        let record = serde_json::to_vec(&Record { asked, state: State::Began })?;
        replace(&self.path(key), &record, Replace { only_new: true, ..Replace::PRIVATE })?;
        Ok(true)
    }

    /// Writes the answer of a key, durably. `None`: it is too large to be kept.
    pub(super) fn end(&self, key: &Digest, asked: Asked, answer: Option<Answer>) -> io::Result<()> {
        let state = answer.map_or(State::NotKept, State::Ended);
        let mut record = serde_json::to_vec(&Record { asked: asked.clone(), state })?;
        let kept: u64 = entries(&self.dir).iter().map(|entry| entry.bytes).sum();
        if kept.saturating_add(record.len() as u64) > MAX_BYTES {
            record = serde_json::to_vec(&Record { asked, state: State::NotKept })?;
        }
        replace(&self.path(key), &record, Replace::PRIVATE)
    }

    /// Removes a key whose turn did not begin.
    pub(super) fn release(&self, key: &Digest) -> io::Result<()> {
        fs::remove_file(self.path(key))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::SystemTime;

    use converse_session::digest;

    use super::*;

    fn asked() -> Asked {
        Asked { route: "/v1/responses".to_owned(), body: digest(b"{}") }
    }

    fn answer() -> Answer {
        Answer { status: 200, headers: Vec::new(), body: "{}".to_owned() }
    }

    fn age(path: &std::path::Path, age: Duration) {
        File::options().write(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn a_key_is_kept_for_a_day_and_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key, other) = (KeyFiles { dir: dir.path().to_owned() }, digest(b"a"), digest(b"b"));
        assert!(files.read(&key).unwrap().is_none());
        assert!(files.begin(&key, asked()).unwrap());
        assert!(matches!(files.read(&key).unwrap().unwrap().state, State::Began));
        assert_eq!(files.begin(&key, asked()).unwrap_err().kind(), ErrorKind::AlreadyExists);
        files.end(&key, asked(), Some(answer())).unwrap();
        let Some(Record { asked: first, state: State::Ended(kept) }) = files.read(&key).unwrap() else {
            panic!("no answer");
        };
        assert_eq!((first, kept), (asked(), answer()));
        age(&files.path(&key), MAX_AGE - Duration::from_secs(600));
        assert!(files.read(&key).unwrap().is_some());
        age(&files.path(&key), MAX_AGE + Duration::from_secs(600));
        assert!(files.read(&key).unwrap().is_none());
        assert!(files.begin(&other, asked()).unwrap() && !files.path(&key).exists());
        files.release(&other).unwrap();
        assert!(files.read(&other).unwrap().is_none());
    }

    #[test]
    fn a_damaged_key_is_an_error_and_not_a_new_key() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key) = (KeyFiles { dir: dir.path().to_owned() }, digest(b"a"));
        fs::write(files.path(&key), "{").unwrap();
        assert!(files.read(&key).is_err() && files.begin(&key, asked()).is_err());
    }

    #[test]
    fn keys_and_their_bytes_are_bounded_and_no_key_is_given_up_early() {
        let dir = tempfile::tempdir().unwrap();
        let (files, key) = (KeyFiles { dir: dir.path().to_owned() }, digest(b"a"));
        files.begin(&key, asked()).unwrap();
        let large = dir.path().join("large.json");
        File::create(&large).unwrap().set_len(MAX_BYTES).unwrap();
        files.end(&key, asked(), Some(answer())).unwrap();
        assert!(matches!(files.read(&key).unwrap().unwrap().state, State::NotKept));
        fs::remove_file(large).unwrap();
        for index in 1..MAX_KEYS {
            fs::write(dir.path().join(format!("{index}.json")), "{}").unwrap();
        }
        assert!(!files.begin(&digest(b"b"), asked()).unwrap());
        assert!(files.read(&key).unwrap().is_some());
        age(&dir.path().join("1.json"), MAX_AGE + Duration::from_secs(600));
        assert!(files.begin(&digest(b"b"), asked()).unwrap());
    }
}
