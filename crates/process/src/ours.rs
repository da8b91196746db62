//! What this process started and has not buried: the rest of its children were adopted.
//!
//! One list for the whole process, because children belong to a process, not to a value.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions, getpid, pidfd_open, waitid, waitpid,
};

use crate::kin::{self, Process};
use crate::strangers::Strangers;

/// How often it is asked whether one has ended, where nothing tells.
const LOOK: Duration = Duration::from_millis(1);

static OURS: Mutex<Ours> =
    Mutex::new(Ours { started: BTreeSet::new(), abandoned: BTreeSet::new(), strangers: None });

#[derive(Debug)]
pub(crate) struct Ours {
    /// Leaders of groups and guardians.
    started: BTreeSet<i32>,
    /// Of those, the ones that were killed (or end by themselves) and that nobody waits for any more.
    abandoned: BTreeSet<i32>,
    /// Children that are neither: those we had before. `None`: nothing was adopted yet.
    strangers: Option<Strangers>,
}

/// Held while a child is started, so that nobody takes it for an adopted one before it is known.
pub(crate) fn ours() -> MutexGuard<'static, Ours> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ours {
    pub(crate) fn started(&mut self, id: Pid) {
        let id = id.as_raw_nonzero().get();
        self.abandoned.remove(&id);
        self.started.insert(id);
    }

    pub(crate) fn buried(&mut self, id: Pid) {
        let id = id.as_raw_nonzero().get();
        self.abandoned.remove(&id);
        self.started.remove(&id);
    }

    pub(crate) fn abandon(&mut self, id: Pid) {
        self.abandoned.insert(id.as_raw_nonzero().get());
    }

    /// Buries what is dead: the abandoned and the adopted. Returns the adopted that live.
    pub(crate) fn tidy(&mut self) -> Vec<Process> {
        let dead = self.abandoned.iter().copied().filter(|id| is_reaped(*id)).collect::<Vec<_>>();
        for id in dead {
            self.abandoned.remove(&id);
            self.started.remove(&id);
        }
        let mut adopted = self.adopted();
        adopted.retain(|process| !process.dead || !reap(process.id));
        adopted
    }

    /// From now on what our children leave behind is ours. To be called when we have become its parent, and before
    /// the first child: whoever is there already is a stranger.
    pub(crate) fn begin_to_adopt(&mut self) -> &Strangers {
        self.strangers.get_or_insert_with(|| Strangers::of(getpid().as_raw_nonzero().get()))
    }

    /// Not what is in our own session: that was started by other means than this crate, and is not our business.
    fn adopted(&mut self) -> Vec<Process> {
        let Some(strangers) = &mut self.strangers else { return Vec::new() };
        let children = kin::children(getpid().as_raw_nonzero().get()).into_iter();
        let children: Vec<Process> =
            children.filter(|id| !self.started.contains(id)).filter_map(kin::process).collect();
        strangers.look(&children);
        let is_adopted = |child: &Process| !strangers.are(child) && !self.started.contains(&child.group);
        children.into_iter().filter(is_adopted).collect()
    }
}

/// Reaps a child of ours that is about to end, and waits no longer than that for it.
pub(crate) fn ends_within(id: Pid, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    let ends = pidfd_open(id, PidfdFlags::empty());
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match (&ends, Timespec::try_from(left)) {
            _ if is_reaped(id.as_raw_nonzero().get()) => return true,
            _ if left.is_zero() => return false,
            (Ok(ends), Ok(left)) => {
                let _ = poll(&mut [PollFd::new(ends, PollFlags::IN)], Some(&left));
            }
            // Before Linux 5.3.
            _ => thread::sleep(LOOK),
        }
    }
}

fn is_reaped(id: i32) -> bool {
    let Some(id) = Pid::from_raw(id) else { return true };
    !matches!(waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG), Ok(None))
}

fn reap(id: i32) -> bool {
    Pid::from_raw(id).is_some_and(|id| matches!(waitpid(Some(id), WaitOptions::NOHANG), Ok(Some(_))))
}
