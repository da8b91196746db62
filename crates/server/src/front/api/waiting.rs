//! Approvals that wait: one record for each session, so that they are answered also after a restart and by other
//! processes.
//!
//! It is the file `waiting/<session>.json` beside the sessions, or a row of their database. It describes the questions and
//! has the answers so far. The session itself says whether it waits; the record may be deleted.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

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

    pub(super) fn read(&self, session: Uuid) -> Option<Waiting> {
        self.known(session).map(|(waiting, _)| waiting)
    }

    /// The same, with what [`WaitingFiles::update`] compares.
    pub(super) fn known(&self, session: Uuid) -> Option<(Waiting, Vec<u8>)> {
        let failed = |error: &io::Error| tracing::warn!(%error, "the questions of a session were not read");
        let bytes =
            self.records.get(RecordKind::Waiting, &session.to_string()).inspect_err(failed).ok()??;
        Some((serde_json::from_slice(&bytes).ok()?, bytes))
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

    /// Returns all sessions with questions, the oldest first.
    pub(super) fn sessions(&self) -> Vec<Uuid> {
        let keys = self.records.keys(RecordKind::Waiting).unwrap_or_default();
        let mut ids: Vec<Uuid> = keys.iter().filter_map(|key| key.parse().ok()).collect();
        ids.sort_unstable();
        ids
    }
}
