//! [`Scribe`]: a thread that writes the audit lines of many concurrent calls.
//!
//! Another process may hold the lock of the log for any time. Only this thread waits for it, not the one that serves
//! the calls. It writes in the order of arrival, what waits by one call, and callers that need their lines on disk wait for them. If the lock
//! is not available in time, all waiting callers fail together, so that nobody waits longer than once.
//!
//! After any other failure the log is resumed: at once, and then once a second. Until that succeeds, all callers fail at
//! once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use converse_engine::SinkError;
use converse_session::{AuditError, Record};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::gathering::Gathering;
use super::health::Health;
use crate::world::World;

/// Number of queued sheets; more than concurrent calls are accepted.
const QUEUE: usize = 32 * 1024;
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
    slip: Arc<Slip>,
    is_told: bool,
}

/// The progress of one caller's sheets. After a failed sheet, no other is written.
pub(super) struct Slip {
    handed: AtomicU64,
    /// Syncs the lines for whose sync the caller waits.
    unsynced: Mutex<Option<Arc<Gathering>>>,
    done: watch::Sender<Done>,
}

#[derive(Debug, Default)]
struct Done {
    sheets: u64,
    failed: Option<SinkError>,
}

impl Scribe {
    /// Starts the thread. It ends when all senders are dropped.
    pub(super) fn begin(book: impl Book + 'static, gathering: Gathering, health: Arc<Health>) -> Self {
        let (sheets, handed) = sync_channel(QUEUE);
        let writer = Writer { book, gathering: Arc::new(gathering), failed: None, unsynced: None, health };
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
        slip.handed.fetch_add(1, Ordering::SeqCst);
        let sheet = Sheet { records, at: World::now(), durable, slip: Arc::clone(slip), is_told: false };
        self.0.try_send(Box::new(sheet)).map_err(|error| match error {
            TrySendError::Full(_) => SinkError::Audit("too many lines are waiting".to_owned()),
            TrySendError::Disconnected(_) => gone(),
        })
    }
}

fn gone() -> SinkError {
    SinkError::Audit(super::GONE.to_owned())
}

/// The thread that writes.
struct Writer<B> {
    book: B,
    /// Syncs the lines that are written now.
    gathering: Arc<Gathering>,
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
            self.gathering.begin_sync();
        }
    }

    /// Writes the sheets together, or each alone if one of them cannot be written.
    fn write(&mut self, sheets: Vec<Sheet>, handed: &Receiver<Box<Sheet>>) {
        let mut writable = Vec::with_capacity(sheets.len());
        for sheet in sheets {
            match sheet.slip.failed() {
                Ok(()) => writable.push(sheet),
                Err(error) => sheet.tell(Err(error)),
            }
        }
        let written = self.ready().and_then(|()| match self.append(&writable) {
            Ok(()) => Ok(()),
            Err(AuditError::TooLong { .. } | AuditError::Unwritable(_)) if writable.len() > 1 => {
                writable.drain(..).for_each(|sheet| self.write(vec![sheet], handed));
                Ok(())
            }
            Err(error @ (AuditError::TooLong { .. } | AuditError::Unwritable(_))) => {
                Err(super::failed(&error))
            }
            Err(error @ AuditError::Busy { .. }) => {
                let error = super::failed(&error);
                // These sheets were waiting for the same lock.
                handed.try_iter().take(QUEUE).for_each(|late| late.tell(Err(error.clone())));
                Err(error)
            }
            Err(error) => {
                self.resume(super::failed(&error))?;
                self.append(&writable).map_err(|error| super::failed(&error))
            }
        });
        writable.into_iter().for_each(|sheet| sheet.tell(written.clone()));
    }

    fn append(&mut self, sheets: &[Sheet]) -> Result<(), AuditError> {
        let batches: Vec<_> = sheets.iter().map(|sheet| (&*sheet.records, sheet.at)).collect();
        if batches.iter().any(|(records, _)| !records.is_empty()) {
            self.book.append(&batches)?;
            self.unsynced.get_or_insert_with(Instant::now);
        }
        for sheet in sheets.iter().filter(|sheet| sheet.durable) {
            self.gathering.note();
            *sheet.slip.unsynced.lock() = Some(Arc::clone(&self.gathering));
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
                self.gathering = Arc::new(gathering);
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

impl Sheet {
    fn tell(mut self, written: Result<(), SinkError>) {
        self.is_told = true;
        self.slip.tell(written);
    }
}

/// Fails the sheet if the writer has crashed.
impl Drop for Sheet {
    fn drop(&mut self) {
        if !self.is_told {
            self.slip.tell(Err(gone()));
        }
    }
}

impl Slip {
    pub(super) fn new() -> Arc<Self> {
        let done = watch::Sender::new(Done::default());
        Arc::new(Self { handed: AtomicU64::new(0), unsynced: Mutex::default(), done })
    }

    fn tell(&self, written: Result<(), SinkError>) {
        self.done.send_modify(|done| {
            done.sheets += 1;
            done.failed = done.failed.take().or(written.err());
        });
    }

    fn failed(&self) -> Result<(), SinkError> {
        self.done.borrow().failed.clone().map_or(Ok(()), Err)
    }

    /// Waits until all sheets of this slip are written, and on disk if required.
    pub(super) async fn settle(&self) -> Result<(), SinkError> {
        let upto = self.handed.load(Ordering::SeqCst);
        let mut done = self.done.subscribe();
        // `self` holds the sender, so this cannot fail.
        let _ = done.wait_for(|done| done.failed.is_some() || done.sheets >= upto).await;
        self.failed()?;
        let unsynced = self.unsynced.lock().take();
        match unsynced {
            Some(gathering) => gathering.settle().await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
