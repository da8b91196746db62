//! Waiting for the end of a process without reaping it.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use crate::group::Group;

/// How often it is asked although no signal came: who started us may have left SIGCHLD blocked.
const ASK: Duration = Duration::from_secs(1);

/// Hears of the end of any child, from when it was made.
#[derive(Debug)]
pub(crate) struct Exit {
    signal: Signal,
}

impl Exit {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { signal: signal(SignalKind::child())? })
    }

    pub(crate) async fn wait(&mut self, group: &Group) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = group.ended()? {
                return Ok(status);
            }
            let _ = timeout(ASK, self.signal.recv()).await;
        }
    }
}
