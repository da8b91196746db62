//! Where results go: stdout, or a file from which a run can be resumed.
//!
//! A result is one line, written at once. A file that ends in the middle of a line was written by a run that was killed;
//! that line is cut off, and its conversation runs again. Before a tool with effects runs, the id of its conversation is
//! on disk in a second file (`FILE.begun`): if that conversation has no result after a kill, nobody knows what its tools
//! have done, so it is not run again.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use converse_engine::SinkError;
use converse_host::failure::{Failure, Kind};
use converse_session::files::{Replace, replace};
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
    target: Option<(File, PathBuf)>,
    begun: Option<Arc<Begun>>,
    /// Results that wait for an earlier one, with results in the order of the input.
    held: BTreeMap<usize, Value>,
    /// The conversations without a result, in order; `None` in the order of completion.
    open: Option<BTreeSet<usize>>,
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
        let begun_path = begun_path(path);
        let mut known = Known { begun: ids(&begun_path).map_err(failed)?, again, ..Known::default() };
        let Tail { end, is_unended, failures } = read(&file, path, &mut known)?;
        known.failed = failures;
        mended(&mut file, end, is_unended).map_err(failed)?;
        let begun = Some(Arc::new(Begun { file: Mutex::new(None), path: begun_path }));
        Ok((Self { target: Some((file, path.to_owned())), begun, ..Self::to_stdout() }, known))
    }

    /// Takes these failed conversations out of the file, because they run again.
    ///
    /// # Errors
    ///
    /// As [`Results::to_file`].
    pub(crate) fn forget(&mut self, again: &HashSet<String>) -> Result<(), Failure> {
        let Some((file, path)) = self.target.as_mut().filter(|_| !again.is_empty()) else { return Ok(()) };
        let failed = |error: std::io::Error| unwritten(path, &error);
        let begun_path = begun_path(path);
        let mut begun = ids(&begun_path).map_err(failed)?;
        begun.retain(|id| !again.contains(id));
        // First the results. A kill in between leaves ids that have begun and no result: they do not run again.
        *file = without(path, file, again)?;
        write_ids(&begun_path, &begun).map_err(failed)
    }

    /// Writes results in the order of the input. `open` are the conversations that have none.
    #[must_use]
    pub(crate) fn ordered(self, open: impl IntoIterator<Item = usize>) -> Self {
        Self { open: Some(open.into_iter().collect()), ..self }
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
        match &self.target {
            Some((file, path)) => file.sync_data().map_err(|error| unwritten(path, &error)),
            None => Ok(()),
        }
    }

    /// Removes the ids of what has begun and has a result, after a run that left nothing open. Those of other inputs stay.
    pub(crate) fn conclude(&self) {
        if let (Some(begun), Some((file, path))) = (&self.begun, &self.target) {
            // A file that stays as it is names ids too many, which is harmless.
            let _ = begun.conclude(file, path);
        }
    }

    fn write(&self, line: &Value) -> Result<(), Failure> {
        let text = printable(&line.to_string()) + "\n";
        match &self.target {
            None => Ok(write_stdout(&text)?),
            Some((file, path)) => {
                let mut file = file;
                file.write_all(text.as_bytes()).map_err(|error| unwritten(path, &error))
            }
        }
    }
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
        bytes.clear();
        let read = reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes);
        let read = read.map_err(|error| unwritten(path, &error))?;
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

/// Cuts off what follows the last whole result, and ends its line.
fn mended(file: &mut File, end: u64, is_unended: bool) -> std::io::Result<()> {
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    if is_unended { file.write_all(b"\n") } else { Ok(()) }
}

/// Replaces the file by one without these ids.
fn without(path: &Path, old: &File, ids: &HashSet<String>) -> Result<File, Failure> {
    let failed = |error: std::io::Error| unwritten(path, &error);
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new_path = PathBuf::from(name);
    let copied = (|| {
        let mut new = BufWriter::new(File::create(&new_path)?);
        let mut reader = BufReader::new(old);
        reader.rewind()?;
        let mut bytes = Vec::new();
        while reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes)? > 0 {
            let is_kept = serde_json::from_slice::<Written>(&bytes).is_ok_and(|one| !ids.contains(&one.id));
            if is_kept {
                new.write_all(bytes.trim_ascii_end())?;
                new.write_all(b"\n")?;
            }
            bytes.clear();
        }
        new.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    })();
    copied.and_then(|()| std::fs::rename(&new_path, path)).map_err(failed)?;
    opened(path)
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
    fn ordered_results_wait_for_earlier_ones() {
        let (_dir, path) = file("");
        let mut results = Results::to_file(&path, false).unwrap().0.ordered([0, 2, 3]);
        let written = || std::fs::read_to_string(&path).unwrap().replace('\n', "");
        results.take(2, json!(2)).unwrap();
        assert_eq!((written().as_str(), results.held()), ("", 1));
        results.take(0, json!(0)).unwrap();
        assert_eq!((written().as_str(), results.held()), ("02", 0));
        results.flush().unwrap();
        results.take(3, json!(3)).unwrap();
        assert_eq!(written(), "023");
    }
}
