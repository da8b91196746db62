//! Signals: the first one cancels the run and lets it tidy up, the second one leaves at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Which signal ended the run, if one did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caught(Arc<AtomicU8>);

impl Caught {
    pub(crate) fn number(&self) -> Option<u8> {
        Some(self.0.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }
}

/// Listens from now on. Must be called inside the runtime.
pub(crate) fn listen(cancel: CancellationToken) -> std::io::Result<Caught> {
    let caught = Caught::default();
    let mut signals = Signals::new()?;
    let noted = caught.clone();
    tokio::spawn(async move {
        let first = signals.next().await;
        noted.0.store(first, Ordering::SeqCst);
        cancel.cancel();
        let second = signals.next().await;
        leave(128 + second);
    });
    Ok(caught)
}

#[allow(clippy::disallowed_methods, reason = "the user insists: no more tidying up")]
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
