//! Reports of written audit lines to the calls that wait for them.
//!
//! Lines are written and synced on threads of their own. Each report from such a thread would wake the thread of the
//! runtime, so the reports of a batch are sent to it together, and the calls are woken there.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use converse_engine::SinkError;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedSender, error::SendError, unbounded_channel};

/// The progress of one caller's lines. After lines that failed, no others are written. A caller hands in lines only when
/// all its durable ones are settled, so that the number of reported lines says which they are.
pub(super) struct Slip {
    handed: AtomicU64,
    failed: OnceLock<SinkError>,
    reported: AtomicU64,
    /// Notified after each report.
    news: Notify,
}

impl Slip {
    pub(super) fn new() -> Arc<Self> {
        let [handed, reported] = [(); 2].map(|()| AtomicU64::new(0));
        Arc::new(Self { handed, failed: OnceLock::new(), reported, news: Notify::new() })
    }

    /// Counts lines that are handed in together, and returns what reports them.
    pub(super) fn hand(self: &Arc<Self>) -> Written {
        self.handed.fetch_add(1, Ordering::SeqCst);
        Written { slip: Arc::clone(self), handed: 1 }
    }

    pub(super) fn failed(&self) -> Result<(), SinkError> {
        self.failed.get().cloned().map_or(Ok(()), Err)
    }

    /// Waits until all lines so far are written, and on disk if required.
    pub(super) async fn settle(&self) -> Result<(), SinkError> {
        let upto = self.handed.load(Ordering::SeqCst);
        loop {
            let mut news = pin!(self.news.notified());
            // A report between the look and the wait counts.
            news.as_mut().enable();
            let failed = self.failed();
            if failed.is_err() || self.reported.load(Ordering::SeqCst) >= upto {
                return failed;
            }
            news.await;
        }
    }
}

/// Lines of one caller whose outcome is not reported yet.
pub(super) struct Written {
    pub(super) slip: Arc<Slip>,
    handed: u64,
}

impl Written {
    /// Takes over later lines of the same caller, to report both at once.
    pub(super) fn join(&mut self, mut later: Self) {
        self.handed += std::mem::take(&mut later.handed);
    }

    /// Takes effect at once, also for lines that are written before the caller learns of it.
    fn fail(&self, why: SinkError) {
        let _ = self.slip.failed.set(why);
    }

    fn report(&mut self) {
        let handed = std::mem::take(&mut self.handed);
        self.slip.reported.fetch_add(handed, Ordering::SeqCst);
        self.slip.news.notify_waiters();
    }
}

/// Fails the lines if the writer has crashed.
impl Drop for Written {
    fn drop(&mut self) {
        if self.handed > 0 {
            self.fail(super::gone());
            self.report();
        }
    }
}

/// The way to the callers: through a task of the runtime, or directly where there is none.
#[derive(Clone)]
pub(super) struct Reports(Option<UnboundedSender<Vec<Written>>>);

impl Reports {
    /// The task ends with the last clone.
    pub(super) fn begin() -> Self {
        let Ok(runtime) = Handle::try_current() else { return Self(None) };
        // Bounded by the number of open calls, each with a few lines.
        let (sender, mut batches) = unbounded_channel();
        runtime.spawn(async move {
            while let Some(lines) = batches.recv().await {
                report(lines);
            }
        });
        Self(Some(sender))
    }

    pub(super) fn send(&self, lines: Vec<Written>, written: &Result<(), SinkError>) {
        if let Err(why) = written {
            lines.iter().for_each(|line| line.fail(why.clone()));
        }
        let unsent = match &self.0 {
            Some(task) => task.send(lines).err().map(|SendError(lines)| lines),
            None => Some(lines),
        };
        unsent.into_iter().for_each(report);
    }
}

fn report(lines: Vec<Written>) {
    lines.into_iter().for_each(|mut line| line.report());
}
