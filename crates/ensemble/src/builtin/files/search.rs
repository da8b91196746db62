//! `search_files`: the lines of text files that match a regular expression, as `path:line: text`.
//!
//! Hidden files and what `.gitignore` names are left out unless they are asked for; symbolic links are never followed,
//! binary and very large files are skipped and counted. Names and lines are foreign text and are shown escaped.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use converse_canister::Arguments;
use globset::{GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

use super::encoding::is_binary;
use super::ignored::Ignored;
use super::jail::{Jail, Opened, RequestedPath, open_file};
use super::read::contents;
use super::{Job, JobContext, JobError, cancelled};
use crate::builtin::arguments::{count, flag, required_text, shown, text};
use crate::path_policy::PathVerdict;
use crate::{Answer, InvokeError, PathUse};
use matches::Matches;

mod matches;
mod pieces;

/// Memory of a compiled pattern: a search takes time with it. A `\w` of Unicode alone has 56 KiB.
const MAX_PATTERN: usize = 256 * 1024;
/// Levels below the directory asked for.
const MAX_DEPTH: usize = 64;
/// Names looked at; a larger tree is searched up to here.
const MOST_SEEN: usize = 500_000;
/// Larger files are skipped.
const MAX_SEARCHED_BYTES: u64 = 8 * 1024 * 1024;

pub(super) struct Searching {
    jail: Arc<Jail>,
    path: RequestedPath,
    pattern: Regex,
    files: Option<Files>,
    hidden: bool,
    ignored: bool,
    context: usize,
    limit: usize,
}

/// Which files are searched.
struct Files {
    matcher: GlobMatcher,
    /// Of the name alone, or of the whole path below the directory asked for.
    whole_path: bool,
}

/// A walk as it goes on.
struct Walk<'w> {
    jail: &'w Opened,
    context: &'w JobContext,
    ignored: Ignored,
    matches: Matches,
    seen: usize,
    skipped: usize,
    unopened: usize,
    denied: usize,
    asking: usize,
}

impl Searching {
    pub(super) fn new(jail: &Arc<Jail>, arguments: &Arguments) -> Result<Self, InvokeError> {
        Ok(Self {
            jail: Arc::clone(jail),
            path: RequestedPath::new("path", text(arguments, "path")?.unwrap_or("."))?,
            pattern: pattern(required_text(arguments, "pattern")?, flag(arguments, "ignore_case")?)?,
            files: text(arguments, "files")?.map(Files::new).transpose()?,
            hidden: flag(arguments, "hidden")?,
            ignored: flag(arguments, "ignored")?,
            context: count(arguments, "context")?.unwrap_or(0).min(20),
            limit: count(arguments, "limit")?.unwrap_or(200).clamp(1, 2_000),
        })
    }

    pub(super) fn into_job(self) -> Job {
        Box::new(move |context| self.run(context))
    }

    fn run(&self, context: &JobContext) -> Result<Answer, JobError> {
        let jail = self.jail.open()?;
        let failed = |error: io::Error| self.path.error("search", &error);
        let path = self.jail.relative(jail, &self.path)?;
        let way = jail.named(&path, &self.path, (PathUse::Read, "search"), &context.paths)?;
        let mut walk = Walk::new(jail, context, Matches::new(self.limit, self.context));
        if jail.dir.metadata(&way).map_err(failed)?.is_dir() {
            self.enter_down_to(jail, &way, &mut walk).map_err(failed)?;
            let dir = jail.open_dir(&way, &self.path, "search")?;
            self.descend(&dir, &way, Path::new(""), 0, &mut walk)?;
        } else {
            let (file, _) = jail.open_file(&way, &self.path)?;
            let bytes = contents(file, &self.path, &context.cancel)?;
            if is_binary(&bytes) {
                return Err(format!("`{}` is not a text file", self.path.shown()).into());
            }
            walk.matches.search(&self.path.shown(), &bytes, &self.pattern, &context.cancel)?;
        }
        Ok(Answer::text(walk.into_text(self.limit)))
    }

    /// What the directories above say of what is ignored holds below them as well.
    fn enter_down_to(&self, jail: &Opened, way: &Path, walk: &mut Walk<'_>) -> io::Result<()> {
        let mut dir = jail.dir.try_clone()?;
        for part in way.iter().filter(|part| *part != ".") {
            walk.ignored.enter(&dir);
            dir = dir.open_dir(part)?;
        }
        Ok(())
    }

    /// `way` leads to the directory from the root of the jail, `below` from the directory asked for.
    fn descend(
        &self,
        dir: &Dir,
        way: &Path,
        below: &Path,
        depth: usize,
        walk: &mut Walk<'_>,
    ) -> Result<(), JobError> {
        walk.ignored.enter(dir);
        let mut entries = Vec::new();
        for entry in dir.entries().into_iter().flatten().flatten() {
            if walk.context.cancel.is_cancelled() {
                return Err(cancelled());
            }
            if walk.seen == MOST_SEEN {
                break;
            }
            walk.seen += 1;
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if self.hidden || !hidden {
                entries.push((entry.file_name(), entry));
            }
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, entry) in entries {
            if walk.matches.is_full() {
                break;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let (way, below) = (way.join(&name), below.join(&name));
            let way = way.strip_prefix(".").map(Path::to_path_buf).unwrap_or(way);
            if !self.ignored && walk.ignored.holds(&way, kind.is_dir()) {
                continue;
            }
            if kind.is_dir() {
                if walk.permits(&way, PathUse::List) {
                    self.enter(dir, &way, &below, depth, walk)?;
                }
            } else if kind.is_file()
                && self.files.as_ref().is_none_or(|files| files.hold(&below))
                && walk.permits(&way, PathUse::Read)
            {
                self.file(dir, &way, &below, walk)?;
            }
        }
        walk.ignored.leave();
        Ok(())
    }

    fn enter(
        &self,
        dir: &Dir,
        way: &Path,
        below: &Path,
        depth: usize,
        walk: &mut Walk<'_>,
    ) -> Result<(), JobError> {
        let inner = way.file_name().filter(|_| depth < MAX_DEPTH).and_then(|name| dir.open_dir(name).ok());
        match inner {
            Some(inner) => self.descend(&inner, way, below, depth + 1, walk),
            // One directory that cannot be opened does not hide the others.
            None => {
                walk.unopened += 1;
                Ok(())
            }
        }
    }

    fn file(&self, dir: &Dir, way: &Path, below: &Path, walk: &mut Walk<'_>) -> Result<(), JobError> {
        let name = Path::new(way.file_name().unwrap_or_default());
        let path = PathBuf::from(self.path.as_written()).join(below);
        let path = path.strip_prefix(".").unwrap_or(&path).to_string_lossy().into_owned();
        let read = open_file(dir, name, &self.path).and_then(|(file, metadata)| {
            if metadata.len() > MAX_SEARCHED_BYTES {
                return Ok(None);
            }
            contents(file, &self.path, &walk.context.cancel).map(Some)
        });
        match read {
            _ if walk.context.cancel.is_cancelled() => return Err(cancelled()),
            Ok(Some(bytes)) if !is_binary(&bytes) => {
                if walk.permits_content(way, &bytes) {
                    walk.matches.search(&shown(&path), &bytes, &self.pattern, &walk.context.cancel)?;
                }
            }
            Ok(_) | Err(_) => walk.skipped += 1,
        }
        Ok(())
    }
}

impl Files {
    fn new(glob: &str) -> Result<Self, InvokeError> {
        let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
        let glob_error = |error: globset::Error| {
            InvokeError::Invalid(format!("`files` is not a pattern: {}", error.kind()))
        };
        Ok(Self { matcher: built.map_err(glob_error)?.compile_matcher(), whole_path: glob.contains('/') })
    }

    fn hold(&self, below: &Path) -> bool {
        if self.whole_path {
            return self.matcher.is_match(below);
        }
        below.file_name().is_some_and(|name| self.matcher.is_match(name))
    }
}

fn pattern(text: &str, ignore_case: bool) -> Result<Regex, InvokeError> {
    let built = RegexBuilder::new(text).case_insensitive(ignore_case).size_limit(MAX_PATTERN).build();
    built.map_err(|error| {
        let reason = match error {
            regex::Error::CompiledTooBig(_) => {
                "it is too large; `(?-u:\\w)` is much smaller than `\\w`".to_owned()
            }
            other => shown(other.to_string().lines().last().unwrap_or_default()),
        };
        InvokeError::Invalid(format!("`pattern` is not a regular expression: {reason}"))
    })
}

impl<'w> Walk<'w> {
    fn new(jail: &'w Opened, context: &'w JobContext, matches: Matches) -> Self {
        let ignored = Ignored::default();
        Self { jail, context, ignored, matches, seen: 0, skipped: 0, unopened: 0, denied: 0, asking: 0 }
    }

    /// Whether the policy allows what was found; counted if not.
    fn permits(&mut self, way: &Path, used: PathUse) -> bool {
        let path = self.jail.absolute(way);
        self.counted(&self.context.paths.judge(&path, &self.jail.canonical, used))
    }

    fn permits_content(&mut self, way: &Path, content: &[u8]) -> bool {
        let path = self.jail.absolute(way);
        self.counted(&self.context.paths.judge_content(&path, &self.jail.canonical, content))
    }

    fn counted(&mut self, verdict: &PathVerdict) -> bool {
        match verdict {
            PathVerdict::Allowed => return true,
            PathVerdict::Asks(_) => self.asking += 1,
            PathVerdict::Denied(_) => self.denied += 1,
        }
        false
    }

    fn into_text(self, limit: usize) -> String {
        let at_limit = self.matches.is_full();
        let mut lines = self.matches.into_lines();
        if lines.is_empty() {
            lines.push("nothing matches".to_owned());
        }
        if at_limit {
            lines.push(format!("… the search ended at {limit} matches; narrow `pattern`, `path` or `files`"));
        }
        for (count, what) in [
            (self.skipped, "file(s) not searched: not text, too large, or not readable"),
            (self.unopened, "director(ies) not searched"),
            (self.denied, "not searched: not allowed"),
            (self.asking, "not searched: each needs an approval; name one in `path` to ask"),
        ] {
            if count > 0 {
                lines.push(format!("… {count} {what}"));
            }
        }
        if self.seen == MOST_SEEN {
            lines.push(format!("… the search ended after {MOST_SEEN} names"));
        }
        lines.join("\n")
    }
}
