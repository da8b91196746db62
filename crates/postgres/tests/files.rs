//! What holds wherever sessions are kept, on files. It is a program of its own: until a child that another test starts runs
//! its own program, it has the open files of the tests, and with them the locks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

#[allow(dead_code, reason = "the tests of the database use the rest")]
#[path = "it/place.rs"]
mod place;
#[path = "it/suite.rs"]
mod suite;

use std::sync::Arc;

use converse_session::storage::{Directory, Storage};

#[test]
fn what_holds_everywhere_holds_on_files() {
    for (name, case) in suite::CASES {
        let dir = tempfile::tempdir().unwrap();
        let storage: Arc<dyn Storage> = Arc::new(Directory::new(dir.path().join("sessions")));
        eprintln!("{name}");
        case(&storage);
    }
}
