//! Migrates a journal of an earlier format.
//!
//! The old journal first gets a second, durable name. Then the new journal, including repairs, is written completely and
//! replaces the old one atomically. So after a crash or power cut at any moment, the journal is either the old or the new
//! one, and the next process continues from there.

use std::io;

use jiff::Timestamp;

use crate::files::Durability;
use crate::journal::FILE;
use crate::storage::{SessionLock, SessionStorage, is_missing, read_all};
use crate::{Body, Entry, FORMAT, Loaded, SessionError, parse, sum};

/// Limit on the backups of one session.
const BACKUPS: u32 = 100;

/// Migrates the journal from which `loaded` was read.
pub(crate) fn migrate(
    at: &dyn SessionStorage,
    lock: &dyn SessionLock,
    loaded: &Loaded,
    now: Timestamp,
) -> Result<(), SessionError> {
    let path = at.path(FILE);
    let old = read_all(at, FILE).map_err(SessionError::io(&path))?;
    let backup = back_up(at, lock, loaded.header.format, &old).map_err(SessionError::io(at.dir()))?;
    let whole = old.get(..usize::try_from(loaded.length).unwrap_or(usize::MAX)).unwrap_or(&old);
    let mut new = resealed(whole)?;
    let note =
        format!("migrated from format {}; the journal as it was is kept as `{backup}`", loaded.header.format);
    let amendments = loaded.amendments().into_iter().chain([Body::Note { text: note }]);
    for (seq, body) in (loaded.next_seq..).zip(amendments) {
        new.extend(Entry { seq, at: now, body }.to_line()?);
    }
    lock.replace(FILE, &new, Durability::Name).map_err(SessionError::io(&path))
}

/// Keeps the old journal and returns the name of the copy. A copy from an interrupted attempt is a prefix of the journal
/// and is replaced; any other copy stays.
fn back_up(at: &dyn SessionStorage, lock: &dyn SessionLock, format: u32, old: &[u8]) -> io::Result<String> {
    for number in 1..=BACKUPS {
        let name = match number {
            1 => format!("journal.v{format}.jsonl"),
            more => format!("journal.v{format}-{more}.jsonl"),
        };
        match read_all(at, &name) {
            Ok(kept) if kept == old => return Ok(name),
            Ok(kept) if !old.starts_with(&kept) => {}
            Err(error) if !is_missing(&error) => return Err(error),
            _ => return lock.replace(&name, old, Durability::Name).map(|()| name),
        }
    }
    Err(io::Error::other("too many backups are kept already"))
}

/// Returns the lines with checksums, otherwise unchanged; the first line names the current format.
fn resealed(lines: &[u8]) -> Result<Vec<u8>, SessionError> {
    let mut new = Vec::with_capacity(lines.len() + lines.len() / 8);
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let mut line = if number == 0 { opened(line)? } else { line.trim_ascii().to_vec() };
        sum::seal(&mut line);
        new.extend(line);
        new.push(b'\n');
    }
    Ok(new)
}

fn opened(line: &[u8]) -> Result<Vec<u8>, SessionError> {
    let mut fields = parse::fields(line)?;
    fields.insert("format".to_owned(), FORMAT.into());
    Ok(serde_json::to_vec(&fields).map_err(crate::BadLine::from)?)
}
