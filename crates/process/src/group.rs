//! A process group, from the start of its leader until every member is gone.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process, kill_process_group,
    test_kill_process_group, waitid, waitpgid,
};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::child_table::child_table;
use crate::guardian::Guardian;

/// Polling interval for a group whose leader has exited: no signal reports the exit of the last member.
const LOOK: Duration = Duration::from_millis(5);
/// Maximum number of zombies reaped at one poll.
const MOST: usize = 1024;

/// Polling interval in case SIGCHLD never arrives: the parent of converse may have left it blocked.
const POLL: Duration = Duration::from_secs(1);

/// Listens for SIGCHLD from its creation on.
#[derive(Debug)]
pub(crate) struct Exit {
    signal: SignalStream,
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
            let _ = timeout(POLL, self.signal.recv()).await;
        }
    }
}

/// The group of one child.
///
/// The leader is not reaped until the group is being ended: while it is a zombie, its id, which is also the group's, cannot
/// be reused, so a signal never reaches an unrelated process.
#[derive(Debug)]
pub(crate) struct Group {
    id: Pid,
    guardian: Guardian,
    reaped: bool,
    gone: bool,
}

impl Group {
    pub(crate) fn new(id: Pid, guardian: Guardian) -> Self {
        Self { id, guardian, reaped: false, gone: false }
    }

    pub(crate) fn id(&self) -> u32 {
        self.id.as_raw_nonzero().get().unsigned_abs()
    }

    /// Returns whether the group is known to be gone.
    pub(crate) fn gone(&self) -> bool {
        self.gone
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if self.gone {
            return;
        }
        let _ = kill_process_group(self.id, signal);
        if !self.reaped {
            // It may have moved to another group.
            let _ = kill_process(self.id, signal);
        }
    }

    /// Returns the exit status of the leader if it exited. Does not reap it.
    pub(crate) fn ended(&self) -> io::Result<Option<ExitStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.id), options)?.map(|status| of(&status)))
    }

    /// Waits at most `grace` until the group is gone.
    pub(crate) async fn is_gone_within(&mut self, grace: Duration, exit: &mut Exit) -> bool {
        let deadline = Instant::now() + grace;
        if !self.reaped && timeout_at(deadline, exit.wait(self)).await.is_err() {
            return false;
        }
        while !self.is_gone() {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(LOOK).await;
        }
        true
    }

    /// Reaps exited members. Once the leader is reaped, its id may be reused: poll often, or never again.
    fn is_gone(&mut self) -> bool {
        if self.gone {
            return true;
        }
        if !self.reaped {
            let reaped = waitid(WaitId::Pid(self.id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            self.reaped = !matches!(reaped, Ok(None));
        }
        if !self.reaped {
            return false;
        }
        // Members whose parent exited earlier are children of this process now.
        for _ in 0..MOST {
            if !matches!(waitpgid(self.id, WaitOptions::NOHANG), Ok(Some(_))) {
                break;
            }
        }
        if test_kill_process_group(self.id) == Err(Errno::SRCH) {
            self.gone = true;
            self.guardian.forget(self.id);
            let mut table = child_table();
            table.reaped_child(self.id);
            table.reap_dead_now_and_then();
        }
        self.gone
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.gone {
            self.signal(Signal::KILL);
            if !self.is_gone() {
                child_table().abandon(self.id);
            }
        }
    }
}

/// Converts to the encoding of `wait(2)`, which std reads.
fn of(status: &WaitIdStatus) -> ExitStatus {
    const DUMPED: i32 = 0x80;
    let signal = status.terminating_signal().unwrap_or(0);
    let code = status.exit_status().unwrap_or(0);
    ExitStatus::from_raw((code & 0xff) << 8 | signal | if status.dumped() { DUMPED } else { 0 })
}
