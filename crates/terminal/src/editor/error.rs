//! What can go wrong with reading.

use std::io;

/// Why nothing could be read. The terminal's modes are restored by then.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    #[error("the terminal cannot be read: {0}")]
    Terminal(#[from] io::Error),
    #[error("no thread for the line editor could be started: {0}")]
    Thread(io::Error),
    /// Its thread is gone: nothing more can be read.
    #[error("the line editor has stopped")]
    Gone,
}
