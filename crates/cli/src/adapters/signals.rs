//! Signals and the deadline, watched by a thread of their own.
//!
//! The first signal cancels the run and lets it tidy up; the second one leaves at once. A run that cannot tidy up (its
//! only thread is stuck in a write to a pipe nobody reads) is left as well, when its time for that is over: whatever
//! happens, it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Kind};

/// Time to tidy up: running tools have two seconds of grace, servers five to end. What else waits at the end waits beside
/// them, or for the rest of it.
const TIDYING: Duration = Duration::from_secs(10);

/// Whether, and by which signal, the run is asked to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    pub(crate) token: CancellationToken,
    number: Arc<AtomicU8>,
}

impl Interrupt {
    pub(crate) fn number(&self) -> Option<u8> {
        Some(self.number.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    /// The failure that an interrupted run ends with.
    pub(crate) fn failure(&self) -> Failure {
        Failure::new(Kind::Signal(self.number().unwrap_or(2)), "interrupted", "interrupted")
    }

    /// The run must have ended by then, and some time to tidy up.
    pub(crate) fn watch_deadline(&self, deadline: Instant) {
        std::thread::spawn(move || {
            let left = deadline.saturating_duration_since(Instant::now());
            std::thread::sleep(left + TIDYING);
            leave(Kind::Limit.exit_code());
        });
    }
}

/// Watches from now on.
pub(crate) fn watch() -> Result<Interrupt, Failure> {
    watch_with(Duration::ZERO)
}

/// The same, for a run that may go on for so long after it is told to end.
pub(crate) fn watch_with(drain: Duration) -> Result<Interrupt, Failure> {
    let failed = |error: std::io::Error| Failure::new(Kind::Internal, "signals", error.to_string());
    let interrupt = Interrupt::default();
    let told = interrupt.clone();
    let runtime = crate::runtime()?;
    let entered = runtime.enter();
    let mut signals = Signals::new().map_err(failed)?;
    drop(entered);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                let first = signals.next().await;
                told.number.store(first, Ordering::SeqCst);
                told.token.cancel();
                let last = tokio::time::timeout(drain + TIDYING, signals.next()).await.unwrap_or(first);
                leave(128 + last);
            });
        })
        .map_err(failed)?;
    Ok(interrupt)
}

#[allow(clippy::disallowed_methods, reason = "there is nothing left to wait for")]
fn leave(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

struct Signals {
    hangup: Signal,
    interrupt: Signal,
    quit: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The number of the next one.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.hangup.recv() => 1,
            _ = self.interrupt.recv() => 2,
            _ = self.quit.recv() => 3,
            _ = self.terminate.recv() => 15,
        }
    }
}
