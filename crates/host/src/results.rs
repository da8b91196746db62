//! Cached results of tools: `results/<key>.json` in the cache directory of the user, which tools cannot write and other
//! users cannot read. A run that stores nothing caches in memory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use converse_canister::{Content, Digest};
use converse_ensemble::Results;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;

/// Bytes of a result; a larger one is not cached.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Number of files; beyond it the oldest are deleted.
const MOST_KEPT: usize = 500;
/// Bytes of the cache in memory.
const MOST_HELD: usize = 64 * 1024 * 1024;

/// The time, in milliseconds since 1970.
pub(crate) type Now = fn() -> u64;

pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// Time of writing and expiry, in milliseconds since 1970. An entry from the future counts as expired.
    from: u64,
    until: u64,
    content: Vec<Content>,
}

impl Entry {
    fn is_fresh(&self, now: u64) -> bool {
        (self.from..self.until).contains(&now)
    }
}

/// A cache in files.
pub(crate) struct ResultFiles {
    cache: Cache,
    now: Now,
}

crate::opaque_debug!(ResultFiles);

impl ResultFiles {
    pub(crate) fn new(dir: Option<PathBuf>, now: Now) -> Self {
        Self { cache: Cache(dir.map(|dir| dir.join("results"))), now }
    }
}

impl Results for ResultFiles {
    fn get(&self, key: &Digest) -> Option<Vec<Content>> {
        let bytes = self.cache.read(&format!("{key}.json"), MAX_BYTES)?;
        let entry: Entry = serde_json::from_slice(&bytes).ok()?;
        entry.is_fresh((self.now)()).then_some(entry.content)
    }

    fn put(&self, key: &Digest, content: &[Content], lifetime: Duration) {
        let Ok(bytes) = serde_json::to_vec(&entry(content, lifetime, self.now)) else { return };
        if bytes.len() as u64 <= MAX_BYTES {
            self.cache.prune(MOST_KEPT);
            self.cache.write(&format!("{key}.json"), &bytes);
        }
    }
}

/// A cache in memory.
pub(crate) struct ResultsInMemory {
    held: Mutex<Held>,
    now: Now,
}

crate::opaque_debug!(ResultsInMemory);

#[derive(Default)]
struct Held {
    /// Entries with their sizes in bytes.
    entries: HashMap<Digest, (Entry, usize)>,
}

impl Held {
    fn has_room(&self, size: usize) -> bool {
        let bytes: usize = self.entries.values().map(|(_, size)| size).sum();
        self.entries.len() < MOST_KEPT && bytes + size <= MOST_HELD
    }

    fn forget_the_oldest(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, (entry, _))| entry.from).map(|(key, _)| *key);
        self.entries.retain(|key, _| Some(*key) != oldest);
    }
}

impl ResultsInMemory {
    pub(crate) fn new(now: Now) -> Self {
        Self { held: Mutex::default(), now }
    }
}

impl Results for ResultsInMemory {
    fn get(&self, key: &Digest) -> Option<Vec<Content>> {
        let held = self.held.lock();
        let (entry, _) = held.entries.get(key)?;
        entry.is_fresh((self.now)()).then(|| entry.content.clone())
    }

    fn put(&self, key: &Digest, content: &[Content], lifetime: Duration) {
        let entry = entry(content, lifetime, self.now);
        let Ok(size) = serde_json::to_vec(&entry).map(|bytes| bytes.len()) else { return };
        if size as u64 > MAX_BYTES {
            return;
        }
        let now = (self.now)();
        let mut held = self.held.lock();
        held.entries.retain(|held, (entry, _)| held != key && entry.is_fresh(now));
        while !held.has_room(size) {
            held.forget_the_oldest();
        }
        held.entries.insert(*key, (entry, size));
    }
}

fn entry(content: &[Content], lifetime: Duration, now: Now) -> Entry {
    let from = now();
    let lifetime = u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX);
    Entry { from, until: from.saturating_add(lifetime), content: content.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Digest = Digest([7; 32]);

    fn kept(results: &dyn Results) -> bool {
        results.get(&KEY).is_some()
    }

    fn key(count: usize) -> Digest {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&count.to_le_bytes());
        Digest(key)
    }

    fn put(results: &dyn Results, key: &Digest, text: &str) {
        results.put(key, &[Content::text(text)], Duration::from_secs(1));
    }

    fn count(results: &ResultsInMemory) -> usize {
        results.held.lock().entries.len()
    }

    #[test]
    fn an_answer_is_given_again_until_its_time_has_passed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |now| ResultFiles::new(Some(dir.path().to_path_buf()), now);
        assert!(!kept(&at(|| 1_000)));
        at(|| 1_000).put(&KEY, &[Content::text("x")], Duration::from_secs(2));
        assert_eq!(at(|| 2_999).get(&KEY), Some(vec![Content::text("x")]));
        assert!(!kept(&at(|| 3_000)) && !kept(&at(|| 999)), "too old; a clock that was set back");
        assert!(!kept(&ResultFiles::new(None, || 1_000)));
        let file = dir.path().join("results").join(format!("{KEY}.json"));
        std::fs::write(file, "damaged").unwrap();
        assert!(!kept(&at(|| 1_000)));
        let memory = ResultsInMemory::new(|| 1_000);
        memory.put(&KEY, &[], Duration::from_secs(1));
        assert!(kept(&memory));
    }

    #[test]
    fn in_memory_new_answers_take_the_place_of_old_ones() {
        thread_local!(static TIME: std::cell::Cell<u64> = const { std::cell::Cell::new(1_000) });
        let memory = ResultsInMemory::new(|| TIME.get());
        put(&memory, &KEY, "old");
        for number in 0..MOST_KEPT - 1 {
            TIME.set(1_001);
            put(&memory, &key(number), "x");
        }
        put(&memory, &KEY, "new");
        assert_eq!(memory.get(&KEY), Some(vec![Content::text("new")]), "a key is renewed");
        assert_eq!(count(&memory), MOST_KEPT);
        TIME.set(1_002);
        put(&memory, &key(MOST_KEPT), "x");
        assert!(memory.get(&key(MOST_KEPT)).is_some(), "the oldest makes room");
        assert_eq!(count(&memory), MOST_KEPT);
        TIME.set(2_001);
        put(&memory, &KEY, "late");
        assert_eq!(count(&memory), 2, "what is too old is not held");
    }

    #[test]
    fn in_memory_bytes_are_bounded() {
        let memory = ResultsInMemory::new(|| 1_000);
        put(&memory, &KEY, &"x".repeat(5 * 1024 * 1024));
        assert_eq!(count(&memory), 0, "too large for one");
        let large = "x".repeat(4 * 1024 * 1024 - 1024);
        for number in 0..20 {
            put(&memory, &key(number), &large);
            assert!(memory.get(&key(number)).is_some());
        }
        assert_eq!(count(&memory), 16);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them_and_they_do_not_grow_without_end() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let results = ResultFiles::new(Some(dir.path().to_path_buf()), || 1_000);
        for count in 0..MOST_KEPT + 20 {
            results.put(&key(count), &[], Duration::from_secs(1));
        }
        let place = dir.path().join("results");
        assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(std::fs::read_dir(&place).unwrap().count() <= MOST_KEPT);
    }
}
