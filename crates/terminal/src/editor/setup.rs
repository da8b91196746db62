//! How an editor is to be.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::editor::complete::Complete;

/// Makes text harmless for a terminal: newlines and tabs stay, what could act is shown instead.
pub type Safe = fn(&str) -> Cow<'_, str>;

/// Cleans text for storage, by removing what must not be in a file.
pub type Clean = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// What an editor needs to know of its surroundings.
#[derive(Clone)]
pub struct Setup {
    /// The file of what was typed before, mode 0600; `None`: remembered while the program runs.
    pub history: Option<PathBuf>,
    /// The keys of vi instead of those of emacs.
    pub vi: bool,
    /// Colours and hints. Without colours, hints cannot be distinguished from input.
    pub colour: bool,
    /// Whole lines as the terminal gives them: `TERM=dumb`, a screen reader. Also chosen when stdin, stdout or stderr is
    /// no terminal, or one that does not say where its cursor is.
    pub plain: bool,
    /// The prompt in ASCII.
    pub ascii: bool,
    /// The words of `$VISUAL` or `$EDITOR`: opened by Ctrl-O and Ctrl-X Ctrl-E.
    pub editor: Option<Vec<String>>,
    /// Where the file is that such an editor opens, mode 0600; a directory that only its owner can read.
    pub scratch: PathBuf,
    /// Is there a shell that could let the program go on if Ctrl-Z stopped it?
    pub can_stop: fn() -> bool,
    /// Called often, whenever the user can see that a line is expected.
    pub asks: Arc<dyn Fn() + Send + Sync>,
    pub complete: Arc<dyn Complete>,
    /// For everything that is pasted, recalled, suggested or comes back from an editor.
    pub safe: Safe,
    /// For everything that goes into the history.
    pub clean: Clean,
}

converse_host::opaque_debug!(Setup);
