//! A session that this process writes.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use uuid::Uuid;

use crate::tally::Tally;
use crate::{
    Body, Clean, Contents, Entry, Header, Journal, Loaded, Metadata, Repair, SessionError, Totals, files,
    metadata, store,
};

/// A new session's id, a UUID of version 7 (RFC 9562): ids sort by their time. The caller brings clock and dice.
pub fn new_id(now: Timestamp, random: &[u8; 10]) -> Uuid {
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, random).into_uuid()
}

/// An open session. Its parts are public, so that the transcript can go into the loop. When it is dropped, it leaves its
/// totals in the metadata, as far as that can be written.
#[derive(Debug)]
pub struct Session {
    pub id: Uuid,
    /// Holds the lock: nobody else writes this session while it lives.
    pub journal: Journal,
    /// The conversation as it was when it was opened, and what had to be repaired.
    pub loaded: Loaded,
    pub contents: Contents,
    /// It gets a name of what the user says first, if it has none.
    pub metadata: Metadata,
    tally: Tally,
    dir: PathBuf,
    /// Nobody would miss it.
    fleeting: bool,
}

impl Session {
    pub(crate) fn create(dir: &Path, id: Uuid, header: Header, clean: &Clean) -> Result<Self, SessionError> {
        let journal = Journal::create(dir, header.clone())?;
        Ok(Self::of(dir, id, journal, Loaded::empty(header), Metadata::default(), clean))
    }

    pub(crate) fn open(dir: &Path, id: Uuid, now: Timestamp, clean: &Clean) -> Result<Self, SessionError> {
        let (journal, mut loaded) = Journal::open(dir, now)?;
        files::sweep(dir).map_err(SessionError::io(dir))?;
        if let Some(kept) = metadata::set_aside(dir)? {
            loaded.repairs.push(Repair::Metadata { kept });
        }
        let shortened = loaded.repairs.iter().any(|repair| matches!(repair, Repair::Shortened { .. }));
        let mut session = Self::of(dir, id, journal, loaded, Metadata::read(dir), clean);
        session.contents.sweep()?;
        if shortened {
            // It is in the journal now; told by the totals, it would be told again.
            session.save_metadata()?;
        }
        Ok(session)
    }

    fn of(
        dir: &Path,
        id: Uuid,
        journal: Journal,
        loaded: Loaded,
        mut metadata: Metadata,
        clean: &Clean,
    ) -> Self {
        let tally = Tally::of(&loaded, clean);
        // An earlier version named it as it was said.
        metadata.name = metadata.name.map(|name| clean.text(&name));
        let contents = Contents::new(dir);
        let dir = dir.to_owned();
        let mut session = Self { id, journal, loaded, contents, metadata, tally, dir, fleeting: false };
        session.name();
        session
    }

    /// When it is dropped before anything was said in it, it goes. For one that a run has just begun: what keeps that from
    /// its first word is told elsewhere, and a list of sessions is no place for it.
    #[must_use]
    pub fn fleeting(mut self) -> Self {
        self.fleeting = true;
        self
    }

    /// Appends an entry; `commit` of the journal makes it durable. Returns the number of its line.
    pub fn append(&mut self, body: Body, at: Timestamp) -> Result<u64, SessionError> {
        let entry = Entry { seq: self.journal.next_seq(), at, body };
        self.journal.write(&entry)?;
        self.fleeting &= !matches!(entry.body, Body::Canister { .. });
        self.tally.count(&entry);
        self.name();
        Ok(entry.seq)
    }

    /// Writes the metadata now, with what the session comes to so far.
    pub fn save_metadata(&mut self) -> Result<(), SessionError> {
        // Nothing is noted that a power cut could still take.
        let synced = self.journal.commit().is_ok();
        let whole = |totals: &Totals| synced && totals.journal == self.journal.length();
        self.metadata.totals = self.tally.totals(&self.dir).filter(whole);
        self.tally.noted();
        self.metadata.write(&self.dir)
    }

    /// Where it is on disk.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn name(&mut self) {
        if self.metadata.name.is_none() && !self.metadata.nameless {
            self.metadata.name = self.tally.name().map(str::to_owned);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What cannot be removed is an empty session, as a kill leaves one too.
        if self.fleeting && store::vanish(&self.dir).is_ok() {
            return;
        }
        if self.tally.moved() {
            // Best effort: the journal is what counts, and totals that are missing are counted again.
            let _ = self.save_metadata();
        }
    }
}
