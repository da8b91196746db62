//! Sessions that begin as others did.

use std::fs;

use converse_canister::{Cost, Usage};
use converse_session::{Fork, Metadata, SessionError, digest};

use super::*;

fn fork(upto: Option<usize>) -> Fork {
    Fork {
        id: id(50),
        program: "p".into(),
        upto,
        metadata: Metadata { name: Some("f".into()), ..Metadata::default() },
    }
}

#[test]
fn a_fork_has_the_messages_and_their_content_and_none_of_the_cost() {
    let (dir, store) = store();
    let source = talk(&store, 1, Some(b"picture"));
    let before = fs::read(path(&dir, source).join("journal.jsonl")).unwrap();
    // Also while somebody writes it.
    let writer = store.open(source, at(99)).unwrap();
    store.fork(source, fork(Some(5)), at(100)).unwrap();
    drop(writer);
    let (old, new) = (store.read(source).unwrap(), store.read(id(50)).unwrap());
    assert_eq!(new.transcript.as_slice(), &old.transcript.as_slice()[..5]);
    assert_eq!(new.repairs, [], "the native form of the last reply is kept");
    assert_eq!(new.places.iter().map(|place| place.at).collect::<Vec<_>>(), [at(1); 5]);
    assert_eq!((new.usage, new.cost), (Usage::default(), Cost(0)));
    assert_eq!(new.decisions, old.decisions[..1]);
    let origin = new.header.forked.unwrap();
    assert_eq!((origin.session, origin.seq), (source.to_string(), old.places[4].seq));
    let picture = digest(b"picture");
    store.delete(source).unwrap();
    assert_eq!(store.contents(id(50)).get(&picture).unwrap().as_deref(), Some(&b"picture"[..]));
    assert_eq!(store.metadata(id(50)).unwrap().name.as_deref(), Some("f"));
    assert!(store.check(id(50)).unwrap().faults.is_empty());
    assert!(!before.is_empty());
}

#[test]
fn the_last_reply_of_a_fork_is_whole() {
    let (_dir, store) = store();
    let source = plain(&store, 1);
    store.fork(source, fork(None), at(100)).unwrap();
    let (old, new) = (store.read(source).unwrap(), store.read(id(50)).unwrap());
    assert_eq!((new.transcript, new.repairs), (old.transcript, vec![]));
}

#[test]
fn a_fork_never_cuts_a_reply_and_a_failed_one_leaves_nothing() {
    let (dir, store) = store();
    let source = talk(&store, 1, None);
    for (wanted, words) in [
        (2, "the nearest are 1 and 4"),
        (3, "the nearest are 1 and 4"),
        (0, "the nearest is 1"),
        (11, "the nearest is 10"),
    ] {
        let error = store.fork(source, fork(Some(wanted)), at(100)).unwrap_err().to_string();
        assert!(error.contains(words), "{wanted}: {error}");
    }
    assert!(matches!(store.fork(id(7), fork(None), at(100)), Err(SessionError::NotFound(_))));
    let names: Vec<_> =
        fs::read_dir(dir.path().join("sessions")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [source.to_string().as_str()]);
    store.fork(source, fork(None), at(100)).unwrap();
    assert_eq!(store.read(id(50)).unwrap().transcript, store.read(source).unwrap().transcript);
    // Its place is taken, which is found out last.
    assert!(matches!(store.fork(source, fork(None), at(100)), Err(SessionError::Io { .. })));
    assert_eq!(fs::read_dir(dir.path().join("sessions")).unwrap().count(), 2);
}
