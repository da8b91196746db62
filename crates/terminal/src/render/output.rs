//! Standard output and error, written without panics.
//!
//! `println!` panics (exit 101) when a pipe is closed or a disk is full. Here both are values: a closed pipe ends the
//! run quietly, a failed write is a failure with its own exit code.

use std::io::{self, ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use converse_engine::SinkError;
use serde_json::Value;

use crate::poll_io::Patient;
use converse_text::is_unsafe;

/// Without a buffer: whoever reads a pipe sees each piece as it comes.
pub fn write_stdout(text: &str) -> Result<(), SinkError> {
    Patient(io::stdout().lock()).write_all(text.as_bytes()).map_err(classify)
}

/// One value over several lines, for lists and the like.
pub fn write_json(value: &Value) -> Result<(), SinkError> {
    write_stdout(&(printable(&format!("{value:#}")) + "\n"))
}

/// JSON that no terminal acts upon: serde_json escapes the oldest control characters only. Outside of strings such
/// characters do not occur, so the text means the same.
pub fn printable(json: &str) -> String {
    let mut units = [0; 2];
    let shown = |c: char| {
        if !is_unsafe(c) {
            return c.to_string();
        }
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    if json.chars().any(is_unsafe) { json.chars().map(shown).collect() } else { json.to_owned() }
}

/// Does the answer stand on a line of the terminal that is not ended? Where stderr is that terminal too, what it says
/// begins on a line of its own.
static LINE_IS_OPEN: AtomicBool = AtomicBool::new(false);

/// To be told by whoever writes pieces of lines to the terminal that stderr is as well.
pub(crate) fn set_line_open(open: bool) {
    LINE_IS_OPEN.store(open, Ordering::Relaxed);
}

pub(crate) fn is_line_open() -> bool {
    LINE_IS_OPEN.load(Ordering::Relaxed)
}

/// Before something is drawn on stderr.
pub(crate) fn end_line() {
    if LINE_IS_OPEN.swap(false, Ordering::Relaxed) {
        let _ = Patient(io::stderr().lock()).write_all(b"\n");
    }
}

/// What cannot be said on stderr is not said; there is nowhere left to say so.
pub fn write_stderr(text: &str) {
    end_line();
    let _ = Patient(io::stderr().lock()).write_all(text.as_bytes());
}

/// Whoever has gone with a part unread resets a socket.
pub fn classify(error: io::Error) -> SinkError {
    match error.kind() {
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => SinkError::Closed,
        _ => SinkError::Output(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_the_same_and_acts_on_nothing() {
        let value = serde_json::json!({ "a\u{9b}b": ["\u{202e}", "\u{e0041}", "\u{7f}", "é", "\n"] });
        let text = printable(&format!("{value:#}"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(!text.chars().any(is_unsafe), "{text:?}");
    }
}
