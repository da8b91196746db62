//! The index of all sessions: what a list shows of each of them, in one file beside the sessions.
//!
//! The index is derived from the journals and the metadata and may be deleted at any time. A session whose entry is
//! missing, outdated or damaged is read itself. The file is replaced atomically, without a lock or sync: if two processes
//! write it at once, one of them wins.
//!
//! The file `list-index`: the line `converse-list 1`, then one line for each session: the CRC-32 of the rest as eight hex
//! digits, a blank, and an entry as JSON.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::files::{self, Replace};
use crate::storage::SessionStorage;
use crate::{Metadata, Summary, journal, metadata};

pub(crate) const FILE: &str = "list-index";
const FIRST: &str = "converse-list 1";
/// A longer index is not read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Identifies one state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    inode: u64,
    /// Times of the last change of the content and of the file, in seconds and nanoseconds since 1970.
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// Returns `None` if there is no file.
    fn of(path: &Path) -> io::Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(file) => Ok(Some(Self {
                bytes: file.len(),
                inode: file.ino(),
                modified: (file.mtime(), file.mtime_nsec()),
                changed: (file.ctime(), file.ctime_nsec()),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The files that an entry was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Stamps {
    journal: Stamp,
    metadata: Option<Stamp>,
}

impl Stamps {
    /// Returns `None` if the session has no journal, or a file cannot be examined.
    fn of(dir: &Path) -> Option<Self> {
        let journal = Stamp::of(&dir.join(journal::FILE)).ok()??;
        Some(Self { journal, metadata: Stamp::of(&dir.join(metadata::FILE)).ok()? })
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    id: String,
    stamps: Stamps,
    created: Timestamp,
    updated: Timestamp,
    words: String,
    canisters: usize,
    metadata: Metadata,
}

impl Entry {
    fn of(summary: &Summary, stamps: Stamps) -> Self {
        let Summary { id, created, updated, words, canisters, metadata, .. } = summary.clone();
        Self { id: id.to_string(), stamps, created, updated, words, canisters, metadata }
    }

    fn summary(self, id: Uuid) -> Summary {
        let Self { created, updated, words, canisters, metadata, .. } = self;
        Summary { id, created, updated, words, canisters, metadata, problem: None, hollow: false }
    }

    /// Returns `None` if the entry would be read as another one.
    fn line(&self) -> Option<String> {
        let json = serde_json::to_string(self).ok()?;
        let line = format!("{:08x} {json}", crc32fast::hash(json.as_bytes()));
        (parsed(&line).as_ref() == Some(self)).then_some(line)
    }
}

/// Returns the entry of a line; `None` if the line is damaged.
fn parsed(line: &str) -> Option<Entry> {
    let (sum, json) = line.split_once(' ')?;
    let holds = sum.len() == 8 && u32::from_str_radix(sum, 16) == Ok(crc32fast::hash(json.as_bytes()));
    serde_json::from_str(json).ok().filter(|_| holds)
}

/// The stored entries, and the lines of the next index.
#[derive(Debug, Default)]
pub(crate) struct ListIndex {
    stored: HashMap<String, (Entry, String)>,
    lines: Vec<(Uuid, String)>,
    is_outdated: bool,
}

impl ListIndex {
    /// Reads the index of the sessions in `dir`. Whatever is damaged is left out.
    pub(crate) fn read(dir: &Path) -> Self {
        let mut stored = HashMap::new();
        for line in lines(dir) {
            if let Some(entry) = parsed(&line) {
                stored.insert(entry.id.clone(), (entry, line));
            }
        }
        Self { stored, ..Self::default() }
    }

    /// Returns the summary of a session, from the index if its files are as they were.
    pub(crate) fn summary(&mut self, at: &dyn SessionStorage, id: Uuid) -> Summary {
        // Before the session is read: if it changes meanwhile, the entry does not fit the next time.
        let stamps = Stamps::of(at.dir());
        if let Some((entry, line)) = self.stored.remove(&id.to_string()) {
            if Some(entry.stamps) == stamps {
                self.lines.push((id, line));
                return entry.summary(id);
            }
            self.is_outdated = true;
        }
        let summary = Summary::of(at, id);
        let lasts = summary.problem.is_none() && !summary.hollow;
        if let Some(line) = stamps.filter(|_| lasts).and_then(|stamps| Entry::of(&summary, stamps).line()) {
            self.lines.push((id, line));
            self.is_outdated = true;
        }
        summary
    }

    /// Writes the entries of the sessions that were asked for, unless they are stored already. Failures are ignored.
    pub(crate) fn store(&self, dir: &Path) {
        // What is left belongs to sessions that are gone.
        if self.is_outdated || !self.stored.is_empty() {
            write(dir, self.lines.iter().map(|(_, line)| line.as_str()));
            // A session that was deleted meanwhile may have removed its entry from the file before.
            let is_there = |(id, _): &&(Uuid, String)| dir.join(id.to_string()).exists();
            let left: Vec<&str> = self.lines.iter().filter(is_there).map(|(_, line)| line.as_str()).collect();
            if left.len() < self.lines.len() {
                write(dir, left);
            }
        }
    }
}

/// Removes the entry of a session that was deleted.
pub(crate) fn forget(dir: &Path, id: &str) {
    let all = lines(dir);
    let left: Vec<&str> = all.iter().map(String::as_str).filter(|line| !line.contains(id)).collect();
    if left.len() < all.len() {
        write(dir, left);
    }
}

/// Returns the lines after the first.
fn lines(dir: &Path) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = files::regular(&dir.join(FILE)).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    match (read, lines.next()) {
        (Ok(_), Some(FIRST)) => lines.map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn write<'l>(dir: &Path, lines: impl IntoIterator<Item = &'l str>) {
    let text: String = [FIRST].into_iter().chain(lines).flat_map(|line| [line, "\n"]).collect();
    let _ = files::replace(&dir.join(FILE), text.as_bytes(), Replace::CACHE);
}

#[cfg(test)]
mod tests;
