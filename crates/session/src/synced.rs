//! Tells the torn tail of a journal from damage.
//!
//! A sync covers all lines before it. After a power cut, any part of the lines behind the last sync may be missing, also
//! in the middle: the disk wrote its sectors in another order. So the first line after a sync says up to which line the
//! journal was on disk:
//!
//! ```text
//! {"seq":12,"at":"…","type":"note","text":"hi","synced":11,"sum":"<8 hex digits>"}
//! ```
//! The first line has `"synced":0`. A journal in which no line has the key was written by an older version, and nothing
//! is known of its syncs.

use std::io::{self, BufRead};

use crate::sum;

/// What is known to have been on disk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Synced {
    /// The highest line that a readable line names; `None` if no line names any.
    line: Option<u64>,
    /// The bytes that the metadata describes, which is written after a sync.
    bytes: u64,
}

impl Synced {
    /// Returns what the metadata alone shows.
    pub(crate) fn up_to(bytes: u64) -> Self {
        Self { line: None, bytes }
    }

    /// Takes note of a line whose checksum matches.
    pub(crate) fn note(&mut self, line: &[u8]) {
        self.line = self.line.max(sum::synced(line.trim_ascii_end()));
    }

    /// Reads on behind the unreadable line `bad`. Returns all bytes from that line on if no sync covered them, and `None`
    /// if the line is damaged. `number` and `offset` are the place of the line.
    pub(crate) fn torn_tail(
        mut self,
        bad: &[u8],
        number: u64,
        offset: u64,
        reader: &mut impl BufRead,
    ) -> io::Result<Option<Vec<u8>>> {
        if offset < self.bytes {
            return Ok(None);
        }
        let mut tail = bad.to_vec();
        reader.read_to_end(&mut tail)?;
        let lines = tail.split(|byte| *byte == b'\n');
        lines.filter(|line| sum::holds(line) == Some(true)).for_each(|line| self.note(line));
        Ok(self.line.is_some_and(|line| line < number).then_some(tail))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;

    use super::*;
    use crate::scan::{Scan, scan};
    use crate::{Body, Entry, Header, SessionError};

    /// Lines 1 to 8: line 4 was written after a sync, and line 6 too.
    fn journal(marks: bool) -> Vec<Vec<u8>> {
        let at = Timestamp::UNIX_EPOCH;
        let body = |seq| match seq {
            1 => Header::new("p", at).into(),
            seq => Body::Note { text: format!("line {seq}") },
        };
        let mark = |seq: u64| [1, 4, 6].contains(&seq).then(|| seq - 1).filter(|_| marks);
        (1..=8).map(|seq| Entry { seq, at, body: body(seq) }.to_line_after(mark(seq)).unwrap()).collect()
    }

    fn with_hole(mut lines: Vec<Vec<u8>>, line: usize) -> Vec<u8> {
        lines[line - 1][9..30].fill(0);
        lines.concat()
    }

    fn scanned(bytes: &[u8], noted: u64) -> Result<Scan, SessionError> {
        scan(bytes, Synced::up_to(noted), Path::new("j"))
    }

    #[test]
    fn a_hole_behind_the_last_sync_is_a_torn_tail_and_before_it_damage() {
        for line in 2..=8 {
            let bytes = with_hole(journal(true), line);
            match scanned(&bytes, 0) {
                Ok(scan) => {
                    assert!(line >= 6, "{line}");
                    assert_eq!(scan.entries.len(), line - 2);
                    let kept = bytes.len() - scan.torn.len();
                    assert_eq!((scan.length, &scan.torn[..]), (kept as u64, &bytes[kept..]), "{line}");
                    assert_eq!(bytes[..kept].iter().filter(|byte| **byte == b'\n').count(), line - 1);
                }
                Err(SessionError::Corrupt { line: said, .. }) => {
                    assert!(line < 6, "{line}");
                    assert_eq!(said, line as u64);
                }
                Err(other) => panic!("{line}: {other}"),
            }
        }
    }

    #[test]
    fn the_line_with_the_mark_may_itself_be_in_the_hole() {
        // Then the mark of line 4 is the last one: lines 4 and 5 were synced too, but nothing shows that.
        let mut lines = journal(true);
        lines[5][9..30].fill(0);
        assert_eq!(scanned(&with_hole(lines, 5), 0).unwrap().entries.len(), 3);
    }

    #[test]
    fn what_the_metadata_describes_is_damage_wherever_it_is() {
        let bytes = with_hole(journal(true), 7);
        let start = journal(true)[..6].concat().len() as u64;
        assert!(scanned(&bytes, start).is_ok());
        assert!(matches!(scanned(&bytes, start + 1), Err(SessionError::Corrupt { line: 7, .. })));
    }

    #[test]
    fn of_an_older_journal_nothing_is_cut_off() {
        let bytes = with_hole(journal(false), 8);
        assert!(matches!(scanned(&bytes, 0), Err(SessionError::Corrupt { line: 8, .. })));
    }
}
