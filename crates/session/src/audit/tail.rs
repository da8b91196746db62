//! The end of the chain, read backwards from the end of the file.
//!
//! Records say up to which record the log was on disk. After a power cut, any part of what follows that record may be
//! missing, also in the middle. So the chain is followed from there, and from the first record that does not fit, the rest
//! of the file is a torn tail. A log of an older version says nothing about syncs; its end is the last readable record.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use converse_canister::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::MAX_LINE_BYTES;
use crate::digest;

/// Bytes to read first; most lines are shorter.
const GLANCE: usize = 4096;

/// Limit on the bytes in which a record that was on disk is searched.
const SEARCHED: usize = 4 * 1024 * 1024;

/// The end of the complete lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// Number of the last record, or 0.
    pub(super) seq: u64,
    /// SHA-256 of the last line with its newline, or zeros.
    pub(super) head: Digest,
    /// Bytes of complete lines.
    pub(super) length: u64,
}

impl Default for End {
    fn default() -> Self {
        Self { seq: 0, head: Digest([0; 32]), length: 0 }
    }
}

impl End {
    /// Advances by one line.
    pub(super) fn follow(&mut self, line: &[u8]) {
        *self = Self { seq: self.seq + 1, head: digest(line), length: self.length + line.len() as u64 };
    }
}

/// The end of a file.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) end: End,
    /// What a crash left after it.
    pub(super) torn: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Unusable {
    Io(io::Error),
    Damaged(String),
}

/// The part of a record that links it to the chain. Other fields are skipped.
#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: Digest,
    /// The last record that was on disk when this one was written.
    #[serde(default)]
    pub(super) synced: Option<u64>,
    #[serde(default)]
    pub(super) kind: Option<String>,
}

/// Reads the end of a locked file. `before` is the end of the files before it.
pub(super) fn read(
    file: &File,
    length: u64,
    before: impl Fn() -> Result<End, Unusable>,
) -> Result<Tail, Unusable> {
    let mut wanted = GLANCE;
    loop {
        let start = length.saturating_sub(wanted as u64);
        let mut bytes = vec![0; (length - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(Unusable::Io)?;
        let skipped = match start {
            0 => 0,
            _ => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1),
        };
        let window = Window::of(start + skipped as u64, bytes.split_off(skipped));
        let before = if start == 0 { Some(before()?) } else { None };
        if let Some(tail) = window.behind_sync(before.as_ref()) {
            return Ok(tail);
        }
        if start == 0 || wanted >= SEARCHED {
            let last = || last_line(file, length, before.unwrap_or_default());
            return window.behind_last_record().map_or_else(last, Ok);
        }
        wanted *= 4;
    }
}

/// The last lines of a file.
struct Window {
    start: u64,
    bytes: Vec<u8>,
    lines: Vec<Range<usize>>,
    /// What links each complete line to the chain; `None` if it is not a record.
    links: Vec<Option<Link>>,
}

impl Window {
    fn of(start: u64, bytes: Vec<u8>) -> Self {
        let ends = memchr::memchr_iter(b'\n', &bytes).map(|at| at + 1);
        let lines: Vec<_> = ends.scan(0, |from, to| Some(std::mem::replace(from, to)..to)).collect();
        let links = lines.iter().map(|line| serde_json::from_slice(bytes.get(line.clone())?).ok()).collect();
        Self { start, bytes, lines, links }
    }

    /// Follows the chain from the last record that is known to have been on disk.
    fn behind_sync(&self, before: Option<&End>) -> Option<Tail> {
        let synced = self.links.iter().flatten().filter_map(|link| link.synced).max()?;
        let is_synced = |link: &Option<Link>| link.as_ref().is_some_and(|link| link.seq == synced);
        let (mut end, from) = match self.links.iter().position(is_synced) {
            Some(at) => (self.end_at(at)?, at + 1),
            None => (before.filter(|before| before.seq == synced)?.clone(), 0),
        };
        for (line, link) in self.lines.iter().zip(&self.links).skip(from) {
            match link {
                Some(link) if link.seq == end.seq + 1 && link.prev == end.head => {
                    end.follow(self.bytes.get(line.clone())?);
                }
                _ => break,
            }
        }
        Some(self.tail(end))
    }

    fn behind_last_record(&self) -> Option<Tail> {
        let last = self.links.iter().rposition(Option::is_some)?;
        Some(self.tail(self.end_at(last)?))
    }

    fn end_at(&self, at: usize) -> Option<End> {
        let (line, link) = (self.lines.get(at)?, self.links.get(at)?.as_ref()?);
        let head = digest(self.bytes.get(line.clone())?);
        Some(End { seq: link.seq, head, length: self.start + line.end as u64 })
    }

    fn tail(&self, end: End) -> Tail {
        let torn = self.bytes.get((end.length - self.start) as usize..).unwrap_or_default().to_vec();
        Tail { end, torn }
    }
}

/// Returns the end of a log whose last lines are not records, or are very long.
fn last_line(file: &File, length: u64, before: End) -> Result<Tail, Unusable> {
    let damaged = |reason: &str| Unusable::Damaged(reason.to_owned());
    let torn = behind_newline(file, length)?;
    let whole = length - torn.len() as u64;
    if !could_be_torn(&torn) {
        return Err(damaged("the bytes after the last line are not part of a record"));
    }
    if whole == 0 {
        return Ok(Tail { end: before, torn });
    }
    let mut line = behind_newline(file, whole - 1)?;
    line.push(b'\n');
    let link: Link = serde_json::from_slice(&line)
        .map_err(|_| damaged("the last line is not a record of an audit log"))?;
    let end = End { seq: link.seq, head: digest(&line), length: whole };
    Ok(Tail { end, torn })
}

/// Returns the bytes between `until` and the last newline before it.
fn behind_newline(file: &File, until: u64) -> Result<Vec<u8>, Unusable> {
    let mut wanted = GLANCE;
    loop {
        let start = until.saturating_sub(wanted as u64);
        let mut bytes = vec![0; (until - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(Unusable::Io)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(bytes.split_off(at + 1));
        }
        if start == 0 {
            return Ok(bytes);
        }
        if wanted > MAX_LINE_BYTES {
            return Err(Unusable::Damaged("the last line is longer than any record".to_owned()));
        }
        wanted *= 4;
    }
}

/// Returns whether a crash could have left these bytes: the beginning of a record, or zeros where a file system never
/// received the bytes.
pub(super) fn could_be_torn(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let piece = bytes.get(..bytes.len() - zeros).unwrap_or_default();
    let begins = piece.first().is_none_or(|byte| *byte == b'{');
    let mut values = serde_json::Deserializer::from_slice(piece).into_iter::<IgnoredAny>();
    begins
        && match values.next() {
            None => true,
            Some(Ok(_)) => values.byte_offset() == piece.len(),
            Some(Err(error)) => error.is_eof(),
        }
}
