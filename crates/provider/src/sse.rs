//! Incremental parser of server-sent events.
//!
//! Lines are cut on bytes and decoded one by one, so a chunk may end anywhere: within a code point, between `\r` and
//! `\n`, within `data:`. Bad UTF-8 becomes U+FFFD. Comments, `id`, `retry` and unknown fields are passed over. Nothing
//! is looked at twice, whatever the size of the chunks, and no event grows without bound.
//!
//! At the end of the body an event without its blank line is still an event. Its data may be incomplete, so it is marked
//! as the tail.
//!
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>.

use std::borrow::Cow;

use memchr::memchr2;

use crate::DecodeError;

/// The largest event that is read, in bytes of its lines.
pub(crate) const MAX_EVENT: usize = 16 * 1024 * 1024;

/// One event. `name` is empty where the server gave none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event<'a> {
    pub(crate) name: &'a str,
    pub(crate) data: &'a str,
    /// The body ended within it or right after it.
    pub(crate) tail: bool,
}

/// Parser state between two chunks.
#[derive(Debug)]
pub(crate) struct EventReader {
    /// The bytes of a line whose end has not come.
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    /// The last byte was `\r`: a `\n` that follows belongs to it.
    after_cr: bool,
    at_start: bool,
    limit: usize,
}

impl EventReader {
    pub(crate) fn new() -> Self {
        Self::with_limit(MAX_EVENT)
    }

    fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            name: String::new(),
            data: String::new(),
            has_data: false,
            after_cr: false,
            at_start: true,
            limit,
        }
    }

    /// Takes the next bytes and hands out the events that they complete.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.room_for(bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            let (line, rest) = bytes.split_at(end);
            self.after_cr = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            self.room_for(line.len())?;
            if self.line.is_empty() {
                self.take_line(line, each)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, each)?;
                whole.clear();
                self.line = whole;
            }
        }
        Ok(())
    }

    /// Ends the body and returns the remaining event.
    pub(crate) fn finish(
        mut self,
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, each)?;
        }
        self.dispatch(true, each)
    }

    fn room_for(&self, more: usize) -> Result<(), DecodeError> {
        let size = self.line.len().saturating_add(self.data.len()).saturating_add(more);
        if size > self.limit { Err(DecodeError::EventTooLarge { limit: self.limit }) } else { Ok(()) }
    }

    fn take_line(
        &mut self,
        line: &[u8],
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if self.at_start => rest,
            _ => line,
        };
        self.at_start = false;
        if line.is_empty() {
            return self.dispatch(false, each);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => line.split_at(colon),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&text(value));
            }
            b"event" => {
                self.name.clear();
                self.name.push_str(&text(value));
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        tail: bool,
        each: &mut dyn FnMut(Event<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        let result = if std::mem::take(&mut self.has_data) {
            each(Event { name: &self.name, data: &self.data, tail })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        result
    }
}

/// Decodes UTF-8, with U+FFFD for invalid bytes. The lossy decoder of the standard library is several times slower than the strict one, which nearly always succeeds.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type OwnedEvent = (String, String, bool);

    fn read(chunks: &[&[u8]]) -> Result<Vec<OwnedEvent>, DecodeError> {
        let mut events = Vec::new();
        let mut each = |event: Event<'_>| {
            events.push((event.name.to_owned(), event.data.to_owned(), event.tail));
            Ok(())
        };
        let mut reader = EventReader::with_limit(64);
        for chunk in chunks {
            reader.feed(chunk, &mut each)?;
        }
        reader.finish(&mut each)?;
        Ok(events)
    }

    #[test]
    fn every_form_of_an_event_is_read() {
        for (body, expected) in [
            (&b"data: a\n\n"[..], vec![("", "a", false)]),
            (b"data:a\r\n\r\ndata: b\r\n\r\n", vec![("", "a", false), ("", "b", false)]),
            (b"event: x\r\ndata: a\r\ndata: b\r\n\r\n", vec![("x", "a\nb", false)]),
            (b"data: a\rdata: b\r\r", vec![("", "a\nb", false)]),
            (b"\xef\xbb\xbfdata: a\n\n", vec![("", "a", false)]),
            (b"data: \xef\xbb\xbfa\n\n", vec![("", "\u{feff}a", false)]),
            (
                b": ping\n\n: ping\n\nevent: x\nid: 7\nretry: 3\nwhat: ever\ndata:  a\n\n",
                vec![("x", " a", false)],
            ),
            (b"event: x\n\ndata: a\n\n", vec![("", "a", false)]),
            (b"data\n\n", vec![("", "", false)]),
            (b"data: a\n\ndata: b", vec![("", "a", false), ("", "b", true)]),
            (b"data: a\n", vec![("", "a", true)]),
            (b"event: x", vec![]),
            (b"data: \xff\xc3(\n\n", vec![("", "\u{fffd}\u{fffd}(", false)]),
            ("data: é🦀\n\n".as_bytes(), vec![("", "é🦀", false)]),
        ] {
            let expected: Vec<OwnedEvent> =
                expected.into_iter().map(|(n, d, t)| (n.into(), d.into(), t)).collect();
            assert_eq!(read(&[body]).unwrap(), expected, "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_line_or_an_event_without_end_is_an_error() {
        let line = [b'x'; 65];
        assert_eq!(read(&[&line]), Err(DecodeError::EventTooLarge { limit: 64 }));
        let halves = line.split_at(30);
        assert_eq!(read(&[halves.0, halves.1]), Err(DecodeError::EventTooLarge { limit: 64 }));
        let lines = b"data: 0123456789\n".repeat(7);
        assert_eq!(read(&[&lines]), Err(DecodeError::EventTooLarge { limit: 64 }));
    }

    proptest! {
        #[test]
        fn cutting_is_invisible(
            pieces in prop::collection::vec(prop_oneof![
                Just("\n"), Just("\r"), Just("\r\n"), Just("data:"), Just("data: "), Just("event: "), Just(": c"),
                Just("\u{feff}"), Just("é🦀"), Just("x"), Just("\n\n"), Just("{\"a\":1}")
            ], 0..24),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let body = pieces.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
            cuts.extend([0, body.len()]);
            cuts.sort_unstable();
            let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &body[pair[0]..pair[1]]).collect();
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            let whole = read(&[&body]);
            prop_assert_eq!(&read(&chunks), &whole);
            prop_assert_eq!(&read(&bytes), &whole);
        }
    }
}
