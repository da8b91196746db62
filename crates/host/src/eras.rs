//! The MCP era of each server, stored in `mcp-eras.json` of the user's cache directory.
//!
//! Saves a second start. A lost or wrong entry costs one attempt, so failures are ignored.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use converse_mcp::{Era, EraStore};
use parking_lot::Mutex;

use crate::cache::Cache;

const NAME: &str = "mcp-eras.json";
const MAX_BYTES: u64 = 1024 * 1024;
/// Number of servers; beyond it the file starts empty.
const MOST: usize = 5_000;

#[derive(Debug)]
pub(crate) struct EraFile {
    cache: Cache,
    known: OnceLock<Mutex<BTreeMap<String, String>>>,
}

impl EraFile {
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        Self { cache: Cache(dir), known: OnceLock::new() }
    }

    fn read(&self) -> BTreeMap<String, String> {
        let bytes = self.cache.read(NAME, MAX_BYTES);
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    fn known(&self) -> &Mutex<BTreeMap<String, String>> {
        self.known.get_or_init(|| Mutex::new(self.read()))
    }
}

impl EraStore for EraFile {
    fn get(&self, key: &str) -> Option<Era> {
        let known = self.known().lock();
        match known.get(key)?.as_str() {
            "modern" => Some(Era::Modern),
            "legacy" => Some(Era::Legacy),
            _ => None,
        }
    }

    fn put(&self, key: &str, era: Era) {
        if self.get(key) == Some(era) {
            return;
        }
        let mut known = self.known().lock();
        // Another run may have written in the meantime.
        known.extend(self.read());
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key.to_owned(), era.label().to_owned());
        self.cache.write(NAME, &serde_json::to_vec(&*known).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learnt_is_there_next_time_and_damage_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("new");
        let eras = || EraFile::new(Some(below.clone()));
        assert_eq!(eras().get("a"), None);
        let (first, second) = (eras(), eras());
        assert_eq!(second.get("b"), None);
        first.put("a", Era::Legacy);
        second.put("b", Era::Modern);
        assert_eq!((eras().get("a"), eras().get("b")), (Some(Era::Legacy), Some(Era::Modern)));
        std::fs::write(below.join(NAME), "{").unwrap();
        assert_eq!(eras().get("a"), None);
        eras().put("a", Era::Modern);
        assert_eq!(eras().get("a"), Some(Era::Modern));
    }

    #[test]
    fn without_a_home_it_is_known_until_the_end() {
        let eras = EraFile::new(None);
        eras.put("a", Era::Modern);
        assert_eq!(eras.get("a"), Some(Era::Modern));
    }
}
