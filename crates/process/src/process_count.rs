//! Counting the processes of a child's group.

use std::collections::BTreeSet;

use rustix::process::getpid;

use crate::process_tree::{self, Process};

/// Counts the processes in the group of one child. Processes that moved to another group are not counted.
#[derive(Debug, Clone, Copy)]
pub struct GroupCounter {
    pub(crate) group: u32,
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
    /// Returns whether the group has more processes or threads than `most`. Counts no further than that: a group that
    /// grows faster than it is counted would be counted without end.
    pub fn exceeds(&self, most: GroupSize) -> bool {
        match counting_method() {
            CountingMethod::ByParents => self.exceeds_below(getpid().as_raw_nonzero().get(), most),
            CountingMethod::ByGroup => {
                let mut size = GroupSize::default();
                process_tree::all_processes().values().any(|process| self.is_over(process, &mut size, most))
            }
            CountingMethod::Not => false,
        }
    }

    /// Processes whose parent exited were adopted by this process, so all are found below it. Those that are nearest come
    /// first: there are many of them where a group grows, and each is read before the children of any.
    fn exceeds_below(&self, root: i32, most: GroupSize) -> bool {
        let (mut size, mut seen, mut level) = (GroupSize::default(), BTreeSet::new(), vec![root]);
        while !level.is_empty() {
            level.retain(|id| seen.insert(*id));
            let alive = level.iter().filter_map(|id| process_tree::process(*id)).filter(|one| !one.dead);
            let mut parents = Vec::new();
            for process in alive {
                if self.is_over(&process, &mut size, most) {
                    return true;
                }
                parents.push(process.id);
            }
            level = parents.into_iter().flat_map(process_tree::children).collect();
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

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn both_ways_count_the_same() {
        let line = "sleep 100 & sleep 100 & echo; wait";
        let mut shell = Command::new("/bin/sh");
        let mut shell = shell.args(["-c", line]).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
        // Both are there by then.
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let counter = GroupCounter { group: shell.id() };
        let root = i32::try_from(std::process::id()).unwrap();
        for (processes, threads, is_over) in [(3, 3, false), (2, 3, true), (3, 2, true)] {
            let (most, mut size) = (GroupSize { processes, threads }, GroupSize::default());
            let mut all = process_tree::all_processes().into_values();
            assert_eq!(all.any(|one| counter.is_over(&one, &mut size, most)), is_over, "{most:?}");
            if counting_method() == CountingMethod::ByParents {
                assert_eq!(counter.exceeds_below(root, most), is_over, "{most:?}");
            }
        }
        let group = rustix::process::Pid::from_child(&shell);
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
