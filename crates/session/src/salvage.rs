//! Saves the readable lines of a damaged session as a new session. The damaged session stays unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader};
use std::path::Path;

use converse_canister::Canister;
use jiff::Timestamp;
use uuid::Uuid;

use crate::check::SAVED;
use crate::lock::Lock;
use crate::repair::load;
use crate::scan::{Scan, scan_to_damage};
use crate::synced::Synced;
use crate::{
    Body, Entry, Header, Loaded, Metadata, Session, SessionError, Store, digest, files, journal, new_id, sum,
};

impl Store {
    /// Makes a new session of all readable lines, with all content and metadata. Returns its id and the number of lost
    /// lines. Journals of format 1 have no checksums, so their lines after the first damaged one are lost. The caller
    /// should check the session first: an undamaged one is copied, and one of a later format is refused.
    pub fn salvage(&self, id: Uuid, now: Timestamp) -> Result<(Uuid, u64), SessionError> {
        let dir = self.existing(id)?;
        // Nobody may write the session meanwhile.
        let _lock = Lock::take(&dir)?;
        let path = dir.join(journal::FILE);
        let bytes = match files::regular(&path).and_then(|_| fs::read(&path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SessionError::Empty { path });
            }
            bytes => bytes.map_err(SessionError::io(&path))?,
        };
        let Kept { header, entries, lost } = readable(&bytes, &path, now)?;
        let header = Header { format: crate::FORMAT, ..header };
        // The new session has the time of the last use of the damaged one.
        let modified = journal::modified(&dir).map_err(SessionError::io(&path))?;
        let new = salvaged_id(id, now);
        self.place(new, header, |session| {
            session.metadata = described(&dir);
            adopt_all(&dir, session)?;
            entries.into_iter().try_for_each(|entry| session.append(entry.body, entry.at).map(drop))?;
            journal::date(session.dir(), modified).map_err(SessionError::io(&path))
        })?;
        Ok((new, lost))
    }
}

/// The lines of a damaged journal that are kept, renumbered, with lines that close what they leave open.
struct Kept {
    header: Header,
    entries: Vec<Entry>,
    /// Lines that are left out.
    lost: u64,
}

/// Returns every line that can be read. Lines with checksums are also kept after the first damaged one.
fn readable(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Kept, SessionError> {
    let read = |bytes: &[u8]| Ok(scan_to_damage(BufReader::new(bytes), Synced::default(), path)?.0);
    let mut scan = match read(bytes) {
        Err(SessionError::Corrupt { line: 1, .. }) => headless(bytes, path, now)?,
        read => read?,
    };
    let mut read = u64::from(scan.length > 0);
    if scan.header.format == 1 {
        read += scan.entries.len() as u64;
    } else {
        let valid = valid_lines(bytes, scan.header.format);
        read += valid.len() as u64;
        scan.entries = numbered(valid);
    }
    let mut kept =
        Kept { header: scan.header, entries: scan.entries, lost: lines(bytes).saturating_sub(read) };
    kept.obey(path)?;
    Ok(kept)
}

/// Returns the lines whose checksums match, by their numbers. Of two lines with one number, the first is kept.
fn valid_lines(bytes: &[u8], format: u32) -> BTreeMap<u64, Entry> {
    let mut valid = BTreeMap::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n').skip(1).filter(|line| line.ends_with(b"\n")) {
        let Ok(entry) = Entry::of_format(format, line) else { continue };
        let is_valid = match entry.body {
            Body::Opened(_) => false,
            Body::Rewound { to } => (1..entry.seq).contains(&to),
            _ => entry.seq > 1,
        };
        if is_valid {
            valid.entry(entry.seq).or_insert(entry);
        }
    }
    valid
}

/// Numbers the lines without gaps. A reply next to a gap is marked as incomplete, and a summary after a gap counts
/// messages that are lost, so it is left out.
fn numbered(valid: BTreeMap<u64, Entry>) -> Vec<Entry> {
    let numbers: Vec<u64> = valid.keys().copied().collect();
    let gap = |index: usize| {
        let before = index.checked_sub(1).and_then(|before| numbers.get(before)).map_or(1, |before| *before);
        numbers.get(index).is_some_and(|number| *number > before + 1)
    };
    let mut entries: Vec<Entry> = valid.into_values().collect();
    for entry in &mut entries {
        if let Body::Rewound { to } = &mut entry.body {
            // The last kept line up to that one; line 1 is always there.
            *to = numbers.partition_point(|number| number <= to) as u64 + 1;
        }
    }
    let first = (0..entries.len()).find(|index| gap(*index)).unwrap_or(entries.len());
    for index in (0..entries.len()).rev() {
        let is_summary = matches!(entries.get(index), Some(Entry { body: Body::Condensed { .. }, .. }));
        let beside = if gap(index) { beside(&entries, index) } else { Vec::new() };
        if is_summary && index >= first {
            remove(&mut entries, index);
        }
        insert(&mut entries, index, beside);
    }
    renumber(&mut entries);
    entries
}

/// Returns the marks for the replies before and after a gap, of which a part may be lost.
fn beside(entries: &[Entry], index: usize) -> Vec<Body> {
    let turn = |index: Option<usize>| match &entries.get(index?)?.body {
        Body::Canister { canister } => canister.turn(),
        _ => None,
    };
    let (before, after) = (turn(index.checked_sub(1)), turn(Some(index)));
    let marks = before.into_iter().chain(after.filter(|after| before != Some(*after)));
    marks.map(|turn| Body::Incomplete { turn }).collect()
}

/// Adds lines before the one at `index`.
fn insert(entries: &mut Vec<Entry>, index: usize, bodies: Vec<Body>) {
    let Some(at) = entries.get(index).map(|entry| entry.at) else { return };
    let count = bodies.len() as u64;
    entries.splice(index..index, bodies.into_iter().map(|body| Entry { seq: 0, at, body }));
    shift(entries, index, |to| to + count);
}

fn remove(entries: &mut Vec<Entry>, index: usize) {
    entries.remove(index);
    shift(entries, index, |to| to - 1);
}

/// Moves the steps back that lead to the line at `index` or to a later one. Line 2 is the first entry.
fn shift(entries: &mut [Entry], index: usize, moved: impl Fn(u64) -> u64) {
    for entry in entries {
        if let Body::Rewound { to } = &mut entry.body
            && *to >= index as u64 + 2
        {
            *to = moved(*to);
        }
    }
}

fn renumber(entries: &mut [Entry]) {
    entries.iter_mut().zip(2..).for_each(|(entry, seq)| entry.seq = seq);
}

impl Kept {
    /// Closes invocations whose results are lost, and leaves out the lines that then still make no conversation.
    fn obey(&mut self, path: &Path) -> Result<(), SessionError> {
        loop {
            let line = match self.load(self.entries.len(), path) {
                Err(SessionError::Corrupt { line, .. }) if line >= 2 => line,
                other => return other.map(drop),
            };
            let index = usize::try_from(line - 2).unwrap_or_default();
            let is_result = self
                .entries
                .get(index)
                .is_some_and(|entry| matches!(&entry.body, Body::Canister { canister: Canister::Result(_) }));
            let closing = if is_result { Vec::new() } else { self.load(index, path)?.closing() };
            if closing.is_empty() {
                remove(&mut self.entries, index);
                self.lost += 1;
            } else {
                insert(&mut self.entries, index, closing);
            }
            renumber(&mut self.entries);
        }
    }

    /// Builds the conversation of the first lines.
    fn load(&self, count: usize, path: &Path) -> Result<Loaded, SessionError> {
        let entries = self.entries.iter().take(count).cloned().collect();
        load(Scan { header: self.header.clone(), entries, length: 0, torn: Vec::new() }, path)
    }
}

/// Reads the lines after an unreadable first line, which is replaced. The `length` of the result is 0.
fn headless(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Scan, SessionError> {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let header = Header::new("an unknown program", now);
    let rest = bytes.get(end..).unwrap_or_default();
    // The other lines reveal the format of the lost line.
    let sealed = rest.split(|byte| *byte == b'\n').any(|line| sum::holds(line).is_some());
    let header = Header { format: if sealed { crate::FORMAT } else { 1 }, ..header };
    let mut first = Entry { seq: 1, at: now, body: header.into() }.to_line()?;
    if !sealed {
        first = [sum::without(first.trim_ascii_end()).unwrap_or_default(), b"}\n"].concat();
    }
    let whole = [&first, rest].concat();
    let (scan, _) = scan_to_damage(BufReader::new(whole.as_slice()), Synced::default(), path)?;
    Ok(Scan { length: 0, ..scan })
}

/// Counts lines, including an unfinished one.
fn lines(bytes: &[u8]) -> u64 {
    let whole = memchr::memchr_iter(b'\n', bytes).count() as u64;
    whole + u64::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}

/// Returns an id for the new session. This crate has no random numbers, so it uses a digest of the id and the time.
fn salvaged_id(id: Uuid, now: Timestamp) -> Uuid {
    let seed = [id.as_bytes().as_slice(), &now.as_nanosecond().to_le_bytes()].concat();
    let digest = digest(&seed);
    let mut dice = [0; 10];
    dice.iter_mut().zip(digest.0).for_each(|(die, byte)| *die = byte);
    new_id(now, &dice)
}

fn described(dir: &Path) -> Metadata {
    let mut metadata = Metadata::read(dir);
    metadata.other.remove(SAVED);
    // Two sessions with the same name could not be distinguished.
    metadata.name = metadata.name.map(|name| format!("{name} (saved)"));
    metadata
}

/// Copies all content that matches its name, needed or not.
fn adopt_all(from: &Path, session: &Session) -> Result<(), SessionError> {
    let dir = from.join("content");
    let entries = match fs::read_dir(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => {
            entries.and_then(Iterator::collect::<io::Result<Vec<_>>>).map_err(SessionError::io(&dir))?
        }
    };
    for entry in entries {
        let path = entry.path();
        let bytes = files::regular(&path).and_then(|_| fs::read(&path)).map_err(SessionError::io(&path))?;
        if entry.file_name().to_string_lossy() == digest(&bytes).to_string() {
            session.contents.put(&bytes)?;
        }
    }
    Ok(())
}
