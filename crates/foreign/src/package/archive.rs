//! Reads zip archives, as far as bundles use them: stored or deflated files below 4 GiB, without encryption.
//!
//! <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT> (6.3.10, checked 2026-11). Only the central directory
//! counts. What an archive says about sizes is checked against what is unpacked.

use std::io::Read as _;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::{Package, PackageError, PackedFile};

const END: [u8; 4] = *b"PK\x05\x06";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
const END_LENGTH: usize = 22;
const ENTRY_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// Bytes of the comment of an archive.
const MAX_COMMENT: usize = u16::MAX as usize;
/// What a length is if it stands elsewhere (zip64).
const ELSEWHERE: usize = u32::MAX as usize;
const ENCRYPTED: usize = 1;
const STORED: usize = 0;
const DEFLATED: usize = 8;
const UNIX: usize = 3;
const KIND: usize = 0o170_000;
const REGULAR: usize = 0o100_000;
const DIRECTORY: usize = 0o040_000;

const DAMAGED: PackageError = PackageError::Archive("it is damaged");

/// The files of an archive, unpacked.
pub(super) fn files(bytes: &[u8]) -> Result<Vec<PackedFile>, PackageError> {
    let begin = bytes.len().saturating_sub(END_LENGTH + MAX_COMMENT);
    let tail = bytes.get(begin..).unwrap_or_default();
    let end = tail.windows(4).rposition(|window| window == END).ok_or(DAMAGED)?;
    let end = tail.get(end..).unwrap_or_default();
    let (count, mut at) = (number(end, 10, 2)?, number(end, 16, 4)?);
    if count > Package::MAX_FILES {
        return Err(PackageError::TooLarge("20000 files"));
    }
    let (mut files, mut room) = (Vec::new(), Package::MAX_BYTES);
    for _ in 0..count {
        let entry = bytes.get(at..).unwrap_or_default();
        if !entry.starts_with(&ENTRY) {
            return Err(DAMAGED);
        }
        let name = number(entry, 28, 2)?;
        if let Some(file) = unpacked(bytes, entry, name, &mut room)? {
            files.push(file);
        }
        at += ENTRY_LENGTH + name + number(entry, 30, 2)? + number(entry, 32, 2)?;
    }
    Ok(files)
}

/// The file of an entry; `None` for a directory.
fn unpacked(
    bytes: &[u8],
    entry: &[u8],
    name: usize,
    room: &mut usize,
) -> Result<Option<PackedFile>, PackageError> {
    let name = entry.get(ENTRY_LENGTH..ENTRY_LENGTH + name).ok_or(DAMAGED)?;
    let path = std::str::from_utf8(name).map_err(|_| PackageError::Archive("a path is not UTF-8"))?;
    let mode = if number(entry, 5, 1)? == UNIX { number(entry, 40, 2)? } else { 0 };
    let is_directory = path.ends_with('/') || mode & KIND == DIRECTORY;
    if !is_directory && !matches!(mode & KIND, 0 | REGULAR) {
        return Err(PackageError::Link(path.to_owned()));
    }
    if is_directory {
        return Ok(None);
    }
    if number(entry, 8, 2)? & ENCRYPTED != 0 {
        return Err(PackageError::Archive("it is encrypted"));
    }
    let (packed, size, offset) = (number(entry, 20, 4)?, number(entry, 24, 4)?, number(entry, 42, 4)?);
    if [packed, size, offset].contains(&ELSEWHERE) {
        return Err(PackageError::Archive("it is a zip64 archive"));
    }
    *room = room.checked_sub(size).ok_or(PackageError::TooLarge("256 MiB"))?;
    let local = bytes.get(offset..).filter(|local| local.starts_with(&LOCAL)).ok_or(DAMAGED)?;
    let begin = LOCAL_LENGTH + number(local, 26, 2)? + number(local, 28, 2)?;
    let data = local.get(begin..begin + packed).ok_or(DAMAGED)?;
    let mut unpacked = Vec::new();
    match number(entry, 10, 2)? {
        STORED => unpacked.extend_from_slice(data),
        DEFLATED => {
            let most = size as u64 + 1;
            DeflateDecoder::new(data).take(most).read_to_end(&mut unpacked).map_err(|_| DAMAGED)?;
        }
        _ => return Err(PackageError::Archive("it is packed in a way that is not supported")),
    }
    let mut sum = Crc::new();
    sum.update(&unpacked);
    if unpacked.len() != size || sum.sum() as usize != number(entry, 16, 4)? {
        return Err(DAMAGED);
    }
    Ok(Some(PackedFile { path: path.to_owned(), executable: mode & 0o111 != 0, bytes: unpacked }))
}

/// A number in little-endian order.
fn number(bytes: &[u8], at: usize, length: usize) -> Result<usize, PackageError> {
    let bytes = bytes.get(at..at + length).ok_or(DAMAGED)?;
    Ok(bytes.iter().rev().fold(0, |number, byte| (number << 8) | usize::from(*byte)))
}
