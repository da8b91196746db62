//! A session that is open for writing.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::files::Durability;
use crate::journal::Opening;
use crate::storage::SessionStorage;
use crate::tally::Tally;
use crate::{
    Body, Clean, Contents, Entry, FileChanges, Header, Journal, Loaded, Metadata, Repair, SessionError,
    metadata,
};

/// Returns the id of a new session, a UUID of version 7 (RFC 9562), which sorts by time.
pub fn new_id(now: Timestamp, random: &[u8; 10]) -> Uuid {
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, random).into_uuid()
}

/// An open session. Its parts are public, so that the transcript can move into the turn loop. When dropped, it writes its
/// totals to the metadata if possible.
#[derive(Debug)]
pub struct Session {
    pub id: Uuid,
    /// Holds the lock of the session.
    pub journal: Journal,
    /// The conversation when the session was opened, and its repairs.
    pub loaded: Loaded,
    pub contents: Contents,
    /// Files that tools have changed, in this process or before.
    pub changes: FileChanges,
    /// If it has no name, the user's first words become its name.
    pub metadata: Metadata,
    tally: Tally,
    at: Arc<dyn SessionStorage>,
    /// Removed when dropped without messages.
    fleeting: bool,
}

impl Session {
    pub(crate) fn create(
        at: Arc<dyn SessionStorage>,
        id: Uuid,
        header: Header,
        clean: &Clean,
    ) -> Result<Self, SessionError> {
        let journal = Journal::create(&*at, header.clone())?;
        Ok(Self::of(at, id, journal, Loaded::empty(header), Metadata::default(), clean))
    }

    pub(crate) fn open(
        at: Arc<dyn SessionStorage>,
        id: Uuid,
        now: Timestamp,
        opening: Opening<'_>,
        clean: &Clean,
    ) -> Result<Self, SessionError> {
        let (journal, mut loaded) = Journal::open(&*at, now, opening)?;
        journal.lock().sweep().map_err(SessionError::io(at.dir()))?;
        if let Some(kept) = metadata::set_aside(&*at, journal.lock())? {
            loaded.repairs.push(Repair::Metadata { kept });
        }
        let shortened = loaded.repairs.iter().any(|repair| matches!(repair, Repair::Shortened { .. }));
        let metadata = Metadata::load(&*at)?;
        let mut session = Self::of(at, id, journal, loaded, metadata, clean);
        if shortened {
            // The repair is in the journal now; outdated totals would report it again.
            session.save_metadata()?;
        }
        Ok(session)
    }

    fn of(
        at: Arc<dyn SessionStorage>,
        id: Uuid,
        journal: Journal,
        mut loaded: Loaded,
        mut metadata: Metadata,
        clean: &Clean,
    ) -> Self {
        let tally = Tally::of(&loaded, clean);
        // An earlier version may have saved a name with secrets.
        metadata.name = metadata.name.map(|name| clean.text(&name));
        let contents = Contents::at(at.clone());
        let changes = std::mem::take(&mut loaded.changes);
        let fleeting = false;
        let mut session = Self { id, journal, loaded, contents, changes, metadata, tally, at, fleeting };
        session.name();
        session
    }

    /// Removes the session when it is dropped without messages, for a run that may fail before its first message.
    #[must_use]
    pub fn fleeting(mut self) -> Self {
        self.fleeting = true;
        self
    }

    /// Appends an entry and returns the number of its line. It is durable after a commit of the journal.
    pub fn append(&mut self, body: Body, at: Timestamp) -> Result<u64, SessionError> {
        let entry = Entry { seq: self.journal.next_seq(), at, body };
        self.journal.write(&entry)?;
        self.fleeting &= !matches!(entry.body, Body::Canister { .. });
        self.tally.count(&entry);
        self.name();
        Ok(entry.seq)
    }

    /// Writes the metadata with the current totals durably.
    pub fn save_metadata(&mut self) -> Result<(), SessionError> {
        let _ = self.journal.commit();
        self.write_metadata(Durability::Name)
    }

    /// Writes the metadata. After a power cut the earlier metadata may be there.
    pub fn note_metadata(&mut self) -> Result<(), SessionError> {
        self.write_metadata(Durability::Content)
    }

    fn write_metadata(&mut self, durability: Durability) -> Result<(), SessionError> {
        // Totals must not describe lines that a power cut could still remove.
        let (synced, length) = (self.journal.is_committed(), self.journal.length());
        self.metadata.totals =
            self.tally.totals(&*self.at).filter(|totals| synced && totals.journal == length);
        self.tally.noted();
        self.metadata.write(&*self.at, self.journal.lock(), durability)
    }

    /// Returns the directory of the session. If sessions are not files, a text for messages in the form of one.
    pub fn dir(&self) -> &Path {
        self.at.dir()
    }

    /// Gives the lock back and removes the session, whose creation failed.
    pub(crate) fn abandon(mut self) {
        self.tally.noted();
        let at = self.at.clone();
        drop(self);
        at.abandon();
    }

    fn name(&mut self) {
        if self.metadata.name.is_none() && !self.metadata.nameless {
            self.metadata.name = self.tally.name().map(str::to_owned);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // If removing fails, an empty session remains, as after a kill.
        if self.fleeting && self.journal.lock().delete().is_ok() {
            return;
        }
        if self.tally.moved() {
            // Best effort: missing totals are counted again from the journal.
            let _ = self.journal.commit().and_then(|()| self.note_metadata());
        }
    }
}
