//! One sync for the lines of many calls.
//!
//! Each call waits until its line is on the disk before it begins. Where hundreds begin at once, a sync for each of them
//! would be most of the work: so a thread of its own syncs, and whoever comes while it does shares the next one.

use std::fs::File;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError};

use converse_engine::SinkError;
use converse_session::{AuditError, AuditLog};
use tokio::sync::watch;

#[derive(Default)]
pub(super) struct Gathering {
    written: Arc<AtomicU64>,
    /// Once the log is open.
    thread: Mutex<Option<Thread>>,
}

#[derive(Clone)]
struct Thread {
    wake: SyncSender<()>,
    synced: watch::Receiver<Synced>,
}

/// How far the disk is, or why nobody knows.
#[derive(Debug, Clone, Default)]
struct Synced {
    lines: u64,
    failed: Option<String>,
}

impl Gathering {
    pub(super) fn begin(&self, log: &AuditLog) -> Result<(), AuditError> {
        let file = log.handle()?;
        let (wake, woken) = sync_channel(1);
        let (sender, synced) = watch::channel(Synced::default());
        let written = Arc::clone(&self.written);
        // Ends when nobody can wake it any more.
        std::thread::spawn(move || sync(&file, &woken, &written, &sender));
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(Thread { wake, synced });
        Ok(())
    }

    /// A line was written that somebody will wait for.
    pub(super) fn note(&self) {
        self.written.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until all that is written by now is on the disk.
    pub(super) async fn settle(&self) -> Result<(), SinkError> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Without a log there is nothing to wait for.
        let Some(Thread { wake, mut synced }) = thread else { return Ok(()) };
        let upto = self.written.load(Ordering::SeqCst);
        // Full: it was woken and has not begun yet, so it will see our line.
        if let Err(TrySendError::Disconnected(())) = wake.try_send(()) {
            return Err(SinkError::Audit("its writer has gone".to_owned()));
        }
        let there = synced.wait_for(|synced| synced.failed.is_some() || synced.lines >= upto).await;
        let failed = match &there {
            Ok(synced) => synced.failed.clone(),
            Err(_) => Some("its writer has gone".to_owned()),
        };
        failed.map_or(Ok(()), |why| Err(SinkError::Audit(why)))
    }
}

/// After a failure nothing counts as synced any more: the system may have dropped what it could not write.
fn sync(file: &File, woken: &Receiver<()>, written: &AtomicU64, synced: &watch::Sender<Synced>) {
    while woken.recv().is_ok() {
        let lines = written.load(Ordering::SeqCst);
        let failed = file.sync_data().err().map(|error| error.to_string());
        synced.send_modify(|so_far| {
            so_far.lines = lines;
            so_far.failed = so_far.failed.take().or(failed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_a_failure_is_for_good() {
        let dir = tempfile::tempdir().unwrap();
        let log = AuditLog::open(&dir.path().join("audit.jsonl"), Box::new(str::to_owned)).unwrap();
        let gathering = Gathering::default();
        gathering.note();
        assert_eq!(gathering.settle().await, Ok(()), "there is no log");
        gathering.begin(&log).unwrap();
        let all = (0..100).map(|_| async {
            gathering.note();
            gathering.settle().await
        });
        assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
        // A pipe cannot be synced.
        let (pipe, _other) = std::io::pipe().unwrap();
        let (wake, woken) = sync_channel(1);
        let (sender, synced) = watch::channel(Synced::default());
        let written = Arc::clone(&gathering.written);
        let file = File::from(std::os::fd::OwnedFd::from(pipe));
        std::thread::spawn(move || sync(&file, &woken, &written, &sender));
        *gathering.thread.lock().unwrap() = Some(Thread { wake, synced });
        for _ in 0..2 {
            gathering.note();
            assert!(matches!(gathering.settle().await, Err(SinkError::Audit(_))));
        }
    }
}
