//! Reads a journal line by line, with only one line in memory.

use std::io::{BufRead, BufReader};
use std::path::Path;

use uuid::Uuid;

use crate::scan::{Damage, first_line, next_line, read};
use crate::storage::is_missing;
use crate::synced::Synced;
use crate::{Entry, Header, Metadata, SessionError, Store, journal, loss};

/// Size of the read buffer.
const BUFFER: usize = 128 * 1024;

impl Store {
    /// Passes all lines of a session but the first to `line`, in order and without repairs, including abandoned ones. Lines
    /// before a damaged one are passed before the error is returned. What a crash left incomplete at the end is skipped.
    pub fn walk(&self, id: Uuid, line: impl FnMut(&Header, Entry)) -> Result<(), SessionError> {
        let at = self.existing(id)?;
        let path = at.path(journal::FILE);
        // Read before the journal, which only grows.
        let noted = loss::noted(&Metadata::load(&*at)?);
        let walked = match at.open(journal::FILE) {
            Ok(file) => walk(BufReader::with_capacity(BUFFER, file), noted, &path, line),
            Err(error) if is_missing(&error) => return Err(loss::of_all(&*at)),
            Err(source) => return Err(SessionError::Io { path, source }),
        };
        match walked {
            Err(SessionError::Empty { .. }) => Err(loss::of_all(&*at)),
            walked => walked,
        }
    }
}

fn walk(
    mut reader: impl BufRead,
    mut synced: Synced,
    path: &Path,
    mut line_read: impl FnMut(&Header, Entry),
) -> Result<(), SessionError> {
    let mut line = Vec::new();
    let header = first_line(&mut reader, &mut line, path)?;
    let (mut number, mut offset) = (2, line.len() as u64);
    synced.note(&line);
    while next_line(&mut reader, &mut line, path, number)? {
        match read(header.format, &line, number) {
            Ok(entry) => line_read(&header, entry),
            Err(reason) => {
                let torn = synced.torn_tail(&line, number, offset, &mut reader);
                return match torn.map_err(SessionError::io(path))? {
                    Some(_) => Ok(()),
                    None => Err(Damage { line: number, reason }.at(path)),
                };
            }
        }
        synced.note(&line);
        (number, offset) = (number + 1, offset + line.len() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::Body;

    fn lines(numbers: &[u64]) -> Vec<u8> {
        let at = Timestamp::UNIX_EPOCH;
        let body = |seq: &u64| match seq {
            1 => Header::new("p", at).into(),
            seq => Body::Note { text: seq.to_string() },
        };
        numbers.iter().flat_map(|seq| Entry { seq: *seq, at, body: body(seq) }.to_line().unwrap()).collect()
    }

    #[test]
    fn lines_come_until_one_is_damaged_and_a_torn_one_is_none() {
        let whole = lines(&[1, 2, 3]);
        let torn = [&whole[..], b"{\"seq\":4"].concat();
        for (bytes, seen, problem) in [
            (whole, vec![2, 3], None),
            (torn, vec![2, 3], None),
            (lines(&[1, 2, 4, 5]), vec![2], Some("line 3")),
            (lines(&[2]), vec![], Some("line 1")),
            (vec![], vec![], Some("is empty")),
        ] {
            let mut told = Vec::new();
            let walked = walk(&bytes[..], Synced::default(), Path::new("j"), |_, entry| told.push(entry.seq));
            assert_eq!(told, seen);
            let error = walked.err().map(|error| error.to_string());
            match (error, problem) {
                (error, None) => assert_eq!(error, None),
                (error, Some(problem)) => {
                    assert!(error.is_some_and(|error| error.contains(problem)), "{problem}")
                }
            }
        }
    }
}
