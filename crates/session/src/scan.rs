//! Reads a journal into entries, without interpreting them. Pure except for the reader.

use std::io::{BufRead, Read as _};
use std::path::Path;

use crate::entry::{BadLine, MAX_LINE_BYTES};
use crate::parse::format_of;
use crate::synced::Synced;
use crate::{Body, Entry, FORMAT, Header, SessionError, sum};

/// The content of a journal.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) header: Header,
    /// All lines but the first.
    pub(crate) entries: Vec<Entry>,
    /// Bytes of complete lines.
    pub(crate) length: u64,
    /// What a crash left after them: an unfinished line, or lines that were not synced from the first unreadable one on.
    pub(crate) torn: Vec<u8>,
}

/// A line that cannot be read, and why. Lines after it were not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) line: u64,
    pub(crate) reason: String,
}

impl Damage {
    /// Converts to an error for `path`.
    pub(crate) fn at(self, path: &Path) -> SessionError {
        SessionError::Corrupt { path: path.to_owned(), line: self.line, reason: self.reason }
    }
}

/// Reads a journal to its end. `path` is for errors only.
pub(crate) fn scan(reader: impl BufRead, synced: Synced, path: &Path) -> Result<Scan, SessionError> {
    match scan_to_damage(reader, synced, path)? {
        (scan, None) => Ok(scan),
        (_, Some(damage)) => Err(damage.at(path)),
    }
}

/// Reads to the end or to the first damaged line. Fails if the first line cannot be read.
pub(crate) fn scan_to_damage(
    mut reader: impl BufRead,
    mut synced: Synced,
    path: &Path,
) -> Result<(Scan, Option<Damage>), SessionError> {
    let mut line = Vec::new();
    let header = first_line(&mut reader, &mut line, path)?;
    let format = header.format;
    synced.note(&line);
    let mut scan = Scan { header, entries: Vec::new(), length: line.len() as u64, torn: Vec::new() };
    for number in 2.. {
        match next_line(&mut reader, &mut line, path, number) {
            Ok(true) => {}
            Ok(false) => break,
            Err(SessionError::Corrupt { line, reason, .. }) => {
                return Ok((scan, Some(Damage { line, reason })));
            }
            Err(error) => return Err(error),
        }
        match read(format, &line, number) {
            Ok(entry) => scan.entries.push(entry),
            Err(reason) => {
                let torn = synced.torn_tail(&line, number, scan.length, &mut reader);
                return Ok(match torn.map_err(SessionError::io(path))? {
                    Some(torn) => (Scan { torn, ..scan }, None),
                    None => (scan, Some(Damage { line: number, reason })),
                });
            }
        }
        synced.note(&line);
        scan.length += line.len() as u64;
    }
    scan.torn = line;
    Ok((scan, None))
}

/// Reads and parses the first line. If it is the only one and unfinished, or has zeros where a sector never reached the
/// disk, the journal is empty.
pub(crate) fn first_line(
    reader: &mut impl BufRead,
    line: &mut Vec<u8>,
    path: &Path,
) -> Result<Header, SessionError> {
    let empty = || SessionError::Empty { path: path.to_owned() };
    if !next_line(reader, line, path, 1)? {
        return Err(empty());
    }
    match header(line, path) {
        Err(SessionError::Corrupt { .. })
            if line.contains(&0) && reader.fill_buf().map_err(SessionError::io(path))?.is_empty() =>
        {
            Err(empty())
        }
        header => header,
    }
}

/// Parses the first line. A later version may use other checksums, so its checksum is not checked; but a line of this
/// version in which only the format number is damaged counts as damaged.
pub(crate) fn header(line: &[u8], path: &Path) -> Result<Header, SessionError> {
    let corrupt = |reason: String| Damage { line: 1, reason }.at(path);
    let format = format_of(line);
    let later = format.is_some_and(|format| format > u64::from(FORMAT) && !is_ours(line, format));
    if !later && sum::holds(line.trim_ascii_end()) == Some(false) {
        return Err(corrupt(BadLine::Sum.to_string()));
    }
    match format.and_then(|format| u32::try_from(format).ok()) {
        Some(format @ 1..=FORMAT) => match Entry::of_format(format, line) {
            Ok(Entry { seq: 1, body: Body::Opened(header), .. }) => Ok(header),
            Ok(_) => Err(corrupt("not the first line of a journal".to_owned())),
            Err(reason) => Err(corrupt(reason.to_string())),
        },
        _ => match format.filter(|format| *format > u64::from(FORMAT)) {
            Some(format) => Err(SessionError::Newer { path: path.to_owned(), format }),
            None => Err(corrupt("not the first line of a journal".to_owned())),
        },
    }
}

/// Returns whether the checksum matches the same line with the current format number.
fn is_ours(line: &[u8], format: u64) -> bool {
    let line = String::from_utf8_lossy(line.trim_ascii_end());
    let ours = line.replacen(&format!("\"format\":{format}"), &format!("\"format\":{FORMAT}"), 1);
    sum::holds(ours.as_bytes()) == Some(true)
}

/// Reads a line into `line`. Returns false at the end; `line` is then the unfinished rest.
pub(crate) fn next_line(
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

pub(crate) fn read(format: u32, line: &[u8], number: u64) -> Result<Entry, String> {
    match Entry::of_format(format, line).map_err(|error| error.to_string())? {
        Entry { seq, .. } if seq != number => Err(format!("`seq` is {seq}, not {number}")),
        Entry { body: Body::Opened(_), .. } => Err("a second `opened` line".to_owned()),
        Entry { body: Body::Rewound { to }, .. } if to == 0 || to >= number => {
            Err(format!("`rewound` goes back to line {to}, which is not an earlier line"))
        }
        entry => Ok(entry),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(format: u32) -> String {
        format!(
            r#"{{"seq":1,"at":"2026-11-20T10:00:00Z","type":"opened","format":{format},"program":"p","created":"2026-11-20T10:00:00Z"}}"#
        )
    }

    fn note(seq: u64) -> String {
        format!(r#"{{"seq":{seq},"at":"2026-11-20T10:00:00Z","type":"note","text":"n"}}"#)
    }

    fn rewound(seq: u64, to: u64) -> String {
        format!(r#"{{"seq":{seq},"at":"2026-11-20T10:00:00Z","type":"rewound","to":{to}}}"#)
    }

    fn sealed(line: &str) -> String {
        let mut line = line.as_bytes().to_vec();
        sum::seal(&mut line);
        String::from_utf8(line).unwrap() + "\n"
    }

    fn scanned(lines: &[String]) -> Result<Scan, SessionError> {
        scan(lines.concat().as_bytes(), Synced::default(), Path::new("j"))
    }

    #[test]
    fn entries_and_a_torn_line_are_told_apart() {
        let first = sealed(&header(2));
        let whole = scanned(&[first.clone(), sealed(&note(2))]).unwrap();
        assert_eq!((whole.entries.len(), whole.torn.len()), (1, 0));
        let torn = scanned(&[first.clone(), sealed(&note(2)).trim_end().to_owned()]).unwrap();
        assert_eq!((torn.entries.len(), torn.torn.len()), (0, sealed(&note(2)).len() - 1));
        assert_eq!(torn.length as usize, first.len());
    }

    #[test]
    fn a_journal_of_format_1_has_no_sums() {
        let first = header(1) + "\n";
        let old = scanned(&[first.clone(), note(2) + "\n", "torn".to_owned()]).unwrap();
        assert_eq!((old.header.format, old.entries.len(), old.torn.len()), (1, 1, 4));
        let mixed = scanned(&[first, sealed(&note(2))]).unwrap_err().to_string();
        assert!(mixed.contains("line 2: the checksum does not match"), "{mixed}");
    }

    #[test]
    fn damage_names_its_line() {
        let first = sealed(&header(2));
        let changed = |line: String| line.replace("\"n\"", "\"m\"").replace("\"p\"", "\"q\"");
        for (lines, number, reason) in [
            (vec![sealed(&note(1))], 1, "not the first line"),
            (vec!["x\n".to_owned()], 1, "not the first line"),
            (vec![sealed(&header(0))], 1, "not the first line"),
            (vec![header(2) + "\n"], 1, "the checksum does not match"),
            (vec![sealed(&header(1))], 1, "the checksum does not match"),
            (vec![changed(first.clone())], 1, "the checksum does not match"),
            (
                vec![sealed(&header(2)).replace("\"format\":2", "\"format\":3")],
                1,
                "the checksum does not match",
            ),
            (vec![first.clone(), sealed("{\"a\"}"), sealed(&note(3))], 2, "not a journal entry"),
            (vec![first.clone(), "\n".to_owned()], 2, "the checksum does not match"),
            (vec![first.clone(), changed(sealed(&note(2)))], 2, "the checksum does not match"),
            (vec![first.clone(), note(2) + "\n"], 2, "the checksum does not match"),
            (vec![first.clone(), sealed(&note(3))], 2, "`seq` is 3, not 2"),
            (vec![first.clone(), sealed(&note(2)), sealed(&note(2))], 3, "`seq` is 2, not 3"),
            (vec![first.clone(), sealed(&rewound(2, 2))], 2, "back to line 2"),
            (vec![first.clone(), sealed(&rewound(2, 0))], 2, "back to line 0"),
            (
                vec![first.clone(), sealed(&header(2).replace("\"seq\":1", "\"seq\":2"))],
                2,
                "a second `opened` line",
            ),
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
        let with_hole = sealed(&header(2)).replace("program", "\0\0\0\0\0\0\0");
        for unfinished in ["", "{", &header(2), &with_hole] {
            assert!(matches!(scanned(&[unfinished.into()]), Err(SessionError::Empty { .. })), "{unfinished}");
        }
        let first = r#"{"type":"opened","format":3,"else":true}"#;
        // Without a sum, with ours, with one that only the later version can make.
        let other = first.replace("true}", "true,\"sum\":\"0badc0de\"}\n");
        for newer in [first.to_owned() + "\n", sealed(first), other] {
            assert!(matches!(scanned(&[newer, "x".into()]), Err(SessionError::Newer { format: 3, .. })));
        }
    }
}
