//! Newline-delimited JSON, pushed in as bytes: each line is an event without a name.
//!
//! The same bounds and the same care as for server-sent events: a chunk may end anywhere, bad UTF-8 becomes U+FFFD,
//! nothing is looked at twice, and a last line without its newline is still a line, marked as the tail.
//!
//! <https://github.com/ndjson/ndjson-spec>.

use memchr::memchr;

use crate::DecodeError;
use crate::sse::{Event, MAX_EVENT, text};

/// The bytes of a line whose end has not come.
#[derive(Debug)]
pub(crate) struct LineReader {
    line: Vec<u8>,
    limit: usize,
}

impl LineReader {
    pub(crate) fn new() -> Self {
        Self { line: Vec::new(), limit: MAX_EVENT }
    }

    /// Takes the next bytes and hands out the lines that they complete.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        while let Some(end) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = rest.get(1..).unwrap_or_default();
            self.room_for(line.len())?;
            if self.line.is_empty() {
                emit_line(line, false, each)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                emit_line(&whole, false, each)?;
                whole.clear();
                self.line = whole;
            }
        }
        self.room_for(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the body and returns the remaining line.
    pub(crate) fn finish(
        self,
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        emit_line(&self.line, true, each)
    }

    fn room_for(&self, more: usize) -> Result<(), DecodeError> {
        let size = self.line.len().saturating_add(more);
        if size > self.limit { Err(DecodeError::EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }
}

/// A blank line is nothing.
fn emit_line(
    line: &[u8],
    tail: bool,
    each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(());
    }
    each(Event { name: "", data: &text(line), tail })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]], limit: usize) -> Result<Vec<(String, bool)>, DecodeError> {
        let mut reader = LineReader { line: Vec::new(), limit };
        let mut events = Vec::new();
        let mut each = |event: Event<'_>| {
            events.push((event.data.to_owned(), event.tail));
            Ok(())
        };
        chunks.iter().try_for_each(|chunk| reader.feed(chunk, &mut each))?;
        reader.finish(&mut each)?;
        Ok(events)
    }

    #[test]
    fn lines_come_out_whole_however_they_are_cut() {
        let body = "{\"é\":1}\n\r\n \n{}\r\n{\"last\"".as_bytes();
        let expected: Vec<(String, bool)> = [("{\"é\":1}", false), ("{}", false), ("{\"last\"", true)]
            .map(|(line, tail)| (line.into(), tail))
            .into();
        assert_eq!(lines(&[body], 64), Ok(expected.clone()));
        let bytes: Vec<&[u8]> = body.chunks(1).collect();
        assert_eq!(lines(&bytes, 64), Ok(expected));
    }

    #[test]
    fn a_line_has_a_limit() {
        assert!(lines(&[b"12345\n1234", b"5\n"], 5).is_ok());
        for chunks in [&[b"123456\n".as_slice()][..], &[b"123", b"456"], &[b"123", b"456\n"]] {
            assert_eq!(lines(chunks, 5), Err(DecodeError::EventTooLarge { limit: 5 }));
        }
    }
}
