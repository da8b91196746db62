//! Continues a log whose file was removed, or could not be written or synced.
//!
//! After a failed sync the system may have dropped what it was to write, and report success for the next sync. So the
//! content of the file is written once more before it is synced again: only then does a success count for all of it.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::record::Line;
use super::tail::{End, Tail};
use super::{AuditError, AuditLog, Syncs, failed, opened};
use crate::files;
use crate::lines::Lines;
use crate::witness;

/// Bytes that are written again at once.
const CHUNK: usize = 1024 * 1024;

impl AuditLog {
    /// Opens the log again after a failure, writes its content to disk, and appends a `resumed` record with the reason of
    /// the failure. A removed log begins again behind its older files. If this fails, the log stays unusable; it may be
    /// tried again. Afterwards [`AuditLog::syncer`] returns the function for the new lines: an earlier one is stale.
    pub fn resume(&mut self, reason: &str, at: Timestamp) -> Result<(), AuditError> {
        self.lines = Lines::new(opened(&self.path)?, 0, false);
        self.lock_current()?;
        let resumed = self.resume_locked(reason, at);
        let unlocked = self.lines.storage().unlock().map_err(|source| failed(&self.path, source));
        resumed.and(unlocked)
    }

    fn resume_locked(&mut self, reason: &str, at: Timestamp) -> Result<(), AuditError> {
        let io = |source| failed(&self.path, source);
        let length = self.lines.storage().metadata().map_err(io)?.len();
        let Tail { end, torn } = self.tail(length)?;
        let fresh = Syncs::default();
        if self.syncs.failed.load(Ordering::SeqCst) {
            rewrite(&self.path, end.length).map_err(io)?;
            fresh.synced.store(end.seq, Ordering::SeqCst);
        }
        // Numbers of a removed log say nothing about the new one.
        (self.syncs, self.named) = (fresh, 0);
        let is_missing = |last: &End| last.seq > end.seq || (last.seq == end.seq && last.head != end.head);
        let missing = self.end.clone().filter(is_missing);
        let line = Line::resumed(reason, missing.as_ref());
        self.append_locked(end, &torn, std::iter::once((line, at)))?;
        self.commit()
    }
}

/// Writes the first `length` bytes of the locked file once more, and to disk.
fn rewrite(path: &Path, length: u64) -> io::Result<()> {
    // A file that is open for appending only appends.
    let file = files::private_file(path, OpenOptions::new().read(true).write(true))?;
    let (mut chunk, mut at) = (vec![0; CHUNK], 0);
    while at < length {
        let size = usize::try_from(length - at).map_or(CHUNK, |rest| rest.min(CHUNK));
        let bytes = chunk.get_mut(..size).unwrap_or_default();
        file.read_exact_at(bytes, at)?;
        file.write_all_at(bytes, at)?;
        at += size as u64;
    }
    file.sync_data()?;
    witness::synced(&file);
    Ok(())
}
