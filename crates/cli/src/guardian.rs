//! The process that ends what outlives us: this binary, run with a word that stands in no help.

use std::ffi::OsString;

use converse_process::Guardian;

use crate::this_program::this_program;

/// No command has this name.
const WORD: &str = "guard-children";

/// Nothing is started before the first child.
pub(crate) fn of_this_run() -> Guardian {
    Guardian::new(this_program(), vec![WORD.to_owned()])
}

/// Are these words those of the guardian?
pub(crate) fn is_called(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == WORD)
}
