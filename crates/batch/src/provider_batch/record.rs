//! `FILE.batches`: the provider batches of a file of results. What is submitted is on disk before it is sent, and its id
//! as soon as it is known, so that no part is submitted twice after a kill.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use converse_canister::Cost;
use converse_host::failure::{Failure, Kind};
use converse_session::files::private_file;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

/// Bytes of one line, which names all parts of a batch.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The record, and what is open in it.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    file: Option<File>,
    pub(crate) open: Vec<Submission>,
}

/// A batch that was submitted, or was about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Submission {
    /// Random, the beginning of the id of each part.
    pub(crate) mark: String,
    /// `provider/model`.
    pub(crate) model: String,
    /// A time before the submission, in RFC 3339.
    pub(crate) since: String,
    /// What it may cost, in millionths of a dollar.
    pub(crate) estimate: Option<u64>,
    /// The conversation and the fingerprint of each part, by the number in its id.
    pub(crate) parts: Vec<(String, String)>,
    /// The provider's id; `None` if the record ends before it was known.
    #[serde(skip)]
    pub(crate) batch: Option<String>,
    /// Since when something is missing that the provider may show late, in RFC 3339.
    #[serde(skip)]
    pub(crate) incomplete: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event {
    /// It is about to be submitted.
    Submitting(Submission),
    /// The provider has it.
    Submitted { mark: String, batch: String },
    /// Results are missing though it has ended, or it is looked for in a list that cannot be read as a whole.
    Incomplete { mark: String, since: String },
    /// Each of its parts has a result, or the provider has refused it.
    Closed { mark: String },
}

impl Submission {
    /// The id of a part.
    pub(crate) fn id(mark: &str, number: usize) -> String {
        format!("{mark}-{number}")
    }

    fn found(&mut self, batch: &str) {
        (self.batch, self.incomplete) = (Some(batch.to_owned()), None);
    }

    /// Returns the number of the part with this id.
    pub(crate) fn number(&self, id: &str) -> Option<usize> {
        let number = id.strip_prefix(&self.mark)?.strip_prefix('-')?.parse().ok()?;
        (number < self.parts.len()).then_some(number)
    }

    /// What it is called in messages.
    pub(crate) fn name(&self) -> &str {
        self.batch.as_deref().unwrap_or("a batch")
    }

    pub(crate) fn estimate(&self) -> Cost {
        Cost(self.estimate.unwrap_or_default())
    }
}

impl Record {
    /// Reads the record beside a file of results.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is damaged.
    pub(crate) fn read(results: &Path) -> Result<Self, Failure> {
        let mut name = results.as_os_str().to_owned();
        name.push(".batches");
        let path = PathBuf::from(name);
        let failed = |why: String| {
            let message = format!("the record `{}` cannot be used: {why}", path.display());
            Failure::new(Kind::Output, "batches-failed", message)
        };
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Self { path, file: None, open: Vec::new() });
            }
            file => file.map_err(|error| failed(error.to_string()))?,
        };
        let (mut reader, mut bytes) = (BufReader::new(file), Vec::new());
        let mut open: Vec<Submission> = Vec::new();
        for number in 1.. {
            bytes.clear();
            let read = reader.by_ref().take(MOST_BYTES).read_until(b'\n', &mut bytes);
            if read.map_err(|error| failed(error.to_string()))? == 0 {
                break;
            }
            // What a kill has cut was not sent yet, or is looked for at the provider.
            let is_last = !bytes.ends_with(b"\n");
            match serde_json::from_slice(&bytes) {
                Ok(Event::Submitting(submission)) => open.push(submission),
                Ok(Event::Submitted { mark, batch }) => {
                    open.iter_mut().filter(|one| one.mark == mark).for_each(|one| one.found(&batch));
                }
                Ok(Event::Incomplete { mark, since }) => {
                    open.iter_mut().filter(|one| one.mark == mark).for_each(|one| {
                        one.incomplete = Some(since.clone());
                    });
                }
                Ok(Event::Closed { mark }) => open.retain(|one| one.mark != mark),
                Err(_) if is_last || bytes.trim_ascii().is_empty() || is_torn(&bytes) => {}
                Err(error) => return Err(failed(format!("line {number}: {error}"))),
            }
        }
        Ok(Self { path, file: None, open })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds what is about to be submitted, on disk when it returns.
    ///
    /// # Errors
    ///
    /// The record cannot be written.
    pub(crate) fn submitting(&mut self, submission: Submission) -> Result<(), Failure> {
        self.write(&Event::Submitting(submission.clone()))?;
        self.open.push(submission);
        Ok(())
    }

    /// Adds the id of a batch.
    ///
    /// # Errors
    ///
    /// As [`submitting`](Self::submitting). The batch can be found at the provider then.
    pub(crate) fn submitted(&mut self, mark: &str, batch: &str) -> Result<(), Failure> {
        self.write(&Event::Submitted { mark: mark.to_owned(), batch: batch.to_owned() })?;
        let named = self.open.iter_mut().find(|one| one.mark == mark);
        named.into_iter().for_each(|one| one.found(batch));
        Ok(())
    }

    /// Adds since when something is missing.
    ///
    /// # Errors
    ///
    /// As [`submitting`](Self::submitting).
    pub(crate) fn incomplete(&mut self, mark: &str, since: &str) -> Result<(), Failure> {
        self.write(&Event::Incomplete { mark: mark.to_owned(), since: since.to_owned() })?;
        let named = self.open.iter_mut().find(|one| one.mark == mark);
        named.into_iter().for_each(|one| one.incomplete = Some(since.to_owned()));
        Ok(())
    }

    /// Closes a submission. The record goes with the last one.
    ///
    /// # Errors
    ///
    /// As [`submitting`](Self::submitting).
    pub(crate) fn close(&mut self, mark: &str) -> Result<(), Failure> {
        self.write(&Event::Closed { mark: mark.to_owned() })?;
        self.open.retain(|one| one.mark != mark);
        if self.open.is_empty() {
            self.file = None;
            // A record that stays has nothing open in it.
            let _ = std::fs::remove_file(&self.path);
        }
        Ok(())
    }

    /// Returns the ids of provider batches in it.
    pub(crate) fn batches(&self) -> HashSet<&str> {
        self.open.iter().filter_map(|one| one.batch.as_deref()).collect()
    }

    /// Checks that all that is open belongs to this model and to these conversations.
    ///
    /// # Errors
    ///
    /// What does not.
    pub(crate) fn belongs(&self, model: &str, places: &HashMap<String, usize>) -> Result<(), Failure> {
        for one in &self.open {
            let batch = one.name();
            if one.model != model {
                let message = format!("{batch} in `{}` is of the model `{}`", self.path.display(), one.model);
                return Err(Failure::usage("pending-batch", message).hint(format!("-m {}", one.model)));
            }
            if let Some((id, _)) = one.parts.iter().find(|(id, _)| !places.contains_key(id)) {
                let path = self.path.display();
                let message =
                    format!("{batch} in `{path}` has the conversation `{id}`, which is not in the input");
                return Err(Failure::usage("pending-batch", message)
                    .hint("run the command with the input that was submitted first"));
            }
        }
        Ok(())
    }

    fn write(&mut self, event: &Event) -> Result<(), Failure> {
        let written = (|| {
            if self.file.is_none() {
                let file = private_file(&self.path, OpenOptions::new().append(true).create(true))?;
                // A line that a kill has cut ends here.
                (&file).write_all(b"\n")?;
                let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
                File::open(dir.unwrap_or(Path::new(".")))?.sync_all()?;
                self.file = Some(file);
            }
            let Some(file) = self.file.as_mut() else { return Ok(()) };
            file.write_all(format!("{}\n", serde_json::to_string(event)?).as_bytes())?;
            file.sync_all()
        })();
        written.map_err(|error: std::io::Error| {
            let message = format!("`{}` could not be written: {error}", self.path.display());
            Failure::new(Kind::Output, "batches-failed", message)
        })
    }
}

/// Whether a kill has cut this line, and a later run has ended it.
fn is_torn(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes.trim_ascii_end()).is_err_and(|error| error.is_eof())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submission(mark: &str) -> Submission {
        Submission {
            mark: mark.to_owned(),
            model: "p/m".to_owned(),
            since: "2026-11-24T00:00:00Z".to_owned(),
            estimate: Some(7),
            parts: vec![("a".to_owned(), "f".to_owned()), ("b\n".to_owned(), "g".to_owned())],
            batch: None,
            incomplete: None,
        }
    }

    #[test]
    fn what_is_open_survives_and_the_record_goes_with_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("out.jsonl");
        let mut record = Record::read(&results).unwrap();
        for mark in ["m1", "m2", "m3"] {
            record.submitting(submission(mark)).unwrap();
        }
        record.submitted("m2", "batch_2").unwrap();
        record.incomplete("m3", "2026-11-24T01:00:00Z").unwrap();
        record.close("m1").unwrap();
        let mut again = Record::read(&results).unwrap();
        assert_eq!(again.open, record.open);
        assert_eq!(again.open[0].batch.as_deref(), Some("batch_2"));
        assert_eq!(again.open[1].incomplete.as_deref(), Some("2026-11-24T01:00:00Z"));
        again.submitted("m3", "batch_3").unwrap();
        assert_eq!(again.open[1].incomplete, None, "a batch that is found may be incomplete anew");
        assert_eq!(Record::read(&results).unwrap().open, again.open);
        again.close("m2").unwrap();
        again.close("m3").unwrap();
        assert!(!again.path().exists());
    }

    #[test]
    fn a_line_that_was_cut_is_left_out_and_damage_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let results = dir.path().join("out.jsonl");
        let mut record = Record::read(&results).unwrap();
        record.submitting(submission("m1")).unwrap();
        let path = record.path().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"event\":\"submitt")).unwrap();
        let mut record = Record::read(&results).unwrap();
        record.submitted("m1", "b").unwrap();
        assert_eq!(Record::read(&results).unwrap().open, record.open);
        std::fs::write(&path, format!("{text}{{\"event\":\"other\"}}\n")).unwrap();
        assert_eq!(Record::read(&results).unwrap_err().code, "batches-failed");
    }

    #[test]
    fn ids_of_parts_lead_back_to_them_alone() {
        let one = submission("m1");
        assert_eq!(one.number(&Submission::id("m1", 1)), Some(1));
        for id in ["m1-2", "m10-0", "m1", "m1-", "m1--1", "x", "m2-0"] {
            assert_eq!(one.number(id), None, "{id}");
        }
    }

    #[test]
    fn other_models_and_other_inputs_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Record::read(&dir.path().join("out.jsonl")).unwrap();
        record.submitting(submission("m1")).unwrap();
        let places = |ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), 0)).collect::<HashMap<_, _>>();
        assert!(record.belongs("p/m", &places(&["a", "b\n", "c"])).is_ok());
        assert!(record.belongs("p/other", &places(&["a", "b\n"])).is_err());
        assert!(record.belongs("p/m", &places(&["a"])).is_err());
    }
}
