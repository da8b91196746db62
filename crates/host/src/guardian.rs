//! The process that ends what outlives us: this binary, run with a word that stands in no help.

use std::ffi::OsString;
use std::path::Path;

use converse_process::Guardian;

/// No command has this name.
const WORD: &str = "guard-children";

/// Nothing is started before the first child. Without a program it cannot be started, which is told once.
pub fn guardian(program: Option<&Path>) -> Guardian {
    Guardian::new(program.map(Path::to_path_buf).unwrap_or_default(), vec![WORD.to_owned()])
}

/// Are these words those of the guardian?
pub fn is_called(words: &[OsString]) -> bool {
    matches!(words, [_, word] if word == WORD)
}
