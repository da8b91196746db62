//! Stored responses: one file for each, below the directory of its principal.
//!
//! `responses/<id>.json` is written and synced before the turn begins, and again when it has ended. Attachments are in
//! `responses/<id>/content`, and the events of a background stream in `responses/<id>/events`.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use converse_canister::{Digest, InvocationId, Transcript};
use converse_host::world::World;
use converse_session::Contents;
use converse_session::files::{Replace, open_regular, private_dir, replace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::front::entries::entries;

/// Responses of one principal, their age, and their bytes with attachments and events. More are removed, the oldest first.
const MAX_KEPT: usize = 1000;
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
const MAX_TOTAL: u64 = 1024 * 1024 * 1024;

/// Bytes of one file.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A stored response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    /// The turn had not ended when this was written.
    pub(super) running: bool,
    pub(super) background: bool,
    pub(super) streamed: bool,
    /// The response as JSON text.
    pub(super) body: String,
    /// The items as `input_items` lists them.
    pub(super) input: Vec<Value>,
    /// The conversation without the system text of the server and the `instructions`.
    pub(super) transcript: Transcript,
    /// Invocations that wait for an approval.
    pub(super) asked: Vec<InvocationId>,
    /// What was asked about each of them.
    #[serde(default)]
    pub(super) questions: HashMap<InvocationId, Digest>,
}

impl Record {
    /// Returns the response. One whose server ended in its turn has failed: the turn is not repeated.
    pub(super) fn object(&self) -> Vec<u8> {
        let parsed = serde_json::from_str::<Value>(&self.body);
        let Some(mut object) = parsed.ok().filter(|_| self.running) else {
            return self.body.clone().into_bytes();
        };
        object["status"] = json!("failed");
        let message = "the server ended before the response was complete; its turn is not repeated";
        object["error"] = json!({ "code": "server_error", "message": message });
        object.to_string().into_bytes()
    }

    pub(super) fn status(&self) -> String {
        let parsed = serde_json::from_slice::<Value>(&self.object()).unwrap_or_default();
        parsed["status"].as_str().unwrap_or("failed").to_owned()
    }
}

/// The stored responses of a principal.
#[derive(Debug, Clone)]
pub(super) struct ResponseFiles {
    dir: PathBuf,
}

impl ResponseFiles {
    /// `None` without a home.
    pub(super) fn of(world: &World) -> Option<Self> {
        world.data_dir().map(|dir| Self { dir: dir.join("responses") })
    }

    #[cfg(test)]
    pub(super) fn at(dir: &std::path::Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    pub(super) fn contents(&self, id: &str) -> Contents {
        Contents::new(&self.dir.join(id))
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        is_id(id).then(|| self.dir.join(format!("{id}.json")))
    }

    pub(super) fn read(&self, id: &str) -> Option<Record> {
        let mut text = String::new();
        open_regular(&self.path(id)?).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes a response, durably.
    pub(super) fn write(&self, id: &str, record: &Record) -> io::Result<()> {
        private_dir(&self.dir)?;
        let path = self.path(id).ok_or(io::ErrorKind::InvalidInput)?;
        replace(&path, &serde_json::to_vec(record)?, Replace::PRIVATE)
    }

    /// Takes the approvals of a response, durably; returns whether they were not taken before. Two requests with the
    /// same answers would run the calls twice.
    pub(super) fn take_approvals(&self, id: &str) -> io::Result<bool> {
        let path = self.path(id).ok_or(io::ErrorKind::InvalidInput)?.with_extension("");
        private_dir(&path)?;
        match replace(&path.join("answered"), b"", Replace { only_new: true, ..Replace::PRIVATE }) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            taken => taken.map(|()| true),
        }
    }

    pub(super) fn write_events(&self, id: &str, events: &[u8]) -> io::Result<()> {
        private_dir(&self.dir.join(id))?;
        replace(&self.dir.join(id).join("events"), events, Replace::PRIVATE)
    }

    pub(super) fn read_events(&self, id: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let path = self.path(id)?.with_extension("").join("events");
        open_regular(&path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Removes a response; returns whether it existed.
    pub(super) fn remove(&self, id: &str) -> bool {
        let Some(path) = self.path(id) else { return false };
        let existed = fs::remove_file(&path).is_ok();
        let _ = fs::remove_dir_all(path.with_extension(""));
        existed
    }

    /// Removes what is too old or too much.
    pub(super) fn sweep(&self) {
        let mut kept = entries(&self.dir);
        kept.retain(|entry| is_id(&entry.id));
        let (mut number, mut bytes) = (kept.len(), kept.iter().map(|entry| entry.bytes).sum::<u64>());
        for entry in kept {
            if number > MAX_KEPT || bytes > MAX_TOTAL || entry.is_older_than(MAX_AGE) {
                self.remove(&entry.id);
                number -= 1;
                bytes = bytes.saturating_sub(entry.bytes);
            }
        }
    }
}

/// Returns whether a text is the id of a response: 128 random bits, which also make it a safe name of a file.
pub(super) fn is_id(id: &str) -> bool {
    id.strip_prefix("resp_").is_some_and(|key| {
        key.len() == 32 && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &std::path::Path) -> ResponseFiles {
        ResponseFiles::at(dir)
    }

    fn record(running: bool) -> Record {
        let body = json!({ "status": if running { "queued" } else { "completed" } }).to_string();
        let (input, asked, questions) = (Vec::new(), Vec::new(), HashMap::new());
        let transcript = Transcript::new();
        Record { running, background: true, streamed: false, body, input, transcript, asked, questions }
    }

    #[test]
    fn a_turn_that_did_not_end_has_failed() {
        let dir = tempfile::tempdir().unwrap();
        let (files, id) = (files(dir.path()), format!("resp_{}", "a".repeat(32)));
        files.write(&id, &record(true)).unwrap();
        assert_eq!(files.read(&id).unwrap().status(), "failed");
        files.write(&id, &record(false)).unwrap();
        assert_eq!(files.read(&id).unwrap().status(), "completed");
        assert!(files.remove(&id) && !files.remove(&id));
    }

    #[test]
    fn approvals_are_taken_once() {
        let dir = tempfile::tempdir().unwrap();
        let (files, id) = (files(dir.path()), format!("resp_{}", "a".repeat(32)));
        assert_eq!((files.take_approvals(&id).unwrap(), files.take_approvals(&id).unwrap()), (true, false));
    }

    #[test]
    fn names_are_ids_and_their_number_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        for id in ["resp_../../../x", "resp_", "../x", "resp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(files.write(id, &record(false)).is_err() && files.read(id).is_none(), "{id}");
        }
        for index in 0..=MAX_KEPT {
            fs::write(dir.path().join(format!("resp_{index:032x}.json")), "{}").unwrap();
        }
        files.sweep();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), MAX_KEPT);
    }

    #[test]
    fn bytes_of_stored_responses_are_bounded_with_attachments_and_events() {
        let dir = tempfile::tempdir().unwrap();
        let (files, ids) = (files(dir.path()), [0, 1, 2].map(|index| format!("resp_{index:032x}")));
        let sized = |path: PathBuf, bytes: u64| fs::File::create(path).unwrap().set_len(bytes).unwrap();
        for (id, age) in ids.iter().zip([3, 2, 1]) {
            files.write(id, &record(false)).unwrap();
            let path = files.path(id).unwrap();
            fs::create_dir_all(path.with_extension("").join("content")).unwrap();
            sized(path.with_extension("").join("content/a"), MAX_TOTAL / 4);
            sized(path.with_extension("").join("events"), MAX_TOTAL / 8);
            let at = std::time::SystemTime::now() - Duration::from_secs(600 * age);
            for path in [path.with_extension(""), path] {
                fs::File::open(path).unwrap().set_modified(at).unwrap();
            }
        }
        files.sweep();
        let kept = ids.map(|id| files.read(&id).is_some());
        assert_eq!(kept, [false, true, true]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4, "the directory is removed too");
    }
}
