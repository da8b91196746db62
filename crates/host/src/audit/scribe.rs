//! The lines of many calls, written by a thread of its own.
//!
//! Another process may hold the log's lock for as long as it likes. Who waits for it here is that thread, not the one
//! that serves everybody else. It writes what it is handed in the order in which it was handed; whoever needs to know
//! that his lines are there waits for them. If the lock cannot be had in time, all that were waiting with it are told
//! so together: nobody waits for more than one such wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use converse_engine::SinkError;
use converse_session::{AuditError, Record};
use jiff::Timestamp;
use tokio::sync::watch;

use super::gathering::Gathering;
use crate::world::World;

/// Sheets that may wait to be written: more than calls are taken at once.
const QUEUE: usize = 32 * 1024;

#[derive(Clone)]
pub(super) struct Scribe {
    sheets: SyncSender<Box<Sheet>>,
    gathering: Gathering,
}

/// What is written at once, or not at all.
struct Sheet {
    records: Vec<Record>,
    at: Timestamp,
    durable: bool,
    slip: Arc<Slip>,
    is_told: bool,
}

/// How far the sheets of one caller are. After one that was not written no other is.
pub(super) struct Slip {
    handed: AtomicU64,
    /// Somebody is to wait for the disk as well.
    durable: AtomicBool,
    done: watch::Sender<Done>,
}

#[derive(Debug, Default)]
struct Done {
    sheets: u64,
    failed: Option<SinkError>,
}

impl Scribe {
    /// `append` writes records, all or none. Ends when nobody can hand in any more.
    pub(super) fn begin(
        gathering: Gathering,
        mut append: impl FnMut(&[Record], Timestamp) -> Result<(), AuditError> + Send + 'static,
    ) -> Self {
        let (sheets, handed) = sync_channel(QUEUE);
        let noted = gathering.clone();
        // If there is no thread to be had, nobody is there to be handed anything, and that is told.
        let _ = std::thread::Builder::new().spawn(move || write(&handed, &noted, &mut append));
        Self { sheets, gathering }
    }

    /// Never waits. [`Scribe::settle`] says what came of it.
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

    /// Waits until all of this slip is written, and on the disk if it is to be.
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
            // They have waited with it.
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

/// Nobody waits for a writer that has crashed.
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
        // Its sender is ours.
        let _ = done.wait_for(|done| done.failed.is_some() || done.sheets >= upto).await;
        self.failed()
    }
}

#[cfg(test)]
mod tests;
