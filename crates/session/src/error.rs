//! What can go wrong with a session, for the one who has to tell the user.

use std::io;
use std::path::{Path, PathBuf};

use crate::{BadLine, Holder};

/// Every one of them leaves the journal as it was, or with whole lines only.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Another process writes it.
    #[error("session {session} is in use by {}", holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string))]
    InUse { session: String, holder: Option<Holder> },
    /// Without locks two writers would ruin it.
    #[error("`{}` cannot be locked, so it is not written: {source}; keep sessions on a file system with locks", path.display())]
    NoLocks { path: PathBuf, source: io::Error },
    /// Damage that no crash of ours explains; nothing was changed.
    #[error("`{}` is damaged at line {line}: {reason}", path.display())]
    Corrupt { path: PathBuf, line: u64, reason: String },
    /// Written by a later version; nothing was changed.
    #[error("`{}` has format {format}, of a later version of converse; this one reads up to {}", path.display(), crate::FORMAT)]
    Newer { path: PathBuf, format: u64 },
    /// The process that created it ended before its first line was whole: there is nothing in it.
    #[error("`{}` holds nothing: it was interrupted when it was created", path.display())]
    Empty { path: PathBuf },
    #[error("no session `{0}`")]
    NotFound(String),
    #[error("`{text}` fits {count} sessions; give more of the id")]
    Ambiguous { text: String, count: usize },
    /// The entry could not be read back, so it was not written.
    #[error("this cannot be kept in a journal: {0}")]
    Unwritable(#[from] BadLine),
    /// A conversation cannot be cut there: calls would be left without their results, or a reply without its end.
    #[error("message {at} is no place to stop at; {}", places(*before, *after))]
    Uncuttable { at: usize, before: Option<usize>, after: Option<usize> },
    #[error("{bytes} bytes of content; at most {limit} are kept")]
    TooLarge { bytes: usize, limit: usize },
    /// The system failed to bring earlier lines to the disk; what is there now is not known.
    #[error("`{}`: earlier lines may not have reached the disk", path.display())]
    Unsynced { path: PathBuf },
}

fn places(before: Option<usize>, after: Option<usize>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!("the nearest are {before} and {after}"),
        (Some(one), None) | (None, Some(one)) => format!("the nearest is {one}"),
        (None, None) => "there is none".to_owned(),
    }
}

impl SessionError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
