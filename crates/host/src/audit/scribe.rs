//! [`Scribe`]: a thread that writes the audit lines of many concurrent calls.
//!
//! Another process may hold the lock of the log for any time. Only this thread waits for it, not the one that serves
//! the calls. It writes in the order of arrival, what waits by one call, and callers that need their lines on disk wait for them. If the lock
//! is not available in time, all waiting callers fail together, so that nobody waits longer than once.
//!
//! After any other failure the log is resumed: at once, and then once a second. Until that succeeds, all callers fail at
//! once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use converse_engine::SinkError;
use converse_session::{AuditError, Record};
use jiff::Timestamp;

use super::gathering::Gathering;
use super::health::Health;
use super::reports::{Reports, Slip, Written};
use crate::world::World;

/// Number of queued sheets; more than concurrent calls are accepted.
pub(super) const QUEUE: usize = 32 * 1024;
/// Maximum number of sheets that are written together.
const BATCH: usize = 256;
/// Time between two attempts to resume a log, and between two looks at whether it failed.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(super) struct Scribe(SyncSender<Box<Sheet>>);

/// What a scribe writes to.
pub(super) trait Book: Send {
    /// Writes the records of several times, or none.
    fn append(&mut self, batches: &[(&[Record], Timestamp)]) -> Result<(), AuditError>;
    /// Makes the log usable after a failure. The lines that follow belong to the new `Gathering`.
    fn resume(&mut self, reason: &str) -> Result<Gathering, AuditError>;
}

/// Records that are written together or not at all.
struct Sheet {
    records: Vec<Record>,
    at: Timestamp,
    durable: bool,
    written: Written,
}

impl Scribe {
    /// Starts the thread. It ends when all senders are dropped.
    pub(super) fn begin(book: impl Book + 'static, gathering: Gathering, health: Arc<Health>) -> Self {
        let (sheets, handed) = sync_channel(QUEUE);
        let reports = Reports::begin();
        let writer = Writer { book, gathering, reports, failed: None, unsynced: None, health };
        // If the thread cannot be started, sending fails and is reported.
        let _ = std::thread::Builder::new().spawn(move || writer.run(&handed));
        Self(sheets)
    }

    /// Queues a sheet without waiting. [`Slip::settle`] returns the result.
    pub(super) fn hand(
        &self,
        records: Vec<Record>,
        durable: bool,
        slip: &Arc<Slip>,
    ) -> Result<(), SinkError> {
        slip.failed()?;
        let sheet = Sheet { records, at: World::now(), durable, written: slip.hand() };
        self.0.try_send(Box::new(sheet)).map_err(|error| match error {
            TrySendError::Full(_) => super::too_many(),
            TrySendError::Disconnected(_) => super::gone(),
        })
    }
}

/// The thread that writes.
struct Writer<B> {
    book: B,
    /// Syncs the lines that are written now.
    gathering: Gathering,
    reports: Reports,
    /// Why the log cannot be written, and when it was last tried.
    failed: Option<(SinkError, Instant)>,
    /// When the first line was written since the last sync for which nobody waited.
    unsynced: Option<Instant>,
    health: Arc<Health>,
}

impl<B: Book> Writer<B> {
    fn run(mut self, handed: &Receiver<Box<Sheet>>) {
        loop {
            match handed.recv_timeout(RETRY) {
                Ok(sheet) => {
                    let sheets = std::iter::once(sheet).chain(handed.try_iter()).take(BATCH);
                    self.write(sheets.map(|sheet| *sheet).collect(), handed);
                }
                Err(RecvTimeoutError::Timeout) => drop(self.ready()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.sync_old_lines();
        }
    }

    /// Requests a sync once a second while lines are written: nobody waits for those of calls that only read.
    fn sync_old_lines(&mut self) {
        if self.unsynced.take_if(|since| since.elapsed() >= RETRY).is_some() {
            self.gathering.sync(Vec::new(), &self.reports);
        }
    }

    /// Writes the sheets together, or each alone if one of them cannot be written.
    fn write(&mut self, sheets: Vec<Sheet>, handed: &Receiver<Box<Sheet>>) {
        let mut writable = Vec::with_capacity(sheets.len());
        for sheet in sheets {
            match sheet.written.slip.failed() {
                Ok(()) => writable.push(sheet),
                Err(error) => self.reports.send(vec![sheet.written], &Err(error)),
            }
        }
        let written = self.ready().and_then(|()| match self.append(&writable) {
            Ok(()) => Ok(()),
            Err(error) if is_of_the_records(&error) && writable.len() > 1 => {
                writable.drain(..).for_each(|sheet| self.write(vec![sheet], handed));
                Ok(())
            }
            Err(error) if is_of_the_records(&error) => Err(super::failed(&error)),
            Err(error @ AuditError::Busy { .. }) => {
                let error = super::failed(&error);
                // These sheets were waiting for the same lock.
                let late = handed.try_iter().take(QUEUE).map(|late| late.written);
                self.reports.send(late.collect(), &Err(error.clone()));
                Err(error)
            }
            Err(error) => {
                self.resume(super::failed(&error))?;
                self.append(&writable).map_err(|error| super::failed(&error))
            }
        });
        self.report(writable, written);
    }

    /// Reports the sheets to their callers, durable ones after the next sync. A caller waits for all its sheets, so those
    /// before a durable one are reported with it.
    fn report(&self, sheets: Vec<Sheet>, written: Result<(), SinkError>) {
        let (mut lines, mut durable) = (Vec::<Written>::new(), Vec::<Written>::new());
        for sheet in sheets {
            let earlier = lines.pop_if(|last| Arc::ptr_eq(&last.slip, &sheet.written.slip));
            let line = match earlier {
                Some(mut earlier) => {
                    earlier.join(sheet.written);
                    earlier
                }
                None => sheet.written,
            };
            let list = if sheet.durable && written.is_ok() { &mut durable } else { &mut lines };
            list.push(line);
        }
        if !durable.is_empty() {
            self.gathering.sync(durable, &self.reports);
        }
        if !lines.is_empty() {
            self.reports.send(lines, &written);
        }
    }

    fn append(&mut self, sheets: &[Sheet]) -> Result<(), AuditError> {
        let batches: Vec<_> = sheets.iter().map(|sheet| (&*sheet.records, sheet.at)).collect();
        if batches.iter().any(|(records, _)| !records.is_empty()) {
            self.book.append(&batches)?;
            self.unsynced.get_or_insert_with(Instant::now);
        }
        Ok(())
    }

    /// Fails if the log cannot be written now. A log that failed is tried again once a second.
    fn ready(&mut self) -> Result<(), SinkError> {
        match self.failed.take() {
            Some((why, tried)) if tried.elapsed() < RETRY => {
                self.failed = Some((why.clone(), tried));
                Err(why)
            }
            Some((why, _)) => self.resume(why),
            None => self.gathering.failure().map_or(Ok(()), |why| self.resume(why)),
        }
    }

    /// Resumes a log that failed for this reason.
    fn resume(&mut self, why: SinkError) -> Result<(), SinkError> {
        match self.book.resume(&why.to_string()) {
            Ok(gathering) => {
                self.gathering = gathering;
                self.health.resumed(&why);
                Ok(())
            }
            Err(error) => {
                let why = super::failed(&error);
                self.health.failed(&why);
                self.failed = Some((why.clone(), Instant::now()));
                Err(why)
            }
        }
    }
}

/// Returns whether other records could be written.
fn is_of_the_records(error: &AuditError) -> bool {
    matches!(error, AuditError::TooLong { .. } | AuditError::TooMuch { .. } | AuditError::Unwritable(_))
}

#[cfg(test)]
mod tests;
