//! Where a run is killed, and in which order the places are tried.

use std::path::Path;

use crate::body::Dialect;

/// What changes files, and what tells others. Read-only calls in between change nothing about what is left.
pub(crate) const CALLS: [&str; 12] = [
    "write",
    "writev",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "ftruncate",
    "openat",
];

/// What fails where a disk is full or broken, and with what.
pub(crate) const FAILING: [(&str, &str); 6] = [
    ("write", "ENOSPC"),
    ("fsync", "EIO"),
    ("fdatasync", "EIO"),
    ("rename", "EIO"),
    ("ftruncate", "EIO"),
    ("openat", "ENOSPC"),
];

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The program is killed.
    Killed,
    /// The call fails, if it is about a file of the session or about the audit log.
    Disk,
    /// The server of the database crashes and starts again.
    Server,
    /// The connection to the database is cut.
    Connection,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Disk => "disk",
            Self::Server => "server",
            Self::Connection => "cut",
        }
    }
}

/// Of the scenario with this number, written in this dialect: before the call of its kind with number `nth`, from 1. With a
/// database, `call` is `before` or `after`, and `nth` the number of the statement, from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) scenario: usize,
    pub(crate) dialect: Dialect,
    pub(crate) fault: Fault,
    pub(crate) call: &'static str,
    pub(crate) nth: usize,
}

/// How often each call was made, as strace wrote it down. Opening counts where it makes a file: see [`opened`].
pub(crate) fn counted(trace: &Path) -> Vec<(&'static str, Vec<usize>)> {
    let text = std::fs::read_to_string(trace).unwrap();
    let nths = |call: &'static str| {
        let made =
            text.lines().filter(|line| line.strip_prefix(call).is_some_and(|rest| rest.starts_with('(')));
        made.enumerate()
            .filter(|(_, line)| call != "openat" || line.contains("O_CREAT"))
            .map(|(at, _)| at + 1)
            .collect()
    };
    CALLS.into_iter().map(|call| (call, nths(call))).collect()
}

/// In an order that looks like none: whenever one stops, every scenario had its share.
pub(crate) fn shuffled(mut points: Vec<Point>, seed: u64) -> Vec<Point> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for left in (1..points.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        points.swap(left, (state % (left as u64 + 1)) as usize);
    }
    points
}
