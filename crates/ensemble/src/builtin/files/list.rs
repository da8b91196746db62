//! `list_directory`: what is in a directory, sorted, one name a line.
//!
//! `name/` is a directory, `name -> target` a symbolic link (shown, never followed), other files show their size. Names
//! are foreign text: a line break in one must not look like two files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, DirEntry};
use converse_canister::Arguments;

use super::jail::{Jail, RequestedPath, kind};
use super::{Job, JobContext, JobError, cancelled};
use crate::builtin::arguments::{flag, push_visible, text};
use crate::path_policy::PathVerdict;
use crate::{Answer, InvokeError, PathUse};

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
    denied: usize,
    asking: usize,
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
        Box::new(move |context| self.run(context))
    }

    fn run(&self, context: &JobContext) -> Result<Answer, JobError> {
        let jail = self.jail.open()?;
        let path = self.jail.relative(jail, &self.path)?;
        let failed = |error: io::Error| self.path.error("list", &error);
        let path = jail.named(&path, &self.path, (PathUse::List, "list"), &context.paths)?;
        let metadata = jail.dir.metadata(&path).map_err(failed)?;
        if !metadata.is_dir() {
            let kind = kind(metadata.file_type());
            return Err(format!("`{}` is {kind}, not a directory", self.path.shown()).into());
        }
        let dir = jail.open_dir(&path, &self.path, "list")?;
        let place = Place { dir: &dir, path: jail.absolute(&path), shown: String::new(), depth: 0 };
        let mut listed = Listed::default();
        let walk = Walk { listing: self, root: &jail.canonical, context };
        walk.descend(&place, &mut listed).map_err(|stop| match stop {
            Stop::Cancelled => cancelled(),
            Stop::Failed(error) => failed(error),
        })?;
        Ok(Answer::text(listed.into_text(&self.path)))
    }
}

/// A directory that is listed.
struct Place<'l> {
    dir: &'l Dir,
    /// Canonical.
    path: PathBuf,
    /// Stands before each name in it.
    shown: String,
    depth: usize,
}

/// What stays the same in all directories.
struct Walk<'w> {
    listing: &'w Listing,
    root: &'w Path,
    context: &'w JobContext,
}

impl Walk<'_> {
    fn descend(&self, place: &Place<'_>, listed: &mut Listed) -> Result<(), Stop> {
        let mut entries = Vec::new();
        for entry in place.dir.entries().map_err(Stop::Failed)? {
            if self.context.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if listed.seen == MOST_SEEN {
                break;
            }
            listed.seen += 1;
            let entry = entry.map_err(Stop::Failed)?;
            let name = entry.file_name();
            if !self.listing.hidden && name.as_encoded_bytes().starts_with(b".") {
                listed.hidden += 1;
            } else {
                entries.push((name, entry));
            }
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, entry) in entries {
            if !self.is_permitted(&place.path.join(&name), listed) {
                continue;
            }
            let shown = format!("{}{}", place.shown, visible(&name.to_string_lossy()));
            let Ok(kind) = entry.file_type() else {
                listed.unreadable += 1;
                continue;
            };
            listed.lines.push(if listed.lines.len() < MOST_SHOWN {
                line(place.dir, &name, &entry, kind, &shown)
            } else {
                String::new()
            });
            if self.listing.recursive && kind.is_dir() {
                self.enter(place, &name, &shown, listed)?;
            }
        }
        Ok(())
    }

    fn is_permitted(&self, path: &Path, listed: &mut Listed) -> bool {
        match self.context.paths.judge(path, self.root, PathUse::List) {
            PathVerdict::Allowed => return true,
            PathVerdict::Asks(_) => listed.asking += 1,
            PathVerdict::Denied(_) => listed.denied += 1,
        }
        false
    }

    fn enter(
        &self,
        place: &Place<'_>,
        name: &std::ffi::OsStr,
        shown: &str,
        listed: &mut Listed,
    ) -> Result<(), Stop> {
        let depth = place.depth + 1;
        if depth >= MAX_DEPTH {
            listed.unopened += 1;
            return Ok(());
        }
        let descended = place.dir.open_dir(name).map_err(Stop::Failed).and_then(|inner| {
            let path = place.path.join(name);
            self.descend(&Place { dir: &inner, path, shown: format!("{shown}/"), depth }, listed)
        });
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
        if text.is_empty() && self.hidden + self.unreadable + self.denied + self.asking == 0 {
            text.push(format!("`{}` is empty", path.shown()));
        }
        let at_least = if self.seen == MOST_SEEN { "at least " } else { "" };
        for (count, what) in [
            (more, "more not shown"),
            (self.hidden, "hidden not shown (`hidden` shows them)"),
            (self.unopened, "directories deeper down not opened"),
            (self.unreadable, "could not be read"),
            (self.denied, "not shown: not allowed"),
            (self.asking, "not shown: each needs an approval; name one in `path` to ask"),
        ] {
            if count > 0 {
                text.push(format!("… {at_least}{count} {what}"));
            }
        }
        text.join("\n")
    }
}
