//! The audit log: decisions about invocations, their starts and their outcomes. One file for all sessions and processes,
//! one JSON object per line, append-only. Each line contains the SHA-256 of the line before it.
//!
//! ```text
//! {"seq":1,"at":"…","prev":"000…","kind":"decided",…}
//! {"seq":2,"at":"…","prev":"<SHA-256 of line 1, its newline included>","kind":"started",…}
//! ```
//! The chain reveals changed, removed and inserted lines. It cannot prevent them: whoever can write the file can rewrite
//! all of it, and removing lines at the end leaves a valid chain. A head that was noted elsewhere reveals both;
//! [`verify()`] takes one.
//!
//! Several processes append at the same time. Each batch of lines is written under the kernel's lock by one call. A
//! process that finds the file longer than before reads its end again. The first record after a sync says up to which
//! record the log is on disk. What a kill or a power cut left incomplete behind that record is set aside and cut off, and
//! a `mended` record says so. A file without a readable record is not appended to. A full file is continued in a new one:
//! see `older`. After a failed sync or the removal of its file, a log is continued only by [`AuditLog::resume`].
//!
//! A log can also be rows of a database: see [`AuditChain`].

mod chain;
mod older;
mod record;
mod recovery;
mod tail;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::files;
use crate::lines::{Lines, LinesError};
use crate::lock::{LOCK_TIMEOUT, lock_within};
use chain::MAX_APPEND_BYTES;
use record::Line;
use tail::{End, Tail};

pub use chain::{AuditChain, chain_records};
pub use older::records;
pub use record::{Happened, Record};
pub use verify::{Broken, Verified, VerifyError, verify, verify_chain, verify_files};

/// Limit on the bytes of a line, including its newline. Arguments are at most 1 MiB as a model wrote them.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Removes secrets from a text.
pub type RedactText = Box<dyn Fn(&str) -> String + Send + Sync>;

/// An open log. It is locked only while lines are appended.
pub struct AuditLog {
    lines: Lines<File>,
    path: PathBuf,
    /// The end of the file as this process last saw it.
    end: Option<End>,
    /// The size from which on the log continues in a new file.
    full: u64,
    redact: RedactText,
    /// Time to wait for the lock.
    timeout: Duration,
    syncs: Syncs,
    /// The last record that a line of this process names as synced.
    named: u64,
    repaired: Option<String>,
}

/// How far this process has written and synced the log: numbers of records.
#[derive(Debug, Clone, Default)]
struct Syncs {
    written: Arc<AtomicU64>,
    synced: Arc<AtomicU64>,
    /// Whether a sync failed, so that lines before it may be missing on disk.
    failed: Arc<AtomicBool>,
    /// The file that lines are written to. A full one is synced before another takes its place.
    file: Arc<Mutex<Option<Arc<File>>>>,
}

impl Syncs {
    fn set_file(&self, file: &File) -> io::Result<()> {
        let file = Arc::new(file.try_clone()?);
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.around(|| {
            let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).clone();
            file.map_or(Ok(()), |file| file.sync_data())
        })
    }

    /// Takes note of a sync, which covers what was written before it.
    fn around<E>(&self, sync: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let written = self.written.load(Ordering::SeqCst);
        sync().inspect_err(|_| self.failed.store(true, Ordering::SeqCst))?;
        self.synced.fetch_max(written, Ordering::SeqCst);
        Ok(())
    }
}

/// Why the log cannot be opened or appended to. The announced action must then not happen.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no place for a log: the file system is read-only, or its directory cannot be created. Only in this case
    /// may a run continue without a log.
    #[error("`{}`: {source}", path.display())]
    Unavailable { path: PathBuf, source: io::Error },
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is in use by other processes all the time", path.display())]
    Busy { path: PathBuf },
    /// The chain cannot be continued.
    #[error("`{}` is damaged at its end: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("the record has {bytes} bytes; the limit is {MAX_LINE_BYTES}")]
    TooLong { bytes: usize },
    /// Records that could be written in several steps.
    #[error("the records have {bytes} bytes; the limit is {MAX_APPEND_BYTES}")]
    TooMuch { bytes: usize },
    #[error("the record cannot be written: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The system failed to write earlier lines to disk, so the content of the file is not known.
    #[error("`{}`: earlier lines may not have reached the disk", path.display())]
    Unsynced { path: PathBuf },
}

impl AuditLog {
    /// Opens or creates the log: directory 0700, file 0600. All texts of a record pass through `redact`.
    pub fn open(path: &Path, redact: RedactText) -> Result<Self, AuditError> {
        let (file, syncs) = (opened(path)?, Syncs::default());
        let lines = Lines::new(file, 0, false);
        let (path, end, timeout, full) = (path.to_owned(), None, LOCK_TIMEOUT, older::FULL);
        Ok(Self { lines, path, end, full, redact, timeout, syncs, named: 0, repaired: None })
    }

    /// Writes all records or none. They are durable only after [`AuditLog::commit`].
    pub fn append(&mut self, records: &[Record], at: Timestamp) -> Result<(), AuditError> {
        self.append_all(&[(records, at)])
    }

    /// Writes the records of several times, or none, under one lock and by one call.
    pub fn append_all(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError> {
        self.lock_current()?;
        let appended = self.append_current(batches);
        let unlocked = self.lines.storage().unlock().map_err(|source| failed(&self.path, source));
        appended.and(unlocked)
    }

    /// Writes all lines to disk. Must be called before an announced action.
    pub fn commit(&mut self) -> Result<(), AuditError> {
        let syncs = self.syncs.clone();
        syncs.around(|| self.lines.sync()).map_err(|error| self.unwritten(error))
    }

    /// Returns a function that syncs the file, for the lines of several appends at once. If it fails, the content of
    /// the disk is not known: neither the announced actions nor later ones may happen.
    pub fn syncer(&self) -> Result<impl Fn() -> io::Result<()> + Send + 'static, AuditError> {
        self.syncs.set_file(self.lines.storage()).map_err(|source| failed(&self.path, source))?;
        let syncs = self.syncs.clone();
        Ok(move || syncs.sync())
    }

    /// Returns what the last appends repaired, once.
    pub fn repaired(&mut self) -> Option<String> {
        self.repaired.take()
    }

    /// Returns the record to name as synced in the line after `end`.
    fn synced(&self, end: &End) -> Option<u64> {
        let synced = self.syncs.synced.load(Ordering::SeqCst);
        // What is before the first record of a file is on disk: a file is synced before another continues it.
        let first = (end.length == 0).then_some(end.seq);
        first.or_else(|| (synced > self.named).then_some(synced.min(end.seq)))
    }

    /// Locks the file that the path leads to, which may be another one than before.
    fn lock_current(&mut self) -> Result<(), AuditError> {
        // A clone of the file may outlive it, so a lock is given back explicitly.
        self.try_lock_current().inspect_err(|_| drop(self.lines.storage().unlock()))
    }

    fn try_lock_current(&mut self) -> Result<(), AuditError> {
        let began = Instant::now();
        loop {
            self.lock()?;
            let there = self.lines.storage().metadata();
            if there.map_err(|source| failed(&self.path, source))?.nlink() == 0 {
                return Err(failed(&self.path, io::Error::other("the log was removed while it was written")));
            }
            let current = older::is_at(self.lines.storage(), &self.path);
            if current.map_err(|source| failed(&self.path, source))? {
                return Ok(());
            }
            if began.elapsed() > self.timeout {
                return Err(AuditError::Busy { path: self.path.clone() });
            }
            let _ = self.lines.storage().unlock();
            let next = opened(&self.path)?;
            self.syncs.set_file(&next).map_err(|source| failed(&self.path, source))?;
            self.lines = Lines::new(next, 0, false);
            self.end = None;
        }
    }

    fn append_current(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError> {
        let (mut end, mut torn) = self.found_end()?;
        if end.length >= self.full && torn.is_empty() && self.set_back()? {
            self.lock_current()?;
            (end, torn) = self.found_end()?;
        }
        let lines =
            batches.iter().flat_map(|(records, at)| records.iter().map(|record| (record.line(), *at)));
        self.append_locked(end, &torn, lines)
    }

    /// Makes a full file an older one. Returns false if that is not possible.
    fn set_back(&mut self) -> Result<bool, AuditError> {
        self.commit()?;
        older::set_back(&self.path, self.lines.storage()).map_err(|source| failed(&self.path, source))
    }

    /// Returns the end of the locked file, and what a crash left after it.
    fn found_end(&self) -> Result<(End, Vec<u8>), AuditError> {
        let length = self.lines.storage().metadata().map_err(|source| failed(&self.path, source))?.len();
        if let Some(end) = self.end.as_ref().filter(|end| end.length == length) {
            return Ok((end.clone(), Vec::new()));
        }
        let Tail { end, torn } = self.tail(length)?;
        Ok((end, torn))
    }

    fn append_locked<'r>(
        &mut self,
        mut end: End,
        torn: &[u8],
        lines: impl Iterator<Item = (Line<'r>, Timestamp)>,
    ) -> Result<(), AuditError> {
        let mut lines = lines.peekable();
        let Some((_, at)) = lines.peek() else { return Ok(()) };
        let mut bytes = Vec::new();
        let cut = !torn.is_empty();
        if cut {
            self.set_aside(torn, end.seq + 1)?;
            bytes.extend(Line::repair(torn).chained(&end, self.synced(&end), *at, &self.redact)?);
            end.follow(&bytes);
        }
        let whole = end.length - bytes.len() as u64;
        for (line, at) in lines {
            let synced = if bytes.is_empty() { self.synced(&end) } else { None };
            let line = line.chained(&end, synced, at, &self.redact)?;
            end.follow(&line);
            bytes.extend(line);
        }
        self.lines.stand_at(whole, cut);
        self.named = self.named.max(self.syncs.synced.load(Ordering::SeqCst));
        self.lines.append(&bytes).map_err(|error| self.unwritten(error))?;
        self.syncs.written.store(end.seq, Ordering::SeqCst);
        self.end = Some(end);
        Ok(())
    }

    fn tail(&self, length: u64) -> Result<Tail, AuditError> {
        tail::read(self.lines.storage(), length, || older::end(&self.path)).map_err(|error| match error {
            tail::Unusable::Io(source) => failed(&self.path, source),
            tail::Unusable::Damaged(reason) => AuditError::Damaged { path: self.path.clone(), reason },
        })
    }

    /// Keeps the bytes that a crash left incomplete before they are cut off. After a kill in between, they are kept twice.
    fn set_aside(&mut self, torn: &[u8], seq: u64) -> Result<(), AuditError> {
        let path = self.path.with_file_name(format!("audit-torn-{seq}"));
        files::private_file(&path, OpenOptions::new().append(true).create(true))
            .and_then(|mut file| files::write_durably(&mut file, torn))
            .map_err(|source| failed(&path, source))?;
        let (bytes, kept) = (torn.len(), path.display());
        self.repaired = Some(format!(
            "the audit log was incomplete after a crash: its last {bytes} bytes are now in `{kept}`, and record {seq} says so"
        ));
        Ok(())
    }

    fn lock(&self) -> Result<(), AuditError> {
        match lock_within(self.lines.storage(), self.timeout) {
            Ok(true) => Ok(()),
            Ok(false) => Err(AuditError::Busy { path: self.path.clone() }),
            Err(error) => {
                let message =
                    format!("the log cannot be locked: {error}; keep it on a file system with locks");
                Err(failed(&self.path, io::Error::new(error.kind(), message)))
            }
        }
    }

    fn unwritten(&self, error: LinesError) -> AuditError {
        match error {
            LinesError::Io(source) => failed(&self.path, source),
            LinesError::Unsynced => AuditError::Unsynced { path: self.path.clone() },
        }
    }
}

/// Opens the log, or creates it.
fn opened(path: &Path) -> Result<File, AuditError> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => files::private_file(path, OpenOptions::new().read(true).append(true))
            .map_err(|source| unopened(path, source)),
        Ok(_) => Err(failed(path, io::Error::other("not a regular file"))),
        Err(_) => begin(path),
    }
}

/// Creates a log, or opens the one that another process has just created. Makes its name durable.
fn begin(path: &Path) -> Result<File, AuditError> {
    let dir = path.parent().ok_or_else(|| failed(path, io::ErrorKind::NotFound.into()))?;
    files::make_dir(dir).map_err(|source| unmade(path, source))?;
    let begun = files::private_dir(dir).and_then(|()| {
        let file = files::private_file(path, OpenOptions::new().read(true).append(true).create(true))?;
        files::sync_dir(dir)?;
        Ok(file)
    });
    begun.map_err(|source| unopened(path, source))
}

fn failed(path: &Path, source: io::Error) -> AuditError {
    AuditError::Io { path: path.to_owned(), source }
}

/// Maps an error of creating the directory. Only missing permission means that there is no place for a log.
fn unmade(path: &Path, source: io::Error) -> AuditError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => AuditError::Unavailable { path: path.to_owned(), source },
        _ => unopened(path, source),
    }
}

/// Maps an error of opening the log. Only a read-only file system means that there is no place for a log.
fn unopened(path: &Path, source: io::Error) -> AuditError {
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem => AuditError::Unavailable { path: path.to_owned(), source },
        _ => failed(path, source),
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("path", &self.path).field("end", &self.end).finish_non_exhaustive()
    }
}
