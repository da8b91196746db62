//! Verifies the chain of an audit log.
//!
//! A changed line shows in the line after it, whose `prev` no longer matches, so the reason names both lines. Only a head
//! that was noted elsewhere protects the last line. Zeros in lines that no sync covered are what a
//! power cut leaves; the next record repairs them.

use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

use converse_canister::Digest;

use super::MAX_LINE_BYTES;
use super::older;
use super::record::REPAIR;
use super::tail::{End, Link, could_be_torn};
use crate::storage::AuditLines;

/// A log with a valid chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub records: u64,
    /// Number of earlier records, in older files that were removed.
    pub before: u64,
    /// SHA-256 of the last line with its newline, or zeros. Note it elsewhere.
    pub head: Digest,
    /// Bytes after the last line that a crash left incomplete, or that a process is writing.
    pub torn: usize,
    /// Records of repairs: bytes that a crash left incomplete were cut off and kept beside the log.
    pub repairs: u64,
}

/// The place where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Broken {
    /// The first line that does not follow from the lines before it, from 1.
    pub line: u64,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a log of one file to its end. `noted` is an earlier head, whose line must still exist.
pub fn verify(reader: impl BufRead, noted: Option<&Digest>) -> Result<Verified, VerifyError> {
    let mut chain = Chain::new(noted);
    chain.read(reader, None)?;
    Ok(chain.finish()?)
}

/// Verifies the log at `path` with its older files, or one older file, and returns the result with the number of files.
/// The earliest older file may begin with a later record than the first, as its name says: users may remove older files.
/// A log that does not exist is empty. An error names its file.
pub fn verify_files(
    path: &Path,
    noted: Option<&Digest>,
) -> Result<(Verified, usize), (PathBuf, VerifyError)> {
    let failed = |path: &Path, error: io::Error| (path.to_owned(), VerifyError::Io(error));
    // Opened first: if it becomes an older file meanwhile, it is not read twice.
    let last = match crate::files::regular(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        last => Some(last.map_err(|error| failed(path, error))?),
    };
    let mut files = match older::first_by_name(path) {
        Some(first) => vec![(first, path.to_owned())],
        None => older::older(path).map_err(|error| failed(path, error))?,
    };
    if let Some(last) = &last {
        let is_last = |(_, one): &(u64, PathBuf)| older::is_at(last, one).unwrap_or(false);
        files.truncate(files.iter().position(is_last).map_or(files.len(), |at| at + 1));
    }
    let mut chain = Chain::new(noted);
    for (first, path) in &files {
        let whole = crate::files::regular(path)
            .map_err(VerifyError::Io)
            .and_then(|file| chain.read(BufReader::new(file), Some(*first)));
        let whole = whole.and_then(|()| if chain.torn > 0 { Err(chain.incomplete().into()) } else { Ok(()) });
        whole.map_err(|error| (path.clone(), error))?;
    }
    let mut count = files.len();
    if let Some(last) = last
        && !files.iter().any(|(_, one)| older::is_at(&last, one).unwrap_or(false))
    {
        chain.read(BufReader::new(last), None).map_err(|error| (path.to_owned(), error))?;
        count += 1;
    }
    chain.finish().map(|verified| (verified, count)).map_err(|error| (path.to_owned(), error.into()))
}

/// Verifies a log that is rows of a database, and returns the result with whether `noted`, an earlier head, is the hash of
/// one of its lines. It may begin with a later record than the first: users may remove the earliest lines. In an error, the
/// line is the number of the record.
pub fn verify_chain(lines: &dyn AuditLines, noted: Option<&Digest>) -> Result<(Verified, bool), VerifyError> {
    // Read first: lines that are appended meanwhile come after it.
    let kept = Digest(lines.end()?.head);
    let mut chain = Chain::new(Some(&kept));
    let mut has_noted = noted.is_none_or(|noted| *noted == chain.end.head);
    loop {
        let page = lines.after(chain.end.seq)?;
        if page.is_empty() {
            break;
        }
        for (seq, line) in page {
            chain.follow_row(seq, &line)?;
            has_noted |= noted == Some(&chain.end.head);
        }
    }
    if !chain.seen {
        let reason = "the last line that the database knows of is not here: lines at the end were removed, or the last line was changed";
        return Err(Broken { line: chain.end.seq.max(1), reason: reason.to_owned() }.into());
    }
    if chain.end.seq > lines.end()?.seq {
        let reason = "the line follows the last one that the database knows of";
        return Err(Broken { line: chain.end.seq, reason: reason.to_owned() }.into());
    }
    Ok((chain.finish()?, has_noted))
}

/// A chain that is being read.
struct Chain<'n> {
    noted: Option<&'n Digest>,
    seen: bool,
    end: End,
    /// The number of the record before the first one, and before the first one of the file.
    before: u64,
    before_file: u64,
    repairs: u64,
    synced: Option<u64>,
    torn: usize,
}

impl<'n> Chain<'n> {
    fn new(noted: Option<&'n Digest>) -> Self {
        let end = End::default();
        let seen = noted.is_none_or(|noted| *noted == end.head);
        Self { noted, seen, end, before: 0, before_file: 0, repairs: 0, synced: None, torn: 0 }
    }

    fn at(&self, reason: String) -> Broken {
        Broken { line: self.end.seq + 1 - self.before_file, reason }
    }

    fn incomplete(&self) -> Broken {
        self.at("the last line is incomplete, although another file follows".to_owned())
    }

    /// Reads one file. `first` is the number of the first record that its name states.
    fn read(&mut self, mut reader: impl BufRead, first: Option<u64>) -> Result<(), VerifyError> {
        self.before_file = self.end.seq;
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line)?;
            if line.len() > MAX_LINE_BYTES {
                return Err(self.at(format!("the line has more than {MAX_LINE_BYTES} bytes")).into());
            }
            if !line.ends_with(b"\n") {
                if !could_be_torn(&line) {
                    let reason =
                        "the line has no newline and is not a part of a record that a crash could leave";
                    return Err(self.at(reason.to_owned()).into());
                }
                break;
            }
            self.begin_late(&line, first);
            match follows(&self.end, &line) {
                Ok(link) => {
                    self.synced = self.synced.max(link.synced);
                    self.repairs += u64::from(link.kind.as_deref() == Some(REPAIR));
                }
                // A file system leaves zeros where a sector never reached the disk.
                Err(reason) if line.windows(2).any(|bytes| bytes == [0, 0]) => {
                    reader.read_to_end(&mut line)?;
                    let later = line
                        .split(|byte| *byte == b'\n')
                        .filter_map(|line| serde_json::from_slice(line).ok());
                    self.synced = later.fold(self.synced, |synced, link: Link| synced.max(link.synced));
                    if self.synced.is_none_or(|synced| synced > self.end.seq) {
                        return Err(self.at(reason).into());
                    }
                    break;
                }
                Err(reason) => return Err(self.at(reason).into()),
            }
            self.end.follow(&line);
            self.seen |= self.noted == Some(&self.end.head);
        }
        self.torn = line.len();
        Ok(())
    }

    /// Takes the next line of a database.
    fn follow_row(&mut self, seq: u64, line: &[u8]) -> Result<(), Broken> {
        if seq > 1 {
            self.begin_late(line, Some(seq));
            self.before_file = 0;
        }
        if line.len() > MAX_LINE_BYTES {
            return Err(self.at(format!("the line has more than {MAX_LINE_BYTES} bytes")));
        }
        if seq != self.end.seq + 1 {
            return Err(self.at(format!("the next line is {seq}: lines are missing")));
        }
        if !line.ends_with(b"\n") {
            return Err(self.at("the line has no newline".to_owned()));
        }
        let link = follows(&self.end, line).map_err(|reason| self.at(reason))?;
        self.repairs += u64::from(link.kind.as_deref() == Some(REPAIR));
        self.end.follow(line);
        self.seen |= self.noted == Some(&self.end.head);
        Ok(())
    }

    /// Begins with the first record of the earliest file, if that is the one that its name states.
    fn begin_late(&mut self, line: &[u8], first: Option<u64>) {
        if self.end.seq == 0
            && let Ok(link) = serde_json::from_slice::<Link>(line)
            && first == Some(link.seq)
            && let Some(before) = link.seq.checked_sub(1)
        {
            self.end = End { seq: before, head: link.prev, length: 0 };
            (self.before, self.before_file) = (before, before);
        }
    }

    fn finish(self) -> Result<Verified, Broken> {
        let Self { seen, end, before, before_file, repairs, torn, .. } = self;
        if !seen {
            let reason = "the noted head is not a line of this log: lines at the end were removed, or the last line was changed";
            let line = (end.seq - before_file).max(1);
            return Err(Broken { line, reason: reason.to_owned() });
        }
        Ok(Verified { records: end.seq - before, before, head: end.head, torn, repairs })
    }
}

fn follows(end: &End, line: &[u8]) -> Result<Link, String> {
    let link: Link = serde_json::from_slice(line).map_err(|error| format!("not a record: {error}"))?;
    let number = end.seq + 1;
    if link.seq != number {
        return Err(format!("`seq` is {}, not {number}: lines are missing, repeated or moved", link.seq));
    }
    if link.prev == end.head {
        return Ok(link);
    }
    Err(match end.seq {
        0 => "`prev` of the first line is not zeros: lines before it are missing".to_owned(),
        before => format!("`prev` is not the hash of line {before}: one of the two was changed"),
    })
}
