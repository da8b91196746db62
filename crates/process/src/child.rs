//! A running child.

use std::convert::Infallible;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::crowd::Crowd;
use crate::exit::Exit;
use crate::group::Group;
use crate::stderr::Stderr;

/// How long what got SIGKILL has to go.
const DEATH: Duration = Duration::from_secs(1);
/// How long the last words of who ended are waited for: somebody else may hold its stderr.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A running child and its group. Dropped: killed.
#[derive(Debug)]
pub struct Child {
    /// None if it was not asked for. Dropping it is the first hint to end.
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub(crate) stderr: Stderr,
    pub(crate) running: Option<Running>,
    pub(crate) id: u32,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) runtime: Handle,
    /// Dropped with us: tells the reader of stderr not to wait for more.
    pub(crate) _alive: oneshot::Sender<Infallible>,
}

/// What has to be ended. None in a child that was.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) group: Group,
    pub(crate) exit: Exit,
}

impl Child {
    /// Its number, which is its group's as well.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Counts it and all that it started.
    pub fn crowd(&self) -> Crowd {
        Crowd { group: self.id }
    }

    /// The last it said on stderr (at most 4 KiB, whole lines, lossy UTF-8, NOT cleaned for a terminal).
    pub fn last_words(&self) -> String {
        self.stderr.last_words()
    }

    /// Shared handle to the same, for error messages after the child moved elsewhere.
    pub fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }

    /// Waits for its end, and a moment for its last words. May be dropped and called again. Does not close `stdin`,
    /// says nothing of its group: [`Child::end`] is still to be called.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = match (self.status, &mut self.running) {
            (Some(status), _) => status,
            (None, Some(running)) => running.exit.wait(&running.group).await?,
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        self.status = Some(status);
        self.stderr.closed(LAST_WORDS).await;
        Ok(status)
    }

    /// Has it ended? Never blocks.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.running.as_ref().and_then(|running| running.group.ended().ok().flatten());
        }
        self.status
    }

    /// Ends it, politely first: stdin closed, `patience`, SIGTERM to the group, `patience`, SIGKILL to the group; then
    /// the whole group is gone (grandchildren too, even if the leader ended by itself). Returns at once when it is
    /// over, after `patience` twice and a second at the latest. Dropped half-way: killed.
    pub async fn end(self, patience: Duration) {
        self.end_after(patience, patience).await;
    }

    /// The same, but SIGTERM comes so long after its stdin was closed.
    pub async fn end_after(mut self, goodbye: Duration, patience: Duration) {
        self.stdin = None;
        // Nobody reads it any more: who waits to write shall not wait for ever.
        self.stdout = None;
        let Some(Running { group, exit }) = &mut self.running else { return };
        for (wait, signal) in [(goodbye, Signal::TERM), (patience, Signal::KILL)] {
            if group.gone_within(wait, exit).await {
                return;
            }
            group.signal(signal);
        }
        if !group.gone_within(DEATH, exit).await {
            tracing::warn!(group = self.id, "a child process does not go, although it was killed");
        }
    }

    /// SIGKILL to the group at once.
    pub fn kill(&mut self) {
        if let Some(running) = &self.running {
            running.group.signal(Signal::KILL);
        }
    }
}

impl Drop for Child {
    /// The dead are buried by a task; without a runtime by the next child, or by [`crate::Guardian::sweep`].
    fn drop(&mut self) {
        self.kill();
        if let Some(Running { mut group, mut exit }) =
            self.running.take().filter(|running| !running.group.gone())
        {
            self.runtime.spawn(async move { group.gone_within(DEATH, &mut exit).await });
        }
    }
}
