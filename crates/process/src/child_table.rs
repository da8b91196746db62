//! The table of children that this process started and has not reaped; all its other children were adopted.
//!
//! There is one table for the whole process, because the kernel reports children to the process.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, WaitId, WaitIdOptions, WaitOptions, getpid, pidfd_open, waitid, waitpid,
};

use crate::preexisting::Preexisting;
use crate::process_tree::{self, Process};

/// Polling interval where the kernel has no pidfd.
const LOOK: Duration = Duration::from_millis(1);

/// Children per look of [`ChildTable::reap_dead_now_and_then`] that is left out.
const CHILDREN_PER_LOOK: usize = 4;

static CHILD_TABLE: Mutex<ChildTable> = Mutex::new(ChildTable {
    started: BTreeSet::new(),
    abandoned: BTreeSet::new(),
    preexisting: None,
    left_out: 0,
});

#[derive(Debug)]
pub(crate) struct ChildTable {
    /// Leaders of groups and guardians.
    started: BTreeSet<i32>,
    /// Those of `started` that were killed or exit by themselves and that nothing waits for.
    abandoned: BTreeSet<i32>,
    /// Children that existed before the first spawn. `None` until adoption starts.
    preexisting: Option<Preexisting>,
    /// Looks that were left out since the last one.
    left_out: usize,
}

/// Locks the table. Held while a child is started, so that the child is never mistaken for an adopted process.
pub(crate) fn child_table() -> MutexGuard<'static, ChildTable> {
    CHILD_TABLE.lock()
}

impl ChildTable {
    pub(crate) fn started(&mut self, id: Pid) {
        let id = id.as_raw_nonzero().get();
        self.abandoned.remove(&id);
        self.started.insert(id);
    }

    pub(crate) fn reaped_child(&mut self, id: Pid) {
        let id = id.as_raw_nonzero().get();
        self.abandoned.remove(&id);
        self.started.remove(&id);
    }

    pub(crate) fn abandon(&mut self, id: Pid) {
        self.abandoned.insert(id.as_raw_nonzero().get());
    }

    /// Reaps abandoned and adopted processes that exited. Returns the adopted processes that are alive.
    pub(crate) fn reap_dead(&mut self) -> Vec<Process> {
        let dead = self.abandoned.iter().copied().filter(|id| is_reaped(*id)).collect::<Vec<_>>();
        for id in dead {
            self.abandoned.remove(&id);
            self.started.remove(&id);
        }
        let mut adopted = self.adopted();
        adopted.retain(|process| !process.dead || !reap(process.id));
        adopted
    }

    /// Does the same, but with many children only at some calls: a look takes as long as there are children, and there is one
    /// for each that starts or ends. What is left waits for another call or the sweep at the end.
    pub(crate) fn reap_dead_now_and_then(&mut self) {
        if self.is_look_due() {
            self.reap_dead();
        }
    }

    fn is_look_due(&mut self) -> bool {
        let is_due = self.left_out >= self.started.len() / CHILDREN_PER_LOOK;
        self.left_out = if is_due { 0 } else { self.left_out + 1 };
        is_due
    }

    /// Starts adopting what children leave behind. Call it once this process is a subreaper and before the first spawn:
    /// children that exist by then are ignored for good.
    pub(crate) fn start_adopting(&mut self) -> &Preexisting {
        self.preexisting.get_or_insert_with(|| Preexisting::of(getpid().as_raw_nonzero().get()))
    }

    /// Returns adopted children. Processes in our own session were started by other means and are ignored.
    fn adopted(&mut self) -> Vec<Process> {
        let Some(preexisting) = &mut self.preexisting else { return Vec::new() };
        let children = process_tree::children(getpid().as_raw_nonzero().get()).into_iter();
        let children: Vec<Process> =
            children.filter(|id| !self.started.contains(id)).filter_map(process_tree::process).collect();
        preexisting.look(&children);
        let is_adopted =
            |child: &Process| !preexisting.contains(child) && !self.started.contains(&child.group);
        children.into_iter().filter(is_adopted).collect()
    }
}

/// Waits at most `grace` for a child that is about to exit, and reaps it.
pub(crate) fn exits_within(id: Pid, grace: Duration) -> bool {
    let until = Instant::now() + grace;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_many_children_do_not_grow_with_their_square() {
        let table = || ChildTable {
            started: BTreeSet::new(),
            abandoned: BTreeSet::new(),
            preexisting: None,
            left_out: 0,
        };
        let looked_at = |children: i32| -> usize {
            let mut table = table();
            let mut look = |id: i32| {
                table.started.insert(id);
                if table.is_look_due() { table.started.len() } else { 0 }
            };
            (0..children).map(&mut look).sum()
        };
        assert_eq!(looked_at(3), 1 + 2 + 3, "few are looked at each time");
        assert!(
            looked_at(50) < 5 * 50 && looked_at(1000) < 5 * 1000,
            "{} {}",
            looked_at(50),
            looked_at(1000)
        );
    }
}
