//! Whether processes were started on this machine, read from `/proc/loadavg`: far cheaper than a look at the processes.
//! <https://man7.org/linux/man-pages/man5/proc_loadavg.5.html> (checked 2026-11)

use std::fs;
use std::sync::OnceLock;
use std::thread;

/// Looks without a new process after which the processes are looked at all the same.
const IDLE: u8 = 8;

/// What was seen at the last look.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessWatch {
    newest: Option<String>,
    idle: u8,
}

impl ProcessWatch {
    /// Returns whether a process or thread was started since this last returned true, or nothing was looked at for long.
    pub(crate) fn is_due(&mut self) -> bool {
        self.is_due_for(newest())
    }

    fn is_due_for(&mut self, newest: Option<String>) -> bool {
        self.idle = self.idle.saturating_add(1);
        if newest == self.newest && self.idle < IDLE {
            return false;
        }
        (self.newest, self.idle) = (newest, 0);
        true
    }
}

/// Returns the id of the newest process or thread.
fn newest() -> Option<String> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_ascii_whitespace().last().map(str::to_owned)
}

/// Returns whether a new thread shows at once. Some containers show a `/proc/loadavg` that is seconds old. Checked once.
pub(crate) fn shows_new_processes() -> bool {
    static SHOWS: OnceLock<bool> = OnceLock::new();
    *SHOWS.get_or_init(|| {
        let before = newest();
        let started = thread::Builder::new().spawn(|| {}).is_ok_and(|thread| thread.join().is_ok());
        started && before.is_some() && newest() != before
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_after_a_new_process_and_now_and_then() {
        let mut watch = ProcessWatch::default();
        let mut is_due = |newest: &str| watch.is_due_for(Some(newest.to_owned()));
        assert_eq!(["1", "1", "2", "2", "2"].map(&mut is_due), [true, false, true, false, false]);
        assert_eq!(["2"; 7].map(&mut is_due), [false, false, false, false, false, true, false]);
        assert!(is_due("1"), "numbers begin again");
    }

    #[test]
    fn a_process_that_starts_is_seen() {
        if !shows_new_processes() {
            return;
        }
        let mut watch = ProcessWatch::default();
        watch.is_due();
        thread::spawn(|| {}).join().unwrap();
        assert!(watch.is_due());
    }
}
