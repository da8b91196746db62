//! [`Parser`]: an incremental parser of `text/event-stream` with a size limit.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream> (checked 2026-11).

use std::collections::VecDeque;

use memchr::memchr2;

/// Bytes of one event.
pub(super) const MAX_EVENT: usize = 16 * 1024 * 1024;
const MAX_ID: usize = 4096;
/// Bytes of a buffer that is worth an allocation of its own.
const LARGE: usize = 1024 * 1024;
const BOM: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty, or the text of its `event` line.
    pub(super) kind: Vec<u8>,
    pub(super) data: Vec<u8>,
    pub(super) id: Option<String>,
    /// Milliseconds.
    pub(super) retry: Option<u64>,
}

/// An event is longer than [`MAX_EVENT`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    after_cr: bool,
    begun: bool,
}

impl Parser {
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut VecDeque<Event>) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let end = memchr2(b'\n', b'\r', bytes);
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.event.data.len() + self.line.len() + piece.len() > MAX_EVENT {
                return Err(TooLong);
            }
            append(&mut self.line, piece, MAX_EVENT);
            let Some((last, rest)) = rest.split_first() else { return Ok(()) };
            self.after_cr = *last == b'\r';
            bytes = rest;
            let line = std::mem::take(&mut self.line);
            events.extend(self.line_ended(line));
        }
        Ok(())
    }

    fn line_ended(&mut self, mut line: Vec<u8>) -> Option<Event> {
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let worth = std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
            return worth.then_some(event);
        }
        let colon = memchr::memchr(b':', &line).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" if self.has_data => {
                self.event.data.push(b'\n');
                self.event.data.extend_from_slice(value);
            }
            b"data" => {
                self.has_data = true;
                // Reuses the buffer of the line, which may be large.
                let before = line.len() - value.len();
                line.drain(..before);
                self.event.data = line;
            }
            b"event" => self.event.kind = value.to_vec(),
            b"id" if value.len() <= MAX_ID && !value.contains(&0) => {
                self.event.id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                self.event.retry = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok())
            }
            // A comment or an unknown field.
            _ => {}
        }
        None
    }
}

/// Appends to a buffer of at most `most` bytes. A large one gets all its room at once: room that is not written to takes no
/// memory, and growing by copies takes it twice.
pub(super) fn append(buffer: &mut Vec<u8>, piece: &[u8], most: usize) {
    let length = buffer.len() + piece.len();
    if length > buffer.capacity() && length > LARGE {
        buffer.reserve_exact(most.max(length) - buffer.len());
    }
    buffer.extend_from_slice(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(data: &str, id: Option<&str>, retry: Option<u64>) -> Event {
        Event { data: data.into(), id: id.map(str::to_owned), retry, ..Event::default() }
    }

    #[test]
    fn events_do_not_depend_on_how_bytes_are_cut() {
        let text = "\u{feff}: hello\n\ndata: one\n\nid: 7\nretry: 50\ndata:\r\n\r\nevent: ping\rdata\r\rdata:a\ndata: b\n\
                    nonsense\nretry: x\n\nid: 8\n\nevent: only\n\ndata: unended";
        let wanted = vec![
            event("one", None, None),
            event("", Some("7"), Some(50)),
            Event { kind: b"ping".to_vec(), ..Event::default() },
            event("a\nb", None, None),
            event("", Some("8"), None),
        ];
        for size in [1, 2, 3, 5, 7, text.len()] {
            let (mut parser, mut events) = (Parser::default(), VecDeque::new());
            for piece in text.as_bytes().chunks(size) {
                parser.push(piece, &mut events).unwrap();
            }
            assert_eq!(events, wanted, "in pieces of {size}");
        }
    }

    #[test]
    fn a_large_buffer_gets_its_room_once() {
        let mut buffer = Vec::new();
        append(&mut buffer, &[b'x'; 1000], MAX_EVENT);
        assert!(buffer.capacity() < LARGE);
        append(&mut buffer, &vec![b'x'; LARGE], MAX_EVENT);
        let room = buffer.as_ptr();
        for _ in 1..MAX_EVENT / LARGE - 1 {
            append(&mut buffer, &vec![b'x'; LARGE], MAX_EVENT);
        }
        assert_eq!((buffer.as_ptr(), buffer.capacity()), (room, MAX_EVENT));
        assert_eq!(buffer.len(), MAX_EVENT - LARGE + 1000);
    }

    #[test]
    fn an_event_has_a_limit_and_a_comment_counts_for_nothing() {
        let long = vec![b'x'; MAX_EVENT / 2];
        let (mut parser, mut events) = (Parser::default(), VecDeque::new());
        for _ in 0..4 {
            parser.push(b":", &mut events).unwrap();
            parser.push(&long, &mut events).unwrap();
            parser.push(b"\n", &mut events).unwrap();
        }
        for (lines, fits) in [(1, true), (3, false)] {
            let mut parser = Parser::default();
            let mut pushed = Ok(());
            for _ in 0..lines {
                pushed = pushed.and_then(|()| parser.push(b"\ndata: ".get(1..).unwrap(), &mut events));
                pushed = pushed.and_then(|()| parser.push(&long, &mut events));
                pushed = pushed.and_then(|()| parser.push(b"\n", &mut events));
            }
            assert_eq!(pushed.is_ok(), fits, "{lines}");
        }
    }
}
