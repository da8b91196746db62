//! What can still be read of a damaged session, as a session of its own. The damaged one stays as it is.

use std::fs;
use std::io::{self, BufReader};
use std::path::Path;

use jiff::Timestamp;
use uuid::Uuid;

use crate::check::SAVED;
use crate::lock::Lock;
use crate::repair::load;
use crate::scan::{Scan, scan_to_damage};
use crate::{Header, Metadata, Session, SessionError, Store, digest, files, journal, new_id, sum};

impl Store {
    /// Makes a new session of all lines before the first damaged one, with all content and what people added; returns
    /// its id and how many lines are not in it. If only the first line is damaged, which says nothing of the
    /// conversation, all others are kept. A session without damage, of a later format or with nothing in it is refused
    /// or copied whole: look at it first.
    pub fn salvage(&self, id: Uuid, now: Timestamp) -> Result<(Uuid, u64), SessionError> {
        let dir = self.existing(id)?;
        // Nobody may write it meanwhile.
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
        // It was used when the damaged one was.
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

/// What stands before the damage, and obeys the law of transcripts.
fn readable(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Scan, SessionError> {
    let read = |bytes: &[u8]| Ok(scan_to_damage(BufReader::new(bytes), path)?.0);
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

/// The same behind a first line that cannot be read, in place of which another is put. Its `length` is 0.
fn headless(bytes: &[u8], path: &Path, now: Timestamp) -> Result<Scan, SessionError> {
    let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    let header = Header::new("an unknown program", now);
    let rest = bytes.get(end..).unwrap_or_default();
    // Which format the lost line named, the others tell.
    let sealed = rest.split(|byte| *byte == b'\n').any(|line| sum::holds(line).is_some());
    let header = Header { format: if sealed { crate::FORMAT } else { 1 }, ..header };
    let mut first = crate::Entry { seq: 1, at: now, body: header.into() }.to_line()?;
    if !sealed {
        first = [sum::without(first.trim_ascii_end()).unwrap_or_default(), b"}\n"].concat();
    }
    let whole = [&first, rest].concat();
    let (scan, _) = scan_to_damage(BufReader::new(whole.as_slice()), path)?;
    Ok(Scan { length: 0, ..scan })
}

/// An unfinished one counts.
fn lines(bytes: &[u8]) -> u64 {
    let whole = memchr::memchr_iter(b'\n', bytes).count() as u64;
    whole + u64::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}

/// This crate has no dice: what is put in their place is as good for one session at one time.
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
    // Two sessions of one name would be told apart by nobody.
    metadata.name = metadata.name.map(|name| format!("{name} (saved)"));
    metadata
}

/// All content that is what it says, whether a message that was read needs it or not.
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
