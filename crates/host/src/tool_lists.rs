//! The stored tools of servers: `mcp-tools/<key>.json` in the user's cache directory.

use std::path::PathBuf;
use std::time::Duration;

use converse_mcp::ToolListStore;

use crate::cache::Cache;
use crate::secrets::Redactor;

/// Bytes of a list; more than any server may list.
const MAX_BYTES: u64 = 33 * 1024 * 1024;
/// Number of servers; beyond it the oldest are deleted.
const MOST: usize = 1_000;

#[derive(Debug)]
pub struct ListFiles {
    cache: Cache,
    redactor: Redactor,
}

impl ListFiles {
    pub fn new(dir: Option<PathBuf>, redactor: Redactor) -> Self {
        Self { cache: Cache(dir.map(|dir| dir.join("mcp-tools"))), redactor }
    }

    /// Returns the age of a list.
    pub fn age(&self, key: &str) -> Option<Duration> {
        self.cache.age(&name(key))
    }
}

impl ToolListStore for ListFiles {
    fn get(&self, key: &str) -> Option<String> {
        String::from_utf8(self.cache.read(&name(key), MAX_BYTES)?).ok()
    }

    fn put(&self, key: &str, list: &str) {
        // The time of the file shows when the server was seen.
        if self.cache.renew(&name(key), list.as_bytes()) {
            return;
        }
        // A server may repeat a key that it was given. A redacted list would be a different list, so it is not stored.
        if self.redactor.is_in_json(list) {
            return;
        }
        if self.age(key).is_none() {
            self.cache.prune(MOST);
        }
        self.cache.write(&name(key), list.as_bytes());
    }
}

/// A key is a digest in hex.
fn name(key: &str) -> String {
    format!("{key}.json")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::secrets::Secret;

    #[test]
    fn a_list_is_there_next_time() {
        let dir = tempfile::tempdir().unwrap();
        let lists = ListFiles::new(Some(dir.path().to_path_buf()), Redactor::default());
        assert_eq!(lists.get("a"), None);
        lists.put("a", "[1]");
        lists.put("a", "[2]");
        assert_eq!((lists.get("a").as_deref(), lists.get("b")), (Some("[2]"), None));
        assert_eq!(std::fs::read_dir(dir.path().join("mcp-tools")).unwrap().count(), 1);
        assert!(lists.age("a").is_some_and(|age| age.as_secs() < 3600) && lists.age("b").is_none());
    }

    #[test]
    fn an_unchanged_list_is_not_written_again_but_is_as_good_as_new() {
        let dir = tempfile::tempdir().unwrap();
        let lists = ListFiles::new(Some(dir.path().to_path_buf()), Redactor::default());
        lists.put("a", "[1]");
        let path = dir.path().join("mcp-tools/a.json");
        let inode = || std::fs::metadata(&path).unwrap().ino();
        let before = std::time::SystemTime::UNIX_EPOCH;
        for (list, is_kept) in [("[1]", true), ("[2]", false), ("[12]", false)] {
            let (old, file) = (inode(), std::fs::File::open(&path).unwrap());
            file.set_modified(before).unwrap();
            lists.put("a", list);
            assert_eq!((inode() == old, lists.get("a").as_deref()), (is_kept, Some(list)));
            assert!(lists.age("a").is_some_and(|age| age.as_secs() < 3600));
        }
    }

    #[test]
    fn a_list_with_a_key_in_it_is_not_written_down() {
        let dir = tempfile::tempdir().unwrap();
        let redactor = Redactor::default();
        redactor.learn([Secret::new("canary-0123456789")]);
        let lists = ListFiles::new(Some(dir.path().to_path_buf()), redactor);
        lists.put("a", r#"[{"_meta":{"key":"c\u0061nary-0123456789"}}]"#);
        assert_eq!(lists.get("a"), None);
        lists.put("a", "[1]");
        assert_eq!(lists.get("a").as_deref(), Some("[1]"));
    }
}
