//! [`Interrupt`]: the request to end a run, and its signal.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

use crate::failure::{Failure, Kind};

/// The request to end a run. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    pub token: CancellationToken,
    number: Arc<AtomicU8>,
}

impl Interrupt {
    /// Returns a request that is also cancelled with this one.
    pub fn child(&self) -> Self {
        Self { token: self.token.child_token(), ..Self::default() }
    }

    pub fn number(&self) -> Option<u8> {
        Some(self.number.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    /// Ends the run because of the signal with this number.
    pub fn tell(&self, number: u8) {
        self.number.store(number, Ordering::SeqCst);
        self.token.cancel();
    }

    /// Returns the failure of an interrupted run.
    pub fn failure(&self) -> Failure {
        Failure::new(Kind::Signal(self.number().unwrap_or(2)), "interrupted", "interrupted")
    }
}
