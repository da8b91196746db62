//! `list_directory`: what is in a directory, sorted, one name a line.
//!
//! `name/` is a directory, `name -> target` a symbolic link (shown, never followed), other files show their size. Names
//! are foreign text: a line break in one must not look like two files.

use std::io;
use std::path::Path;
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry};
use converse_canister::Arguments;
use tokio_util::sync::CancellationToken;

use super::jail::{Jail, RequestedPath, kind};
use super::{Job, JobError, cancelled};
use crate::builtin::arguments::{flag, push_visible, text};
use crate::{Answer, InvokeError};

/// Lines of a listing.
const MOST_SHOWN: usize = 2_000;
/// Levels below the directory asked for.
const MAX_DEPTH: usize = 8;
/// Names looked at, shown or not; a larger tree is listed up to here.
const MOST_SEEN: usize = 200_000;

pub(super) struct Listing {
    jail: Arc<Jail>,
    path: RequestedPath,
    recursive: bool,
    hidden: bool,
}

/// A listing as it grows.
#[derive(Default)]
struct Listed {
    lines: Vec<String>,
    seen: usize,
    hidden: usize,
    /// Directories deeper than the depth allows.
    unopened: usize,
    unreadable: usize,
}

impl Listing {
    pub(super) fn new(jail: &Arc<Jail>, arguments: &Arguments) -> Result<Self, InvokeError> {
        Ok(Self {
            jail: Arc::clone(jail),
            path: RequestedPath::new("path", text(arguments, "path")?.unwrap_or("."))?,
            recursive: flag(arguments, "recursive")?,
            hidden: flag(arguments, "hidden")?,
        })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |cancel| self.run(cancel))
    }

    fn run(&self, cancel: &CancellationToken) -> Result<Answer, JobError> {
        let jail = self.jail.open()?;
        let path = self.jail.relative(jail, &self.path)?;
        let failed = |error: io::Error| self.path.error("list", &error);
        let metadata = jail.dir.metadata(&path).map_err(failed)?;
        if !metadata.is_dir() {
            let kind = kind(metadata.file_type());
            return Err(format!("`{}` is {kind}, not a directory", self.path.shown()).into());
        }
        let dir = jail.dir.open_dir(&path).map_err(failed)?;
        let mut listed = Listed::default();
        self.descend(&dir, "", 0, &mut listed, cancel).map_err(|stop| match stop {
            Stop::Cancelled => cancelled(),
            Stop::Failed(error) => failed(error),
        })?;
        Ok(Answer::text(listed.into_text(&self.path)))
    }

    fn descend(
        &self,
        dir: &Dir,
        prefix: &str,
        depth: usize,
        listed: &mut Listed,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        let mut entries = Vec::new();
        for entry in dir.entries().map_err(Stop::Failed)? {
            if cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if listed.seen == MOST_SEEN {
                break;
            }
            listed.seen += 1;
            let entry = entry.map_err(Stop::Failed)?;
            let name = entry.file_name();
            if !self.hidden && name.as_encoded_bytes().starts_with(b".") {
                listed.hidden += 1;
            } else {
                entries.push((name, entry));
            }
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, entry) in entries {
            let shown = format!("{prefix}{}", visible(&name.to_string_lossy()));
            let Ok(kind) = entry.file_type() else {
                listed.unreadable += 1;
                continue;
            };
            listed.lines.push(if listed.lines.len() < MOST_SHOWN {
                line(dir, &name, &entry, kind, &shown)
            } else {
                String::new()
            });
            if self.recursive && kind.is_dir() {
                self.enter(dir, &name, &shown, depth, listed, cancel)?;
            }
        }
        Ok(())
    }

    fn enter(
        &self,
        dir: &Dir,
        name: &std::ffi::OsStr,
        shown: &str,
        depth: usize,
        listed: &mut Listed,
        cancel: &CancellationToken,
    ) -> Result<(), Stop> {
        if depth + 1 >= MAX_DEPTH {
            listed.unopened += 1;
            return Ok(());
        }
        let inner = dir.open_dir(name);
        let descended = inner
            .map_err(Stop::Failed)
            .and_then(|inner| self.descend(&inner, &format!("{shown}/"), depth + 1, listed, cancel));
        match descended {
            // One directory that cannot be read does not hide the others.
            Err(Stop::Failed(_)) => {
                listed.unreadable += 1;
                Ok(())
            }
            other => other,
        }
    }
}

enum Stop {
    Cancelled,
    Failed(io::Error),
}

fn line(
    dir: &Dir,
    name: &std::ffi::OsStr,
    entry: &DirEntry,
    file_type: cap_std::fs::FileType,
    shown: &str,
) -> String {
    if file_type.is_dir() {
        return format!("{shown}/");
    }
    if file_type.is_symlink() {
        let target = dir.read_link_contents(Path::new(name));
        let target = target.map_or_else(|_| "?".to_owned(), |target| visible(&target.to_string_lossy()));
        return format!("{shown} -> {target}");
    }
    match entry.metadata() {
        Ok(metadata) if metadata.is_file() => format!("{shown} ({} bytes)", metadata.len()),
        _ => format!("{shown} ({})", kind(file_type)),
    }
}

fn visible(name: &str) -> String {
    let mut visible = String::new();
    name.chars().for_each(|character| push_visible(&mut visible, character));
    visible
}

impl Listed {
    fn into_text(self, path: &RequestedPath) -> String {
        let more = self.lines.len().saturating_sub(MOST_SHOWN);
        let mut text: Vec<String> = self.lines.into_iter().take(MOST_SHOWN).collect();
        if text.is_empty() && self.hidden == 0 && self.unreadable == 0 {
            text.push(format!("`{}` is empty", path.shown()));
        }
        let at_least = if self.seen == MOST_SEEN { "at least " } else { "" };
        for (count, what) in [
            (more, "more not shown"),
            (self.hidden, "hidden not shown (`hidden` shows them)"),
            (self.unopened, "directories deeper down not opened"),
            (self.unreadable, "could not be read"),
        ] {
            if count > 0 {
                text.push(format!("… {at_least}{count} {what}"));
            }
        }
        text.join("\n")
    }
}
