//! The line that a person types.
//!
//! [`Editor`] reads entries, one at a time, on a thread of its own: with history, completion, hints and pasted text where
//! the terminal can show them, else plainly, line by line and without a single escape sequence. The library that draws
//! (reedline) is known to this crate alone, so that another one could take its place.

mod complete;
mod entry;
mod handover;
mod highlight;
mod hints;
mod history;
mod keys;
mod line_editor;
mod menu;
mod outer;
mod plain;
mod prompt;
mod rich;
mod setup;
mod terminal;

pub use complete::{Complete, Mark, Nature, Suggestion};
pub use handover::{Handover, HandoverGuard};
pub use line_editor::Editor;
pub use outer::edited;
pub use prompt::Prompt;
pub use setup::{Clean, Safe, Setup};
pub use terminal::Modes;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// An entry, of one line or several, without what only served to type it (a `\` at the end of a line, `"""` around a
    /// block). It may be empty.
    Line(String),
    /// Ctrl-C on an empty line; where there is text, it clears the line instead.
    Interrupted {
        /// Something was typed before it, and is gone again.
        after_keys: bool,
    },
    /// Ctrl-D on an empty line, or the end of what is read.
    End,
}

/// Why nothing could be read. The terminal's modes are restored by then.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    #[error("the terminal cannot be read: {0}")]
    Terminal(#[from] std::io::Error),
    #[error("no thread for the line editor could be started: {0}")]
    Thread(std::io::Error),
    /// Its thread is gone: nothing more can be read.
    #[error("the line editor has stopped")]
    Gone,
}
