//! The files of a log that has outgrown one file.
//!
//! When `audit.jsonl` is full, it is synced and renamed to `audit-<number of its first record>.jsonl`, and a new
//! `audit.jsonl` continues the chain: numbers go on, and `prev` of its first record is the hash of the last record of the
//! file before it. After a crash at any step, either the file still has its name, or the next process begins a new one.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::MAX_LINE_BYTES;
use super::tail::{self, End, Link, Unusable};
use crate::witness;

/// A file is full if it has this many bytes: about 25,000 calls.
pub(super) const FULL: u64 = 32 * 1024 * 1024;

const PREFIX: &str = "audit-";
const SUFFIX: &str = ".jsonl";

/// Returns the older files of the log at `path` with the numbers of their first records, earliest first.
pub(super) fn older(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        found.extend(first_by_name(&path).map(|first| (first, path)));
    }
    found.sort();
    Ok(found)
}

/// Returns the number of the first record that the name of an older file states.
pub(super) fn first_by_name(path: &Path) -> Option<u64> {
    let digits = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let is_number = digits.len() >= 12 && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Returns the end of the older files, as the beginning of a file that continues them.
pub(super) fn end(path: &Path) -> Result<End, Unusable> {
    let Some((_, last)) = older(path).map_err(Unusable::Io)?.pop() else { return Ok(End::default()) };
    let file = crate::files::regular(&last).map_err(Unusable::Io)?;
    let length = file.metadata().map_err(Unusable::Io)?.len();
    let found = tail::read(&file, length, || Ok(End::default()))?;
    if length == 0 || !found.torn.is_empty() {
        return Err(Unusable::Damaged(format!("`{}`, which comes before it, is incomplete", last.display())));
    }
    Ok(End { length: 0, ..found.end })
}

/// Gives a full file, which is locked and on disk, its name as an older one. Returns false if that name is taken.
pub(super) fn set_back(path: &Path, file: &File) -> io::Result<bool> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(MAX_LINE_BYTES as u64)).read_until(b'\n', &mut line)?;
    let first = serde_json::from_slice::<Link>(&line).map_err(io::Error::other)?.seq;
    let older = path.with_file_name(format!("{PREFIX}{first:012}{SUFFIX}"));
    if !is_at(file, path)? || fs::symlink_metadata(&older).is_ok() {
        return Ok(false);
    }
    fs::rename(path, &older)?;
    witness::renamed(path, &older);
    Ok(true)
}

/// Returns whether the path leads to this file.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Limit on the bytes that are read of a file. A log continues in a new file long before.
const MAX_FILE: u64 = 4 * FULL;

/// Returns at most `limit` records before the record number `before`, of one session if it is named. A line that is not a
/// record is left out: `verify` reports it.
pub fn records(
    path: &Path,
    before: Option<u64>,
    session: Option<&str>,
    limit: usize,
) -> io::Result<Vec<Value>> {
    let mut found = Vec::new();
    let named = older(path)?.into_iter().map(|(first, path)| (Some(first), path)).collect::<Vec<_>>();
    let files = named.into_iter().chain([(None, path.to_owned())]).rev();
    for (first, path) in files {
        if first.is_some_and(|first| before.is_some_and(|before| first >= before)) {
            continue;
        }
        let mut text = Vec::new();
        match crate::files::regular(&path) {
            Ok(file) => file.take(MAX_FILE).read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in text.split(|byte| *byte == b'\n').rev() {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            let is_earlier =
                before.is_none_or(|before| record["seq"].as_u64().is_some_and(|seq| seq < before));
            if is_earlier && session.is_none_or(|session| record["session"] == session) {
                found.push(record);
                if found.len() == limit {
                    return Ok(found);
                }
            }
        }
    }
    Ok(found)
}
