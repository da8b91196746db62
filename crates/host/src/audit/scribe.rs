//! [`Scribe`]: a thread that writes the audit lines of many concurrent calls.
//!
//! Another process may hold the lock of the log for any time. Only this thread waits for it, not the one that serves
//! the calls. It writes in the order of arrival, and callers that need their lines on disk wait for them. If the lock
//! is not available in time, all waiting callers fail together, so that nobody waits longer than once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use converse_engine::SinkError;
use converse_session::{AuditError, Record};
use jiff::Timestamp;
use tokio::sync::watch;

use super::gathering::Gathering;
use crate::world::World;

/// Number of queued sheets; more than concurrent calls are accepted.
const QUEUE: usize = 32 * 1024;

#[derive(Clone)]
pub(super) struct Scribe {
    sheets: SyncSender<Box<Sheet>>,
    gathering: Gathering,
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
    /// Whether the caller also waits for the disk.
    durable: AtomicBool,
    done: watch::Sender<Done>,
}

#[derive(Debug, Default)]
struct Done {
    sheets: u64,
    failed: Option<SinkError>,
}

impl Scribe {
    /// Starts the thread. `append` writes records, all or none. The thread ends when all senders are dropped.
    pub(super) fn begin(
        gathering: Gathering,
        mut append: impl FnMut(&[Record], Timestamp) -> Result<(), AuditError> + Send + 'static,
    ) -> Self {
        let (sheets, handed) = sync_channel(QUEUE);
        let noted = gathering.clone();
        // If the thread cannot be started, sending fails and is reported.
        let _ = std::thread::Builder::new().spawn(move || write(&handed, &noted, &mut append));
        Self { sheets, gathering }
    }

    /// Queues a sheet without waiting. [`Scribe::settle`] returns the result.
    pub(super) fn hand(
        &self,
        records: Vec<Record>,
        durable: bool,
        slip: &Arc<Slip>,
    ) -> Result<(), SinkError> {
        slip.failed()?;
        slip.handed.fetch_add(1, Ordering::SeqCst);
        slip.durable.fetch_or(durable, Ordering::SeqCst);
        let sheet = Sheet { records, at: World::now(), durable, slip: Arc::clone(slip), is_told: false };
        self.sheets.try_send(Box::new(sheet)).map_err(|error| match error {
            TrySendError::Full(_) => SinkError::Audit("too many lines are waiting".to_owned()),
            TrySendError::Disconnected(_) => gone(),
        })
    }

    /// Waits until all sheets of this slip are written, and on disk if required.
    pub(super) async fn settle(&self, slip: &Slip) -> Result<(), SinkError> {
        slip.settle().await?;
        match slip.durable.swap(false, Ordering::SeqCst) {
            true => self.gathering.settle().await,
            false => Ok(()),
        }
    }
}

fn gone() -> SinkError {
    SinkError::Audit(super::GONE.to_owned())
}

fn write(
    sheets: &Receiver<Box<Sheet>>,
    gathering: &Gathering,
    append: &mut impl FnMut(&[Record], Timestamp) -> Result<(), AuditError>,
) {
    while let Ok(sheet) = sheets.recv() {
        if let Err(error) = sheet.slip.failed() {
            sheet.tell(Err(error));
            continue;
        }
        let appended = if sheet.records.is_empty() { Ok(()) } else { append(&sheet.records, sheet.at) };
        if sheet.durable && appended.is_ok() {
            gathering.note();
        }
        let is_busy = matches!(appended, Err(AuditError::Busy { .. }));
        let written = appended.map_err(|error| super::failed(&error));
        if is_busy {
            // These sheets were waiting for the same lock.
            sheets.try_iter().take(QUEUE).for_each(|late| late.tell(written.clone()));
        }
        sheet.tell(written);
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
        Arc::new(Self { handed: AtomicU64::new(0), durable: AtomicBool::new(false), done })
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

    async fn settle(&self) -> Result<(), SinkError> {
        let upto = self.handed.load(Ordering::SeqCst);
        let mut done = self.done.subscribe();
        // `self` holds the sender, so this cannot fail.
        let _ = done.wait_for(|done| done.failed.is_some() || done.sheets >= upto).await;
        self.failed()
    }
}

#[cfg(test)]
mod tests;
