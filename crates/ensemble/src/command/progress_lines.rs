//! Progress of a program: while it runs, its last complete line is reported to the host for people to see.
//!
//! An incomplete line is not reported, because half of a secret cannot be recognised as one.

use std::convert::Infallible;
use std::time::Duration;

use converse_process::Stderr;
use parking_lot::Mutex;
use tokio::time::sleep;

use crate::invoker::{Host, ToolProgress};

/// Interval between two reports; more would be too fast to read.
const BETWEEN: Duration = Duration::from_millis(100);
/// Bytes at the end of the output in which a line is searched. A longer line is not reported.
const LOOK: usize = 2 * 1024;

/// The last complete line of stdout so far.
#[derive(Debug, Default)]
pub(super) struct LastLine(Mutex<Option<String>>);

impl LastLine {
    /// Takes the last complete line of all output so far.
    pub(super) fn update(&self, written: &[u8]) {
        if let Some(line) = last_line(written) {
            *self.0.lock() = Some(line);
        }
    }

    fn now(&self) -> Option<String> {
        self.0.lock().clone()
    }
}

/// Reports each new line. Never returns.
pub(super) async fn report_lines(host: &Host, stdout: &LastLine, stderr: &Stderr) -> Infallible {
    if !host.is_heard() {
        return std::future::pending().await;
    }
    let mut reported = [None, None];
    loop {
        sleep(BETWEEN).await;
        let now = [last_line(&stderr.end()), stdout.now()];
        for (reported, now) in reported.iter_mut().zip(now) {
            if let Some(line) = now.as_ref().filter(|_| *reported != now) {
                host.say(ToolProgress::Output { line: line.clone() });
                *reported = now;
            }
        }
    }
}

/// Returns the last complete line that is not blank. Progress bars end lines with a carriage return.
fn last_line(written: &[u8]) -> Option<String> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let from = written.len().saturating_sub(LOOK);
    let end = written.get(from..)?;
    let whole = end.get(..end.iter().rposition(is_end)?)?;
    let mut lines = whole.split(is_end);
    if from > 0 {
        // Its beginning may be missing.
        lines.next();
    }
    let line = lines.rfind(|line| !line.trim_ascii().is_empty())?;
    Some(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_whole_and_says_something() {
        let long = "x".repeat(LOOK);
        for (written, line) in [
            ("", None),
            ("half", None),
            ("one\n", Some("one")),
            ("one\ntwo", Some("one")),
            ("one\ntwo\n\n \n", Some("two")),
            (" 10 %\r 20 %\r 3", Some(" 20 %")),
            ("one\r\n", Some("one")),
            (&format!("{long}\n"), None),
            (&format!("one\n{long}\n"), None),
            (&format!("{long}\ntwo\n"), Some("two")),
        ] {
            assert_eq!(last_line(written.as_bytes()).as_deref(), line, "{written:?}");
        }
        assert_eq!(last_line(b"a\xff\n").as_deref(), Some("a\u{fffd}"));
    }
}
