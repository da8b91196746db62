//! Splits bytes into lines of bounded length, however the bytes are cut. Sans IO: the caller reads.

use memchr::memchr;

/// Bytes that stay allocated between lines.
const KEPT: usize = 64 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Collects bytes until they make a line.
#[derive(Debug)]
pub struct Lines {
    /// Bytes of the longest line.
    most: usize,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// End of the bytes that were searched for a line end.
    searched: usize,
    /// The line is too long: ignored up to its end.
    skipping: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A line without its end (LF or CRLF) and without a byte order mark. Empty lines too, and one after a line that was
    /// too long.
    Line(&'a [u8]),
    /// More bytes are needed.
    More,
    /// A line is too long: reported once, and skipped.
    TooLong,
}

impl Lines {
    /// Splits into lines of at most `most` bytes.
    pub fn new(most: usize) -> Self {
        Self { most, buffer: Vec::new(), start: 0, searched: 0, skipping: false }
    }

    /// Adds what was read.
    pub fn push(&mut self, bytes: &[u8]) {
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

    /// Returns the next line that is there.
    #[expect(clippy::should_implement_trait, reason = "it lends its line")]
    pub fn next(&mut self) -> Next<'_> {
        let unseen = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(newline) = memchr(b'\n', unseen) else {
            self.searched = self.buffer.len();
            return self.unended();
        };
        let (start, end) = (self.start, self.searched + newline);
        self.start = end + 1;
        self.searched = end + 1;
        if std::mem::take(&mut self.skipping) {
            return Next::Line(&[]);
        }
        if end - start > self.most {
            return Next::TooLong;
        }
        Next::Line(bare(self.buffer.get(start..end).unwrap_or_default()))
    }

    fn unended(&mut self) -> Next<'_> {
        let long = self.buffer.len() - self.start > self.most;
        if self.skipping || long {
            self.buffer.clear();
            (self.start, self.searched) = (0, 0);
        }
        if long && !self.skipping {
            self.skipping = true;
            return Next::TooLong;
        }
        Next::More
    }

    /// Returns the bytes after the last line end, at the end of the input.
    pub fn rest(&mut self) -> &[u8] {
        let start = std::mem::replace(&mut self.start, self.buffer.len());
        self.searched = self.buffer.len();
        bare(self.buffer.get(start..).unwrap_or_default())
    }

    /// Returns the allocated bytes.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line.strip_prefix(BOM).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_LINE: usize = 1024 * 1024;

    fn read(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut lines, mut got, mut long) = (Lines::new(MAX_LINE), Vec::new(), 0);
        for piece in bytes.chunks(size) {
            lines.push(piece);
            loop {
                match lines.next() {
                    Next::Line([]) => {}
                    Next::Line(line) => got.push(line.to_vec()),
                    Next::More => break,
                    Next::TooLong => long += 1,
                }
            }
        }
        got.push(lines.rest().to_vec());
        (got, long)
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_are_cut() {
        let text = "\u{feff}{\"a\":1}\r\n\nжж\n\u{feff}x\r\rend\r\n tail";
        let wanted: Vec<&[u8]> = vec![b"{\"a\":1}", "жж".as_bytes(), b"x\r\rend", b" tail"];
        for size in [1, 2, 3, 5, 7, text.len()] {
            let (got, long) = read(text.as_bytes(), size);
            assert_eq!(
                (got, long),
                (wanted.iter().map(|line| line.to_vec()).collect(), 0),
                "in pieces of {size}"
            );
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_once_and_passed_over() {
        for (extra, size) in [(1, 64 * 1024), (MAX_LINE, 64 * 1024), (1, usize::MAX), (MAX_LINE, usize::MAX)]
        {
            let mut bytes = b"before\n".to_vec();
            bytes.extend(vec![b'x'; MAX_LINE + extra]);
            bytes.extend(b"\nafter\n");
            let size = size.min(bytes.len());
            let (got, long) = read(&bytes, size);
            assert_eq!(got, [b"before".to_vec(), b"after".to_vec(), vec![]], "{extra} {size}");
            assert_eq!(long, 1);
        }
        let mut bytes = vec![b'x'; MAX_LINE];
        bytes.push(b'\n');
        assert_eq!(read(&bytes, 64 * 1024).1, 0, "just short enough");
    }

    #[test]
    fn what_is_passed_over_does_not_fill_the_memory() {
        let mut lines = Lines::new(MAX_LINE);
        for _ in 0..1024 {
            lines.push(&[b'x'; 64 * 1024]);
            let _ = lines.next();
        }
        assert!(lines.buffer.len() <= MAX_LINE, "{}", lines.buffer.len());
    }

    #[test]
    fn a_line_has_a_limit_with_and_without_its_end() {
        let long = vec![b'x'; MAX_LINE + 1];
        let mut lines = Lines::new(MAX_LINE);
        lines.push(&long[..MAX_LINE]);
        assert_eq!(lines.next(), Next::More);
        lines.push(b"x");
        assert_eq!(lines.next(), Next::TooLong, "unended");
        let mut lines = Lines::new(MAX_LINE);
        lines.push(&long);
        lines.push(b"\n");
        assert_eq!(lines.next(), Next::TooLong, "ended");
        let mut lines = Lines::new(MAX_LINE);
        lines.push(&long[1..]);
        lines.push(b"\nshort\n");
        assert!(matches!(lines.next(), Next::Line(line) if line.len() == MAX_LINE), "just short enough");
        assert_eq!(lines.next(), Next::Line(b"short"));
    }

    #[test]
    fn a_long_line_does_not_stay_in_memory() {
        let mut lines = Lines::new(MAX_LINE);
        lines.push(&vec![b'x'; MAX_LINE]);
        lines.push(b"\n");
        assert!(matches!(lines.next(), Next::Line(_)));
        lines.push(b"y");
        assert!(lines.buffer.capacity() <= 2 * KEPT, "{}", lines.buffer.capacity());
    }
}
