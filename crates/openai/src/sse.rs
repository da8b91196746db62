//! Server-Sent Events: each event is one line of JSON, so text cannot end an event.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Ends a stream of chat completion chunks.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// A comment that keeps an idle connection open.
pub const HEARTBEAT: &[u8] = b": keep-alive\n\n";

/// Compact JSON on one line for every reader: Python's `str.splitlines`, which some clients use, ends a line also at
/// U+0085, U+2028 and U+2029.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = after.chars();
            if let Some(end) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(end))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

/// Appends an event without a name.
pub(super) fn data(out: &mut Vec<u8>, value: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    // Writing to memory cannot fail, and keys of objects are strings.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut *out, OneLine));
    out.extend_from_slice(b"\n\n");
}

/// Appends an event with a name.
pub(super) fn named(out: &mut Vec<u8>, name: &str, value: &impl Serialize) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.push(b'\n');
    data(out, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_its_text() {
        let text = "a\nb\rc\u{85}d\u{2028}e\u{2029}f\u{b}g\u{1c}h\0\u{7f}é\"\\";
        let mut out = Vec::new();
        named(&mut out, "x", &text);
        let written = String::from_utf8(out).unwrap();
        let json = written.strip_prefix("event: x\ndata: ").unwrap().strip_suffix("\n\n").unwrap();
        assert!(!json.contains(|c: char| c.is_ascii_control() && c != '\u{7f}'), "{json}");
        assert!(!json.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{json}");
        assert_eq!(serde_json::from_str::<String>(json).unwrap(), text);
    }
}
