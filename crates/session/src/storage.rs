//! The port to the place where sessions are kept: a directory here, or a database in another crate.
//!
//! The port moves bytes. Formats, checksums, repair and every rule of reading are on this side of it, and so are the same
//! for all implementations. A session is a journal that grows, small files with names, and content by digest:
//!
//! ```text
//! journal.jsonl      appended to, and made durable, by one writer
//! metadata.toml …    replaced as a whole
//! content/<sha256>   written once
//! ```
//! Whoever writes holds the session's lock. Only content and what is derived from the journal (the search index) are
//! written without it: the same bytes have the same name, and an outdated index is not used.

mod audit_lines;
mod copy;
mod directory;
mod records;
mod replicas;
mod session_directory;

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use uuid::Uuid;

use crate::files::Durability;
use crate::{Fault, Metadata, SessionError};

pub use crate::audit::MAX_LINE_BYTES as MAX_AUDIT_LINE_BYTES;
pub use audit_lines::{AuditLines, ChainEnd, NumberedLine};
pub use copy::Copied;
pub use directory::Directory;
pub use records::{RecordFiles, RecordKind, RecordUsage, Records};
pub use replicas::{News, Replicas, SharedTurn, WaitingSession, Wake};
pub(crate) use session_directory::{SessionDirectory, size as directory_size};

/// All sessions of one user.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Returns the ids of all sessions, sorted. Those under construction are not among them.
    ///
    /// # Errors
    ///
    /// The sessions cannot be listed.
    fn ids(&self) -> Result<Vec<Uuid>, SessionError>;

    /// Returns a session, which may not exist. Accesses nothing.
    fn session(&self, id: Uuid) -> Arc<dyn SessionStorage>;

    /// Begins a session durably. One under construction (`staged`) exists for its creator alone until
    /// [`SessionLock::publish`], and one whose creator was killed is litter.
    ///
    /// # Errors
    ///
    /// The session exists, or cannot be written.
    fn begin(&self, id: Uuid, staged: bool) -> Result<Arc<dyn SessionStorage>, SessionError>;

    /// Returns what killed processes left next to the sessions.
    fn litter(&self) -> Vec<PathBuf>;

    /// Removes one of [`Storage::litter`]. Returns false if it is in use or already removed.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    fn sweep(&self, litter: &Path) -> Result<bool, SessionError>;

    /// Removes what is kept of a deleted session outside it, and the rests of deletions that were killed.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    fn forget(&self, _id: Uuid) -> Result<(), SessionError> {
        Ok(())
    }

    /// Returns the next sessions after this one, by id, with what a list shows of them, if that is one request. An empty
    /// page is behind the last. `None`: each is read by itself.
    ///
    /// # Errors
    ///
    /// The sessions cannot be listed. That one of them cannot be read is not an error: see [`Listed::document`].
    fn listed(&self, _after: Option<Uuid>) -> Result<Option<Vec<Listed>>, SessionError> {
        Ok(None)
    }

    /// The same with the index of the search instead of metadata. A large one is left out, and read by itself.
    ///
    /// # Errors
    ///
    /// The sessions cannot be listed.
    fn indexed(&self, _after: Option<Uuid>) -> Result<Option<Vec<Listed>>, SessionError> {
        Ok(None)
    }

    /// Returns the next sessions before this one, by the time of the last write of their journals and by id, the last
    /// first, if that is one request. An empty page is behind the last. `None`: each is read by itself.
    ///
    /// # Errors
    ///
    /// The sessions cannot be listed.
    fn recent(
        &self,
        _before: Option<(SystemTime, Uuid)>,
    ) -> Result<Option<Vec<(SystemTime, Uuid)>>, SessionError> {
        Ok(None)
    }

    /// Returns the directory of the sessions if they are files, for an index of all of them.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// Returns the sessions of another owner at the same place. `None`: each owner has a place of its own, as with files.
    fn of_owner(&self, _owner: &str) -> Option<Arc<dyn Storage>> {
        None
    }

    /// Returns the small values beside the sessions of this owner. `None`: they are files.
    fn records(&self) -> Option<Arc<dyn Records>> {
        None
    }

    /// Returns the audit log of this owner, if it is here too. `None`: it is a file of each machine.
    fn audit(&self) -> Option<Arc<dyn AuditLines>> {
        None
    }

    /// Joins the servers with the same sessions, as a process with this id, until the end of the program. `None`: the
    /// sessions are files, which have one server. Called once.
    ///
    /// # Errors
    ///
    /// There is no thread for it.
    fn join(&self, _process: Uuid, _wake: Wake) -> io::Result<Option<Arc<dyn Replicas>>> {
        Ok(None)
    }
}

/// One session in [`Storage::listed`] or [`Storage::indexed`].
#[derive(Debug)]
pub struct Listed {
    pub id: Uuid,
    /// `None` if there is no journal.
    pub journal: Option<JournalState>,
    /// The bytes of `metadata.toml` or of the index, if it exists. An error says nothing about the other sessions.
    pub document: io::Result<Option<Vec<u8>>>,
}

impl Listed {
    /// Takes the metadata; empty if missing or broken.
    pub(crate) fn take_metadata(&mut self) -> io::Result<Metadata> {
        let bytes = std::mem::replace(&mut self.document, Ok(None))?;
        Ok(bytes.as_deref().map(Metadata::of_bytes).unwrap_or_default())
    }
}

/// How long a journal is, and when it was last written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalState {
    pub length: u64,
    pub modified: SystemTime,
}

impl JournalState {
    /// Returns the time of the last write.
    pub(crate) fn updated(&self) -> Option<Timestamp> {
        Timestamp::try_from(self.modified).ok()
    }
}

/// The two kinds of names in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Area {
    /// The journal and the small files.
    Session,
    /// Content, by digest.
    Content,
}

/// The name of the journal.
pub const JOURNAL: &str = crate::journal::FILE;

/// The beginning of the names of content, before the digest.
pub const CONTENT: &str = "content/";

/// One session. Reading needs no lock.
pub trait SessionStorage: fmt::Debug + Send + Sync {
    /// The session's directory. If sessions are not files, a text for messages in the form of one: it ends with the id.
    fn dir(&self) -> &Path;

    /// Returns what [`SessionStorage::dir`] is for a name.
    fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    /// Returns whether the session exists.
    ///
    /// # Errors
    ///
    /// That cannot be found out.
    fn exists(&self) -> io::Result<bool>;

    /// Opens a file for reading: a name of [`SessionStorage::names`], behind [`CONTENT`] that of content.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if it does not exist, and only then: every other error says nothing about the file.
    fn open(&self, name: &str) -> io::Result<Box<dyn StoredFile>>;

    /// Returns whether a file exists.
    ///
    /// # Errors
    ///
    /// That cannot be found out.
    fn has(&self, name: &str) -> io::Result<bool>;

    /// Returns the state of the journal.
    ///
    /// # Errors
    ///
    /// Those of [`SessionStorage::open`].
    fn journal(&self) -> io::Result<JournalState>;

    /// Returns the names of the files, sorted; of [`Area::Content`] without [`CONTENT`]. Names that are not UTF-8 are left
    /// out: see [`SessionStorage::has_unnamed`].
    ///
    /// # Errors
    ///
    /// They cannot be listed. None at all is not an error.
    fn names(&self, area: Area) -> io::Result<Vec<String>>;

    /// Returns whether there are files of [`Area::Session`] whose names are not UTF-8, so that they cannot be opened.
    ///
    /// # Errors
    ///
    /// That cannot be found out.
    fn has_unnamed(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the bytes of all files.
    fn size(&self) -> u64;

    /// Keeps content durably. Its name is not there yet, or there with other bytes, which are replaced.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn put_content(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Takes over content from another session without reading it, if that is possible. Durable after
    /// [`SessionStorage::sync_content`].
    ///
    /// # Errors
    ///
    /// It is not possible, or the content is there already.
    fn adopt_content(&self, from: &dyn SessionStorage, name: &str) -> io::Result<()>;

    /// Makes durable what was adopted.
    ///
    /// # Errors
    ///
    /// It may not be durable.
    fn sync_content(&self) -> io::Result<()>;

    /// Replaces a file that is derived from the journal. It need not be durable, and the caller need not hold the lock.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn put_derived(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Takes the lock, or returns its holder. Waits on this thread for short operations of other processes.
    ///
    /// # Errors
    ///
    /// [`SessionError::InUse`] if another process writes the session.
    fn lock(&self) -> Result<Box<dyn SessionLock>, SessionError>;

    /// Returns whether a process holds the lock.
    fn is_in_use(&self) -> bool;

    /// Removes a session whose creation failed, if this handle began it ([`Storage::begin`]) and nobody else holds the lock
    /// or has taken it since. A session that was staged is removed until it is published, another one until it has a
    /// message. A publication may have succeeded although it returned an error. Best effort: what stays is litter, or a
    /// session without messages.
    fn abandon(&self);

    /// Returns the faults of the place itself, such as permissions that are too wide.
    fn faults(&self, _in_use: bool) -> Vec<Fault> {
        Vec::new()
    }
}

/// The lock of a session, held until dropped, and what its holder may do. After another process has taken the lock over,
/// nothing is written any more.
pub trait SessionLock: fmt::Debug + Send + Sync {
    /// Names the holder to others.
    ///
    /// # Errors
    ///
    /// The name cannot be written.
    fn sign(&mut self, since: Timestamp) -> Result<(), SessionError>;

    /// Creates the journal.
    ///
    /// # Errors
    ///
    /// There is one already, or it cannot be written.
    fn create_journal(&self) -> io::Result<Box<dyn Appendable>>;

    /// Opens the journal for appending.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be written.
    fn append_journal(&self) -> io::Result<Box<dyn Appendable>>;

    /// Sets the time of the journal's last write.
    ///
    /// # Errors
    ///
    /// It cannot be set.
    fn date_journal(&self, modified: SystemTime) -> io::Result<()>;

    /// Replaces a file as a whole, also the journal.
    ///
    /// # Errors
    ///
    /// It cannot be written; it is as it was, unless only its durability is not certain.
    fn replace(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()>;

    /// Appends to a file, or creates it, durably.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    fn extend(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Renames a file durably. The new name is free.
    ///
    /// # Errors
    ///
    /// It cannot be renamed.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file, if it exists.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names of the files durable.
    ///
    /// # Errors
    ///
    /// They may not be durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Removes what killed writers left in the session.
    ///
    /// # Errors
    ///
    /// It cannot be removed.
    fn sweep(&self) -> io::Result<()>;

    /// Gives a session under construction its name, durably.
    ///
    /// # Errors
    ///
    /// The session exists, or cannot be written.
    fn publish(&self) -> Result<(), SessionError>;

    /// Deletes the session and touches nothing else. After a kill in between it does not exist, and its rest is litter.
    /// For a session that lists may show, [`Storage::forget`] follows.
    ///
    /// # Errors
    ///
    /// It cannot be deleted.
    fn delete(&self) -> Result<(), SessionError>;
}

/// A file that is open for reading. All its bytes are of one version: if the file is replaced meanwhile, they are the
/// earlier ones, or an error.
pub trait StoredFile: Read + Send + Sync {
    /// Returns its bytes.
    ///
    /// # Errors
    ///
    /// They cannot be counted.
    fn length(&self) -> io::Result<u64>;

    /// Reads exactly so many bytes from an offset.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::UnexpectedEof`] if there are fewer.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

impl fmt::Debug for dyn StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredFile")
    }
}

/// The journal, open for appending by the holder of the lock. After another process has taken the lock over, every call
/// is an error and changes nothing.
pub trait Appendable: Send + Sync {
    /// Appends some of the bytes and returns how many. Readers see them at once, before [`Appendable::sync`]. Where
    /// the lock can be taken over, they are appended only if it was not, and the journal has the length that this writer
    /// left: in one step, so that no writer overwrites or skips bytes.
    ///
    /// # Errors
    ///
    /// Nothing was appended, or what was appended is cut off before the next write.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Cuts off what follows so many bytes.
    ///
    /// # Errors
    ///
    /// It is not cut off.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes all bytes durable, and confirms that the lock is still held, also if all bytes are durable already: what was
    /// announced in them is done next, and the next holder would record it as interrupted.
    ///
    /// # Errors
    ///
    /// They may not be durable, or the lock was taken over.
    fn sync(&mut self) -> io::Result<()>;
}

impl Appendable for Box<dyn Appendable> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.as_mut().write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.as_mut().truncate(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.as_mut().sync()
    }
}

impl fmt::Debug for dyn Appendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Appendable")
    }
}

/// Returns whether an error says that a file does not exist.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Reads a file as a whole.
pub(crate) fn read_all(at: &dyn SessionStorage, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    at.open(name)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}
