//! Bytes in, lines out: bounded, whatever way the bytes are cut. A line that is too long is passed over.

/// Bytes of one line; MCP itself sets no limit.
pub(super) const MAX_LINE: usize = 16 * 1024 * 1024;
/// What stays allocated between lines.
const KEPT: usize = 64 * 1024;

/// Collects bytes until they make a line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where no line end was found.
    searched: usize,
    /// Until the end of this line nothing counts.
    skipping: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// Without its end.
    Line(&'a [u8]),
    /// More bytes are needed.
    More,
    /// A line is longer than [`MAX_LINE`]: told once, and passed over.
    TooLong,
}

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
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

    pub(super) fn next(&mut self) -> Next<'_> {
        let unseen = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(found) = unseen.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return self.unended();
        };
        let (start, end) = (self.start, self.searched + found);
        self.start = end + 1;
        self.searched = end + 1;
        if std::mem::take(&mut self.skipping) {
            return Next::Line(&[]);
        }
        if end - start > MAX_LINE {
            return Next::TooLong;
        }
        Next::Line(self.buffer.get(start..end).unwrap_or_default())
    }

    fn unended(&mut self) -> Next<'_> {
        let long = self.buffer.len() - self.start > MAX_LINE;
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

    /// What was said after the last line end, once nothing more comes.
    pub(super) fn rest(&mut self) -> &[u8] {
        let start = std::mem::replace(&mut self.start, self.buffer.len());
        self.searched = self.buffer.len();
        self.buffer.get(start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> (Vec<Vec<u8>>, usize) {
        let (mut lines, mut got, mut long) = (Lines::default(), Vec::new(), 0);
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
        for size in [1, 2, 3, 100] {
            let (got, long) = read(b"one\n\ntwo\r\nthree", size);
            assert_eq!(
                (got, long),
                (vec![b"one".to_vec(), b"two\r".to_vec(), b"three".to_vec()], 0),
                "{size}"
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
        let mut lines = Lines::default();
        for _ in 0..1024 {
            lines.push(&[b'x'; 64 * 1024]);
            let _ = lines.next();
        }
        assert!(lines.buffer.len() <= MAX_LINE, "{}", lines.buffer.len());
    }
}
