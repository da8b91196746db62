//! The server ends in the middle of appends.

use converse_canister::Canister;
use converse_session::storage::JOURNAL;

use crate::place::{TestClock, id, now, read, server, store, user};

fn texts(canisters: &[Canister]) -> Vec<String> {
    let text = |canister: &Canister| match canister {
        Canister::User(user) => user.content.iter().filter_map(|one| one.as_text()).collect(),
        other => panic!("{other:?}"),
    };
    canisters.iter().map(text).collect()
}

#[test]
fn what_was_synced_survives_the_end_of_the_server_and_nothing_is_out_of_order() {
    let (server, clock) = (server(), TestClock::new());
    let url = server.database().unwrap();
    for round in 0..8 {
        let storage = clock.storage(&url);
        let id = id(round);
        let mut session = store(&storage).create(id, "test 1", now()).unwrap();
        let (mut written, mut synced) = (Vec::new(), 0);
        for number in 0..usize::from(round) {
            let text = format!("message {number}");
            session.append(user(&text), now()).unwrap();
            written.push(text);
            if number % 3 == 2 {
                session.journal.commit().unwrap();
                synced = written.len();
            }
        }
        server.crash().unwrap();
        assert!(session.append(user("lost"), now()).is_err(), "there is no server");
        server.resume().unwrap();
        // The same writer may go on only where it was.
        if session.append(user("after"), now()).is_ok() {
            written.push("after".to_owned());
            session.journal.commit().unwrap();
            synced = written.len();
        }
        drop(session);
        clock.advance(11);
        let session = store(&clock.storage(&url)).open(id, now()).unwrap();
        let found = texts(session.loaded.transcript.as_slice());
        assert!(found.len() >= synced, "{round}: {found:?} of {written:?}, {synced} synced");
        assert_eq!(found, written[..found.len()], "{round}");
        drop(session);
        let store = store(&storage);
        assert_eq!(store.read(id).unwrap().repairs, []);
        assert_eq!(store.check(id).unwrap().faults.len(), 0);
        let journal = read(&*storage.session(id), JOURNAL);
        assert_eq!(storage.session(id).journal().unwrap().length, journal.len() as u64);
    }
}
