//! Who descends from whom, read from `/proc`, and the exact kill of one process.
//!
//! A process is its number and its start time: a number alone may be somebody else's by now.
//! <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html> (checked 2026-11)

use std::collections::BTreeMap;
use std::fs;
use std::str::SplitAsciiWhitespace;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::procfs;

/// More than this many are not looked at: a fork bomb must not take the memory of who ends it.
const MOST: usize = 4096;

/// One process as it was when it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
    pub(crate) threads: u32,
    /// Ended, and nobody has asked how.
    pub(crate) dead: bool,
}

/// Looks at one process. None: there is none of this number.
pub(crate) fn process(id: i32) -> Option<Process> {
    parse(id, &procfs::stat(id)?)
}

fn parse(id: i32, stat: &str) -> Option<Process> {
    let mut fields = fields(stat)?;
    let over = matches!(fields.next()?, "Z" | "X");
    let group = fields.nth(1)?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    let threads: u32 = fields.nth(13)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    // What is told is the first thread's state: it may have ended before others.
    Some(Process { id, group, session, started, threads, dead: over && threads <= 1 })
}

/// Is it still there, and not another that has its number now?
pub(crate) fn lives(known: &Process) -> bool {
    process(known.id).is_some_and(|now| now.started == known.started && !now.dead)
}

/// What is told of a process, from its state on.
pub(crate) fn fields(stat: &str) -> Option<SplitAsciiWhitespace<'_>> {
    // The name, in parentheses, may hold anything, `)` and blanks included.
    stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace())
}

/// The children of all threads of a process. Empty as well on a kernel that does not tell (no `CONFIG_PROC_CHILDREN`).
pub(crate) fn children(id: i32) -> Vec<i32> {
    if !procfs::is_ours() {
        return Vec::new();
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .flat_map(|line| line.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

/// Does this kernel tell? (`CONFIG_PROC_CHILDREN`)
pub(crate) fn tells_children() -> bool {
    procfs::is_ours() && fs::exists("/proc/thread-self/children").unwrap_or(false)
}

/// All that live and can be seen: number → process. No more than [`MOST`] of the newest numbers, where whoever grows is.
pub(crate) fn everybody() -> BTreeMap<i32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    let alive = ids.into_iter().take(MOST).filter_map(process).filter(|process| !process.dead);
    alive.map(|process| (process.id, process)).collect()
}

/// `roots` that live and everything below them that lives: number → process.
pub(crate) fn families(roots: impl IntoIterator<Item = i32>) -> BTreeMap<i32, Process> {
    let mut found = BTreeMap::new();
    let mut next: Vec<i32> = roots.into_iter().collect();
    while let Some(id) = next.pop() {
        if found.len() >= MOST {
            break;
        }
        if found.contains_key(&id) {
            continue;
        }
        if let Some(process) = process(id).filter(|process| !process.dead) {
            found.insert(id, process);
            next.extend(children(id));
        }
    }
    found
}

/// SIGKILL to this very process, never to another that got its number since.
pub(crate) fn kill(target: Process) {
    let Some(id) = Pid::from_raw(target.id).filter(|_| target.id > 1) else { return };
    let handle = pidfd_open(id, PidfdFlags::empty());
    if process(target.id).is_none_or(|now| now.started != target.started) {
        return;
    }
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, Signal::KILL),
        // Before Linux 5.3: the moment since the look is the risk.
        Err(_) => kill_process(id, Signal::KILL),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let cases = [
            ("sh", "S", 1, false),
            ("a) Z 1 (b", "R", 1, false),
            ("x y", "Z", 0, true),
            ("first", "Z", 2, false),
            ("last", "X", 1, true),
        ];
        for (name, state, threads, dead) in cases {
            let stat = format!(
                "42 ({name}) {state} 1 77 55 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 123456 1000 2"
            );
            let expected = Process { id: 42, group: 77, session: 55, started: 123_456, threads, dead };
            assert_eq!(parse(42, &stat), Some(expected), "{name}");
        }
        assert_eq!(parse(42, "42 (sh) S 1"), None);
        assert_eq!(parse(42, ""), None);
    }

    #[test]
    fn we_are_among_the_living() {
        let id = i32::try_from(std::process::id()).unwrap();
        let us = process(id).unwrap();
        assert!(!us.dead && us.started > 0);
        assert_eq!(families([id]).get(&id), Some(&us));
        assert!(lives(&us));
        assert!(
            !lives(&Process { started: us.started + 1, ..us }),
            "another process that has our number now"
        );
    }
}
