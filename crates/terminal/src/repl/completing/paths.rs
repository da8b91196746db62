//! Paths in a line: where they are, what they could become.
//!
//! `@notes.md`, `@"two words.md"`, `@~/notes.md`: as [`super::super::mentions`] reads them. A directory is listed once and
//! never for long: somebody is typing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use converse_editor::{Suggestion, is_reserved};
use converse_text::is_unsafe;

const MOST_SHOWN: usize = 200;
const MOST_READ: usize = 5_000;
const LONGEST: Duration = Duration::from_millis(50);

/// An `@path` in a line.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::repl) struct Mention<'l> {
    /// Of the `@`, and behind the path.
    pub(super) from: usize,
    pub(super) to: usize,
    pub(in crate::repl) name: &'l str,
    /// It goes to the end of the line, so that it can go on.
    pub(super) is_open: bool,
    /// It is not in a quote that is never closed.
    pub(in crate::repl) is_whole: bool,
}

pub(in crate::repl) fn mentions(line: &str) -> impl Iterator<Item = Mention<'_>> {
    let begins =
        |at: usize| line.get(..at).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric()));
    line.match_indices('@').filter(move |(at, _)| begins(*at)).filter_map(|(from, _)| {
        let rest = line.get(from + 1..)?;
        let (lead, name, tail) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.split_once('"') {
                Some((name, _)) => (2, name, 1),
                None => (2, quoted, 0),
            },
            None => (1, rest.split(char::is_whitespace).next()?, 0),
        };
        let to = from + lead + name.len() + tail;
        let (is_open, is_whole) = (tail == 0 && to == line.len(), lead == 1 || tail == 1);
        Some(Mention { from, to, name, is_open, is_whole })
    })
}

/// Where paths are read.
pub(in crate::repl) struct Place {
    pub(in crate::repl) cwd: PathBuf,
    pub(in crate::repl) home: Option<PathBuf>,
}

impl Place {
    pub(in crate::repl) fn of(&self, name: &str) -> PathBuf {
        match (name.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ => self.cwd.join(name),
        }
    }

    /// Returns whether a file is there by this name, or a directory by a name with its slash.
    pub(super) fn is_whole(&self, name: &str) -> bool {
        !name.is_empty()
            && std::fs::metadata(self.of(name)).is_ok_and(|file| file.is_dir() == name.ends_with('/'))
    }

    /// What the last path of a line could become. It begins at `from`, with `sign`, and may be in quotes.
    pub(super) fn complete(&self, before: &str, from: usize, sign: &str) -> Vec<Suggestion> {
        let from = if sign.is_empty() { last_word(before, from) } else { from };
        let typed = before.get(from + sign.len()..).unwrap_or_default();
        let (quoted, typed) = match typed.strip_prefix('"') {
            Some(typed) => (true, typed),
            None => (false, typed),
        };
        let (directory, start) =
            typed.rsplit_once('/').map_or(("", typed), |(before, start)| (before, start));
        let lead = typed.get(..typed.len() - start.len()).unwrap_or_default();
        let listed = match (directory, lead) {
            ("", "/") => PathBuf::from("/"),
            _ => self.of(directory),
        };
        let found = listing(&listed, start);
        let suggestion = |(name, is_directory): (String, bool)| {
            let path = format!("{lead}{name}{}", if is_directory { "/" } else { "" });
            let value = written(&path, sign, quoted);
            Suggestion { value, about: String::new(), from, to: before.len(), space: !is_directory }
        };
        found.into_iter().map(suggestion).collect()
    }
}

/// A path as it is written in a line: in quotes if it has spaces. Those of a directory stay open, so that it can go on.
pub(super) fn written(path: &str, sign: &str, is_quoted: bool) -> String {
    let quote = if is_quoted || path.contains(char::is_whitespace) { "\"" } else { "" };
    let end = if path.ends_with('/') { "" } else { quote };
    format!("{sign}{quote}{path}{end}")
}

/// Returns whether a name can be shown and written.
pub(super) fn is_writable(name: &str) -> bool {
    // A quote in a name has no way to be written, and what a terminal must not get has none to be shown.
    !name.contains(|c| c == '"' || c == '\n' || c == '\t' || is_unsafe(c) || is_reserved(c))
}

/// Where the last word begins, or the quote that is open.
fn last_word(before: &str, least: usize) -> usize {
    let (mut from, mut quoted) = (least, false);
    for (at, c) in before.char_indices().filter(|(at, _)| *at >= least) {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => from = at + c.len_utf8(),
            _ => {}
        }
    }
    from
}

/// Names in a directory, sorted, and which are directories. Hidden ones only where the dot is typed.
fn listing(directory: &Path, start: &str) -> Vec<(String, bool)> {
    let until = Instant::now() + LONGEST;
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let in_time = entries.take(MOST_READ).take_while(|_| Instant::now() < until);
    let mut found: Vec<(String, bool)> = in_time
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_shown = name.starts_with(start) && (!name.starts_with('.') || start.starts_with('.'));
            if !is_shown || !is_writable(&name) {
                return None;
            }
            let kind = entry.file_type().ok()?;
            let is_directory = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
            Some((name, is_directory))
        })
        .collect();
    found.sort();
    found.truncate(MOST_SHOWN);
    found
}
