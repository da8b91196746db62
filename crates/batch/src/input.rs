//! The input file: checked as a whole before anything runs, and read again line by line when a conversation starts, so
//! that only its index is in memory.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{BufRead, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use converse_host::failure::Failure;
use converse_text::wording::counted;

use crate::line::{Fault, Line};

/// Bytes of one line.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
const MOST_LINES: usize = 1_000_000;
/// Faults that are reported.
const MOST_FAULTS: usize = 20;

/// A file whose lines are all valid.
#[derive(Debug)]
pub(crate) struct Input {
    file: BufReader<File>,
    shown: String,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: u64,
    line: u32,
    /// Of its bytes.
    hash: u64,
    state: State,
}

/// What earlier runs have done with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It has no result.
    Open,
    Done,
    /// It has no result, and an earlier run ended while its tools with effects ran.
    Unknown,
}

/// Why an input cannot be used: each fault as its own failure, and the failure of the run.
#[derive(Debug)]
pub(crate) struct Rejected {
    pub(crate) faults: Vec<Failure>,
    pub(crate) failure: Failure,
}

impl From<Failure> for Box<Rejected> {
    fn from(failure: Failure) -> Self {
        Box::new(Rejected { faults: Vec::new(), failure })
    }
}

impl Input {
    /// Reads and checks all lines. `shown` is the path in messages, `template` the prompt of lines that have none, `state`
    /// what became of an id before, and `check` finds what only the environment shows.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or lines are not valid.
    pub(crate) fn check(
        path: &Path,
        shown: &Path,
        template: Option<&str>,
        state: impl Fn(&str) -> State,
        check: impl Fn(&Line) -> Result<(), (&'static str, Failure)>,
    ) -> Result<Self, Box<Rejected>> {
        let shown = shown.display().to_string();
        let unread = |why: String| {
            Failure::usage("input-file", format!("`{shown}` cannot be read: {why}"))
                .hint("expected a file with a JSON object in each line; a pipe can be saved first")
        };
        let is_file = std::fs::metadata(path).map_err(|error| unread(error.to_string()))?.is_file();
        if !is_file {
            return Err(unread("it is not a regular file".to_owned()).into());
        }
        let file = File::open(path).map_err(|error| unread(error.to_string()))?;
        let mut input = Self { file: BufReader::new(file), shown: shown.clone(), entries: Vec::new() };
        let (mut seen, mut faults) = (HashMap::new(), Vec::new());
        let (mut offset, mut number, mut wrong) = (0, 0, 0);
        let mut bytes = Vec::new();
        loop {
            let read = read_line(&mut input.file, &mut bytes).map_err(|error| unread(error.to_string()))?;
            if read == 0 {
                break;
            }
            number += 1;
            match input.one(&bytes, (number, offset), template, &mut seen, &check) {
                Ok(Some(line)) => {
                    let state = state(&line.id);
                    input.entries.push(Entry { offset, line: number, hash: hash(&bytes), state });
                }
                Ok(None) => {}
                Err(fault) => {
                    wrong += 1;
                    if faults.len() < MOST_FAULTS {
                        faults.push(input.failure(&fault, number, &bytes));
                    }
                }
            }
            offset += read as u64;
            if input.entries.len() > MOST_LINES || read as u64 > MOST_BYTES {
                let message = format!("`{shown}` is too large: at most {MOST_LINES} lines of 16 MiB");
                return Err(Failure::usage("input-too-large", message)
                    .hint(format!("split -l 100000 {shown}"))
                    .into());
            }
        }
        if wrong > 0 {
            let message = format!("{} of `{shown}` cannot be used; nothing was run", counted(wrong, "line"));
            let failure = Failure::usage("bad-input", message);
            return Err(Box::new(Rejected { faults, failure }));
        }
        if input.entries.is_empty() {
            let message = format!("`{shown}` has no line");
            return Err(Failure::usage("empty-input", message)
                .hint(r#"{"id": "1", "prompt": "What is 2+2?"}"#)
                .into());
        }
        Ok(input)
    }

    /// `None` for a blank line.
    fn one(
        &self,
        bytes: &[u8],
        (number, offset): (u32, u64),
        template: Option<&str>,
        seen: &mut HashMap<String, u32>,
        check: impl Fn(&Line) -> Result<(), (&'static str, Failure)>,
    ) -> Result<Option<Line>, Fault> {
        let text = text(bytes, offset)?;
        if text.trim().is_empty() {
            return Ok(None);
        }
        let line = Line::parse(text, template)?;
        if let Some(first) = seen.get(&line.id) {
            let message = format!("the id `{}` is that of line {first} too", line.id);
            let hint = "give each line an id of its own".to_owned();
            return Err(Fault { at: Line::place(text, "id"), code: "duplicate-id", message, hint });
        }
        seen.insert(line.id.clone(), number);
        check(&line).map_err(|(field, failure)| Fault {
            at: Line::place(text, field),
            code: failure.code,
            message: failure.message,
            hint: failure.hints.into_iter().next().unwrap_or_default(),
        })?;
        Ok(Some(line))
    }

    fn failure(&self, fault: &Fault, line: u32, bytes: &[u8]) -> Failure {
        let before = String::from_utf8_lossy(bytes.get(..fault.at).unwrap_or(bytes));
        let column = before.trim_start_matches('\u{feff}').chars().count() + 1;
        let failure =
            Failure::usage(fault.code, format!("{}:{line}:{column}: {}", self.shown, fault.message));
        if fault.hint.is_empty() { failure } else { failure.hint(fault.hint.clone()) }
    }

    /// Number of conversations.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the conversations in this state.
    pub(crate) fn of(&self, state: State) -> impl Iterator<Item = usize> {
        let entries = self.entries.iter().enumerate();
        entries.filter(move |(_, entry)| entry.state == state).map(|(number, _)| number)
    }

    /// Reads a line again.
    ///
    /// # Errors
    ///
    /// The file has changed since it was checked.
    pub(crate) fn line(&mut self, number: usize, template: Option<&str>) -> Result<Line, Failure> {
        let place = self.place(number);
        let changed = || {
            let message = format!("{place}: the line has changed since the batch began");
            Failure::usage("input-changed", message).hint("run the same command again")
        };
        let Entry { offset, hash: before, .. } = self.entries.get(number).copied().ok_or_else(changed)?;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(offset)).map_err(|_| changed())?;
        read_line(&mut self.file, &mut bytes).map_err(|_| changed())?;
        if hash(&bytes) != before {
            return Err(changed());
        }
        text(&bytes, offset).and_then(|text| Line::parse(text, template)).map_err(|_| changed())
    }

    /// Returns the place of each id.
    ///
    /// # Errors
    ///
    /// Those of [`Input::line`].
    pub(crate) fn places(&mut self, template: Option<&str>) -> Result<HashMap<String, usize>, Failure> {
        (0..self.len()).map(|number| Ok((self.line(number, template)?.id, number))).collect()
    }

    /// Returns the file and the line of a conversation.
    fn place(&self, number: usize) -> String {
        let line = self.entries.get(number).map_or(0, |entry| entry.line);
        format!("{}:{line}", self.shown)
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// A byte order mark is skipped.
fn text(bytes: &[u8], offset: u64) -> Result<&str, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|error| Fault {
        at: error.valid_up_to(),
        code: "bad-json",
        message: "the line is not UTF-8".to_owned(),
        hint: "iconv -t UTF-8".to_owned(),
    })?;
    let text = if offset == 0 { text.trim_start_matches('\u{feff}') } else { text };
    Ok(text.trim_end_matches(['\n', '\r']))
}

/// Reads one line with its end, at most one byte more than allowed. Returns 0 at the end of the file.
pub(crate) fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    bytes.clear();
    reader.take(MOST_BYTES + 1).read_until(b'\n', bytes)
}

/// Ids of which earlier runs know something.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) done: HashSet<String>,
    pub(crate) begun: HashSet<String>,
    /// Those that are done and have failed.
    pub(crate) failed: HashSet<String>,
    /// Whether these run again.
    pub(crate) again: bool,
}

impl Known {
    pub(crate) fn state(&self, id: &str) -> State {
        match id {
            id if self.again && self.failed.contains(id) => State::Open,
            id if self.done.contains(id) => State::Done,
            id if self.begun.contains(id) => State::Unknown,
            _ => State::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<Input, Box<Rejected>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.jsonl");
        std::fs::write(&path, text).unwrap();
        Input::check(&path, &path, None, |_| State::Open, |_| Ok(()))
    }

    #[test]
    fn all_faults_are_reported_with_their_lines() {
        let text = "{\"id\":\"1\",\"prompt\":\"x\"}\n\n{\"id\":\"é\", \"prompt\":7}\r\n{\"id\":\"1\",\"prompt\":\"y\"}\nno";
        let Rejected { faults, failure } = *checked(text).unwrap_err();
        let ends = [":3:21: ", ":4:7: ", ":5:1: "];
        assert_eq!(faults.len(), 3);
        for (fault, end) in faults.iter().zip(ends) {
            assert!(fault.message.contains(end), "{end} {}", fault.message);
        }
        assert!(failure.message.starts_with("3 lines"), "{}", failure.message);
        assert_eq!(faults[1].code, "duplicate-id");
        assert!(faults[1].message.contains("line 1"));
    }

    #[test]
    fn lines_are_read_again_by_their_number() {
        let mut input =
            checked("\u{feff}{\"id\":\"a\",\"prompt\":\"x\"}\r\n \n{\"id\":\"b\",\"prompt\":\"y\"}").unwrap();
        assert_eq!(input.len(), 2);
        for (number, id, place) in [(1, "b", ":3"), (0, "a", ":1"), (1, "b", ":3")] {
            assert_eq!(input.line(number, None).unwrap().id, id);
            assert!(input.place(number).ends_with(place));
        }
        assert!(input.line(2, None).is_err());
    }

    #[test]
    fn a_line_that_has_changed_is_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.jsonl");
        std::fs::write(&path, "{\"id\":\"a\",\"prompt\":\"x\"}\n").unwrap();
        let mut input = Input::check(&path, &path, None, |_| State::Open, |_| Ok(())).unwrap();
        std::fs::write(&path, "{\"id\":\"b\",\"prompt\":\"x\"}\n").unwrap();
        assert_eq!(input.line(0, None).unwrap_err().code, "input-changed");
    }

    #[test]
    fn many_faults_are_counted() {
        let Rejected { faults, failure } = *checked(&"x\n".repeat(100)).unwrap_err();
        assert_eq!(faults.len(), MOST_FAULTS);
        assert!(failure.message.starts_with("100 lines"));
        assert_eq!(checked("\n").unwrap_err().failure.code, "empty-input");
    }
}
