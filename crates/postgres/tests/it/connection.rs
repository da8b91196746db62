//! The connection is lost at each statement.

use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::{Canister, User};
use converse_session::storage::Storage;
use converse_session::{SessionError, Uuid};
use converse_testkit::postgres::{Cut, Proxy};

use crate::place::{TestClock, id, now, server, store, user};

/// What was promised when the work ended.
#[derive(Debug, Default)]
struct Promised {
    created: bool,
    synced: usize,
    named: bool,
    content: bool,
}

fn text(number: usize) -> String {
    format!("message {number}")
}

fn work(storage: &Arc<dyn Storage>, id: Uuid, promised: &mut Promised) -> Result<(), SessionError> {
    let store = store(storage);
    let mut session = store.create(id, "test 1", now())?;
    promised.created = true;
    for number in 0..3 {
        session.append(user(&text(number)), now())?;
        session.journal.commit()?;
        promised.synced = number + 1;
    }
    session.metadata.name = Some("named".to_owned());
    session.save_metadata()?;
    promised.named = true;
    session.contents.put(b"picture")?;
    promised.content = true;
    drop(session);
    store.list()?;
    store.read(id).map(drop)
}

fn lost_at_each_statement(cut: Cut) {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let (base, socket) = url.split_once("?host=").unwrap();
    let proxy = Proxy::start(&PathBuf::from(socket)).unwrap();
    let through = format!("{base}?host={}", proxy.dir().display());
    // The tables are made.
    store(&clock.storage(&url)).all().unwrap();
    let mut statements = 0;
    for dice in 0..=u8::MAX {
        let (id, mut promised) = (id(dice), Promised::default());
        let storage = clock.storage(&through);
        proxy.cut_at(statements, cut, || {});
        let worked = work(&storage, id, &mut promised);
        let was_cut = proxy.has_cut();
        if !was_cut {
            worked.unwrap();
            assert!(statements > 15, "{statements}");
            return;
        }
        statements += 1;
        // The same process connects again, whatever it was doing.
        clock.advance(11);
        let again = store(&storage);
        match again.open(id, now()) {
            Err(SessionError::NotFound(_)) => assert!(!promised.created, "{statements}: {promised:?}"),
            Err(SessionError::Empty { .. }) => assert!(!promised.created, "{statements}: {promised:?}"),
            Err(error) => panic!("{statements}: {error}"),
            Ok(session) => {
                let said = session.loaded.transcript.as_slice();
                assert!(said.len() >= promised.synced, "{statements}: {promised:?}");
                let expected: Vec<_> =
                    (0..said.len()).map(|number| Canister::User(User::text(text(number)))).collect();
                assert_eq!(said, expected, "{statements}");
                assert_eq!(session.loaded.repairs, [], "{statements}");
                if promised.named {
                    assert_eq!(session.metadata.name.as_deref(), Some("named"), "{statements}");
                }
                let kept = session.contents.get(&converse_session::digest(b"picture")).unwrap();
                assert!(kept.is_some() || !promised.content, "{statements}");
            }
        }
    }
    panic!("the work never ended");
}

#[test]
fn lost_before_each_statement() {
    lost_at_each_statement(Cut::Before);
}

#[test]
fn lost_after_each_statement() {
    lost_at_each_statement(Cut::After);
}

#[test]
fn a_connection_that_was_ended_while_idle_is_made_again() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    let storage = clock.storage(&url);
    let mut session = store(&storage).create(id(1), "test 1", now()).unwrap();
    let end =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'converse'";
    for number in 0..3 {
        assert_ne!(server.sql("postgres", end).unwrap(), "0");
        // The first use may notice it.
        if session.append(user(&text(number)), now()).is_err() {
            session.append(user(&text(number)), now()).unwrap();
        }
        session.journal.commit().unwrap();
    }
    drop(session);
    assert_eq!(store(&storage).read(id(1)).unwrap().transcript.as_slice().len(), 3);
}

#[test]
fn a_server_that_is_not_there_is_an_error_and_no_missing_session() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("postgres://me@/nothing?host={}", dir.path().display());
    let store = store(&TestClock::new().storage(&url));
    for error in [
        store.all().unwrap_err(),
        store.read(id(1)).unwrap_err(),
        store.latest().unwrap_err(),
        store.create(id(1), "test 1", now()).unwrap_err(),
        store.metadata(id(1)).unwrap_err(),
    ] {
        assert!(matches!(&error, SessionError::Io { .. }), "{error:?}");
    }
}
