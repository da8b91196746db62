//! [`Gathering`]: one sync to disk for the lines of many concurrent calls.
//!
//! Each call waits until its line is on disk. With hundreds of calls at once, a sync for each would be most of the
//! work, so a separate thread syncs, and lines that arrive meanwhile share the next sync.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use converse_engine::SinkError;
use tokio::sync::watch;

pub(super) struct Gathering {
    written: Arc<AtomicU64>,
    wake: SyncSender<()>,
    synced: watch::Receiver<Synced>,
}

/// The progress of syncing, or why it is unknown.
#[derive(Debug, Clone, Default)]
struct Synced {
    lines: u64,
    failed: Option<String>,
}

impl Gathering {
    /// `sync_log` syncs the log.
    pub(super) fn begin(sync_log: impl Fn() -> io::Result<()> + Send + 'static) -> Self {
        let (wake, woken) = sync_channel(1);
        let (sender, synced) = watch::channel(Synced::default());
        let written = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&written);
        // Ends when all senders are dropped. If the thread cannot be started, sending fails and is reported.
        let _ = std::thread::Builder::new().spawn(move || sync(&sync_log, &woken, &counted, &sender));
        Self { written, wake, synced }
    }

    /// Syncs the lines written so far, without waiting for it.
    pub(super) fn begin_sync(&self) {
        self.note();
        // A full channel means that the thread was woken already; that it has ended is known from `failure`.
        let _ = self.wake.try_send(());
    }

    /// Announces a line that will be waited for.
    pub(super) fn note(&self) {
        self.written.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns why a sync failed, if one did.
    pub(super) fn failure(&self) -> Option<SinkError> {
        let failed = self.synced.borrow().failed.clone();
        let gone = || self.synced.has_changed().is_err().then(|| super::GONE.to_owned());
        failed.or_else(gone).map(SinkError::Audit)
    }

    /// Waits until all lines written so far are on disk.
    pub(super) async fn settle(&self) -> Result<(), SinkError> {
        let upto = self.written.load(Ordering::SeqCst);
        // A full channel means that the thread was woken and has not started, so it will include our line.
        if let Err(TrySendError::Disconnected(())) = self.wake.try_send(()) {
            return Err(SinkError::Audit(super::GONE.to_owned()));
        }
        let mut synced = self.synced.clone();
        let there = synced.wait_for(|synced| synced.failed.is_some() || synced.lines >= upto).await;
        let failed = match &there {
            Ok(synced) => synced.failed.clone(),
            Err(_) => Some(super::GONE.to_owned()),
        };
        failed.map_or(Ok(()), |why| Err(SinkError::Audit(why)))
    }
}

/// After a failure nothing counts as synced: the system may have dropped data. The lines of a log that was resumed have
/// another `Gathering`.
fn sync(
    sync_log: &impl Fn() -> io::Result<()>,
    woken: &Receiver<()>,
    written: &AtomicU64,
    synced: &watch::Sender<Synced>,
) {
    while woken.recv().is_ok() {
        let lines = written.load(Ordering::SeqCst);
        let failed = sync_log().err().map(|error| error.to_string());
        synced.send_modify(|so_far| {
            so_far.lines = lines;
            so_far.failed = so_far.failed.take().or(failed);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_a_failure_is_for_good() {
        let file = tempfile::tempfile().unwrap();
        let gathering = Gathering::begin(move || file.sync_data());
        let all = (0..100).map(|_| async {
            gathering.note();
            gathering.settle().await
        });
        assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
        // A pipe cannot be synced.
        let (pipe, _other) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        let gathering = Gathering::begin(move || pipe.sync_data());
        for _ in 0..2 {
            gathering.note();
            assert!(matches!(gathering.settle().await, Err(SinkError::Audit(_))));
        }
    }
}
