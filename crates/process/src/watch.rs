//! What the guardian knows, and what it does with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process_group};

use crate::kin::{self, Process};
use crate::strangers::Strangers;

/// A look may take one part in so many of the time.
const SHARE: u32 = 100;
/// So many ticks without a new process, and it looks all the same: some containers show an old `/proc/loadavg`.
const IDLE: u8 = 8;
/// How often what was killed is looked at again, and how long it has to go.
const ROUNDS: u8 = 25;
const ROUND: Duration = Duration::from_millis(10);
/// How often it is asked whether who started us is dead, when its end of the line is closed.
const ASKED: u8 = 50;

#[derive(Debug, Default)]
pub(crate) struct Watch {
    parent: Option<Process>,
    strangers: Strangers,
    /// The parent ends in good order and has nothing left.
    dismissed: bool,
    groups: BTreeSet<i32>,
    /// It announced itself, and nobody has said yet that it was born.
    newborn: Option<i32>,
    /// All below the parent, wherever they moved to since.
    seen: BTreeMap<i32, Process>,
    newest: Option<String>,
    idle: u8,
    not_before: Option<Instant>,
}

impl Watch {
    pub(crate) fn hear(&mut self, line: &str) {
        let Some((sign, number)) = line.split_at_checked(1) else { return };
        // 0 and 1 mean everybody to kill(2).
        let number = number.parse().ok().filter(|number: &i32| *number > 1);
        match (sign, number) {
            ("?", _) => self.newborn = number,
            ("=", Some(parent)) => {
                self.parent = kin::process(parent);
                self.strangers = Strangers::beside(self.parent);
            }
            ("!", Some(stranger)) => self.strangers.add(stranger),
            (".", None) => self.dismissed = true,
            ("+", Some(group)) => {
                self.newborn = None;
                self.groups.insert(group);
            }
            ("-", Some(group)) => drop(self.groups.remove(&group)),
            _ => {}
        }
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// Is there anything to look for?
    pub(crate) fn is_needed(&self) -> bool {
        !self.groups.is_empty() || !self.seen.is_empty()
    }

    /// Looks if a process was born on this machine since the last look, and if looking was not too dear.
    pub(crate) fn look_if_changed(&mut self) {
        let now = Instant::now();
        if self.not_before.is_some_and(|time| now < time) {
            return;
        }
        let newest = newest();
        self.idle = self.idle.saturating_add(1);
        if newest == self.newest && self.idle < IDLE {
            return;
        }
        (self.newest, self.idle) = (newest, 0);
        self.look();
        self.not_before = Some(Instant::now() + now.elapsed() * SHARE);
    }

    fn look(&mut self) {
        let Some(parent) = self.parent else { return };
        let us = getpid().as_raw_nonzero().get();
        let children = kin::children(parent.id).into_iter().filter(|id| *id != us);
        let children: Vec<Process> = children.filter_map(kin::process).collect();
        self.strangers.look(&children);
        let children = children.iter().filter(|child| !self.strangers.are(child)).map(|child| child.id);
        let roots = children.chain(self.alive()).chain(self.groups.iter().copied()).collect::<Vec<_>>();
        self.seen = kin::families(roots);
    }

    /// Those seen before that are still the same.
    fn alive(&self) -> impl Iterator<Item = i32> {
        self.seen.values().filter(|seen| kin::lives(seen)).map(|seen| seen.id)
    }

    /// The last look is before the first kill: while the families are whole.
    pub(crate) fn end(mut self) {
        if self.dismissed {
            return;
        }
        self.groups.extend(self.newborn.take());
        self.look();
        self.end_groups();
        if self.parent.is_some_and(|parent| !dies(&parent)) {
            // It let go of us and lives: what it started in other ways is its own business.
            return;
        }
        for _ in 0..ROUNDS {
            self.end_groups();
            self.seen = kin::families(self.alive().collect::<Vec<_>>());
            if self.seen.is_empty() && self.groups.is_empty() {
                return;
            }
            self.seen.values().copied().for_each(kin::kill);
            thread::sleep(ROUND);
        }
    }

    fn end_groups(&mut self) {
        self.groups.retain(|group| {
            Pid::from_raw(*group).is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok())
        });
    }
}

/// Its files are closed a little before its parent hears of its death.
fn dies(parent: &Process) -> bool {
    (0..ASKED).any(|_| {
        let dead = !kin::lives(parent);
        if !dead {
            thread::sleep(ROUND);
        }
        dead
    })
}

/// The number of the newest process.
/// <https://man7.org/linux/man-pages/man5/proc_loadavg.5.html> (checked 2026-11)
fn newest() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().last().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_what_was_agreed_is_heard() {
        let mut watch = Watch::default();
        for line in
            ["+20", "+30", "+40", "-30", "-99", "+1", "+0", "+-5", "+", "", "é", "?50", "60", "+4294967297"]
        {
            watch.hear(line);
        }
        assert_eq!(watch.groups, BTreeSet::from([20, 40]));
        assert_eq!((watch.parent, watch.newborn), (None, Some(50)));
        watch.hear("+40");
        assert_eq!(watch.newborn, None, "born");
        watch.hear("?70");
        watch.hear("?");
        assert_eq!(watch.newborn, None, "not born");
        watch.hear(&format!("={}", std::process::id()));
        assert!(watch.parent.is_some_and(|parent| kin::lives(&parent)));
    }

    #[test]
    fn the_end_is_for_who_is_just_being_born_too() {
        let start = || Command::new("/bin/cat").stdin(Stdio::piped()).process_group(0).spawn().unwrap();
        let (mut newborn, mut old, mut gone) = (start(), start(), start());
        let mut watch = Watch::default();
        for (sign, child) in [('+', &old), ('+', &gone), ('-', &gone), ('?', &newborn)] {
            watch.hear(&format!("{sign}{}", child.id()));
        }
        watch.end();
        assert_eq!(newborn.wait().unwrap().signal(), Some(9));
        assert_eq!(old.wait().unwrap().signal(), Some(9));
        drop(gone.stdin.take());
        assert!(gone.wait().unwrap().success(), "its number may be another's by now");
    }
}
