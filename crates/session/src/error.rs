//! Errors of sessions.

use std::io;
use std::path::{Path, PathBuf};

use crate::{BadLine, Holder};

/// An error leaves the journal unchanged, or with complete lines only.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("`{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Another process writes the session.
    #[error("session {session} is in use by {}", holder.as_ref().map_or_else(|| "another process".to_owned(), Holder::to_string))]
    InUse { session: String, holder: Option<Holder> },
    /// Without locks, two writers would damage the session.
    #[error("`{}` cannot be locked, so it is not written: {source}; keep sessions on a file system with locks", path.display())]
    NoLocks { path: PathBuf, source: io::Error },
    /// Damage that no crash explains; nothing was changed.
    #[error("`{}` is damaged at line {line}: {reason}", path.display())]
    Corrupt { path: PathBuf, line: u64, reason: String },
    /// Written by a later version; nothing was changed.
    #[error("`{}` has format {format}, of a later version of converse; this one reads up to {}", path.display(), crate::FORMAT)]
    Newer { path: PathBuf, format: u64 },
    /// The process that created the session ended before its first line was complete.
    #[error("`{}` is empty, because its creation was interrupted", path.display())]
    Empty { path: PathBuf },
    #[error("no session `{0}`")]
    NotFound(String),
    /// There are sessions, but of other projects.
    #[error("{}", none_of(project.as_deref()))]
    NoneOfProject { project: Option<String> },
    #[error("`{text}` matches {count} sessions; give more of the id")]
    Ambiguous { text: String, count: usize },
    /// The entry could not be read back, so it was not written.
    #[error("the entry cannot be written to a journal: {0}")]
    Unwritable(#[from] BadLine),
    /// The conversation cannot be cut there: calls would have no results, or a reply no end.
    #[error("a fork cannot end after message {at}; {}", places(*before, *after))]
    Uncuttable { at: usize, before: Option<usize>, after: Option<usize> },
    #[error("the content has {bytes} bytes; the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// The system failed to write earlier lines to disk, so the content of the file is not known.
    #[error("`{}`: earlier lines may not have reached the disk", path.display())]
    Unsynced { path: PathBuf },
}

fn none_of(project: Option<&str>) -> String {
    match project {
        Some(project) => format!("the project `{project}` has no session yet"),
        None => "there is no session yet that began outside of a project".to_owned(),
    }
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
