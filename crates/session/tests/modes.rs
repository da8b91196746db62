//! Nobody else may read a session, whatever the umask. Alone in its binary: the umask is the whole process's.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use converse_session::{Store, new_id};
use jiff::Timestamp;
use rustix::fs::Mode;

fn modes(dir: &Path, all: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        all.push((path.file_name().unwrap().to_string_lossy().into_owned(), mode));
        if path.is_dir() {
            modes(&path, all);
        }
    }
}

#[test]
fn files_are_0600_and_directories_0700() {
    let now = Timestamp::UNIX_EPOCH;
    let id = new_id(now, &[1; 10]);
    for umask in [0o000, 0o077, 0o137] {
        let dir = tempfile::tempdir().unwrap();
        rustix::process::umask(Mode::from_raw_mode(umask));
        let store = Store::new(dir.path().join("sessions"));
        let mut session = store.create(id, "p", now).unwrap();
        session.contents.put(b"content").unwrap();
        session.save_metadata().unwrap();
        let journal = session.dir().join("journal.jsonl");
        drop(session);
        // Loosened by hand, with a torn line to be kept: opening makes it tight again.
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, text + "torn").unwrap();
        fs::set_permissions(&journal, fs::Permissions::from_mode(0o644)).unwrap();
        drop(store.open(id, now).unwrap());
        let mut all = Vec::new();
        modes(dir.path(), &mut all);
        assert_eq!(all.len(), 8, "{all:?}");
        for (name, mode) in all {
            let is_dir = name == "sessions" || name == "content" || name == id.to_string();
            assert_eq!(mode, if is_dir { 0o700 } else { 0o600 }, "{name} under {umask:o}");
        }
    }
}
