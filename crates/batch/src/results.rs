//! Where results go: stdout, or a file from which a run can be resumed.
//!
//! A result is one line, written at once. A file that ends in the middle of a line was written by a run that was killed;
//! that line is cut off, and its conversation runs again. Before a tool with effects runs, the id of its conversation is
//! on disk in a second file (`FILE.begun`): if that conversation has no result after a kill, nobody knows what its tools
//! have done, so it is not run again.
//!
//! Results in the order of the input are written to a file as they come, so that a kill loses none; the file is sorted
//! when the run ends. On stdout they wait for each other.

mod begun;
mod target;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use converse_host::failure::Failure;
use converse_terminal::render::output::{printable, write_stdout};
use serde_json::Value;

use crate::input::Known;
pub use begun::Begun;
use begun::{begun_path, ids, write_ids};
use target::{Tail, Target, opened, read, repaired, unwritten};

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
        let end = repaired(&mut file, end, is_unended).map_err(failed)?;
        let begun = Some(Arc::new(Begun::new(begun_path)));
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

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
