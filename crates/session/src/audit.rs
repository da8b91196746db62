//! The audit log: what was decided about invocations, what ran, what became of it. One file for all sessions and all
//! processes, one JSON object a line, only ever appended to, each line holding the SHA-256 of the line before it.
//!
//! ```text
//! {"seq":1,"at":"…","prev":"000…","kind":"decided",…}
//! {"seq":2,"at":"…","prev":"<SHA-256 of line 1, its newline included>","kind":"started",…}
//! ```
//! The chain shows that something was changed, removed or put in between. It cannot stop anybody: whoever may write the
//! file may write all of it anew, and cutting lines off its end leaves a chain that holds. Against both helps only a
//! head that was noted elsewhere; [`verify()`] takes one.
//!
//! Several processes append at the same time. Each batch of lines is written under the kernel's lock by one call, and
//! who finds the file grown reads the last line again. A line that a dead process left unfinished is set aside and cut
//! off, and a `mended` record says so: nothing leaves the log without a trace. A log whose end no crash explains is not
//! appended to at all.

mod record;
mod tail;
#[cfg(test)]
mod tests;
mod verify;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::files;
use crate::lines::{Lines, LinesError};
use crate::lock::{LOCK_PATIENCE, lock_within};
use tail::{End, Tail};

pub use record::{Happened, Record};
pub use verify::{Broken, Verified, VerifyError, verify};

/// Bytes of a line, its newline included. Arguments are at most 1 MiB as a model wrote them.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Takes secrets out of a text.
pub type Redact = Box<dyn Fn(&str) -> String + Send + Sync>;

/// An open log. Holds no lock but while it appends.
pub struct AuditLog {
    lines: Lines<File>,
    path: PathBuf,
    /// The end as this process saw it last.
    end: End,
    redact: Redact,
    /// For the lock.
    patience: Duration,
}

/// Why there is no log, or no more lines in it. Nothing that it would have announced may be done.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no place for a log: what it would be in is read-only, or we may make no directory there. The one case in
    /// which no log was promised; whatever else goes wrong may go right for the next one who asks.
    #[error("`{}`: {source}", path.display())]
    Unavailable { path: PathBuf, source: io::Error },
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is locked by another process", path.display())]
    Busy { path: PathBuf },
    /// No chain can go on from there.
    #[error("`{}` is damaged at its end: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("a record of {bytes} bytes; at most {MAX_LINE_BYTES} are kept")]
    TooLong { bytes: usize },
    #[error("this cannot be written as a record: {0}")]
    Unwritable(#[from] serde_json::Error),
    /// The system failed to bring earlier lines to the disk; what is there now is not known.
    #[error("`{}`: earlier lines may not have reached the disk", path.display())]
    Unsynced { path: PathBuf },
}

impl AuditLog {
    /// Opens the log or begins one: directory 0700, file 0600. All texts of a record pass through `redact`.
    pub fn open(path: &Path, redact: Redact) -> Result<Self, AuditError> {
        let file = match fs::metadata(path) {
            Ok(there) if there.is_file() => {
                files::private_file(path, OpenOptions::new().read(true).append(true))
                    .map_err(|source| unopened(path, source))?
            }
            Ok(_) => return Err(failed(path, io::Error::other("not a regular file"))),
            Err(_) => begin(path)?,
        };
        let lines = Lines::new(file, 0, false);
        Ok(Self { lines, path: path.to_owned(), end: End::default(), redact, patience: LOCK_PATIENCE })
    }

    /// Writes the records, all or none. Not yet durable: see [`AuditLog::commit`].
    pub fn append(&mut self, records: &[Record], at: Timestamp) -> Result<(), AuditError> {
        self.lock()?;
        let appended = self.append_locked(records, at);
        let unlocked = self.lines.storage().unlock().map_err(|source| failed(&self.path, source));
        appended.and(unlocked)
    }

    /// Brings all lines to the disk. To be called before anything is done that a line announces.
    pub fn commit(&mut self) -> Result<(), AuditError> {
        self.lines.sync().map_err(|error| self.unwritten(error))
    }

    /// The same file, for whoever brings lines of several appends to the disk at once, beside them. If that fails once,
    /// nobody knows what is on the disk: nothing that those lines announce may be done, nor anything after.
    pub fn handle(&self) -> Result<File, AuditError> {
        self.lines.storage().try_clone().map_err(|source| failed(&self.path, source))
    }

    fn append_locked(&mut self, records: &[Record], at: Timestamp) -> Result<(), AuditError> {
        let there = self.lines.storage().metadata().map_err(|source| failed(&self.path, source))?;
        if there.nlink() == 0 {
            return Err(failed(&self.path, io::Error::other("it was removed while it was written")));
        }
        let mut end = self.end.clone();
        let mut bytes = Vec::new();
        let mut cut = false;
        if there.len() != end.length {
            let Tail { end: found, torn } = self.tail(there.len())?;
            end = found;
            if !torn.is_empty() {
                self.set_aside(&torn, end.seq + 1)?;
                cut = true;
                bytes.extend(record::mended(&torn).line(&end, at, &self.redact)?);
                end.follow(&bytes);
            }
        }
        let whole = end.length - bytes.len() as u64;
        for record in records {
            let line = record.line(&end, at, &self.redact)?;
            end.follow(&line);
            bytes.extend(line);
        }
        self.lines.stand_at(whole, cut);
        self.lines.append(&bytes).map_err(|error| self.unwritten(error))?;
        self.end = end;
        Ok(())
    }

    fn tail(&self, length: u64) -> Result<Tail, AuditError> {
        tail::read(self.lines.storage(), length).map_err(|error| match error {
            tail::Unusable::Io(source) => failed(&self.path, source),
            tail::Unusable::Damaged(reason) => AuditError::Damaged { path: self.path.clone(), reason },
        })
    }

    /// Keeps the bytes of an unfinished line before they are cut off. Killed in between, they are kept twice.
    fn set_aside(&self, torn: &[u8], seq: u64) -> Result<(), AuditError> {
        let path = self.path.with_file_name(format!("audit-torn-{seq}"));
        files::private_file(&path, OpenOptions::new().append(true).create(true))
            .and_then(|mut file| file.write_all(torn))
            .map_err(|source| failed(&path, source))
    }

    fn lock(&self) -> Result<(), AuditError> {
        match lock_within(self.lines.storage(), self.patience) {
            Ok(true) => Ok(()),
            Ok(false) => Err(AuditError::Busy { path: self.path.clone() }),
            Err(error) => {
                let message = format!("it cannot be locked: {error}; keep it on a file system with locks");
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

/// A new log, or the one that another process has just begun. Its name is made durable here, once in its life.
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

/// Where we may make no directory there is no log; a disk that is full or a table of files is another matter.
fn unmade(path: &Path, source: io::Error) -> AuditError {
    match source.kind() {
        io::ErrorKind::PermissionDenied => AuditError::Unavailable { path: path.to_owned(), source },
        _ => unopened(path, source),
    }
}

/// A file system that is read-only promises nothing; a log that is there and kept from us is another matter.
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
