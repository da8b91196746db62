//! What this process started and has not buried: the rest of its children were adopted.
//!
//! One list for the whole process, because children belong to a process, not to a value.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, getpid, waitid, waitpid};

use crate::kin::{self, Process};

static OURS: Mutex<Ours> = Mutex::new(Ours { started: BTreeSet::new(), abandoned: BTreeSet::new() });

#[derive(Debug)]
pub(crate) struct Ours {
    /// Leaders of groups and guardians.
    started: BTreeSet<i32>,
    /// Of those, the ones that were killed (or end by themselves) and that nobody waits for any more.
    abandoned: BTreeSet<i32>,
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

    /// Not what is in our own group: that was started by other means than this crate, and is not our business.
    fn adopted(&self) -> Vec<Process> {
        let id = getpid().as_raw_nonzero().get();
        // The system call may tell 0, which is no number of a group.
        let Some(us) = kin::process(id).map(|process| process.group) else { return Vec::new() };
        kin::children(id)
            .into_iter()
            .filter(|id| !self.started.contains(id))
            .filter_map(kin::process)
            .filter(|process| process.group != us && !self.started.contains(&process.group))
            .collect()
    }
}

fn is_reaped(id: i32) -> bool {
    let Some(id) = Pid::from_raw(id) else { return true };
    !matches!(waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOHANG), Ok(None))
}

fn reap(id: i32) -> bool {
    Pid::from_raw(id).is_some_and(|id| matches!(waitpid(Some(id), WaitOptions::NOHANG), Ok(Some(_))))
}
