//! Responses as bytes.

use std::fmt::Write as _;

use crate::body::{Dialect, Says};

/// A response whose body ends with the connection.
pub(super) fn response(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    [(head + "\r\n").as_bytes(), body.as_ref()].concat()
}

/// What it says in a stream, with the head before it.
pub(super) fn streamed(dialect: Dialect, says: &Says) -> Vec<u8> {
    stream_of(dialect, says.body(dialect, true, 1))
}

/// A stream of these bytes.
pub(super) fn stream_of(dialect: Dialect, body: impl AsRef<[u8]>) -> Vec<u8> {
    response(200, &[("content-type", dialect.stream_type())], body)
}

/// An error in the form of OpenAI, which all others read too.
pub(super) fn error(status: u16, headers: &[(&str, &str)], message: &str) -> Vec<u8> {
    let body = serde_json::json!({ "error": { "message": message } }).to_string();
    response(status, &[&[("content-type", "application/json")], headers].concat(), body)
}

/// The bytes up to where a text begins in them.
pub(super) fn before(bytes: &[u8], text: &str) -> Vec<u8> {
    bytes[..find(bytes, text)].to_vec()
}

/// The whole events before the one that a text stands in.
pub(super) fn events_before(bytes: &[u8], text: &str) -> Vec<u8> {
    let mut head = before(bytes, text);
    let end = head.windows(2).rposition(|end| end == b"\n\n" || end == b"\r\n").map_or(0, |at| at + 2);
    head.truncate(end);
    head
}

fn find(bytes: &[u8], text: &str) -> usize {
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes());
    at.unwrap_or_else(|| panic!("no `{text}` in {}", String::from_utf8_lossy(bytes)))
}

/// The bytes with a text in them replaced by others.
pub(super) fn swapped(bytes: &[u8], text: &str, by: &[u8]) -> Vec<u8> {
    let at = find(bytes, text);
    [&bytes[..at], by, &bytes[at + text.len()..]].concat()
}

/// Deflated without compressing anything.
pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap();
    let size = u32::from(length).to_le_bytes();
    let stored = [&[1][..], &length.to_le_bytes(), &(!length).to_le_bytes(), body].concat();
    [&GZIP[..], &stored, &crc32(body).to_le_bytes(), &size].concat()
}

const GZIP: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// So many mebibytes of one letter in some thousand bytes each. Its checksum is wrong: nobody should come that far.
pub(crate) fn gzip_bomb(mebibytes: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, of fixed codes: the letter `x`, then the last 258 bytes again (length code 285, distance 1).
    bits.low_first(0b011, 3);
    bits.high_first(0x30 + u32::from(b'x'), 8);
    for _ in 0..mebibytes * 1024 * 1024 / 258 {
        bits.high_first(0b1100_0101, 8);
        bits.high_first(0, 5);
    }
    bits.high_first(0, 7);
    [&GZIP[..], &bits.done, &[bits.open], &[0; 8]].concat()
}

#[derive(Default)]
struct Bits {
    done: Vec<u8>,
    open: u8,
    filled: u32,
}

impl Bits {
    fn push(&mut self, bit: u32) {
        self.open |= u8::try_from(bit & 1).unwrap() << self.filled;
        self.filled += 1;
        if self.filled == 8 {
            self.done.push(std::mem::take(&mut self.open));
            self.filled = 0;
        }
    }

    fn low_first(&mut self, value: u32, bits: u32) {
        (0..bits).for_each(|at| self.push(value >> at));
    }

    fn high_first(&mut self, value: u32, bits: u32) {
        (0..bits).rev().for_each(|at| self.push(value >> at));
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}
