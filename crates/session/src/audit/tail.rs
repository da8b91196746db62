//! The end of the chain, read backwards from the end of the file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use converse_canister::Digest;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::MAX_LINE_BYTES;
use crate::digest;

/// Bytes to read first; most lines are shorter.
const GLANCE: usize = 4096;

/// The end of the complete lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    /// Number of the last record, or 0.
    pub(super) seq: u64,
    /// SHA-256 of the last line with its newline, or zeros.
    pub(super) head: Digest,
    /// Bytes of complete lines.
    pub(super) length: u64,
}

impl Default for End {
    fn default() -> Self {
        Self { seq: 0, head: Digest([0; 32]), length: 0 }
    }
}

impl End {
    /// Advances by one line.
    pub(super) fn follow(&mut self, line: &[u8]) {
        *self = Self { seq: self.seq + 1, head: digest(line), length: self.length + line.len() as u64 };
    }
}

/// The end of a file.
#[derive(Debug)]
pub(super) struct Tail {
    pub(super) end: End,
    /// An unfinished line: the bytes after the last newline.
    pub(super) torn: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Unusable {
    Io(io::Error),
    Damaged(String),
}

/// The part of a record that links it to the chain. Other fields are skipped.
#[derive(Debug, Deserialize)]
pub(super) struct Link {
    pub(super) seq: u64,
    pub(super) prev: Digest,
}

/// Reads the end of a locked file.
pub(super) fn read(file: &File, length: u64) -> Result<Tail, Unusable> {
    let damaged = |reason: &str| Unusable::Damaged(reason.to_owned());
    let torn = behind_newline(file, length)?;
    let whole = length - torn.len() as u64;
    if !could_be_torn(&torn) {
        return Err(damaged("the bytes after the last line are not part of a record"));
    }
    if whole == 0 {
        return Ok(Tail { end: End::default(), torn });
    }
    let mut line = behind_newline(file, whole - 1)?;
    line.push(b'\n');
    let link: Link = serde_json::from_slice(&line)
        .map_err(|_| damaged("the last line is not a record of an audit log"))?;
    let end = End { seq: link.seq, head: digest(&line), length: whole };
    Ok(Tail { end, torn })
}

/// Returns the bytes between `until` and the last newline before it.
fn behind_newline(file: &File, until: u64) -> Result<Vec<u8>, Unusable> {
    let mut wanted = GLANCE;
    loop {
        let start = until.saturating_sub(wanted as u64);
        let mut bytes = vec![0; (until - start) as usize];
        file.read_exact_at(&mut bytes, start).map_err(Unusable::Io)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(bytes.split_off(at + 1));
        }
        if start == 0 {
            return Ok(bytes);
        }
        if wanted > MAX_LINE_BYTES {
            return Err(Unusable::Damaged("the last line is longer than any record".to_owned()));
        }
        wanted *= 4;
    }
}

/// Returns whether a crash could have left these bytes: the beginning of a record, or zeros where a file system never
/// received the bytes.
pub(super) fn could_be_torn(bytes: &[u8]) -> bool {
    let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
    let piece = bytes.get(..bytes.len() - zeros).unwrap_or_default();
    let begins = piece.first().is_none_or(|byte| *byte == b'{');
    let mut values = serde_json::Deserializer::from_slice(piece).into_iter::<IgnoredAny>();
    begins
        && match values.next() {
            None => true,
            Some(Ok(_)) => values.byte_offset() == piece.len(),
            Some(Err(error)) => error.is_eof(),
        }
}
