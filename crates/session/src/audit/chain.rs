//! A log that is rows of a database: the lines of a file, one chain for each owner.
//!
//! No process locks the chain. An append names the end that it follows, and if another process was faster, the lines are
//! made again behind the new end. What was appended is durable, and there is nothing torn, so no line says `synced`.
//!
//! If the connection is lost during an append, nobody knows whether the lines are there. The same records, appended once
//! more, are looked for first.

use std::fmt;
use std::io;
use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::Digest;
use jiff::Timestamp;
use parking_lot::MutexGuard;
use serde_json::Value;

use super::record::{Line, Record};
use super::tail::End;
use super::{AuditError, RedactText};
use crate::digest;
use crate::lock::LOCK_TIMEOUT;
use crate::storage::{AuditLines, ChainEnd};

/// Limit on the bytes that are appended in one step.
pub(super) const MAX_APPEND_BYTES: usize = 64 * 1024 * 1024;

/// Why a log is resumed of which lines are missing.
const LOST: &str = "the database has lost lines";

/// The log of one owner.
pub struct AuditChain {
    lines: Arc<dyn AuditLines>,
    redact: RedactText,
    /// Time to wait for other writers.
    timeout: Duration,
    /// An append that may have happened: the end that it followed, and the one after it.
    unsure: Option<(ChainEnd, ChainEnd)>,
    /// A line of this process that the chain has lost, until a record says so.
    missing: Option<End>,
}

impl AuditChain {
    /// Accesses nothing. All texts of a record pass through `redact`.
    pub fn new(lines: Arc<dyn AuditLines>, redact: RedactText) -> Self {
        Self { lines, redact, timeout: LOCK_TIMEOUT, unsure: None, missing: None }
    }

    /// Fails if the log cannot be read now.
    pub fn check(&self) -> Result<(), AuditError> {
        self.lines.end().map(drop).map_err(self.failed())
    }

    /// Writes the records of several times durably, or none.
    pub fn append_all(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError> {
        let lines =
            || batches.iter().flat_map(|(records, at)| records.iter().map(|record| (record.line(), *at)));
        let Some((_, at)) = lines().next() else { return Ok(()) };
        if self.has_written(lines())? {
            return Ok(());
        }
        if !self.put(lines)? {
            self.resume(LOST, at)?;
            return if self.put(lines)? { Ok(()) } else { Err(self.busy()) };
        }
        Ok(())
    }

    /// Appends a `resumed` record with the reason of a failure. If this fails, it may be tried again.
    pub fn resume(&mut self, reason: &str, at: Timestamp) -> Result<(), AuditError> {
        let chain = Arc::clone(&self.lines);
        let mut seen = self.seen(&chain)?;
        let end = chain.end().map_err(self.failed())?;
        let lost = seen.replace(end).filter(|last| is_lost(last, &end)).map(End::from);
        drop(seen);
        let missing = self.missing.take().or(lost);
        // The records that failed may come again after this one.
        let unsure = self.unsure;
        let resumed = self.put(|| iter::once((Line::resumed(reason, missing.as_ref()), at)));
        self.unsure = unsure;
        let is_written = matches!(resumed, Ok(true));
        self.missing = missing.filter(|_| !is_written);
        if resumed? { Ok(()) } else { Err(self.busy()) }
    }

    /// Returns whether these are the lines of an append whose outcome was unknown, and they are there.
    fn has_written<'r>(
        &mut self,
        lines: impl Iterator<Item = (Line<'r>, Timestamp)>,
    ) -> Result<bool, AuditError> {
        let Some((after, sent)) = self.unsure else { return Ok(false) };
        let is_there = self.chained(after, lines)?.1 == sent && {
            let last = self.lines.line(sent.seq).map_err(self.failed())?;
            last.is_some_and(|line| digest(&line).0 == sent.head)
        };
        self.unsure = None;
        Ok(is_there)
    }

    /// Returns false, and writes nothing, if the chain has lost lines of this process.
    fn put<'r, I: Iterator<Item = (Line<'r>, Timestamp)>>(
        &mut self,
        lines: impl Fn() -> I,
    ) -> Result<bool, AuditError> {
        let began = Instant::now();
        let chain = Arc::clone(&self.lines);
        let mut seen = self.seen(&chain)?;
        loop {
            let after = match *seen {
                Some(end) => end,
                None => chain.end().map_err(self.failed())?,
            };
            let (written, end) = self.chained(after, lines())?;
            let appended = chain.append(after, written, end).map_err(self.failed());
            if appended.inspect_err(|_| self.unsure = Some((after, end)))? {
                *seen = Some(end);
                return Ok(true);
            }
            if began.elapsed() > self.timeout {
                return Err(self.busy());
            }
            let now = chain.end().map_err(self.failed())?;
            if seen.is_some_and(|last| is_lost(&last, &now)) {
                return Ok(false);
            }
            *seen = Some(now);
        }
    }

    /// Returns the lines behind this end, and the end after them.
    fn chained<'r>(
        &self,
        after: ChainEnd,
        lines: impl Iterator<Item = (Line<'r>, Timestamp)>,
    ) -> Result<(Vec<Vec<u8>>, ChainEnd), AuditError> {
        let (mut written, mut end, mut bytes) = (Vec::new(), End::from(after), 0);
        for (line, at) in lines {
            let line = line.chained(&end, None, at, &self.redact)?;
            end.follow(&line);
            bytes += line.len();
            written.push(line);
        }
        if bytes > MAX_APPEND_BYTES && written.len() > 1 {
            return Err(AuditError::TooMuch { bytes });
        }
        Ok((written, ChainEnd { seq: end.seq, head: end.head.0 }))
    }

    fn seen<'c>(
        &self,
        chain: &'c Arc<dyn AuditLines>,
    ) -> Result<MutexGuard<'c, Option<ChainEnd>>, AuditError> {
        chain.seen().try_lock_for(self.timeout).ok_or_else(|| self.busy())
    }

    fn busy(&self) -> AuditError {
        AuditError::Busy { path: self.lines.label().to_owned() }
    }

    fn failed(&self) -> impl Fn(io::Error) -> AuditError + use<> {
        let path = self.lines.label().to_owned();
        move |source| AuditError::Io { path: path.clone(), source }
    }
}

/// Returns whether a chain with the end `now` has lost lines of one that had the end `last`.
fn is_lost(last: &ChainEnd, now: &ChainEnd) -> bool {
    last.seq > now.seq || (last.seq == now.seq && last != now)
}

impl From<ChainEnd> for End {
    fn from(ChainEnd { seq, head }: ChainEnd) -> Self {
        Self { seq, head: Digest(head), length: 0 }
    }
}

impl fmt::Debug for AuditChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditChain").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// Returns at most `limit` records before the record number `before`, the last first, of one session if it is named. A line
/// that is not a record is left out: `verify_chain` reports it.
pub fn chain_records(
    lines: &dyn AuditLines,
    before: Option<u64>,
    session: Option<&str>,
    limit: usize,
) -> io::Result<Vec<Value>> {
    let (mut found, mut before) = (Vec::new(), before.unwrap_or(u64::MAX));
    loop {
        let page = lines.before(before)?;
        let Some((last, _)) = page.last() else { return Ok(found) };
        before = *last;
        let records = page.iter().filter_map(|(_, line)| serde_json::from_slice::<Value>(line).ok());
        found.extend(records.filter(|record| session.is_none_or(|session| record["session"] == session)));
        if found.len() >= limit {
            found.truncate(limit);
            return Ok(found);
        }
    }
}
