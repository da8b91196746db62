//! Cached results of tools: `results/<key>.json` in the cache directory of the user, which tools cannot write and other
//! users cannot read.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use converse_canister::{Content, Digest};
use converse_ensemble::Results;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;

/// Bytes of a result; a larger one is not cached.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Number of files; beyond it the oldest are deleted.
const MOST_KEPT: usize = 500;

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
