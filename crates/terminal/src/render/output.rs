//! Standard output and error, and files of a command, written without panics.
//!
//! `println!` panics (exit 101) when a pipe is closed or a disk is full. Here both are values: a closed pipe ends the
//! run quietly, a failed write is a failure with its own exit code.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use converse_engine::SinkError;
use serde_json::Value;

use crate::poll_io::PollIo;
use converse_host::failure::{Failure, Kind};
use converse_text::is_unsafe;

/// Writes without a buffer, so that the reader of a pipe sees each piece as it comes.
pub fn write_stdout(text: &str) -> Result<(), SinkError> {
    PollIo(io::stdout().lock()).write_all(text.as_bytes()).map_err(classify)
}

/// Writes one value over several lines.
pub fn write_json(value: &Value) -> Result<(), SinkError> {
    write_stdout(&(printable(&format!("{value:#}")) + "\n"))
}

/// Escapes every control character in JSON; serde_json escapes only those of ASCII. Outside of strings they do not occur,
/// so the value stays the same.
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

/// Returns the width of a terminal in columns; `None` if it is not a terminal or its width is not known.
pub fn columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns the height of a terminal in rows; `None` if it is not a terminal or its height is not known.
pub fn rows(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Colours a text by the number of a terminal's style, if `colour` is set.
pub fn painted(colour: bool, code: &str, text: &str) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Writes to stderr. A failure is ignored: there is nowhere left to report it.
pub fn write_stderr(text: &str) {
    let _ = PollIo(io::stderr().lock()).write_all(text.as_bytes());
}

/// Writes a file that only its owner can read. With `force` an existing file is replaced. `code` is the code of a failure.
pub fn write_private(path: &Path, text: &str, force: bool, code: &'static str) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let failure = Failure::new(Kind::Output, code, format!("{}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => {
                Failure { kind: Kind::Usage, ..failure }.hint("`--force` replaces it")
            }
            _ => failure,
        }
    })
}

/// Tells a closed pipe from other failures. A peer that leaves with unread data resets a socket.
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
