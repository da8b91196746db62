//! [`OpenLog`]: a log that lines are appended to, wherever it is.

use std::io;

use converse_session::{AuditChain, AuditError, AuditLog, Record, RedactText};
use jiff::Timestamp;

use super::place::AuditPlace;

/// A file, or the rows of a database.
pub(super) enum OpenLog {
    File(AuditLog),
    Database(AuditChain),
}

impl OpenLog {
    /// Opens or creates a file. A database is not contacted.
    pub(super) fn open(place: &AuditPlace, redact: RedactText) -> Result<Self, AuditError> {
        match place {
            AuditPlace::File(path) => AuditLog::open(path, redact).map(Self::File),
            AuditPlace::Database(lines) => Ok(Self::Database(AuditChain::new(lines.clone(), redact))),
        }
    }

    /// Fails if the log cannot be appended to now, as far as that is known. A file is open.
    pub(super) fn check(&self) -> Result<(), AuditError> {
        match self {
            Self::File(_) => Ok(()),
            Self::Database(chain) => chain.check(),
        }
    }

    /// Writes the records of several times, or none. Those of a file are durable only after [`OpenLog::commit`].
    pub(super) fn append_all(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError> {
        match self {
            Self::File(log) => log.append_all(batches),
            Self::Database(chain) => chain.append_all(batches),
        }
    }

    pub(super) fn commit(&mut self) -> Result<(), AuditError> {
        match self {
            Self::File(log) => log.commit(),
            Self::Database(_) => Ok(()),
        }
    }

    /// Makes the log usable after a failure.
    pub(super) fn resume(&mut self, reason: &str, at: Timestamp) -> Result<(), AuditError> {
        match self {
            Self::File(log) => log.resume(reason, at),
            Self::Database(chain) => chain.resume(reason, at),
        }
    }

    /// Returns what the last appends repaired, once.
    pub(super) fn repaired(&mut self) -> Option<String> {
        match self {
            Self::File(log) => log.repaired(),
            Self::Database(_) => None,
        }
    }

    /// Returns a function that makes durable what was appended.
    pub(super) fn syncer(&self) -> Result<Box<dyn Fn() -> io::Result<()> + Send>, AuditError> {
        match self {
            Self::File(log) => Ok(Box::new(log.syncer()?)),
            Self::Database(_) => Ok(Box::new(|| Ok(()))),
        }
    }
}
