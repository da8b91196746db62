//! Completion of the current input, from providers of commands, models and files.

use std::sync::Arc;
use std::time::Duration;

/// Draws the line again, from any thread.
pub type Redraw = Arc<dyn Fn() + Send + Sync>;

/// Who knows what can be typed. Called on the editor's thread, once or more for each key: answers must be quick and never
/// wait.
pub trait Complete: Send + Sync {
    /// Returns suggestions for the cursor position. `at` is a byte offset in `line`, on a character boundary.
    fn complete(&self, line: &str, at: usize) -> Vec<Suggestion>;

    /// What could follow the line, to be shown greyed after it and taken by the right arrow. History is asked when this
    /// knows nothing.
    fn hint(&self, line: &str) -> Option<String>;

    /// What is offered of itself while the word before the cursor is typed, the best first. `None`: not known within this
    /// time; the line is drawn again when it is.
    fn find(&self, line: &str, at: usize, within: Duration) -> Option<Vec<Suggestion>> {
        let _ = (line, at, within);
        Some(Vec::new())
    }

    /// What is found later draws the line by this.
    fn redraws_by(&self, redraw: Redraw) {
        let _ = redraw;
    }

    /// What in the line is more than text.
    fn marks(&self, line: &str) -> Vec<Mark> {
        let _ = line;
        Vec::new()
    }
}

/// One thing that could be typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// What is put into the line.
    pub value: String,
    /// A few words about it; may be empty.
    pub about: String,
    /// The bytes of the line that it replaces.
    pub from: usize,
    pub to: usize,
    /// Whether a space is inserted after it.
    pub space: bool,
}

/// A stretch of the line, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub from: usize,
    pub to: usize,
    pub nature: Nature,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// A command that exists.
    Command,
    /// Looks like a command but is unknown.
    Unknown,
    /// A file that exists.
    File,
    /// The mark of a picture, which one key removes as a whole.
    Picture,
    /// That of a long paste, which one key removes as a whole too.
    Paste,
}
