//! The line that a person types.
//!
//! [`Editor`] reads entries, one at a time, on a thread of its own: with history, completion, hints and pasted text where
//! the terminal can show them, else plainly, line by line and without a single escape sequence. [`TypedAhead`] makes
//! entries of the keys that are pressed while nothing reads them. The library that draws (reedline) is known to this crate
//! alone, so that another one could take its place.
//!
//! ```
//! use std::time::Instant;
//!
//! let mut typed = converse_editor::TypedAhead::default();
//! typed.hears(b"hello\rand", Instant::now());
//! let sent = typed.take_next().unwrap_or_default();
//! assert_eq!((sent.text.as_str(), sent.is_sent), ("hello", true));
//! let begun = typed.take_next().unwrap_or_default();
//! assert_eq!((begun.text.as_str(), begun.is_sent), ("and", false));
//! ```

mod above;
mod ahead;
mod background;
mod choosing;
mod complete;
mod entry;
mod finder;
mod focus;
mod folds;
mod handover;
mod highlight;
mod hints;
mod history;
mod inserted;
mod keys;
mod line_editor;
mod menu;
mod outer;
mod plain;
mod prompt;
mod rich;
mod room;
mod terminal;
mod tones;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

pub use above::Above;
pub use ahead::{Draft, TypedAhead};
pub use choosing::{Choosing, Picked};
pub use complete::{Complete, Mark, Nature, Redraw, Suggestion};
pub use entry::{FENCE, is_reserved};
pub use focus::{
    FOCUS_REPORTED, FOCUS_UNREPORTED, Focus, TITLE_RESTORED, notification, titled, without_reports,
};
pub use handover::{Handover, HandoverGuard};
pub use inserted::Inserted;
pub use line_editor::Editor;
pub use outer::{edited, paged};
pub use prompt::Prompt;
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
    /// Esc twice on an empty line: back to an earlier entry.
    Back,
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

/// Makes text harmless for a terminal: newlines and tabs stay, what could act is shown instead.
pub type Safe = fn(&str) -> Cow<'_, str>;

/// Cleans text for storage, by removing what must not be in a file.
pub type Clean = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Returns what is put into the line for a paste; `None`: the paste itself. Looks at files, but never waits.
pub type Pasted = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Returns what a turn that runs is sent for an entry, or why nothing can be.
pub type Steers = Arc<dyn Fn(&str) -> Result<String, &'static str> + Send + Sync>;

/// What the program makes of entries, for [`Setup`] and [`TypedAhead`].
#[derive(Clone)]
pub struct Meaning {
    /// Returns whether an entry does more than send words. One that comes at once with its Enter, as pasted text does in a
    /// terminal that does not bracket it, waits for another Enter.
    pub acts: fn(&str) -> bool,
    pub pasted: Pasted,
    /// Returns the words of an entry for a turn that runs, or why it cannot be sent to one. Looks at files, but never waits.
    pub steers: Steers,
    /// Called when Ctrl-V is pressed. Must not wait.
    pub picture: Arc<dyn Fn() + Send + Sync>,
}

impl Default for Meaning {
    fn default() -> Self {
        let steers = |entry: &str| Ok(entry.to_owned());
        Self {
            acts: |_| false,
            pasted: Arc::new(|_| None),
            steers: Arc::new(steers),
            picture: Arc::new(|| {}),
        }
    }
}

impl fmt::Debug for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meaning").finish_non_exhaustive()
    }
}

/// What an editor needs to know of its surroundings.
#[derive(Clone)]
pub struct Setup {
    /// The file of what was typed before, mode 0600; `None`: remembered while the program runs.
    pub history: Option<PathBuf>,
    /// The keys of vi instead of those of emacs.
    pub vi: bool,
    /// Colours and hints. Without colours, hints cannot be distinguished from input.
    pub colour: bool,
    /// The background is light, as far as it is known before the terminal says so.
    pub light: bool,
    /// Asks the terminal for its background, together with its cursor position.
    pub asks_background: bool,
    /// Whole lines as the terminal gives them: `TERM=dumb`, a screen reader. Also chosen when stdin, stdout or stderr is
    /// no terminal, or one that does not say where its cursor is.
    pub plain: bool,
    /// The prompt in ASCII.
    pub ascii: bool,
    /// The words of the person's editor: opened by Ctrl-O and Ctrl-X Ctrl-E.
    pub editor: Option<Vec<String>>,
    /// Where the file is that such an editor opens, mode 0600; a directory that only its owner can read.
    pub scratch: PathBuf,
    /// Returns whether there is a shell that could continue the program after Ctrl-Z.
    pub can_stop: fn() -> bool,
    /// Called often, whenever the user can see that a line is expected.
    pub asks: Arc<dyn Fn() + Send + Sync>,
    /// Called when Shift-Tab is pressed and no menu is open.
    pub switch: Arc<dyn Fn() + Send + Sync>,
    /// Returns a word for the prompt, behind the name; empty for none.
    pub status: Arc<dyn Fn() -> String + Send + Sync>,
    pub complete: Arc<dyn Complete>,
    pub meaning: Meaning,
    /// What comes into the line without a key.
    pub inserted: Inserted,
    /// For everything that is pasted, recalled, suggested or comes back from an editor.
    pub safe: Safe,
    /// For everything that goes into the history.
    pub clean: Clean,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").finish_non_exhaustive()
    }
}
