//! A process group from the birth of its leader until nobody of it is left.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process, kill_process_group,
    test_kill_process_group, waitid, waitpgid,
};
use tokio::time::{Instant, sleep, timeout_at};

use crate::exit::Exit;
use crate::guardian::Guardian;
use crate::ours::ours;

/// How often a group is looked at whose leader has ended: nothing tells when the last of it goes.
const LOOK: Duration = Duration::from_millis(5);
/// More dead of one group than this are not buried at one look.
const MOST: usize = 1024;

/// The group of one child.
///
/// The leader is not reaped until the group is being ended: as long as it is a zombie its number, which is also the
/// group's, cannot become another's, so that a signal never hits a stranger.
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

    /// Known to be over.
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

    /// How the leader ended, if it did. Leaves it unreaped.
    pub(crate) fn ended(&self) -> io::Result<Option<ExitStatus>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.id), options)?.map(|status| of(&status)))
    }

    /// Waits at most `patience` until nobody is left.
    pub(crate) async fn gone_within(&mut self, patience: Duration, exit: &mut Exit) -> bool {
        let deadline = Instant::now() + patience;
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

    /// Buries who is dead. Once the leader is, this must be asked often or never again.
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
        // Whose parent ended before became our child.
        for _ in 0..MOST {
            if !matches!(waitpgid(self.id, WaitOptions::NOHANG), Ok(Some(_))) {
                break;
            }
        }
        if test_kill_process_group(self.id) == Err(Errno::SRCH) {
            self.gone = true;
            self.guardian.forget(self.id);
            let mut ours = ours();
            ours.buried(self.id);
            ours.tidy();
        }
        self.gone
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.gone {
            self.signal(Signal::KILL);
            if !self.is_gone() {
                ours().abandon(self.id);
            }
        }
    }
}

/// In the form of `wait(2)`, which is what std reads.
fn of(status: &WaitIdStatus) -> ExitStatus {
    const DUMPED: i32 = 0x80;
    let signal = status.terminating_signal().unwrap_or(0);
    let code = status.exit_status().unwrap_or(0);
    ExitStatus::from_raw((code & 0xff) << 8 | signal | if status.dumped() { DUMPED } else { 0 })
}
