//! The body of the guardian process: reads reports, tracks descendants, and kills what is left when its input ends.
//!
//! The protocol has one report per line: `=PID` the parent to watch, `?PID` a group that is being spawned and `?` that the
//! spawn failed, `+PID` a group that is alive, `-PID` a group that is gone, `!PID` a child that existed before the first
//! spawn and is ignored, `.` nothing is left to be killed.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::tracker::Tracker;

/// Interval between two looks for new processes while a group is alive.
const TICK: Duration = Duration::from_millis(250);
/// Maximum line length in bytes; the rest of a longer line is dropped.
const LONGEST: usize = 64;

/// The body of the guardian process. Reads stdin (a pipe or a socket) to its end, then kills every group that is still
/// registered and, if the parent is dead, every descendant it has seen; then returns. Returns at once on the report that
/// nothing is left.
pub fn guard() {
    let input = io::stdin();
    let mut tracker = Tracker::default();
    let mut lines = Lines::default();
    while !tracker.is_dismissed() {
        let tick = tracker.is_needed().then(|| Timespec::try_from(TICK).ok()).flatten();
        let mut inputs = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        match poll(&mut inputs, tick.as_ref()) {
            Ok(0) => tracker.look_if_changed(),
            Ok(_) => {
                let mut bytes = [0; 4096];
                match rustix::io::read(input.as_fd(), &mut bytes) {
                    Ok(count @ 1..) => {
                        lines.of(bytes.get(..count).unwrap_or_default(), |line| tracker.handle_line(line))
                    }
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Ok(_) | Err(_) => break,
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    tracker.end();
}

/// Splits a stream of bytes into lines of bounded length.
#[derive(Debug, Default)]
struct Lines {
    line: String,
}

impl Lines {
    fn of(&mut self, bytes: &[u8], mut handle: impl FnMut(&str)) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    handle(&self.line);
                    self.line.clear();
                }
                _ if self.line.len() < LONGEST => self.line.push(char::from(*byte)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_come_in_pieces() {
        for size in [1, 2, 3, 100] {
            let mut heard = Vec::new();
            let mut lines = Lines::default();
            for piece in b"=12\n+345\n-345\nunfinished".chunks(size) {
                lines.of(piece, |line| heard.push(line.to_owned()));
            }
            assert_eq!(heard, ["=12", "+345", "-345"], "{size}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut lines = Lines::default();
        lines.of(&[b'9'; 100_000], |line| panic!("{line}"));
        assert_eq!(lines.line.len(), LONGEST);
    }
}
