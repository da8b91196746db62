//! How many a child has become.

use std::collections::BTreeMap;

use rustix::process::getpid;

use crate::kin::{self, Process};

/// Counts the group of one child. Says nothing of those that moved to another group.
#[derive(Debug, Clone, Copy)]
pub struct Crowd {
    pub(crate) group: u32,
}

/// How many live. No more than a few thousand processes are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub processes: usize,
    pub threads: usize,
}

/// How children can be counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// The kernel tells who is whose child.
    ByParents,
    /// It does not (no `CONFIG_PROC_CHILDREN`): all processes of the machine are looked at.
    ByGroup,
    /// There is no `/proc` to look at, or it shows another PID namespace than ours.
    Not,
}

impl Counting {
    /// What is missing, in words.
    pub fn lack(self) -> Option<&'static str> {
        let lacks = self == Self::Not;
        lacks.then_some(
            "processes cannot be counted here, as /proc is not there or shows those of another PID namespace, so \
             their number has no limit",
        )
    }

    /// What else is not done then, in words.
    pub fn blindness(self) -> Option<&'static str> {
        (self == Self::Not).then_some(
            "what tools leave behind outside of their process groups is not seen and so not ended, as /proc is not there \
             or shows processes of another PID namespace",
        )
    }
}

/// As it is now.
pub fn counting() -> Counting {
    let tells = kin::tells_children();
    match kin::process(getpid().as_raw_nonzero().get()) {
        Some(_) if tells => Counting::ByParents,
        Some(_) => Counting::ByGroup,
        None => Counting::Not,
    }
}

impl Crowd {
    /// As it is now. Those whose parents ended are ours by then, so all are found below us.
    pub fn size(&self) -> Size {
        match counting() {
            Counting::ByParents => self.among(&kin::families([getpid().as_raw_nonzero().get()])),
            Counting::ByGroup => self.among(&kin::everybody()),
            Counting::Not => Size::default(),
        }
    }

    fn among(&self, processes: &BTreeMap<i32, Process>) -> Size {
        let ours = processes.values().filter(|process| u32::try_from(process.group) == Ok(self.group));
        ours.fold(Size::default(), |size, process| Size {
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
        let crowd = Crowd { group: shell.id() };
        let expected = Size { processes: 3, threads: 3 };
        assert_eq!(crowd.among(&kin::everybody()), expected);
        if counting() == Counting::ByParents {
            assert_eq!(crowd.size(), expected);
        }
        let group = rustix::process::Pid::from_child(&shell);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn only_who_cannot_count_lacks_something() {
        for (counting, lacks) in
            [(Counting::ByParents, false), (Counting::ByGroup, false), (Counting::Not, true)]
        {
            assert_eq!(counting.lack().is_some(), lacks, "{counting:?}");
        }
    }
}
