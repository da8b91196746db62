//! Counting the processes of a child's group.

use std::collections::BTreeMap;

use rustix::process::getpid;

use crate::process_tree::{self, Process};

/// Counts the processes in the group of one child. Processes that moved to another group are not counted.
#[derive(Debug, Clone, Copy)]
pub struct GroupCounter {
    pub(crate) group: u32,
}

/// Number of living processes and threads in a group. At most a few thousand processes are counted.
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
    /// Counts now. Processes whose parent exited were adopted by this process, so all are found below it.
    pub fn count(&self) -> GroupSize {
        match counting_method() {
            CountingMethod::ByParents => {
                self.count_among(&process_tree::descendants([getpid().as_raw_nonzero().get()]))
            }
            CountingMethod::ByGroup => self.count_among(&process_tree::all_processes()),
            CountingMethod::Not => GroupSize::default(),
        }
    }

    fn count_among(&self, processes: &BTreeMap<i32, Process>) -> GroupSize {
        let table = processes.values().filter(|process| u32::try_from(process.group) == Ok(self.group));
        table.fold(GroupSize::default(), |size, process| GroupSize {
            processes: size.processes + 1,
            threads: size.threads + usize::try_from(process.threads).unwrap_or(usize::MAX),
        })
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
        let expected = GroupSize { processes: 3, threads: 3 };
        assert_eq!(counter.count_among(&process_tree::all_processes()), expected);
        if counting_method() == CountingMethod::ByParents {
            assert_eq!(counter.count(), expected);
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
