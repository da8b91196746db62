//! The body of the guardian process: listens, looks around, and at the end of its input does its one job.
//!
//! Its words are lines: `=NUMBER` whom it watches, `?NUMBER` a group that is being born and `?` that it was not,
//! `+NUMBER` a group that lives, `-NUMBER` a group that is gone, `!NUMBER` a child that is none of its business, `.` that
//! nothing is left to be ended.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::watch::Watch;

/// How often it looks who was born, while there is a group.
const TICK: Duration = Duration::from_millis(250);
/// A line that is longer is none of ours.
const LONGEST: usize = 64;

/// The body of the guardian process: reads its stdin (a pipe or a socket) to the end, then kills every group that is
/// still registered and, if who started it is dead, all that it saw descend from there; and returns. Returns at once when
/// it is told that nothing is left.
pub fn guard() {
    let input = io::stdin();
    let mut watch = Watch::default();
    let mut lines = Lines::default();
    while !watch.is_dismissed() {
        let tick = watch.is_needed().then(|| Timespec::try_from(TICK).ok()).flatten();
        let mut inputs = [PollFd::from_borrowed_fd(input.as_fd(), PollFlags::IN)];
        match poll(&mut inputs, tick.as_ref()) {
            Ok(0) => watch.look_if_changed(),
            Ok(_) => {
                let mut bytes = [0; 4096];
                match rustix::io::read(input.as_fd(), &mut bytes) {
                    Ok(count @ 1..) => {
                        lines.of(bytes.get(..count).unwrap_or_default(), |line| watch.hear(line))
                    }
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Ok(_) | Err(_) => break,
                }
            }
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    watch.end();
}

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
struct Lines {
    line: String,
}

impl Lines {
    fn of(&mut self, bytes: &[u8], mut hear: impl FnMut(&str)) {
        for byte in bytes {
            match byte {
                b'\n' => {
                    hear(&self.line);
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
