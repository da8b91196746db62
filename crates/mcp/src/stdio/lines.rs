//! Bytes in, lines out: bounded, whatever way the bytes are cut.

use memchr::memchr;

/// Bytes of one line; MCP itself sets no limit.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;
/// What stays allocated between lines.
const KEPT: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Collects bytes until they make a line.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<'a> {
    /// Without its end (LF or CRLF) and without a byte order mark.
    Line(&'a [u8]),
    /// More bytes are needed.
    More,
    /// A line is longer than [`MAX_LINE`]. Nothing more can be read.
    TooLong,
}

impl Lines {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.is_empty() {
            self.buffer.shrink_to(KEPT);
        }
        self.buffer.extend_from_slice(bytes);
    }

    pub(crate) fn next(&mut self) -> Next<'_> {
        let unseen = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = memchr(b'\n', unseen) else {
            self.searched = self.buffer.len();
            return if self.buffer.len() - self.start > MAX_LINE { Next::TooLong } else { Next::More };
        };
        let (start, end) = (self.start, self.searched + found);
        self.start = end + 1;
        self.searched = end + 1;
        if end - start > MAX_LINE {
            return Next::TooLong;
        }
        Next::Line(bare(self.buffer.get(start..end).unwrap_or_default()))
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// What was said after the last line end, once nothing more comes.
    pub(crate) fn rest(&mut self) -> &[u8] {
        let start = std::mem::replace(&mut self.start, self.buffer.len());
        self.searched = self.buffer.len();
        bare(self.buffer.get(start..).unwrap_or_default())
    }
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(BOM).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &mut Lines, into: &mut Vec<Vec<u8>>) -> bool {
        loop {
            match lines.next() {
                Next::Line(line) => into.push(line.to_vec()),
                Next::More => return true,
                Next::TooLong => return false,
            }
        }
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_are_cut() {
        let text = "\u{feff}{\"a\":1}\r\n\nжж\n\u{feff}x\r\rend\r\n tail";
        let wanted: Vec<&[u8]> = vec![b"{\"a\":1}", b"", "жж".as_bytes(), b"x\r\rend", b" tail"];
        for size in [1, 2, 3, 5, 7, text.len()] {
            let (mut lines, mut got) = (Lines::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                lines.push(piece);
                assert!(read(&mut lines, &mut got));
            }
            got.push(lines.rest().to_vec());
            assert_eq!(got, wanted, "in pieces of {size}");
            assert!(lines.rest().is_empty());
        }
    }

    #[test]
    fn a_line_has_a_limit_with_and_without_its_end() {
        let long = vec![b'x'; MAX_LINE + 1];
        let mut lines = Lines::default();
        lines.push(&long[..MAX_LINE]);
        assert_eq!(lines.next(), Next::More);
        lines.push(b"x");
        assert_eq!(lines.next(), Next::TooLong, "unended");
        let mut lines = Lines::default();
        lines.push(&long);
        lines.push(b"\n");
        assert_eq!(lines.next(), Next::TooLong, "ended");
        let mut lines = Lines::default();
        lines.push(&long[1..]);
        lines.push(b"\nshort\n");
        assert!(matches!(lines.next(), Next::Line(line) if line.len() == MAX_LINE), "just short enough");
        assert_eq!(lines.next(), Next::Line(b"short"));
    }

    #[test]
    fn a_long_line_does_not_stay_in_memory() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; 4 * 1024 * 1024]);
        lines.push(b"\n");
        assert!(matches!(lines.next(), Next::Line(_)));
        lines.push(b"y");
        assert!(lines.buffer.capacity() <= 2 * KEPT, "{}", lines.buffer.capacity());
    }
}
