//! Counting the processes of a child's group.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::{Pid, getpid, setpriority_pgrp};

use crate::process_tree::{self, Process};
use crate::process_watch::{ProcessWatch, shows_new_processes};

/// How long the list of our own children is used by all counters.
const SHARED: Duration = Duration::from_millis(10);
/// A group that has more than one part in this many of what it may have gets the lowest priority.
const SUSPECT: usize = 4;
const LOWEST: i32 = 19;

/// Counts the processes in the group of one child. Processes that moved to another group are not counted.
#[derive(Debug, Clone)]
pub struct GroupCounter {
    group: u32,
    started: ProcessWatch,
    /// Whether the group has the lowest priority.
    is_slowed: bool,
}

/// Number of living processes and threads in a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupSize {
    pub processes: usize,
    pub threads: usize,
}

/// How descendants can be counted on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountingMethod {
    /// The kernel lists the children of each process.
    ByParents,
    /// The kernel has no `CONFIG_PROC_CHILDREN`: all processes of the machine are scanned.
    ByGroup,
    /// `/proc` is missing or shows another PID namespace.
    Not,
}

impl CountingMethod {
    /// Returns what is missing, as text for the user.
    pub fn lack(self) -> Option<&'static str> {
        let lacks = self == Self::Not;
        lacks.then_some(
            "the number of processes is not limited here, because /proc is missing or shows another PID namespace",
        )
    }

    /// Returns which guarantee is lost, as text for the user.
    pub fn blindness(self) -> Option<&'static str> {
        (self == Self::Not).then_some(
            "processes that leave their process group are not found and not ended, because /proc is missing or shows \
             another PID namespace",
        )
    }
}

/// Finds out how processes can be counted here.
pub fn counting_method() -> CountingMethod {
    let tells = process_tree::lists_children();
    match process_tree::process(getpid().as_raw_nonzero().get()) {
        Some(_) if tells => CountingMethod::ByParents,
        Some(_) => CountingMethod::ByGroup,
        None => CountingMethod::Not,
    }
}

impl GroupCounter {
    pub(crate) fn of(group: u32) -> Self {
        Self { group, started: ProcessWatch::default(), is_slowed: false }
    }

    /// Returns whether the group has more processes or threads than `most`, if any was started on this machine since the
    /// last count. Counts no further than that: a group that grows faster than it is counted would be counted without end.
    pub fn exceeds(&mut self, most: GroupSize) -> bool {
        // Nothing grows without a new process or thread.
        if shows_new_processes() && !self.started.is_due() {
            return false;
        }
        let mut size = GroupSize::default();
        let is_over = match counting_method() {
            CountingMethod::ByParents => self.exceeds_below(&own_children(), &mut size, most),
            CountingMethod::ByGroup => {
                process_tree::all_processes().values().any(|process| self.is_over(process, &mut size, most))
            }
            CountingMethod::Not => false,
        };
        if size.processes > most.processes / SUSPECT || size.threads > most.threads / SUSPECT {
            self.slow_down();
        }
        is_over
    }

    /// Gives the group the lowest priority, so that it leaves the time in which it is counted. What it starts later inherits
    /// that.
    fn slow_down(&mut self) {
        if !std::mem::replace(&mut self.is_slowed, true)
            && let Some(group) = i32::try_from(self.group).ok().and_then(Pid::from_raw)
        {
            // Without it, counting takes its chance.
            let _ = setpriority_pgrp(Some(group), LOWEST);
        }
    }

    /// Processes whose parent exited were adopted by this process, so all are found below its children. Those that are
    /// nearest come first: there are many of them where a group grows, and each is read before the children of any.
    fn exceeds_below(&self, children: &[Process], size: &mut GroupSize, most: GroupSize) -> bool {
        // Each child leads a session of its own. One that left its session may have children that did not.
        let is_within = |process: &Process| u32::try_from(process.session) == Ok(self.group);
        let mut seen = BTreeSet::new();
        let mut level: Vec<Process> = children.iter().filter(|one| is_within(one)).copied().collect();
        while !level.is_empty() {
            level.retain(|process| seen.insert(process.id));
            if level.iter().any(|process| self.is_over(process, size, most)) {
                return true;
            }
            let below = level.iter().flat_map(|process| process_tree::children(process.id));
            let alive = below.filter_map(process_tree::process).filter(|one| !one.dead);
            level = alive.collect();
        }
        false
    }

    /// Adds a process of the group to `size`, and returns whether that is more than `most`.
    fn is_over(&self, process: &Process, size: &mut GroupSize, most: GroupSize) -> bool {
        if u32::try_from(process.group) == Ok(self.group) {
            size.processes += 1;
            size.threads += usize::try_from(process.threads).unwrap_or(usize::MAX);
        }
        size.processes > most.processes || size.threads > most.threads
    }
}

/// Returns the living children of this process, as they were within the last [`SHARED`].
fn own_children() -> Arc<[Process]> {
    static LAST: Mutex<Option<(Instant, Arc<[Process]>)>> = Mutex::new(None);
    let mut last = LAST.lock();
    if let Some((at, children)) = &*last
        && at.elapsed() < SHARED
    {
        return Arc::clone(children);
    }
    let ids = process_tree::children(getpid().as_raw_nonzero().get());
    let alive = ids.into_iter().filter_map(process_tree::process).filter(|one| !one.dead);
    let children: Arc<[Process]> = alive.collect();
    *last = Some((Instant::now(), Arc::clone(&children)));
    children
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use converse_testkit::hang_guard::wait_until;

    use super::*;

    #[test]
    fn both_ways_count_the_same() {
        let line = "sleep 100 & sleep 100 & echo; wait";
        // Not the leader of its group yet, so it becomes the shell itself.
        let mut shell = Command::new("setsid");
        let mut shell = shell.args(["/bin/sh", "-c", line]).stdout(Stdio::piped()).spawn().unwrap();
        // Both are there by then.
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let counter = GroupCounter::of(shell.id());
        // Not the shared list, which may be older.
        let us = i32::try_from(std::process::id()).unwrap();
        let children = process_tree::children(us).into_iter().filter_map(process_tree::process);
        let children: Vec<Process> = children.collect();
        for (processes, threads, is_over) in [(3, 3, false), (2, 3, true), (3, 2, true)] {
            let (most, mut size) = (GroupSize { processes, threads }, GroupSize::default());
            let mut all = process_tree::all_processes().into_values();
            assert_eq!(all.any(|one| counter.is_over(&one, &mut size, most)), is_over, "{most:?}");
            if counting_method() == CountingMethod::ByParents {
                let mut size = GroupSize::default();
                assert_eq!(counter.exceeds_below(&children, &mut size, most), is_over, "{most:?}");
            }
        }
        let group = rustix::process::Pid::from_child(&shell);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_group_that_grows_is_counted_again() {
        let mut shell = Command::new("setsid");
        let line = "read x; sleep 100 & sleep 100 & sleep 100 & sleep 100 & echo; wait";
        let shell = shell.args(["/bin/sh", "-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let most = GroupSize { processes: 4, threads: 16 };
        let mut counter = GroupCounter::of(shell.id());
        let group = rustix::process::Pid::from_child(&shell);
        assert!(!counter.exceeds(most));
        assert_ne!(rustix::process::getpriority_pgrp(Some(group)), Ok(LOWEST));
        std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"\n").unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        if counting_method() != CountingMethod::Not {
            wait_until("it is counted", || counter.exceeds(most));
            assert_eq!(
                rustix::process::getpriority_pgrp(Some(group)),
                Ok(LOWEST),
                "so that it can be counted"
            );
        }
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn only_who_cannot_count_lacks_something() {
        for (counting, lacks) in [
            (CountingMethod::ByParents, false),
            (CountingMethod::ByGroup, false),
            (CountingMethod::Not, true),
        ] {
            assert_eq!(counting.lack().is_some(), lacks, "{counting:?}");
        }
    }
}
