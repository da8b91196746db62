//! Entries of a store of small files: `<id>.json`, and for some of them a directory `<id>` beside it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// An entry of a store.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    changed: SystemTime,
    /// Bytes of its file and of all files in its directory.
    pub(super) bytes: u64,
}

impl Entry {
    pub(super) fn is_older_than(&self, age: Duration) -> bool {
        is_older_than(self.changed, age)
    }
}

/// Returns whether a time is longer ago than `age`. A time in the future is not.
pub(super) fn is_older_than(time: SystemTime, age: Duration) -> bool {
    time.elapsed().is_ok_and(|elapsed| elapsed > age)
}

/// Returns the entries of a store, the oldest first.
pub(super) fn entries(dir: &Path) -> Vec<Entry> {
    let mut found: HashMap<String, Entry> = HashMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        let Ok(changed) = metadata.modified() else { continue };
        let (id, bytes) = match name.strip_suffix(".json") {
            Some(id) => (id.to_owned(), metadata.len()),
            None if metadata.is_dir() => (name, bytes_below(&entry.path())),
            None => continue,
        };
        let one = found.entry(id.clone()).or_insert(Entry { id, changed, bytes: 0 });
        one.changed = one.changed.max(changed);
        one.bytes += bytes;
    }
    let mut found: Vec<Entry> = found.into_values().collect();
    found.sort_by(|a, b| (a.changed, &a.id).cmp(&(b.changed, &b.id)));
    found
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    bytes.sum()
}
