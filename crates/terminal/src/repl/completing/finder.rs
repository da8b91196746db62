//! The files and directories of the project, found by what is typed of their names.
//!
//! A thread reads them and looks through them: somebody is typing, and a project may be large or far away. It starts at the
//! first question. What is found before all names are read, or after the one who asks has gone on, is drawn when it is there.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_editor::Redraw;
use ignore::{DirEntry, WalkBuilder};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::fuzzy::Query;
use super::paths::is_writable;

/// Names that are read, and their bytes.
const MOST: usize = 200_000;
const MOST_BYTES: usize = 24 * 1024 * 1024;
const DEEPEST: usize = 40;
/// How long it may take to read them.
const LONGEST: Duration = Duration::from_secs(20);
/// Names that are this old are read again when somebody asks.
const FRESH: Duration = Duration::from_secs(10);
/// Those of a question.
const MOST_FOUND: usize = 50;
/// While names are read, what is found among them is told so often.
const BETWEEN: Duration = Duration::from_millis(100);
/// Names that are looked at before it is asked whether something else is wanted.
const AT_ONCE: usize = 2_000;

/// Finds names below a directory.
#[derive(Default)]
pub(super) struct Finder(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    has_thread: bool,
    is_over: bool,
    root: PathBuf,
    /// What is typed, if nobody has looked yet.
    wanted: Option<String>,
    /// What was typed last, and what was found for it.
    found: Option<(String, Vec<String>)>,
    /// Somebody waits for it.
    is_awaited: bool,
    redraw: Option<Redraw>,
}

impl Finder {
    /// Returns the names that fit, the best first; directories end with a slash. `None`: not known within this time. What
    /// draws the line is called when it is.
    pub(super) fn find(&self, root: &Path, typed: &str, within: Duration) -> Option<Vec<String>> {
        let until = Instant::now() + within;
        let mut state = self.0.state.lock();
        if state.root != root {
            (state.root, state.found) = (root.to_owned(), None);
        }
        if let Some(names) = state.of(typed) {
            return Some(names);
        }
        if state.wanted.as_deref() != Some(typed) {
            state.wanted = Some(typed.to_owned());
        }
        if !self.starts(&mut state) {
            return Some(Vec::new());
        }
        self.0.changed.notify_all();
        state.is_awaited = true;
        while state.of(typed).is_none() && !self.0.changed.wait_until(&mut state, until).timed_out() {}
        state.is_awaited = false;
        state.of(typed)
    }

    pub(super) fn redraws_by(&self, redraw: Redraw) {
        self.0.state.lock().redraw = Some(redraw);
    }

    /// Returns whether there is a thread.
    fn starts(&self, state: &mut State) -> bool {
        if !state.has_thread {
            let shared = Arc::clone(&self.0);
            let work = move || Reader::default().serves(&shared);
            state.has_thread = std::thread::Builder::new().name("finder".to_owned()).spawn(work).is_ok();
        }
        state.has_thread
    }
}

impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finder").finish_non_exhaustive()
    }
}

impl Drop for Finder {
    fn drop(&mut self) {
        self.0.state.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl State {
    fn of(&self, typed: &str) -> Option<Vec<String>> {
        self.found.as_ref().filter(|(found, _)| found == typed).map(|(_, names)| names.clone())
    }

    fn is_of(&self, root: &Path) -> bool {
        self.root == root && !self.is_over
    }
}

/// The thread's side: the names of a directory.
#[derive(Default)]
struct Reader {
    root: PathBuf,
    names: Vec<Box<str>>,
    read: Option<Instant>,
    /// What was answered last.
    typed: String,
}

impl Reader {
    fn serves(mut self, shared: &Shared) {
        loop {
            let mut state = shared.state.lock();
            while state.wanted.is_none() && !state.is_over {
                shared.changed.wait(&mut state);
            }
            if state.is_over {
                return;
            }
            if self.root != state.root {
                self = Self { root: state.root.clone(), ..Self::default() };
            }
            drop(state);
            if self.read.is_some() {
                self.answers(shared, true);
            }
            if self.read.is_none_or(|read| read.elapsed() > FRESH) {
                self.reads(shared);
            }
        }
    }

    /// Reads the names, and tells on the way what is found among them if there were none before.
    fn reads(&mut self, shared: &Shared) {
        let (begun, is_first) = (Instant::now(), self.read.is_none());
        let (mut names, mut bytes, mut told) = (Vec::new(), 0, begun);
        let root = self.root.clone();
        let walk = WalkBuilder::new(&root).require_git(false).max_depth(Some(DEEPEST)).build();
        for name in walk.filter_map(|entry| name(&entry.ok()?, &root)) {
            bytes += name.len();
            names.push(name.into_boxed_str());
            let now = Instant::now();
            if names.len() >= MOST || bytes > MOST_BYTES || now - begun > LONGEST {
                break;
            }
            if now - told > BETWEEN {
                told = now;
                if !shared.state.lock().is_of(&root) {
                    return;
                }
                if is_first {
                    self.names = std::mem::take(&mut names);
                    self.answers(shared, false);
                    names = std::mem::take(&mut self.names);
                } else {
                    // Those of before answer until the new ones are there.
                    self.answers(shared, true);
                }
            }
        }
        names.shrink_to_fit();
        (self.names, self.read) = (names, Some(Instant::now()));
        {
            let mut state = shared.state.lock();
            if state.wanted.is_none() && state.is_of(&self.root) {
                state.wanted = Some(self.typed.clone());
            }
        }
        self.answers(shared, true);
    }

    /// Answers what is wanted by now. Until all names are read, that nothing is found means nothing, and the question stays.
    fn answers(&mut self, shared: &Shared, is_whole: bool) {
        loop {
            let Some(typed) = shared.state.lock().wanted.clone() else { return };
            let Some(names) = self.found(&typed, shared) else { continue };
            let mut state = shared.state.lock();
            if !state.is_of(&self.root) {
                return;
            }
            if state.wanted.as_ref() != Some(&typed) {
                continue;
            }
            let is_new = state.found.as_ref() != Some(&(typed.clone(), names.clone()));
            if is_whole {
                state.wanted = None;
            }
            if is_new && (is_whole || !names.is_empty()) {
                state.found = Some((typed.clone(), names));
                shared.changed.notify_all();
                redraws(state);
            }
            self.typed = typed;
            return;
        }
    }

    /// `None`: something else is wanted by now.
    fn found(&self, typed: &str, shared: &Shared) -> Option<Vec<String>> {
        let mut query = Query::new(typed);
        let mut best: Vec<(Reverse<i32>, usize, usize, &str)> = Vec::with_capacity(MOST_FOUND + 1);
        for names in self.names.chunks(AT_ONCE) {
            if shared.state.lock().wanted.as_deref() != Some(typed) {
                return None;
            }
            for name in names {
                let Some(score) = query.score(name) else { continue };
                let depth = name.trim_end_matches('/').matches('/').count();
                let rank = (Reverse(score), depth, name.len(), &**name);
                let at = best.partition_point(|other| *other < rank);
                if at < MOST_FOUND {
                    best.insert(at, rank);
                    best.truncate(MOST_FOUND);
                }
            }
        }
        Some(best.into_iter().map(|(.., name)| name.to_owned()).collect())
    }
}

fn redraws(state: MutexGuard<'_, State>) {
    let redraw = state.redraw.clone().filter(|_| !state.is_awaited);
    drop(state);
    if let Some(redraw) = redraw {
        redraw();
    }
}

/// The path of an entry below the directory that is walked.
fn name(entry: &DirEntry, root: &Path) -> Option<String> {
    let path = entry.path().strip_prefix(root).ok()?;
    let name = path.to_str().filter(|name| !name.is_empty() && is_writable(name))?;
    let kind = entry.file_type()?;
    let is_directory = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
    let is_file = kind.is_file() || kind.is_symlink();
    (is_directory || is_file).then(|| if is_directory { format!("{name}/") } else { name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any test takes.
    const PATIENCE: Duration = Duration::from_secs(300);

    fn project(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "*.log\ntarget/\n").unwrap();
        }
        dir
    }

    #[test]
    fn names_of_the_project_are_found() {
        let dir = project(&[
            "src/main.rs",
            "src/schema.rs",
            ".gitignore",
            "a.log",
            "target/main.rs",
            ".hidden/main.rs",
            "a\u{202e}.rs",
            "a\"b.rs",
            "two words.md",
        ]);
        let finder = Finder::default();
        let find = |typed: &str| finder.find(dir.path(), typed, PATIENCE).unwrap();
        assert_eq!(find(""), ["src/", "two words.md", "src/main.rs", "src/schema.rs"]);
        assert_eq!(find("srcma"), ["src/main.rs", "src/schema.rs"]);
        assert_eq!(find("words"), ["two words.md"]);
        for typed in ["log", "target", "hidden", "nothing"] {
            assert_eq!(find(typed), [""; 0], "{typed}");
        }
        let other = project(&["other.rs"]);
        assert_eq!(finder.find(other.path(), "", PATIENCE).unwrap(), ["other.rs"]);
        assert_eq!(finder.find(&dir.path().join("none"), "", PATIENCE).unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_found_later_is_drawn() {
        let dir = project(&["a.rs"]);
        let finder = Finder::default();
        let (sent, drawn) = std::sync::mpsc::channel();
        let sent = Mutex::new(sent);
        finder.redraws_by(Arc::new(move || {
            let _ = sent.lock().send(());
        }));
        if finder.find(dir.path(), "a", Duration::ZERO).is_none() {
            drawn.recv_timeout(PATIENCE).unwrap();
        }
        assert_eq!(finder.find(dir.path(), "a", Duration::ZERO).unwrap(), ["a.rs"]);
    }

    #[test]
    fn what_is_found_has_a_bound() {
        let names: Vec<String> = (0..2 * MOST_FOUND).map(|number| format!("{number:03}.txt")).collect();
        let dir = project(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(Finder::default().find(dir.path(), "txt", PATIENCE).unwrap(), names[..MOST_FOUND]);
    }
}
