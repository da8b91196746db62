//! Saves the readable lines of a damaged session as a new session. The damaged session stays unchanged.

use std::fs;
use std::io::{self, BufReader};
use std::path::Path;

use jiff::Timestamp;
use uuid::Uuid;

use crate::check::SAVED;
use crate::lock::Lock;
use crate::repair::load;
use crate::scan::{Scan, scan_to_damage};
use crate::synced::Synced;
use crate::{Header, Metadata, Session, SessionError, Store, digest, files, journal, new_id, sum};

impl Store {
    /// Makes a new session of all lines before the first damaged one, with all content and metadata. Returns its id and
    /// the number of lost lines. If only the first line is damaged, which contains no messages, all others are kept. The
    /// caller should check the session first: an undamaged one is copied, and one of a later format is refused.
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
        let scan = readable(&bytes, &path, now)?;
        let lines = lines(&bytes);
        let kept = scan.entries.len() as u64 + u64::from(scan.length > 0);
        let header = Header { format: crate::FORMAT, ..scan.header };
        // The new session has the time of the last use of the damaged one.
        let modified = journal::modified(&dir).map_err(SessionError::io(&path))?;
        let entries = scan.entries;
        let new = salvaged_id(id, now);
        self.place(new, header, |session| {
            session.metadata = described(&dir);
            adopt_all(&dir, session)?;
            entries.into_iter().try_for_each(|entry| session.append(entry.body, entry.at).map(drop))?;
            journal::date(session.dir(), modified).map_err(SessionError::io(&path))
        })?;
        Ok((new, lines.saturating_sub(kept)))
    }
}

/// Returns the valid lines before the damage.
fn readable(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Scan, SessionError> {
    let read = |bytes: &[u8]| Ok(scan_to_damage(BufReader::new(bytes), Synced::default(), path)?.0);
    let mut scan = match read(bytes) {
        Err(SessionError::Corrupt { line: 1, .. }) => headless(bytes, path, now)?,
        read => read?,
    };
    scan.torn.clear();
    loop {
        // Each round keeps fewer lines.
        let tried = Scan { header: scan.header.clone(), entries: scan.entries.clone(), torn: vec![], ..scan };
        match load(tried, path) {
            Err(SessionError::Corrupt { line, .. }) if line >= 2 => {
                let fitting = usize::try_from(line - 2).unwrap_or_default();
                scan.entries.truncate(fitting.min(scan.entries.len().saturating_sub(1)));
            }
            Err(other) => return Err(other),
            Ok(_) => return Ok(scan),
        }
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
    let mut first = crate::Entry { seq: 1, at: now, body: header.into() }.to_line()?;
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
