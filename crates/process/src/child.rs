//! A running child.

use std::convert::Infallible;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::group::{Exit, Group};
use crate::process_count::GroupCounter;
use crate::stderr::Stderr;

/// How long a group has to exit after SIGKILL.
const DEATH: Duration = Duration::from_secs(1);
/// How long to wait for the rest of stderr after the exit: another process may hold the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A running child and its process group. Dropping it kills the group.
#[derive(Debug)]
pub struct Child {
    /// `None` unless [`Spawn::stdin`](crate::Spawn::stdin) was set. Closing it is the first request to exit.
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub(crate) stderr: Stderr,
    pub(crate) running: Option<Running>,
    pub(crate) id: u32,
    pub(crate) status: Option<ExitStatus>,
    pub(crate) runtime: Handle,
    /// Dropped with the child: the reader of stderr then stops waiting for more.
    pub(crate) _alive: oneshot::Sender<Infallible>,
}

/// The group to be ended; taken when the child was ended.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) group: Group,
    pub(crate) exit: Exit,
}

impl Child {
    /// Returns the process id, which is also the id of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Returns a counter of the processes in its group.
    pub fn counter(&self) -> GroupCounter {
        GroupCounter::of(self.id)
    }

    /// Returns the end of stderr: at most 4 KiB, whole lines, lossy UTF-8, NOT escaped for a terminal.
    pub fn last_words(&self) -> String {
        self.stderr.last_words()
    }

    /// Returns a shared handle to the end of stderr, for error messages after the child was moved.
    pub fn stderr(&self) -> Stderr {
        self.stderr.clone()
    }

    /// Waits for the exit, and a moment for the rest of stderr. Cancel-safe. Does not close `stdin` and does not end the
    /// group: [`Child::end`] must still be called.
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

    /// Returns the exit status if the child has exited. Never blocks.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.status.is_none() {
            self.status = self.running.as_ref().and_then(|running| running.group.ended().ok().flatten());
        }
        self.status
    }

    /// Ends the group: closes stdin, waits `grace`, sends SIGTERM, waits `grace`, sends SIGKILL. Afterwards the whole
    /// group is gone (grandchildren too, even if the leader exited by itself). Returns as soon as it is, at the latest
    /// after twice `grace` and a second. Dropping the future kills the group.
    pub async fn end(self, grace: Duration) {
        self.end_after(grace, grace).await;
    }

    /// Like [`Child::end`], with `goodbye` as the time between closing stdin and SIGTERM.
    pub async fn end_after(mut self, goodbye: Duration, grace: Duration) {
        self.stdin = None;
        // Nothing reads stdout any more: a child blocked in a write must get an error.
        self.stdout = None;
        let Some(Running { group, exit }) = &mut self.running else { return };
        for (wait, signal) in [(goodbye, Signal::TERM), (grace, Signal::KILL)] {
            if group.is_gone_within(wait, exit).await {
                return;
            }
            group.signal(signal);
        }
        if !group.is_gone_within(DEATH, exit).await {
            tracing::warn!(group = self.id, "a child process is still running after SIGKILL");
        }
    }

    /// Sends SIGKILL to the group at once.
    pub fn kill(&mut self) {
        if let Some(running) = &self.running {
            running.group.signal(Signal::KILL);
        }
    }
}

impl Drop for Child {
    /// A task reaps the processes; without a runtime, the next spawn or [`crate::Guardian::sweep`] does.
    fn drop(&mut self) {
        self.kill();
        if let Some(Running { mut group, mut exit }) =
            self.running.take().filter(|running| !running.group.gone())
        {
            self.runtime.spawn(async move { group.is_gone_within(DEATH, &mut exit).await });
        }
    }
}
