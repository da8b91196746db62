//! Approvals that wait: one record for each session, so that they are answered also after a restart and by other
//! processes.
//!
//! It is the file `waiting/<session>.json` beside the sessions, or a row of their database. It describes the questions and
//! has the answers so far. The session itself says whether it waits; the record may be deleted.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use converse_host::world::World;
use converse_session::Uuid;
use converse_session::storage::{RecordKind, Records};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::runs::Props;
use crate::front::records_of;

/// The questions of a session and the answers so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// The questions, as an interrupt of AG-UI describes them.
    pub(super) interrupts: Vec<Value>,
    pub(super) at: String,
    /// By the id of the interrupt.
    #[serde(default)]
    pub(super) answers: BTreeMap<String, Answer>,
    /// What the turn was begun with, its limits and tools among them. It goes on with the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) props: Option<Props>,
    /// The comparison that the turn belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) comparison: Option<String>,
    /// What identifies a question among those of the other sessions of the comparison, by the id of the interrupt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) questions: BTreeMap<String, String>,
}

/// An answer to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) decision: Choice,
    /// How far an answer "always" reaches: one of the patterns that the question offers, or `NAME=PATTERN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pattern: Option<String>,
    /// What the model reads about a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) comment: Option<String>,
    /// Other arguments than the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) arguments: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Choice {
    Once,
    /// For the rest of this session, as long as the server runs.
    Session,
    Always,
    Deny,
}

impl Waiting {
    /// Returns the ids of questions of a comparison without an answer.
    pub(super) fn open_ids(&self) -> impl Iterator<Item = &String> {
        self.questions.keys().filter(|id| !self.answers.contains_key(*id))
    }

    /// Returns whether a question has no answer.
    pub(super) fn is_open(&self, interrupt: &Value) -> bool {
        interrupt["id"].as_str().is_some_and(|id| !self.answers.contains_key(id))
    }

    /// Returns the number of questions without an answer.
    pub(super) fn open(&self) -> usize {
        self.interrupts.iter().filter(|interrupt| self.is_open(interrupt)).count()
    }
}

/// The questions of a principal's sessions.
#[derive(Debug, Clone)]
pub(super) struct WaitingFiles {
    records: Arc<dyn Records>,
}

impl WaitingFiles {
    /// `None` without a home.
    pub(super) fn of(world: &World) -> Option<Self> {
        records_of(world).map(|records| Self { records })
    }

    /// Returns the questions of a session, if there are any.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub(super) fn read(&self, session: Uuid) -> io::Result<Option<Waiting>> {
        Ok(self.known(session)?.map(|(waiting, _)| waiting))
    }

    /// The same for callers that only show them, or are called again.
    pub(super) fn read_if_possible(&self, session: Uuid) -> Option<Waiting> {
        let failed = |error: &io::Error| tracing::warn!(%error, "the questions of a session were not read");
        self.read(session).inspect_err(failed).ok().flatten()
    }

    /// The same, with what [`WaitingFiles::update`] compares.
    pub(super) fn known(&self, session: Uuid) -> io::Result<Option<(Waiting, Vec<u8>)>> {
        let bytes = self.bytes(session)?;
        bytes.map(|bytes| Ok((of_bytes(&bytes)?, bytes))).transpose()
    }

    fn bytes(&self, session: Uuid) -> io::Result<Option<Vec<u8>>> {
        self.records.get(RecordKind::Waiting, &session.to_string())
    }

    pub(super) fn write(&self, session: Uuid, waiting: &Waiting) -> io::Result<()> {
        self.records.put(RecordKind::Waiting, &session.to_string(), &serde_json::to_vec(waiting)?)
    }

    /// Writes them if they are still the known ones; returns whether they were.
    pub(super) fn update(&self, session: Uuid, known: &[u8], waiting: &Waiting) -> io::Result<bool> {
        let written = serde_json::to_vec(waiting)?;
        self.records.update(RecordKind::Waiting, &session.to_string(), known, &written)
    }

    pub(super) fn remove(&self, session: Uuid) {
        // Nothing waits without an entry in the session.
        let _ = self.records.remove(RecordKind::Waiting, &session.to_string());
    }

    /// Removes them if they are still the known ones. If that fails, they are found again: the session says that nothing
    /// waits.
    pub(super) fn remove_known(&self, session: Uuid, known: &[u8]) {
        if let Err(error) = self.records.remove_known(RecordKind::Waiting, &session.to_string(), known) {
            tracing::warn!(%error, "the questions of a session were not removed");
        }
    }

    /// Returns all sessions with questions, the oldest first.
    ///
    /// # Errors
    ///
    /// They cannot be listed.
    pub(super) fn sessions(&self) -> io::Result<Vec<Uuid>> {
        let keys = self.records.keys(RecordKind::Waiting)?;
        let mut ids: Vec<Uuid> = keys.iter().filter_map(|key| key.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// Returns the questions of a session as a turn has them that has just been taken.
    ///
    /// # Errors
    ///
    /// They cannot be read.
    pub(super) fn of_turn(&self, session: Uuid) -> io::Result<TurnQuestions> {
        let known = Arc::new(Mutex::new(self.bytes(session)?));
        Ok(TurnQuestions { files: self.clone(), session, known })
    }
}

/// A damaged record is not one that could not be read: the next attempt is no better.
fn of_bytes(bytes: &[u8]) -> io::Result<Waiting> {
    serde_json::from_slice(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The questions of a session during a turn. Only those are replaced and removed that the turn found or wrote: others are
/// of a server that has taken the turn over, while this one was suspended.
#[derive(Debug, Clone)]
pub(super) struct TurnQuestions {
    files: WaitingFiles,
    session: Uuid,
    known: Arc<Mutex<Option<Vec<u8>>>>,
}

impl TurnQuestions {
    /// Returns those that the turn found, if there are any. Reads nothing.
    ///
    /// # Errors
    ///
    /// They are damaged.
    pub(super) fn found(&self) -> io::Result<Option<Waiting>> {
        self.known.lock().as_deref().map(of_bytes).transpose()
    }

    /// Writes other questions.
    ///
    /// # Errors
    ///
    /// They may not be written; another server has written some.
    pub(super) fn replace(&self, waiting: &Waiting) -> io::Result<()> {
        let (mut known, new) = (self.known.lock(), serde_json::to_vec(waiting)?);
        let (records, key) = (&self.files.records, self.session.to_string());
        let is_written = match &*known {
            None => records.insert(RecordKind::Waiting, &key, &new)?,
            Some(old) => records.update(RecordKind::Waiting, &key, old, &new)?,
        };
        if !is_written {
            return Err(io::Error::other("another server has written questions of this session"));
        }
        *known = Some(new);
        Ok(())
    }

    pub(super) fn remove(&self) {
        if let Some(known) = self.known.lock().take() {
            self.files.remove_known(self.session, &known);
        }
    }
}

#[cfg(test)]
mod tests {
    use converse_session::storage::RecordFiles;

    use super::*;

    #[test]
    fn a_turn_replaces_and_removes_only_the_questions_that_it_knows() {
        let dir = tempfile::tempdir().unwrap();
        let files = WaitingFiles { records: Arc::new(RecordFiles::new(dir.path())) };
        let asked = |at: &str| Waiting { at: at.to_owned(), ..Waiting::default() };
        let at = |session| files.read(session).unwrap().map(|waiting| waiting.at);
        let session = Uuid::from_u128(1);
        let ours = files.of_turn(session).unwrap();
        assert!(ours.found().unwrap().is_none());
        ours.replace(&asked("first")).unwrap();
        ours.replace(&asked("second")).unwrap();
        assert_eq!(at(session).as_deref(), Some("second"));
        // It was suspended, and another server has gone on.
        let theirs = files.of_turn(session).unwrap();
        assert_eq!(theirs.found().unwrap().unwrap().at, "second");
        theirs.replace(&asked("of the other server")).unwrap();
        assert!(ours.replace(&asked("third")).is_err());
        ours.remove();
        assert_eq!(at(session).as_deref(), Some("of the other server"));
        theirs.remove();
        assert!(at(session).is_none() && files.sessions().unwrap().is_empty());
        // Damaged questions can be replaced by another turn, and are not none.
        std::fs::write(dir.path().join(format!("waiting/{session}.json")), "{").unwrap();
        assert_eq!(files.read(session).unwrap_err().kind(), io::ErrorKind::InvalidData);
        files.of_turn(session).unwrap().replace(&asked("new")).unwrap();
        assert_eq!(at(session).as_deref(), Some("new"));
    }
}
