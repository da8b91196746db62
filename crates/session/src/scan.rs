//! A journal's bytes, read into entries. Pure but for the reader it is given; decides nothing about their meaning.

use std::io::{BufRead, Read as _};
use std::path::Path;

use crate::entry::{BadLine, MAX_LINE_BYTES, format_of};
use crate::{Body, Entry, Header, SessionError};

/// What a journal holds.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: Header,
    /// All but the first.
    pub(crate) entries: Vec<Entry>,
    /// Bytes of whole lines.
    pub(crate) length: u64,
    /// What stands behind the last newline: a line that was never finished.
    pub(crate) torn: Vec<u8>,
}

/// Reads to the end. `path` is for the errors only.
pub(crate) fn scan(mut reader: impl BufRead, path: &Path) -> Result<Scan, SessionError> {
    let corrupt = |line, reason: String| SessionError::Corrupt { path: path.to_owned(), line, reason };
    let mut line = Vec::new();
    if !next_line(&mut reader, &mut line, path, 1)? {
        return Err(SessionError::Empty { path: path.to_owned() });
    }
    if let Some(format) = format_of(&line).filter(|format| *format > u64::from(crate::FORMAT)) {
        return Err(SessionError::Newer { path: path.to_owned(), format });
    }
    let header = match read(&line, 1) {
        Ok(Entry { body: Body::Opened(header), .. }) if header.format == crate::FORMAT => header,
        Ok(_) => return Err(corrupt(1, "not the first line of a journal".to_owned())),
        Err(reason) => return Err(corrupt(1, reason)),
    };
    let mut scan = Scan { header, entries: Vec::new(), length: line.len() as u64, torn: Vec::new() };
    for number in 2.. {
        if !next_line(&mut reader, &mut line, path, number)? {
            scan.torn = line;
            break;
        }
        let entry = read(&line, number).map_err(|reason| corrupt(number, reason))?;
        if matches!(entry.body, Body::Opened(_)) {
            return Err(corrupt(number, "a second beginning".to_owned()));
        }
        scan.entries.push(entry);
        scan.length += line.len() as u64;
    }
    Ok(scan)
}

/// False at the end: `line` then holds what stands there without a newline.
fn next_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    path: &Path,
    number: u64,
) -> Result<bool, SessionError> {
    line.clear();
    let limit = MAX_LINE_BYTES as u64 + 1;
    reader.by_ref().take(limit).read_until(b'\n', line).map_err(SessionError::io(path))?;
    if line.len() > MAX_LINE_BYTES {
        let reason = BadLine::TooLong.to_string();
        return Err(SessionError::Corrupt { path: path.to_owned(), line: number, reason });
    }
    Ok(line.ends_with(b"\n"))
}

fn read(line: &[u8], number: u64) -> Result<Entry, String> {
    let entry = Entry::from_line(line).map_err(|error| error.to_string())?;
    if entry.seq == number { Ok(entry) } else { Err(format!("`seq` is {}, not {number}", entry.seq)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"seq":1,"at":"2026-11-20T10:00:00Z","type":"opened","format":1,"program":"p","created":"2026-11-20T10:00:00Z"}"#;

    fn note(seq: u64) -> String {
        format!(r#"{{"seq":{seq},"at":"2026-11-20T10:00:00Z","type":"note","text":"n"}}"#)
    }

    fn scanned(lines: &[String]) -> Result<Scan, SessionError> {
        scan(lines.concat().as_bytes(), Path::new("j"))
    }

    #[test]
    fn entries_and_a_torn_line_are_told_apart() {
        let whole = scanned(&[HEADER.into(), "\n".into(), note(2), "\n".into()]).unwrap();
        assert_eq!((whole.entries.len(), whole.torn.len()), (1, 0));
        let torn = scanned(&[HEADER.into(), "\n".into(), note(2)]).unwrap();
        assert_eq!((torn.entries.len(), torn.torn.len()), (0, note(2).len()));
        assert_eq!(torn.length as usize, HEADER.len() + 1);
    }

    #[test]
    fn damage_names_its_line() {
        let line = |text: &str| format!("{text}\n");
        let first = line(HEADER);
        for (lines, number, reason) in [
            (vec![line(&note(1))], 1, "not the first line"),
            (vec![line("x")], 1, "not a journal entry"),
            (vec![line(&HEADER.replace("\"format\":1", "\"format\":0"))], 1, "not the first line"),
            (vec![first.clone(), line("{"), line(&note(3))], 2, "not a journal entry"),
            (vec![first.clone(), line("")], 2, "not a journal entry"),
            (vec![first.clone(), line(&note(3))], 2, "`seq` is 3, not 2"),
            (vec![first.clone(), line(&note(2)), line(&note(2))], 3, "`seq` is 2, not 3"),
            (vec![first.clone(), line(&HEADER.replace("\"seq\":1", "\"seq\":2"))], 2, "a second beginning"),
        ] {
            match scanned(&lines).unwrap_err() {
                SessionError::Corrupt { line, reason: said, .. } => {
                    assert_eq!(line, number, "{lines:?}");
                    assert!(said.contains(reason), "{lines:?}: {said}");
                }
                other => panic!("{lines:?}: {other}"),
            }
        }
    }

    #[test]
    fn nothing_and_a_later_format_have_errors_of_their_own() {
        for unfinished in ["", "{", HEADER] {
            assert!(matches!(scanned(&[unfinished.into()]), Err(SessionError::Empty { .. })), "{unfinished}");
        }
        let newer = format!("{}\nwhatever", r#"{"type":"opened","format":2,"else":true}"#);
        assert!(matches!(scanned(&[newer]), Err(SessionError::Newer { format: 2, .. })));
    }
}
