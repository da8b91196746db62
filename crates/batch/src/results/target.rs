//! The file of results while a run writes it.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_host::failure::{Failure, Kind};
use converse_session::files::{Mode, Replace, replace_with};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::input::Known;

/// Bytes of one result.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// A locked file of results.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) file: File,
    /// Without symbolic links, so that a replacement keeps them.
    pub(super) path: PathBuf,
    /// Where the last whole result ends.
    pub(super) end: u64,
    /// A write has failed, and what it left behind is not cut off yet.
    pub(super) is_torn: bool,
}

/// How each result begins.
const BEGIN: &[u8] = b"{\"id\":\"";

#[derive(Deserialize)]
struct Written {
    id: String,
    exit: u8,
}

/// The bytes of one result in its file.
pub(super) type Span = Range<u64>;

impl Target {
    /// Writes a whole line or nothing.
    pub(super) fn append(&mut self, line: &[u8]) -> Result<(), Failure> {
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
    pub(super) fn spans(&self) -> Result<Vec<(String, Span)>, Failure> {
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
    pub(super) fn rewrite(&mut self, spans: &[Span]) -> Result<(), Failure> {
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

pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("the results could not be written to `{}`: {error}", path.display());
    Failure::new(Kind::Output, "results-failed", message)
}

/// Opens the file and locks it until the run ends.
pub(super) fn opened(path: &Path) -> Result<File, Failure> {
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
pub(super) struct Tail {
    /// Where the last whole result ends.
    pub(super) end: u64,
    /// It is whole, but for the end of its line.
    pub(super) is_unended: bool,
    /// The ids of failed conversations.
    pub(super) failures: HashSet<String>,
}

/// Collects the ids.
pub(super) fn read(file: &File, path: &Path, known: &mut Known) -> Result<Tail, Failure> {
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
pub(super) fn repaired(file: &mut File, end: u64, is_unended: bool) -> std::io::Result<u64> {
    if file.metadata()?.len() > end {
        file.set_len(end)?;
    }
    if !is_unended {
        return Ok(end);
    }
    file.write_all(b"\n")?;
    Ok(end + 1)
}
