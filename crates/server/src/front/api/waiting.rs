//! Approvals that wait: one file for each session, so that they are answered also after a restart and by other processes.
//!
//! The file is `waiting/<session>.json` beside the sessions. It describes the questions and has the answers so far. The
//! session itself says whether it waits; the file may be deleted.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use converse_host::world::World;
use converse_session::Uuid;
use converse_session::files::{Replace, open_regular, private_dir, replace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::runs::Props;

const MAX_BYTES: u64 = 16 * 1024 * 1024;

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

    /// Returns the number of questions without an answer.
    pub(super) fn open(&self) -> usize {
        let ids = self.interrupts.iter().filter_map(|interrupt| interrupt["id"].as_str());
        ids.filter(|id| !self.answers.contains_key(*id)).count()
    }
}

/// The files of a principal.
#[derive(Debug, Clone)]
pub(super) struct WaitingFiles {
    dir: PathBuf,
}

impl WaitingFiles {
    /// `None` without a home.
    pub(super) fn of(world: &World) -> Option<Self> {
        world.data_dir().map(|dir| Self { dir: dir.join("waiting") })
    }

    fn path(&self, session: Uuid) -> PathBuf {
        self.dir.join(format!("{session}.json"))
    }

    pub(super) fn read(&self, session: Uuid) -> Option<Waiting> {
        let mut text = String::new();
        open_regular(&self.path(session)).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn write(&self, session: Uuid, waiting: &Waiting) -> std::io::Result<()> {
        private_dir(&self.dir)?;
        replace(&self.path(session), &serde_json::to_vec(waiting)?, Replace::PRIVATE)
    }

    pub(super) fn remove(&self, session: Uuid) {
        // Nothing waits without an entry in the session.
        let _ = fs::remove_file(self.path(session));
    }

    /// Returns all sessions with a file, the oldest first.
    pub(super) fn sessions(&self) -> Vec<Uuid> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let ids = names.filter_map(|name| name.strip_suffix(".json")?.parse().ok());
        let mut ids: Vec<Uuid> = ids.collect();
        ids.sort_unstable();
        ids
    }
}
