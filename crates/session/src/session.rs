//! A session that this process writes.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use uuid::Uuid;

use crate::{Body, Contents, Header, Journal, Loaded, Metadata, SessionError, files};

/// A new session's id, a UUID of version 7 (RFC 9562): ids sort by their time. The caller brings clock and dice.
pub fn new_id(now: Timestamp, random: &[u8; 10]) -> Uuid {
    let millis = u64::try_from(now.as_millisecond()).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(millis, random).into_uuid()
}

/// An open session. Its parts are public, so that the journal can go into a sink and the transcript into the loop.
#[derive(Debug)]
pub struct Session {
    pub id: Uuid,
    /// Holds the lock: nobody else writes this session while it lives.
    pub journal: Journal,
    /// The conversation so far, and what had to be repaired.
    pub loaded: Loaded,
    pub contents: Contents,
    pub metadata: Metadata,
    dir: PathBuf,
}

impl Session {
    pub(crate) fn create(dir: &Path, id: Uuid, header: Header) -> Result<Self, SessionError> {
        let journal = Journal::create(dir, header.clone())?;
        let loaded = Loaded::empty(header);
        let (contents, metadata) = (Contents::new(dir), Metadata::default());
        Ok(Self { id, journal, loaded, contents, metadata, dir: dir.to_owned() })
    }

    pub(crate) fn open(dir: &Path, id: Uuid, now: Timestamp) -> Result<Self, SessionError> {
        let (journal, loaded) = Journal::open(dir, now)?;
        let contents = Contents::new(dir);
        files::sweep(dir).map_err(SessionError::io(dir))?;
        contents.sweep()?;
        Ok(Self { id, journal, loaded, contents, metadata: Metadata::read(dir), dir: dir.to_owned() })
    }

    /// Appends an entry; `commit` of the journal makes it durable.
    pub fn append(&mut self, body: Body, at: Timestamp) -> Result<u64, SessionError> {
        self.journal.append(body, at)
    }

    pub fn save_metadata(&self) -> Result<(), SessionError> {
        self.metadata.write(&self.dir)
    }

    /// Where it is on disk.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}
