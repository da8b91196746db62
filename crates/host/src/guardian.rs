//! The guardian: this binary, started with a hidden command, which ends processes that outlive converse.

use std::ffi::OsString;
use std::path::Path;

use converse_process::Guardian;

/// The hidden command. No command of the CLI has this name.
const WORD: &str = "guard-children";

/// Creates a guardian that starts with the first child process. If it cannot be started, the user is warned once.
pub(crate) fn guardian(program: Option<&Path>) -> Guardian {
    Guardian::new(program.map(Path::to_path_buf).unwrap_or_default(), vec![WORD.to_owned()])
}

/// Returns whether a command line is that of the guardian.
pub(crate) fn is_called(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == WORD)
}
