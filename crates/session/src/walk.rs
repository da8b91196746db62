//! Reads a journal line by line, with only one line in memory.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use uuid::Uuid;

use crate::scan::{header, next_line, read};
use crate::{Entry, Header, SessionError, Store, files, journal, loss};

/// Size of the read buffer.
const BUFFER: usize = 128 * 1024;

impl Store {
    /// Passes all lines of a session but the first to `line`, in order and without repairs, including abandoned ones. Lines
    /// before a damaged one are passed before the error is returned. An unfinished last line is skipped.
    pub fn walk(&self, id: Uuid, line: impl FnMut(&Header, Entry)) -> Result<(), SessionError> {
        let dir = self.existing(id)?;
        let path = dir.join(journal::FILE);
        let walked = match files::regular(&path) {
            Ok(file) => walk(BufReader::with_capacity(BUFFER, file), &path, line),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(loss::of_all(&dir)),
            Err(source) => return Err(SessionError::Io { path, source }),
        };
        match walked {
            Err(SessionError::Empty { .. }) => Err(loss::of_all(&dir)),
            walked => walked,
        }
    }
}

fn walk(
    mut reader: impl BufRead,
    path: &Path,
    mut line_read: impl FnMut(&Header, Entry),
) -> Result<(), SessionError> {
    let mut line = Vec::new();
    if !next_line(&mut reader, &mut line, path, 1)? {
        return Err(SessionError::Empty { path: path.to_owned() });
    }
    let header = header(&line, path)?;
    let mut number = 2;
    while next_line(&mut reader, &mut line, path, number)? {
        let corrupt = |reason| SessionError::Corrupt { path: path.to_owned(), line: number, reason };
        line_read(&header, read(header.format, &line, number).map_err(corrupt)?);
        number += 1;
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
            let walked = walk(&bytes[..], Path::new("j"), |_, entry| told.push(entry.seq));
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
