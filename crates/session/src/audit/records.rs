//! The records of a log, the last first.

use std::io::{self, Read as _};
use std::path::Path;

use serde_json::Value;

use super::older;

/// Limit on the bytes that are read of a file. A log continues in a new file long before.
const MAX_FILE: u64 = 4 * older::FULL;

/// Returns at most `limit` records before the record number `before`, of one session if it is named. A line that is not a
/// record is left out: `verify` reports it.
pub fn records(
    path: &Path,
    before: Option<u64>,
    session: Option<&str>,
    limit: usize,
) -> io::Result<Vec<Value>> {
    let mut found = Vec::new();
    let named = older::older(path)?.into_iter().map(|(first, path)| (Some(first), path)).collect::<Vec<_>>();
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
