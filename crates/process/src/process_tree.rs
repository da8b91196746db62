//! The process tree, read from `/proc`, and a kill that never hits a reused process id.
//!
//! A process is identified by its id and its start time: an id alone may have been reused.
//! <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html> (checked 2026-11)

use std::collections::BTreeMap;
use std::fs;
use std::str::SplitAsciiWhitespace;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::procfs;

/// Maximum number of processes in a result: a fork bomb must not exhaust the memory of the process that kills it.
const MOST: usize = 4096;

/// Snapshot of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
    pub(crate) threads: u32,
    /// Exited and not yet reaped.
    pub(crate) dead: bool,
}

/// Reads one process; `None` if it does not exist.
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
    // The state is that of the first thread, which may exit before others.
    Some(Process { id, group, session, started, threads, dead: over && threads <= 1 })
}

/// Returns whether the process still exists and its id was not reused.
pub(crate) fn is_alive(known: &Process) -> bool {
    process(known.id).is_some_and(|now| now.started == known.started && !now.dead)
}

/// Returns the fields of a `stat` line, from the state on.
pub(crate) fn fields(stat: &str) -> Option<SplitAsciiWhitespace<'_>> {
    // The name, in parentheses, may hold anything, `)` and blanks included.
    stat.rsplit_once(')').map(|(_, rest)| rest.split_ascii_whitespace())
}

/// Returns the children of all threads of a process. Empty on a kernel without `CONFIG_PROC_CHILDREN`.
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

/// Returns whether this kernel lists children (`CONFIG_PROC_CHILDREN`).
pub(crate) fn lists_children() -> bool {
    procfs::is_ours() && fs::exists("/proc/thread-self/children").unwrap_or(false)
}

/// Returns all visible living processes by id: at most [`MOST`], the highest ids first, where a growing group is.
pub(crate) fn all_processes() -> BTreeMap<i32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut ids: Vec<i32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    let alive = ids.into_iter().take(MOST).filter_map(process).filter(|process| !process.dead);
    alive.map(|process| (process.id, process)).collect()
}

/// Returns the living `roots` and all their living descendants by id.
pub(crate) fn descendants(roots: impl IntoIterator<Item = i32>) -> BTreeMap<i32, Process> {
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

/// Sends SIGKILL to exactly this process, never to another one that reused its id.
pub(crate) fn kill(target: Process) {
    let Some(id) = Pid::from_raw(target.id).filter(|_| target.id > 1) else { return };
    let handle = pidfd_open(id, PidfdFlags::empty());
    if process(target.id).is_none_or(|now| now.started != target.started) {
        return;
    }
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, Signal::KILL),
        // Before Linux 5.3 there is a short window in which the id can be reused.
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
        let found = *descendants([id]).get(&id).unwrap();
        // Other tests start and end threads of this process meanwhile.
        assert_eq!(Process { threads: us.threads, ..found }, us);
        assert!(is_alive(&us));
        assert!(
            !is_alive(&Process { started: us.started + 1, ..us }),
            "another process that has our number now"
        );
    }
}
