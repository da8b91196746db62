//! Saves the readable lines of a damaged session as a new session. The damaged session stays unchanged.

use std::collections::{BTreeMap, HashSet};
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use converse_canister::{Canister, Digest, InvocationId, Transcript};
use jiff::Timestamp;
use uuid::Uuid;

use crate::check::SAVED;
use crate::course::Course;
use crate::entry::KNOWN;
use crate::scan::{Scan, scan_to_damage};
use crate::storage::{Area, SessionStorage, is_missing, read_all};
use crate::synced::Synced;
use crate::{
    Body, Contents, Entry, Header, Metadata, Repair, Session, SessionError, Store, digest, journal, new_id,
    sum,
};

/// A session of saved lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Salvaged {
    pub id: Uuid,
    /// Number of lost lines.
    pub lost: u64,
    /// A lost line may have been a step back (`rewound`): what it took back is then in the conversation again.
    pub may_restore: bool,
}

impl Store {
    /// Makes a new session of all readable lines, with all content and metadata. Journals of format 1 have no checksums, so their lines after the first damaged one are lost. The caller
    /// should check the session first: an undamaged one is copied, and one of a later format is refused.
    pub fn salvage(&self, id: Uuid, now: Timestamp) -> Result<Salvaged, SessionError> {
        let at = self.existing(id)?;
        // Nobody may write the session meanwhile.
        let _lock = at.lock()?;
        let path = at.path(journal::FILE);
        let bytes = match read_all(&*at, journal::FILE) {
            Err(error) if is_missing(&error) => return Err(SessionError::Empty { path }),
            bytes => bytes.map_err(SessionError::io(&path))?,
        };
        let Kept { header, entries, lost, may_restore } = readable(&bytes, &path, now)?;
        let header = Header { format: crate::FORMAT, ..header };
        // The new session has the time of the last use of the damaged one.
        let modified = at.journal().map_err(SessionError::io(&path))?.modified;
        let new = salvaged_id(id, now);
        self.place(new, header, |session| {
            session.metadata = described(&*at)?;
            adopt_all(&at, session)?;
            entries.into_iter().try_for_each(|entry| session.append(entry.body, entry.at).map(drop))?;
            session.journal.lock().date_journal(modified).map_err(SessionError::io(&path))
        })?;
        Ok(Salvaged { id: new, lost, may_restore })
    }
}

/// The lines of a damaged journal that are kept, renumbered, with lines that close what they leave open.
struct Kept {
    header: Header,
    entries: Vec<Entry>,
    /// Lines that are left out.
    lost: u64,
    /// See [`Salvaged::may_restore`].
    may_restore: bool,
}

/// Returns every line that can be read. Lines with checksums are also kept after the first damaged one.
fn readable(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Kept, SessionError> {
    let read = |bytes: &[u8]| Ok(scan_to_damage(BufReader::new(bytes), Synced::default(), path)?.0);
    let mut scan = match read(bytes) {
        Err(SessionError::Corrupt { line: 1, .. }) => headless(bytes, path, now)?,
        read => read?,
    };
    let (mut read, mut last) = (u64::from(scan.length > 0), 0);
    if scan.header.format == 1 {
        read += scan.entries.len() as u64;
    } else {
        let valid = valid_lines(bytes, scan.header.format);
        read += valid.len() as u64;
        last = valid.keys().last().copied().unwrap_or_default();
        scan.entries = numbered(valid);
    }
    // Of a line that is missing as a whole, the numbers of the others tell.
    let lost = lines(bytes).max(last).saturating_sub(read);
    let may_restore = may_restore(bytes, &scan.entries, scan.header.format);
    let mut kept = Kept { header: scan.header, entries: scan.entries, lost, may_restore };
    kept.obey();
    Ok(kept)
}

/// Returns whether a step back may be lost: a line is missing, or it cannot be read and does not show another type.
fn may_restore(bytes: &[u8], entries: &[Entry], format: u32) -> bool {
    let (mut last, mut unreadable) = (1, 0);
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').skip(1).zip(2..) {
        match Entry::of_format(format, line) {
            // Without checksums, only the lines before the first damaged one are kept.
            Ok(entry) if format > 1 || number < entries.len() as u64 + 2 => {
                if entry.seq > last + unreadable + 1 {
                    return true;
                }
                (last, unreadable) = (entry.seq.max(last), 0);
            }
            _ if shows_other_type(line) => unreadable += 1,
            _ => return true,
        }
    }
    false
}

/// Returns whether the beginning of a damaged line shows that it is not a step back.
fn shows_other_type(line: &[u8]) -> bool {
    let start = line.get(..line.len().min(TYPE_BY)).unwrap_or_default();
    let kind = memchr::memmem::find(start, TYPE).and_then(|at| start.get(at + TYPE.len()..));
    let kind = kind.and_then(|rest| rest.split(|byte| *byte == b'"').next());
    kind.is_some_and(|kind| KNOWN.iter().any(|known| known.as_bytes() == kind && *known != "rewound"))
}

/// The `type` of a line follows its number and time, within these bytes.
const TYPE_BY: usize = 128;
const TYPE: &[u8] = b"\"type\":\"";

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
    let edit = |index: usize| {
        let is_summary = matches!(entries.get(index), Some(Entry { body: Body::Condensed { .. }, .. }));
        let before = if gap(index) { beside(&entries, index) } else { Vec::new() };
        Edit { before, is_removed: is_summary && index >= first }
    };
    let edits = (0..entries.len()).map(edit).collect();
    edited(entries, edits)
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

/// What is changed at one line.
#[derive(Debug, Default)]
struct Edit {
    /// Lines added before it.
    before: Vec<Body>,
    is_removed: bool,
}

/// Applies one edit for each line, numbers the lines again, and moves the steps back with the lines that they lead to.
fn edited(entries: Vec<Entry>, edits: Vec<Edit>) -> Vec<Entry> {
    let (mut left, mut moved) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
    for (entry, Edit { before, is_removed }) in entries.into_iter().zip(edits) {
        let at = entry.at;
        left.extend(before.into_iter().map(|body| Entry { seq: 0, at, body }));
        left.extend((!is_removed).then_some(entry));
        // Of a line that is removed, the one before it. Line 2 is the first entry.
        moved.push(left.len() as u64 + 1);
    }
    for (entry, seq) in left.iter_mut().zip(2..) {
        entry.seq = seq;
        if let Body::Rewound { to } = &mut entry.body
            && let Some(line) = to.checked_sub(2).and_then(|index| moved.get(usize::try_from(index).ok()?))
        {
            *to = *line;
        }
    }
    left
}

impl Kept {
    /// Closes invocations whose results are lost, and leaves out the lines that then still make no conversation.
    fn obey(&mut self) {
        let live = Course::of(&self.entries).live;
        let (mut transcript, mut started) = (Transcript::new(), HashSet::new());
        let mut edits = Vec::with_capacity(self.entries.len());
        for (entry, live) in self.entries.iter().zip(live) {
            let mut edit = Edit::default();
            match &entry.body {
                _ if !live => {}
                Body::Started { id } => drop(started.insert(id.clone())),
                Body::Canister { canister } => {
                    let mut pushed = transcript.push(canister.clone());
                    if pushed.is_err() && !matches!(canister, Canister::Result(_)) {
                        edit.before = close(&mut transcript, &started);
                        pushed = transcript.push(canister.clone());
                    }
                    edit.is_removed = pushed.is_err();
                }
                _ => {}
            }
            self.lost += u64::from(edit.is_removed);
            edits.push(edit);
        }
        self.entries = edited(std::mem::take(&mut self.entries), edits);
    }
}

/// Answers the open invocations.
fn close(transcript: &mut Transcript, started: &HashSet<InvocationId>) -> Vec<Body> {
    let open: Vec<_> = transcript.open().into_iter().map(|invocation| invocation.id.clone()).collect();
    let results = open.into_iter().filter_map(|id| Repair::of_open(id, started).canister());
    results.filter(|result| transcript.push(result.clone()).is_ok()).map(Body::from).collect()
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

fn described(at: &dyn SessionStorage) -> Result<Metadata, SessionError> {
    let mut metadata = Metadata::load(at)?;
    metadata.other.remove(SAVED);
    // Two sessions with the same name could not be distinguished.
    metadata.name = metadata.name.map(|name| format!("{name} (saved)"));
    Ok(metadata)
}

/// Copies all content that matches its name, needed or not.
fn adopt_all(from: &Arc<dyn SessionStorage>, session: &Session) -> Result<(), SessionError> {
    let names = from.names(Area::Content).map_err(SessionError::io(from.dir()))?;
    let theirs = Contents::at(from.clone());
    for digest in names.into_iter().filter_map(|name| Digest::try_from(name).ok()) {
        if let Some(bytes) = theirs.get(&digest)? {
            session.contents.put(&bytes)?;
        }
    }
    Ok(())
}
