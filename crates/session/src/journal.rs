//! The journal file: opened by one process, appended to line by line.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;

use converse_canister::Invocation;
use jiff::Timestamp;

use crate::entry::MAX_LINE_BYTES;
use crate::lines::{Lines, LinesError};
use crate::migrate::migrate;
use crate::repair::{Loaded, Repair, load};
use crate::scan::{header, scan};
use crate::storage::{Appendable, SessionLock, SessionStorage, StoredFile, is_missing};
use crate::{Body, Entry, FORMAT, Header, Metadata, SessionError, loss};

/// Size of the read buffer.
const BUFFER: usize = 128 * 1024;

pub(crate) const FILE: &str = "journal.jsonl";

/// An open journal. Holds the session's lock.
#[derive(Debug)]
pub struct Journal {
    lines: Lines<Box<dyn Appendable>>,
    path: PathBuf,
    next_seq: u64,
    /// The last line that is known to be on disk, if the next line must say so.
    synced: Option<u64>,
    lock: Box<dyn SessionLock>,
}

/// What becomes of invocations without a result when a session is opened.
#[derive(Clone, Copy)]
pub(crate) enum Opening<'a> {
    /// They get a result: interrupted or not run.
    Anew,
    /// Those that wait for a decision stay open.
    Waiting,
    /// The turn goes on: those that were not started stay open, and those that may run again.
    TakenUp(&'a dyn Fn(&Invocation) -> bool),
}

impl Journal {
    /// Creates the journal of a new session durably.
    pub(crate) fn create(at: &dyn SessionStorage, header: Header) -> Result<Self, SessionError> {
        let created = header.created;
        let mut lock = at.lock()?;
        lock.sign(created)?;
        let path = at.path(FILE);
        let file = lock.create_journal().map_err(SessionError::io(&path))?;
        let mut journal =
            Self { lines: Lines::new(file, 0, false), path, next_seq: 1, synced: Some(0), lock };
        journal.append(Body::Opened(header), created)?;
        journal.commit()?;
        journal.lock.sync_names().map_err(SessionError::io(at.dir()))?;
        Ok(journal)
    }

    /// Opens and repairs a journal. On an error, the journal is unchanged or partly repaired.
    pub(crate) fn open(
        at: &dyn SessionStorage,
        now: Timestamp,
        opening: Opening<'_>,
    ) -> Result<(Self, Loaded), SessionError> {
        let mut lock = at.lock()?;
        let loaded = read_open(at)?;
        let mut loaded = match opening {
            Opening::Waiting if loaded.is_waiting() => loaded,
            Opening::Anew | Opening::Waiting => loaded.answered(),
            Opening::TakenUp(may_repeat) => loaded.taken_up(may_repeat),
        };
        lock.sign(now)?;
        set_aside(at, &*lock, &loaded)?;
        if loaded.header.format < FORMAT {
            return Self::migrated(at, lock, loaded, now);
        }
        let mut journal = Self::at_end(at, lock, &loaded)?;
        let amendments = loaded.amendments();
        if !amendments.is_empty() {
            amendments.into_iter().try_for_each(|body| journal.append(body, now))?;
            journal.commit()?;
            loaded.set_repair_time(now);
        }
        Ok((journal, loaded))
    }

    /// Migrates a journal of an earlier format, including its repairs.
    fn migrated(
        at: &dyn SessionStorage,
        lock: Box<dyn SessionLock>,
        old: Loaded,
        now: Timestamp,
    ) -> Result<(Self, Loaded), SessionError> {
        migrate(at, &*lock, &old, now)?;
        let loaded = Loaded { repairs: old.repairs, ..read(at)? };
        let journal = Self::at_end(at, lock, &loaded)?;
        Ok((journal, loaded))
    }

    /// Opens the journal for appending. Torn bytes are cut off before the first line is written.
    fn at_end(
        at: &dyn SessionStorage,
        lock: Box<dyn SessionLock>,
        loaded: &Loaded,
    ) -> Result<Self, SessionError> {
        let path = at.path(FILE);
        let file = lock.append_journal().map_err(SessionError::io(&path))?;
        let lines = Lines::new(file, loaded.length, !loaded.torn.is_empty());
        Ok(Self { lines, path, next_seq: loaded.next_seq, synced: None, lock })
    }

    /// Writes one line completely or not at all. It is durable only after [`Journal::commit`].
    pub(crate) fn write(&mut self, entry: &Entry) -> Result<(), SessionError> {
        self.lines.append(&entry.to_line_after(self.synced)?).map_err(|error| self.failed(error))?;
        self.synced = None;
        self.next_seq = entry.seq + 1;
        Ok(())
    }

    /// Returns the lock of the session.
    pub(crate) fn lock(&self) -> &dyn SessionLock {
        &*self.lock
    }

    /// Returns the number of the next line.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Returns the bytes of complete lines.
    pub(crate) fn length(&self) -> u64 {
        self.lines.length()
    }

    fn append(&mut self, body: Body, at: Timestamp) -> Result<(), SessionError> {
        self.write(&Entry { seq: self.next_seq, at, body })
    }

    /// Writes all lines to disk. Must be called before an announced action.
    pub fn commit(&mut self) -> Result<(), SessionError> {
        self.lines.sync().map_err(|error| self.failed(error))?;
        self.synced = Some(self.next_seq - 1);
        Ok(())
    }

    /// Returns whether all lines are on disk.
    pub fn is_committed(&self) -> bool {
        self.lines.is_synced()
    }

    fn failed(&self, error: LinesError) -> SessionError {
        let path = self.path.clone();
        match error {
            LinesError::Io(source) => SessionError::Io { path, source },
            LinesError::Unsynced => SessionError::Unsynced { path },
        }
    }
}

/// Reads a journal without changing it.
pub(crate) fn read(at: &dyn SessionStorage) -> Result<Loaded, SessionError> {
    read_open(at).map(Loaded::answered)
}

/// The same, with open invocations.
pub(crate) fn read_open(at: &dyn SessionStorage) -> Result<Loaded, SessionError> {
    let path = at.path(FILE);
    // Read before the journal, which only grows.
    let noted = Metadata::load(at)?;
    let scanned = match at.open(FILE) {
        Ok(file) => scan(BufReader::with_capacity(BUFFER, file), loss::noted(&noted), &path),
        Err(error) if is_missing(&error) => return Err(loss::of_all(at)),
        Err(source) => return Err(SessionError::Io { path, source }),
    };
    let scanned = match scanned {
        Err(SessionError::Empty { .. }) => return Err(loss::of_all(at)),
        scanned => scanned?,
    };
    let length = scanned.length + scanned.torn.len() as u64;
    let mut loaded = load(scanned, &path)?;
    if let Some(bytes) = loss::at_end(&noted, length) {
        loaded.repairs.insert(0, Repair::Shortened { bytes });
    }
    Ok(loaded)
}

/// Refuses a session of a later version, which must not be changed in any way, and one whose version cannot be read.
pub(crate) fn refuse_newer(at: &dyn SessionStorage) -> Result<(), SessionError> {
    let path = at.path(FILE);
    let mut line = Vec::new();
    let first = at
        .open(FILE)
        .and_then(|file| BufReader::new(file.take(MAX_LINE_BYTES as u64)).read_until(b'\n', &mut line));
    match first {
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(()),
        Err(source) => return Err(SessionError::Io { path, source }),
    }
    match header(&line, &path) {
        Err(newer @ SessionError::Newer { .. }) => Err(newer),
        _ => Ok(()),
    }
}

/// Returns the length of a journal and the time of its last write.
pub(crate) fn state(at: &dyn SessionStorage) -> Option<(u64, Timestamp)> {
    let state = at.journal().ok()?;
    Some((state.length, state.updated()?))
}

/// Returns whether there is a line after the first, which contains only the header.
pub(crate) fn begun(at: &dyn SessionStorage) -> Result<bool, SessionError> {
    let mut line = Vec::new();
    let read = |file: Box<dyn StoredFile>| {
        let mut lines = BufReader::new(file.take(2 * MAX_LINE_BYTES as u64));
        lines.skip_until(b'\n')?;
        lines.read_until(b'\n', &mut line)
    };
    at.open(FILE).and_then(read).map_err(SessionError::io(&at.path(FILE)))?;
    Ok(line.ends_with(b"\n"))
}

/// Keeps the bytes of a torn tail before they are cut off. After a kill in between, they are kept twice.
fn set_aside(at: &dyn SessionStorage, lock: &dyn SessionLock, loaded: &Loaded) -> Result<(), SessionError> {
    if loaded.torn.is_empty() {
        return Ok(());
    }
    let name = format!("torn-{}", loaded.next_seq);
    lock.extend(&name, &loaded.torn).map_err(SessionError::io(&at.path(&name)))
}
