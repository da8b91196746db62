//! Leases: one writer at a time, also if a process is suspended or loses the database.

use std::sync::Arc;

use converse_postgres::Postgres;
use converse_session::storage::{JOURNAL, Storage};
use converse_session::{SessionError, Store};

use crate::place::{TestClock, address, id, now, read, say, server, session, store, user};

#[test]
fn a_writer_whose_lease_was_taken_over_writes_nothing() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let storage = |_| clock.storage(&url);
    let [ours, theirs, third]: [Arc<dyn Storage>; 3] = std::array::from_fn(storage);
    session(&ours, id(1), &["hello"]);
    let mut suspended = store(&ours).open(id(1), now()).unwrap();
    say(&mut suspended, "before");
    // Before it expires, nobody else writes.
    clock.advance(9);
    assert!(matches!(store(&theirs).open(id(1), now()), Err(SessionError::InUse { .. })));
    clock.advance(2);
    assert!(!store(&theirs).check(id(1)).unwrap().in_use);
    let mut writer = store(&theirs).open(id(1), now()).unwrap();
    say(&mut writer, "taken over");
    let journal = read(&*ours.session(id(1)), JOURNAL);

    let refused = |why: SessionError| {
        assert!(why.to_string().contains("another process has taken the session over"), "{why}");
    };
    refused(suspended.append(user("too late"), now()).unwrap_err());
    suspended.metadata.name = Some("too late".into());
    refused(suspended.save_metadata().unwrap_err());
    drop(suspended);
    assert_eq!(read(&*ours.session(id(1)), JOURNAL), journal);
    assert_eq!(store(&ours).metadata(id(1)).unwrap().name.as_deref(), Some("hello"));

    // The lease of the new writer is its own, whatever the old one released.
    assert!(matches!(store(&third).open(id(1), now()), Err(SessionError::InUse { .. })));
    say(&mut writer, "goes on");
    drop(writer);
    let loaded = store(&third).open(id(1), now()).unwrap();
    assert_eq!((loaded.loaded.transcript.as_slice().len(), loaded.loaded.repairs.len()), (4, 0));
}

#[test]
fn every_write_renews_the_lease() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let (ours, theirs) = (clock.storage(&url), clock.storage(&url));
    let mut open = store(&ours).create(id(1), "test 1", now()).unwrap();
    for text in ["one", "two", "three"] {
        clock.advance(6);
        say(&mut open, text);
        assert!(matches!(store(&theirs).open(id(1), now()), Err(SessionError::InUse { .. })), "{text}");
    }
}

/// By the clock of the database.
#[test]
fn an_idle_writer_renews_its_lease_and_gives_it_back() {
    let server = server();
    let url = server.database().unwrap();
    let database = url.split(['/', '?']).find(|part| part.starts_with("test")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    let mut open = store(&storage).create(id(1), "test 1", now()).unwrap();
    say(&mut open, "hello");
    let expires = || server.sql(database, "SELECT expires FROM converse.sessions").unwrap();
    let first = expires();
    let renewed = (0..2_000).any(|_| expires() != first);
    assert!(renewed, "{first}");
    drop(open);
    assert_eq!(expires(), "");
}

#[test]
fn tables_of_a_later_version_are_refused_and_migrations_run_once() {
    let server = server();
    let url = server.database().unwrap();
    let database = url.split(['/', '?']).find(|part| part.starts_with("test")).unwrap();
    let open = || Store::on(TestClock::new().storage(&url));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|_| scope.spawn(|| open().all().unwrap())).collect();
        assert!(all.into_iter().all(|one| one.join().unwrap().is_empty()));
    });
    assert_eq!(server.sql(database, "SELECT max(version) FROM converse.versions").unwrap(), "6");
    // What an earlier version has left stays.
    session(&TestClock::new().storage(&url), id(1), &["hello"]);
    let earlier =
        "DROP TABLE converse.audit, converse.audit_heads; DELETE FROM converse.versions WHERE version = 6";
    server.sql(database, earlier).unwrap();
    assert_eq!(open().all().unwrap(), [id(1)]);
    assert_eq!(server.sql(database, "SELECT count(*) FROM converse.audit").unwrap(), "0");
    server.sql(database, "INSERT INTO converse.versions (version) VALUES (7)").unwrap();
    let error = open().all().unwrap_err().to_string();
    assert!(error.contains("tables of version 7, of a later version of converse"), "{error}");
}

#[test]
fn a_journal_that_was_taken_over_is_neither_changed_nor_confirmed() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let (ours, theirs) = (clock.storage(&url), clock.storage(&url));
    session(&ours, id(1), &["hello"]);
    let lock = ours.session(id(1)).lock().unwrap();
    let (mut journal, mut second) = (lock.append_journal().unwrap(), lock.append_journal().unwrap());
    journal.write(b"one\n").unwrap();
    let seen = read(&*theirs.session(id(1)), JOURNAL);
    assert!(seen.ends_with(b"one\n"), "it is seen before it is durable");
    assert!(second.write(b"two\n").is_err(), "the journal is longer than it was");
    journal.sync().unwrap();
    clock.advance(11);
    let taken = theirs.session(id(1)).lock().unwrap();
    let mut refused = || {
        for done in [journal.sync(), journal.truncate(0), journal.write(b"three\n").map(drop)] {
            let why = done.unwrap_err().to_string();
            assert!(why.contains("another process has taken the session over"), "{why}");
        }
    };
    refused();
    drop(taken);
    refused();
    assert_eq!(read(&*theirs.session(id(1)), JOURNAL), seen);
}

#[test]
fn an_epoch_of_a_deleted_session_is_not_that_of_its_successor() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let (ours, theirs) = (clock.storage(&url), clock.storage(&url));
    session(&ours, id(1), &["hello"]);
    let lock = ours.session(id(1)).lock().unwrap();
    let mut suspended = lock.append_journal().unwrap();
    clock.advance(11);
    store(&theirs).delete(id(1)).unwrap();
    session(&theirs, id(1), &["copied back"]);
    let mut open = store(&theirs).open(id(1), now()).unwrap();
    say(&mut open, "and continued");
    let seen = read(&*theirs.session(id(1)), JOURNAL);
    assert!(suspended.truncate(0).is_err());
    assert_eq!(read(&*theirs.session(id(1)), JOURNAL), seen);
}
