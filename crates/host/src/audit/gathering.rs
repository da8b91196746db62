//! [`Gathering`]: one sync to disk for the lines of many concurrent calls.
//!
//! Each call waits until its line is on disk. With hundreds of calls at once, a sync for each would be most of the
//! work, so a separate thread syncs, and lines that arrive meanwhile share the next sync.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use converse_engine::SinkError;
use parking_lot::Mutex;

use super::reports::{Reports, Written};
use super::scribe::QUEUE;

pub(super) struct Gathering {
    lines: SyncSender<(Vec<Written>, Reports)>,
    /// Why a sync failed.
    failed: Arc<Mutex<Option<SinkError>>>,
}

impl Gathering {
    /// `sync_log` syncs the log.
    pub(super) fn begin(sync_log: impl Fn() -> io::Result<()> + Send + 'static) -> Self {
        let (sender, lines) = sync_channel(QUEUE);
        let failed = Arc::<Mutex<Option<SinkError>>>::default();
        let seen = Arc::clone(&failed);
        // Ends when the sender is dropped. If the thread cannot be started, sending fails and is reported.
        let _ = std::thread::Builder::new().spawn(move || sync(&sync_log, &lines, &seen));
        Self { lines: sender, failed }
    }

    /// Syncs all lines so far, and then reports these to their callers. Does not wait.
    pub(super) fn sync(&self, lines: Vec<Written>, reports: &Reports) {
        match self.lines.try_send((lines, reports.clone())) {
            Ok(()) => {}
            Err(TrySendError::Full((lines, _))) => reports.send(lines, &Err(super::too_many())),
            Err(TrySendError::Disconnected((lines, _))) => {
                self.failed.lock().get_or_insert_with(super::gone);
                reports.send(lines, &Err(super::gone()));
            }
        }
    }

    /// Returns why a sync failed, if one did.
    pub(super) fn failure(&self) -> Option<SinkError> {
        self.failed.lock().clone()
    }
}

/// After a failure nothing counts as synced: the system may have dropped data. The lines of a log that was resumed have
/// another `Gathering`.
fn sync(
    sync_log: &impl Fn() -> io::Result<()>,
    lines: &Receiver<(Vec<Written>, Reports)>,
    failed: &Mutex<Option<SinkError>>,
) {
    while let Ok((mut written, reports)) = lines.recv() {
        written.extend(lines.try_iter().take(QUEUE).flat_map(|(more, _)| more));
        let synced = sync_log().map_err(|error| SinkError::Audit(error.to_string()));
        let synced = match (&mut *failed.lock(), synced) {
            (Some(why), _) => Err(why.clone()),
            (failed @ None, synced) => {
                *failed = synced.clone().err();
                synced
            }
        };
        reports.send(written, &synced);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::super::reports::Slip;
    use super::*;

    async fn synced(gathering: &Gathering, calls: usize) -> Vec<Result<(), SinkError>> {
        let reports = Reports::begin();
        let slips: Vec<_> = (0..calls).map(|_| Slip::new()).collect();
        slips.iter().for_each(|slip| gathering.sync(vec![slip.hand()], &reports));
        futures_util::future::join_all(slips.iter().map(|slip| slip.settle())).await
    }

    #[tokio::test]
    async fn everybody_who_waits_is_told_and_a_failure_is_for_good() {
        let file = tempfile::tempfile().unwrap();
        let gathering = Gathering::begin(move || file.sync_data());
        assert!(synced(&gathering, 100).await.iter().all(Result::is_ok));
        assert!(gathering.failure().is_none());
        // A pipe cannot be synced.
        let (pipe, _other) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        let gathering = Gathering::begin(move || pipe.sync_data());
        for _ in 0..2 {
            assert!(matches!(synced(&gathering, 1).await[..], [Err(SinkError::Audit(_))]));
            assert!(gathering.failure().is_some());
        }
    }

    #[tokio::test]
    async fn after_a_failure_nothing_is_synced_even_if_the_next_sync_succeeds() {
        let outcomes = Mutex::new(vec![Ok(()), Err(io::ErrorKind::Other.into())]);
        let gathering = Gathering::begin(move || outcomes.lock().pop().unwrap_or(Ok(())));
        for _ in 0..3 {
            assert!(matches!(synced(&gathering, 1).await[..], [Err(SinkError::Audit(_))]));
        }
    }
}
