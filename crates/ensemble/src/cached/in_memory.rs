//! Cached answers in memory, for a run that stores nothing.

use std::collections::HashMap;
use std::time::Duration;

use converse_canister::{Content, Digest};
use parking_lot::Mutex;

use super::Results;

/// Bytes of an answer as JSON; a larger one is not cached.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// Number of answers; beyond it the oldest are forgotten.
const MAX_ANSWERS: usize = 500;
/// Bytes of all answers.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;

/// A cache in memory, bounded by the number and the size of the answers.
pub struct ResultsInMemory {
    answers: Mutex<HashMap<Digest, CachedAnswer>>,
    now: fn() -> u64,
}

struct CachedAnswer {
    /// Time of the call and expiry, in milliseconds since 1970. An answer from the future counts as expired.
    from: u64,
    until: u64,
    /// Bytes as JSON.
    size: usize,
    content: Vec<Content>,
}

impl ResultsInMemory {
    /// `now` returns milliseconds since 1970.
    pub fn new(now: fn() -> u64) -> Self {
        Self { answers: Mutex::default(), now }
    }
}

impl std::fmt::Debug for ResultsInMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ResultsInMemory")
    }
}

impl CachedAnswer {
    fn is_fresh(&self, now: u64) -> bool {
        (self.from..self.until).contains(&now)
    }
}

impl Results for ResultsInMemory {
    fn get(&self, key: &Digest) -> Option<Vec<Content>> {
        let answers = self.answers.lock();
        answers.get(key).filter(|answer| answer.is_fresh((self.now)())).map(|answer| answer.content.clone())
    }

    fn put(&self, key: &Digest, content: &[Content], lifetime: Duration) {
        let Ok(size) = serde_json::to_vec(content).map(|bytes| bytes.len()) else { return };
        if size > MAX_BYTES {
            return;
        }
        let now = (self.now)();
        let until = now.saturating_add(u64::try_from(lifetime.as_millis()).unwrap_or(u64::MAX));
        let mut answers = self.answers.lock();
        answers.retain(|known, answer| known != key && answer.is_fresh(now));
        let mut total: usize = answers.values().map(|answer| answer.size).sum();
        while answers.len() >= MAX_ANSWERS || total + size > MAX_TOTAL_BYTES {
            let oldest = answers.iter().min_by_key(|(_, answer)| answer.from).map(|(key, _)| *key);
            let Some(removed) = oldest.and_then(|key| answers.remove(&key)) else { break };
            total -= removed.size;
        }
        answers.insert(*key, CachedAnswer { from: now, until, size, content: content.to_vec() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Digest = Digest([7; 32]);

    fn key(count: usize) -> Digest {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&count.to_le_bytes());
        Digest(key)
    }

    fn put(results: &dyn Results, key: &Digest, text: &str) {
        results.put(key, &[Content::text(text)], Duration::from_secs(1));
    }

    fn count(results: &ResultsInMemory) -> usize {
        results.answers.lock().len()
    }

    #[test]
    fn new_answers_take_the_place_of_old_ones() {
        thread_local!(static TIME: std::cell::Cell<u64> = const { std::cell::Cell::new(1_000) });
        let memory = ResultsInMemory::new(|| TIME.get());
        put(&memory, &KEY, "old");
        for number in 0..MAX_ANSWERS - 1 {
            TIME.set(1_001);
            put(&memory, &key(number), "x");
        }
        put(&memory, &KEY, "new");
        assert_eq!(memory.get(&KEY), Some(vec![Content::text("new")]), "a key is renewed");
        assert_eq!(count(&memory), MAX_ANSWERS);
        TIME.set(1_002);
        put(&memory, &key(MAX_ANSWERS), "x");
        assert!(memory.get(&key(MAX_ANSWERS)).is_some(), "the oldest makes room");
        assert_eq!(count(&memory), MAX_ANSWERS);
        TIME.set(2_001);
        put(&memory, &KEY, "late");
        assert_eq!(count(&memory), 2, "what is too old is not held");
    }

    #[test]
    fn bytes_are_bounded() {
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
}
