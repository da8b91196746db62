//! What the guardian knows of its parent and the processes below it, and how it kills them.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process_group};

use crate::preexisting::Preexisting;
use crate::process_tree::{self, Process};
use crate::process_watch::ProcessWatch;

/// A scan of the process tree may take one part in this many of the time.
const SHARE: u32 = 100;
/// Rounds of killing, and the time processes have to exit in each.
const ROUNDS: u8 = 25;
const ROUND: Duration = Duration::from_millis(10);
/// Number of checks whether the parent is dead, after its end of the socket is closed.
const ASKED: u8 = 50;

#[derive(Debug, Default)]
pub(crate) struct Tracker {
    parent: Option<Process>,
    preexisting: Preexisting,
    /// The parent exits cleanly and has nothing left.
    dismissed: bool,
    groups: BTreeSet<i32>,
    /// A child that announced itself and is not registered yet.
    spawning: Option<i32>,
    /// All descendants of the parent, even after a change of the process group.
    seen: BTreeMap<i32, Process>,
    started: ProcessWatch,
    not_before: Option<Instant>,
}

impl Tracker {
    pub(crate) fn handle_line(&mut self, line: &str) {
        let Some((sign, number)) = line.split_at_checked(1) else { return };
        // kill(2) takes 0 and 1 for groups of processes and init.
        let number = number.parse().ok().filter(|number: &i32| *number > 1);
        match (sign, number) {
            ("?", _) => self.spawning = number,
            ("=", Some(parent)) => {
                self.parent = process_tree::process(parent);
                self.preexisting = Preexisting::in_session_of(self.parent);
            }
            ("!", Some(outsider)) => self.preexisting.add(outsider),
            (".", None) => self.dismissed = true,
            ("+", Some(group)) => {
                self.spawning = None;
                self.groups.insert(group);
            }
            ("-", Some(group)) => drop(self.groups.remove(&group)),
            _ => {}
        }
    }

    pub(crate) fn is_dismissed(&self) -> bool {
        self.dismissed
    }

    /// Returns whether there is anything to scan for.
    pub(crate) fn is_needed(&self) -> bool {
        !self.groups.is_empty() || !self.seen.is_empty()
    }

    /// Scans if a process was started on this machine since the last scan, within the share of time.
    pub(crate) fn look_if_changed(&mut self) {
        let now = Instant::now();
        if self.not_before.is_some_and(|time| now < time) {
            return;
        }
        if !self.started.is_due() {
            return;
        }
        self.look();
        self.not_before = Some(Instant::now() + now.elapsed() * SHARE);
    }

    fn look(&mut self) {
        let Some(parent) = self.parent else { return };
        let us = getpid().as_raw_nonzero().get();
        let children = process_tree::children(parent.id).into_iter().filter(|id| *id != us);
        let children: Vec<Process> = children.filter_map(process_tree::process).collect();
        self.preexisting.look(&children);
        let children =
            children.iter().filter(|child| !self.preexisting.contains(child)).map(|child| child.id);
        let roots = children.chain(self.alive()).chain(self.groups.iter().copied()).collect::<Vec<_>>();
        self.seen = process_tree::descendants(roots);
    }

    /// Returns the processes seen before that are still alive.
    fn alive(&self) -> impl Iterator<Item = i32> {
        self.seen.values().filter(|seen| process_tree::is_alive(seen)).map(|seen| seen.id)
    }

    /// Kills everything that is left. The last scan is before the first kill, while parents are known.
    pub(crate) fn end(mut self) {
        if self.dismissed {
            return;
        }
        self.groups.extend(self.spawning.take());
        self.look();
        self.end_groups();
        if self.parent.is_some_and(|parent| !dies(&parent)) {
            // The parent released the socket and lives: processes it started in other ways are its own business.
            return;
        }
        for _ in 0..ROUNDS {
            self.end_groups();
            self.seen = process_tree::descendants(self.alive().collect::<Vec<_>>());
            if self.seen.is_empty() && self.groups.is_empty() {
                return;
            }
            self.seen.values().copied().for_each(process_tree::kill);
            thread::sleep(ROUND);
        }
    }

    fn end_groups(&mut self) {
        self.groups.retain(|group| {
            Pid::from_raw(*group).is_some_and(|group| kill_process_group(group, Signal::KILL).is_ok())
        });
    }
}

/// The kernel closes the files of a process a little before it reports its death.
fn dies(parent: &Process) -> bool {
    (0..ASKED).any(|_| {
        let dead = !process_tree::is_alive(parent);
        if !dead {
            thread::sleep(ROUND);
        }
        dead
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_what_was_agreed_is_heard() {
        let mut tracker = Tracker::default();
        for line in
            ["+20", "+30", "+40", "-30", "-99", "+1", "+0", "+-5", "+", "", "é", "?50", "60", "+4294967297"]
        {
            tracker.handle_line(line);
        }
        assert_eq!(tracker.groups, BTreeSet::from([20, 40]));
        assert_eq!((tracker.parent, tracker.spawning), (None, Some(50)));
        tracker.handle_line("+40");
        assert_eq!(tracker.spawning, None, "born");
        tracker.handle_line("?70");
        tracker.handle_line("?");
        assert_eq!(tracker.spawning, None, "not born");
        tracker.handle_line(&format!("={}", std::process::id()));
        assert!(tracker.parent.is_some_and(|parent| process_tree::is_alive(&parent)));
    }

    #[test]
    fn the_end_is_for_who_is_just_being_born_too() {
        let start = || Command::new("/bin/cat").stdin(Stdio::piped()).process_group(0).spawn().unwrap();
        let (mut spawning, mut old, mut gone) = (start(), start(), start());
        let mut tracker = Tracker::default();
        for (sign, child) in [('+', &old), ('+', &gone), ('-', &gone), ('?', &spawning)] {
            tracker.handle_line(&format!("{sign}{}", child.id()));
        }
        tracker.end();
        assert_eq!(spawning.wait().unwrap().signal(), Some(9));
        assert_eq!(old.wait().unwrap().signal(), Some(9));
        drop(gone.stdin.take());
        assert!(gone.wait().unwrap().success(), "its number may be another's by now");
    }
}
