//! Where results go: stdout, or a file from which a run can be resumed.
//!
//! A result is one line, written at once. A file that ends in the middle of a line was written by a run that was killed;
//! that line is cut off, and its conversation runs again. Before a tool with effects runs, the id of its conversation is
//! on disk in a second file (`FILE.begun`): if that conversation has no result after a kill, nobody knows what its tools
//! have done, so it is not run again.
//!
//! Results in the order of the input are written to a file as they come, so that a kill loses none; the file is sorted
//! when the run ends. On stdout they wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read as _, Seek as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_engine::SinkError;
use converse_host::failure::{Failure, Kind};
use converse_session::files::{Mode, Replace, replace, replace_with};
use converse_terminal::render::output::{printable, write_stdout};
use parking_lot::Mutex;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::input::Known;

/// Bytes of one result.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The receiver of results.
#[derive(Debug)]
pub(crate) struct Results {
    target: Option<Target>,
    begun: Option<Arc<Begun>>,
    /// On stdout: results that wait for an earlier one, with results in the order of the input.
    held: BTreeMap<usize, Value>,
    /// On stdout: the conversations without a result, in order; `None` in the order of completion.
    open: Option<BTreeSet<usize>>,
}

/// A locked file of results.
#[derive(Debug)]
struct Target {
    file: File,
    /// Without symbolic links, so that a replacement keeps them.
    path: PathBuf,
    /// Where the last whole result ends.
    end: u64,
    /// A write has failed, and what it left behind is not cut off yet.
    is_torn: bool,
}

/// The ids of conversations whose tools with effects have begun.
#[derive(Debug)]
pub struct Begun {
    file: Mutex<Option<File>>,
    path: PathBuf,
}

/// How each result begins.
const BEGIN: &[u8] = b"{\"id\":\"";

#[derive(Deserialize)]
struct Written {
    id: String,
    exit: u8,
}

impl Results {
    /// To stdout.
    pub(crate) fn to_stdout() -> Self {
        Self { target: None, begun: None, held: BTreeMap::new(), open: None }
    }

    /// To a file, which may have the results of an earlier run. With `again`, failed conversations count as open; their
    /// results stay until [`Results::forget`].
    ///
    /// # Errors
    ///
    /// The file cannot be written, has something else, or another run is writing it.
    pub(crate) fn to_file(path: &Path, again: bool) -> Result<(Self, Known), Failure> {
        let failed = |error: std::io::Error| unwritten(path, &error);
        let mut file = opened(path)?;
        let path = path.canonicalize().map_err(failed)?;
        let begun_path = begun_path(&path);
        let mut known = Known { begun: ids(&begun_path).map_err(failed)?, again, ..Known::default() };
        let Tail { end, is_unended, failures } = read(&file, &path, &mut known)?;
        known.failed = failures;
        let end = mended(&mut file, end, is_unended).map_err(failed)?;
        let begun = Some(Arc::new(Begun { file: Mutex::new(None), path: begun_path }));
        let target = Some(Target { file, path, end, is_torn: false });
        Ok((Self { target, begun, ..Self::to_stdout() }, known))
    }

    /// Takes these failed conversations out of the file, because they run again.
    ///
    /// # Errors
    ///
    /// As [`Results::to_file`].
    pub(crate) fn forget(&mut self, again: &HashSet<String>) -> Result<(), Failure> {
        let Some(target) = self.target.as_mut().filter(|_| !again.is_empty()) else { return Ok(()) };
        let path = target.path.clone();
        let failed = |error: std::io::Error| unwritten(&path, &error);
        let begun_path = begun_path(&path);
        let mut begun = ids(&begun_path).map_err(failed)?;
        begun.retain(|id| !again.contains(id));
        // First the results. A kill in between leaves ids that have begun and no result: they do not run again.
        let kept = target.spans()?.into_iter().filter(|(id, _)| !again.contains(id));
        target.rewrite(&kept.map(|(_, span)| span).collect::<Vec<_>>())?;
        write_ids(&begun_path, &begun).map_err(failed)
    }

    /// Writes results to stdout in the order of the input. `open` are the conversations that have none. A file is
    /// [sorted](Results::sort) at the end.
    #[must_use]
    pub(crate) fn ordered(self, open: impl IntoIterator<Item = usize>) -> Self {
        let open = self.target.is_none().then(|| open.into_iter().collect());
        Self { open, ..self }
    }

    /// Sorts the file by the places of its ids in the input. Results of other inputs come first.
    ///
    /// # Errors
    ///
    /// As [`Results::to_file`]. The file is as it was then.
    pub(crate) fn sort(&mut self, places: &HashMap<String, usize>) -> Result<(), Failure> {
        let Some(target) = &mut self.target else { return Ok(()) };
        let mut spans: Vec<_> =
            target.spans()?.into_iter().map(|(id, span)| (places.get(&id).copied(), span)).collect();
        if spans.is_sorted_by_key(|(place, _)| *place) {
            return Ok(());
        }
        spans.sort_by_key(|(place, _)| *place);
        target.rewrite(&spans.into_iter().map(|(_, span)| span).collect::<Vec<_>>())
    }

    /// The file, without symbolic links.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.target.as_ref().map(|target| target.path.as_path())
    }

    /// Results that wait for an earlier one.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Where the ids of conversations with effects go; `None` if a run cannot be resumed.
    pub(crate) fn begun(&self) -> Option<Arc<Begun>> {
        self.begun.clone()
    }

    /// Takes the result of a conversation, and writes what can be written.
    ///
    /// # Errors
    ///
    /// Stdout is closed, or the result cannot be written.
    pub(crate) fn take(&mut self, job: usize, line: Value) -> Result<(), Failure> {
        let Some(open) = &mut self.open else { return self.write(&line) };
        self.held.insert(job, line);
        let mut ready = Vec::new();
        while let Some(line) = open.first().copied().and_then(|first| self.held.remove(&first)) {
            open.pop_first();
            ready.push(line);
        }
        ready.iter().try_for_each(|line| self.write(line))
    }

    /// Writes what still waits, after a run that left earlier ones out.
    ///
    /// # Errors
    ///
    /// As [`Results::take`].
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let held = std::mem::take(&mut self.held);
        held.values().try_for_each(|line| self.write(line))?;
        self.sync()
    }

    /// Syncs what is written.
    ///
    /// # Errors
    ///
    /// As [`Results::take`].
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        match &self.target {
            Some(Target { file, path, .. }) => file.sync_data().map_err(|error| unwritten(path, &error)),
            None => Ok(()),
        }
    }

    /// Removes the ids of what has begun and has a result, after a run that left nothing open. Those of other inputs stay.
    pub(crate) fn conclude(&self) {
        if let (Some(begun), Some(Target { file, path, .. })) = (&self.begun, &self.target) {
            // A file that stays as it is names ids too many, which is harmless.
            let _ = begun.conclude(file, path);
        }
    }

    fn write(&mut self, line: &Value) -> Result<(), Failure> {
        let text = printable(&line.to_string()) + "\n";
        match &mut self.target {
            None => Ok(write_stdout(&text)?),
            Some(target) => target.append(text.as_bytes()),
        }
    }
}

/// The bytes of one result in its file.
type Span = Range<u64>;

impl Target {
    /// Writes a whole line or nothing.
    fn append(&mut self, line: &[u8]) -> Result<(), Failure> {
        let written = self.cut_off().and_then(|()| {
            self.is_torn = true;
            self.file.write_all(line)
        });
        match written {
            Ok(()) => {
                self.is_torn = false;
                self.end += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Another write, or the next run, tries again.
                let _ = self.cut_off();
                Err(unwritten(&self.path, &error))
            }
        }
    }

    fn cut_off(&mut self) -> std::io::Result<()> {
        if self.is_torn {
            self.file.set_len(self.end)?;
            self.is_torn = false;
        }
        Ok(())
    }

    /// Returns the id and the place of each result.
    fn spans(&self) -> Result<Vec<(String, Span)>, Failure> {
        let failed = |error: std::io::Error| unwritten(&self.path, &error);
        let mut reader = BufReader::new(&self.file);
        reader.rewind().map_err(failed)?;
        let (mut spans, mut at, mut bytes) = (Vec::new(), 0, Vec::new());
        while at < self.end {
            let read = next_line(&mut reader, &mut bytes).map_err(failed)? as u64;
            if read == 0 {
                break;
            }
            if let Ok(written) = serde_json::from_slice::<Written>(&bytes) {
                spans.push((written.id, at..at + read));
            }
            at += read;
        }
        Ok(spans)
    }

    /// Replaces the file by one with these results, in this order.
    fn rewrite(&mut self, spans: &[Span]) -> Result<(), Failure> {
        let failed = |error: std::io::Error| unwritten(&self.path, &error);
        let old = &self.file;
        let mode = Mode::Exact(old.metadata().map_err(failed)?.permissions().mode() & 0o7777);
        replace_with(&self.path, Replace { mode, ..Replace::LOCKED }, |new| {
            let mut new = BufWriter::new(new);
            let mut reader = BufReader::new(old);
            let mut at = 0;
            reader.rewind()?;
            for span in spans {
                // What follows in the file is in the buffer already.
                reader.seek_relative(span.start.cast_signed() - at)?;
                let copied = std::io::copy(&mut reader.by_ref().take(span.end - span.start), &mut new)?;
                at = (span.start + copied).cast_signed();
            }
            new.flush()
        })
        .map_err(failed)?;
        self.file = opened(&self.path)?;
        self.end = self.file.metadata().map_err(|error| unwritten(&self.path, &error))?.len();
        Ok(())
    }
}

fn next_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    bytes.clear();
    reader.take(MOST_BYTES).read_until(b'\n', bytes)
}

impl Begun {
    fn conclude(&self, mut results: &File, path: &Path) -> std::io::Result<()> {
        let mut known = Known::default();
        results.rewind()?;
        read(results, path, &mut known).map_err(|failure| std::io::Error::other(failure.message))?;
        let mut open = ids(&self.path)?;
        open.retain(|id| !known.done.contains(id));
        if open.is_empty() { std::fs::remove_file(&self.path) } else { write_ids(&self.path, &open) }
    }

    /// Adds an id, on disk when it returns.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn add(&self, id: &str) -> Result<(), SinkError> {
        let mut file = self.file.lock();
        let added = (|| {
            if file.is_none() {
                let new = OpenOptions::new().append(true).create(true).open(&self.path)?;
                // A line that a kill has cut is no id.
                (&new).write_all(b"\n")?;
                *file = Some(new);
            }
            let Some(file) = file.as_mut() else { return Ok(()) };
            file.write_all(format!("{}\n", Value::from(id)).as_bytes())?;
            file.sync_data()
        })();
        added.map_err(|error: std::io::Error| SinkError::Save(format!("{}: {error}", self.path.display())))
    }
}

fn begun_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".begun");
    name.into()
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the results could not be written to `{}`: {error}", path.display());
    Failure::new(Kind::Output, "results-failed", message)
}

/// Opens the file and locks it until the run ends.
fn opened(path: &Path) -> Result<File, Failure> {
    let failed = |error: std::io::Error| unwritten(path, &error);
    let is_other = std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    if is_other {
        let message = format!("`{}` is not a regular file", path.display());
        return Err(Failure::usage("results-file", message).hint("without `-o`, results go to stdout"));
    }
    let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another run is writing to `{}`", path.display());
            Err(Failure::new(Kind::Output, "results-in-use", message).hint("wait until it ends"))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// What a file of results ends with.
#[derive(Default)]
struct Tail {
    /// Where the last whole result ends.
    end: u64,
    /// It is whole, but for the end of its line.
    is_unended: bool,
    /// The ids of failed conversations.
    failures: HashSet<String>,
}

/// Collects the ids.
fn read(file: &File, path: &Path, known: &mut Known) -> Result<Tail, Failure> {
    let mut reader = BufReader::new(file);
    let mut tail = Tail::default();
    let mut bytes = Vec::new();
    for number in 1.. {
        let read = next_line(&mut reader, &mut bytes).map_err(|error| unwritten(path, &error))?;
        if read == 0 {
            break;
        }
        tail.is_unended = !bytes.ends_with(b"\n");
        let Ok(written) = serde_json::from_slice::<Written>(&bytes) else {
            if tail.is_unended && is_torn(&bytes) {
                tail.is_unended = false;
                break;
            }
            return Err(not_results(path, number));
        };
        if written.exit != 0 {
            tail.failures.insert(written.id.clone());
        }
        known.done.insert(written.id);
        tail.end += read as u64;
    }
    Ok(tail)
}

/// Whether a kill has cut a result here. Anything else at the end of a file is not cut off.
fn is_torn(bytes: &[u8]) -> bool {
    let is_whole = serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    !is_whole && (bytes.starts_with(BEGIN) || BEGIN.starts_with(bytes))
}

fn not_results(path: &Path, line: usize) -> Failure {
    let message = format!("{}:{line}:1: the line is not a result of `converse batch`", path.display());
    Failure::usage("not-results", message).hint("name another file with `-o`; this one was not changed")
}

/// Cuts off what follows the last whole result, and ends its line. Returns the length.
fn mended(file: &mut File, end: u64, is_unended: bool) -> std::io::Result<u64> {
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    if !is_unended {
        return Ok(end);
    }
    file.write_all(b"\n")?;
    Ok(end + 1)
}

/// The ids in a file; none if there is no file. A line that a kill has cut is left out: its tool had not begun.
fn ids(path: &Path) -> std::io::Result<HashSet<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(HashSet::new()),
        file => file?,
    };
    let mut ids = HashSet::new();
    let mut reader = BufReader::new(file);
    let mut bytes = Vec::new();
    while crate::input::read_line(&mut reader, &mut bytes)? > 0 {
        ids.extend(serde_json::from_slice::<String>(&bytes));
    }
    Ok(ids)
}

fn write_ids(path: &Path, ids: &HashSet<String>) -> std::io::Result<()> {
    if ids.is_empty() && !path.exists() {
        return Ok(());
    }
    let text: String = ids.iter().map(|id| format!("{}\n", Value::from(id.as_str()))).collect();
    replace(path, text.as_bytes(), Replace::PRIVATE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::input::State;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.jsonl");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    const TWO: &str = "{\"id\":\"a\",\"exit\":0}\n{\"id\":\"b\",\"exit\":6}\n";

    #[test]
    fn a_torn_line_is_cut_off_and_its_conversation_is_open() {
        for torn in ["{", "{\"id\":\"c\",\"exit\":0"] {
            let (_dir, path) = file(&format!("{TWO}{torn}"));
            let (mut results, known) = Results::to_file(&path, false).unwrap();
            assert_eq!(["a", "b", "c"].map(|id| known.state(id)), [State::Done, State::Done, State::Open]);
            results.take(2, json!({ "id": "c", "exit": 0 })).unwrap();
            assert_eq!(
                std::fs::read_to_string(&path).unwrap(),
                format!("{TWO}{{\"id\":\"c\",\"exit\":0}}\n")
            );
        }
    }

    #[test]
    fn a_result_without_the_end_of_its_line_is_a_result() {
        for again in [false, true] {
            let (_dir, path) = file("{\"id\":\"a\",\"exit\":0}");
            let (mut results, known) = Results::to_file(&path, again).unwrap();
            assert_eq!(known.state("a"), State::Done);
            results.take(2, json!({ "id": "c", "exit": 0 })).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(text, "{\"id\":\"a\",\"exit\":0}\n{\"id\":\"c\",\"exit\":0}\n");
        }
    }

    #[test]
    fn a_file_of_something_else_is_not_touched() {
        for text in
            ["hello", "hello\n", "{\"a\":1}\n", "{\"id\":\"1\",\"prompt\":\"x\"}", &format!("{TWO}oops")]
        {
            let (_dir, path) = file(text);
            assert_eq!(Results::to_file(&path, true).unwrap_err().code, "not-results", "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn failed_ones_are_taken_out_to_run_again() {
        let (_dir, path) = file(TWO);
        let begun = begun_path(&path);
        std::fs::write(&begun, "\n\"b\"\n\"x\"\n\"y").unwrap();
        let (mut results, known) = Results::to_file(&path, true).unwrap();
        let states = ["a", "b", "x", "y"].map(|id| known.state(id));
        assert_eq!(states, [State::Done, State::Open, State::Unknown, State::Open]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), TWO, "nothing is lost before the run begins");
        results.forget(&HashSet::from(["b".to_owned()])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"id\":\"a\",\"exit\":0}\n");
        results.begun().unwrap().add("b\n").unwrap();
        assert_eq!(ids(&begun).unwrap(), HashSet::from(["x".to_owned(), "b\n".to_owned()]));
    }

    #[test]
    fn what_has_begun_without_a_result_outlives_other_inputs() {
        let (_dir, path) = file(TWO);
        let begun = begun_path(&path);
        std::fs::write(&begun, "\n\"b\"\n\"x\"\n").unwrap();
        let (mut results, _) = Results::to_file(&path, false).unwrap();
        results.conclude();
        assert_eq!(ids(&begun).unwrap(), HashSet::from(["x".to_owned()]));
        results.take(0, json!({ "id": "x", "exit": 0 })).unwrap();
        results.conclude();
        assert!(!begun.exists());
    }

    #[test]
    fn two_runs_do_not_share_a_file() {
        let (_dir, path) = file("");
        let first = Results::to_file(&path, false).unwrap();
        assert_eq!(Results::to_file(&path, false).unwrap_err().code, "results-in-use");
        drop(first);
        assert!(Results::to_file(&path, false).is_ok());
    }

    #[test]
    fn a_file_is_sorted_at_the_end_and_keeps_its_links_and_its_mode() {
        let (dir, path) = file("");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let link = dir.path().join("link.jsonl");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        // What a killed run has left behind, or somebody has laid there.
        std::os::unix::fs::symlink("/nowhere", dir.path().join(".tmp-0-out.jsonl")).unwrap();
        let mut results = Results::to_file(&link, false).unwrap().0.ordered([0, 1, 2]);
        let written = || std::fs::read_to_string(&path).unwrap();
        let line = |id: &str| json!({ "id": id, "exit": 0 });
        for (job, id) in [(2, "c"), (7, "other"), (0, "a"), (1, "b")] {
            results.take(job, line(id)).unwrap();
        }
        assert_eq!((written().lines().count(), results.held()), (4, 0), "nothing waits");
        let places = [("a", 0), ("b", 1), ("c", 2)].map(|(id, place)| (id.to_owned(), place));
        results.sort(&HashMap::from(places)).unwrap();
        let sorted = ["other", "a", "b", "c"].map(|id| format!("{}\n", line(id))).concat();
        assert_eq!(written(), sorted);
        assert!(link.is_symlink());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        results.take(3, line("d")).unwrap();
        assert_eq!(written(), format!("{sorted}{}\n", line("d")), "the new file goes on");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn what_a_failed_write_has_left_is_cut_off_before_the_next_one() {
        let (_dir, path) = file("");
        let mut results = Results::to_file(&path, false).unwrap().0;
        results.take(0, json!({ "id": "a", "exit": 0 })).unwrap();
        let target = results.target.as_mut().unwrap();
        target.file.write_all(b"{\"id\":\"b\",").unwrap();
        target.is_torn = true;
        results.take(1, json!({ "id": "c", "exit": 0 })).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, "{\"id\":\"a\",\"exit\":0}\n{\"id\":\"c\",\"exit\":0}\n");
    }
}
