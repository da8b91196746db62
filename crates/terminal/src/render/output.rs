//! Standard output and error, and files of a command, written without panics.
//!
//! `println!` panics (exit 101) when a pipe is closed or a disk is full. Here both are values: a closed pipe ends the
//! run quietly, a failed write is a failure with its own exit code.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
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

/// Writes what `write` writes, as it comes.
pub fn write_stdout_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), SinkError> {
    write(&mut PollIo(io::stdout().lock())).map_err(classify)
}

/// Writes one value over several lines.
pub fn write_json(value: &Value) -> Result<(), SinkError> {
    write_stdout(&(printable(&format!("{value:#}")) + "\n"))
}

/// Writes the JSON that `write` writes with [`printable`] characters, in pieces of about 64 KiB.
pub fn print_json(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut pieces = PrintableJson { out, waiting: Vec::new() };
    write(&mut pieces)?;
    pieces.finish()
}

const PIECE: usize = 64 * 1024;

struct PrintableJson<'o> {
    out: &'o mut dyn Write,
    waiting: Vec<u8>,
}

impl PrintableJson<'_> {
    /// Writes all whole characters.
    fn pass_on(&mut self) -> io::Result<()> {
        let whole = match str::from_utf8(&self.waiting) {
            Ok(text) => text.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
        };
        let rest = self.waiting.split_off(whole);
        let text = std::mem::replace(&mut self.waiting, rest);
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        self.out.write_all(printable(&text).as_bytes())
    }

    fn finish(mut self) -> io::Result<()> {
        self.pass_on()?;
        if self.waiting.is_empty() { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
    }
}

impl Write for PrintableJson<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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
pub fn write_private(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    force: bool,
    code: &'static str,
) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600).create_new(!force).create(force).truncate(force);
    let written = options.open(path).and_then(|mut file| write(&mut file));
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

    #[test]
    fn json_in_pieces_is_the_whole_however_it_is_cut() {
        let whole = "é\u{9b}\u{e0041}x".repeat(PIECE / 5);
        for cut in [1, 2, 3, 7, 10_000] {
            let mut out = Vec::new();
            let write =
                |out: &mut dyn Write| whole.as_bytes().chunks(cut).try_for_each(|part| out.write_all(part));
            print_json(&mut out, write).unwrap();
            assert!(out == printable(&whole).as_bytes(), "{cut}");
        }
        for wrong in [&b"x\xc3"[..], b"x\xc3\xc3x"] {
            let cut_off = print_json(&mut Vec::new(), |out| out.write_all(wrong));
            assert_eq!(cut_off.unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }
}
