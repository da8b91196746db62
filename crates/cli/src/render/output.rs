//! Standard output and error, written without panics.
//!
//! `println!` panics (exit 101) when a pipe is closed or a disk is full. Here both are values: a closed pipe ends the
//! run quietly, a failed write is a failure with its own exit code.

use std::io::{self, ErrorKind, Write as _};

use converse_engine::SinkError;

/// Writes and flushes: whoever reads a pipe sees each piece as it comes.
pub(crate) fn write_stdout(text: &str) -> Result<(), SinkError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(classify)
}

/// What cannot be said on stderr is not said; there is nowhere left to say so.
pub(crate) fn write_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn classify(error: io::Error) -> SinkError {
    match error.kind() {
        ErrorKind::BrokenPipe => SinkError::Closed,
        _ => SinkError::Output(error.to_string()),
    }
}
