//! The process is killed, or the power goes, between any two things that are done to a session's files.
//!
//! A kill leaves what was done so far. A power cut leaves of each file what was synced, and perhaps more: some of what
//! was written since, zeros in its place, or all of it with a hole; and of each directory the names at its last sync, or those of now.

mod disk;

use std::fs;
use std::path::{Path, PathBuf};

use converse_canister::{
    Arguments, Assistant, Canister, Condensed, Cost, Invocation, InvocationId, InvocationResult, Outcome,
    Stop, TurnId, Usage, User,
};
use jiff::Timestamp;
use uuid::Uuid;

use crate::witness;
use crate::{Body, Session, SessionError, Store, new_id};
use disk::{Disk, at_every_point};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn id() -> Uuid {
    new_id(NOW, &[1; 10])
}

fn journal(root: &Path) -> PathBuf {
    root.join(id().to_string()).join("journal.jsonl")
}

/// Returns the number of the last line.
fn write(session: &mut Session, bodies: Vec<Body>) -> u64 {
    bodies.into_iter().map(|body| session.append(body, NOW).unwrap()).last().unwrap()
}

fn promise(session: &mut Session, bodies: Vec<Body>) {
    let lines = write(session, bodies);
    session.journal.commit().unwrap();
    witness::promised(lines);
}

fn user(text: &str) -> Body {
    Canister::User(User::text(text)).into()
}

fn call(turn: u64, calls: usize) -> Vec<Body> {
    let turn = TurnId(turn);
    let stop = Stop::End;
    let first = Assistant { turn, content: vec![], native: None, stop, response_id: None };
    let call = |index| {
        let (id, arguments) = (InvocationId::of(turn, index), Arguments::parse("{}"));
        Canister::Invocation(Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None })
            .into()
    };
    let usage = Usage { input: Some(1), ..Usage::default() };
    let used = Body::Used { usage, cost: Some(Cost(1)), model: "m".into(), provider: None };
    [vec![Canister::Assistant(first).into()], (0..calls).map(call).collect(), vec![used]].concat()
}

fn started(turn: u64, index: usize) -> Body {
    Body::Started { id: InvocationId::of(TurnId(turn), index) }
}

fn result(turn: u64, index: usize) -> Body {
    let id = InvocationId::of(TurnId(turn), index);
    Canister::Result(InvocationResult::new(id, Outcome::Success, "done")).into()
}

/// The whole of a session's life, but for its end.
fn live(root: &Path) {
    let mut session = Store::new(root).create(id(), "p", NOW).unwrap();
    witness::promised(1);
    session.metadata.tags = vec!["kept".into()];
    session.save_metadata().unwrap();
    promise(&mut session, [vec![user("hello")], call(1, 2), vec![started(1, 0), started(1, 1)]].concat());
    // Results are not synced, nor is a call that only reads, before the next call with effects or the end of the turn.
    write(&mut session, vec![result(1, 1), result(1, 0)]);
    write(&mut session, [call(2, 1), vec![started(2, 0)]].concat());
    write(&mut session, vec![result(2, 0)]);
    promise(&mut session, call(3, 0));
    session.contents.put(b"picture").unwrap();
    let condensed = Condensed { covers: 2, summary: "s".into(), model: "m".into() };
    promise(&mut session, vec![Body::Condensed { condensed }, user("more")]);
    promise(&mut session, [call(4, 1), vec![Body::Rewound { to: 17 }, user("rather")]].concat());
    promise(&mut session, [call(4, 1), vec![started(4, 0)]].concat());
    drop(session);
    // Answers what is open.
    let mut session = Store::new(root).open(id(), NOW).unwrap();
    let line = session.append(user("again"), NOW).unwrap();
    session.journal.commit().unwrap();
    witness::promised(line);
}

/// All whole lines that are in both, and all lines of the first.
fn in_common<'a>(found: &'a str, whole: &str) -> (usize, Vec<&'a str>) {
    let common = found.lines().zip(whole.lines()).take_while(|(a, b)| a == b).count();
    (common, found.lines().collect())
}

#[test]
fn what_was_promised_is_there_whenever_it_ends() {
    let root = tempfile::tempdir().unwrap();
    let before = Disk::of(root.path());
    let acts = witness::acts(|| live(root.path()));
    let whole = fs::read_to_string(journal(root.path())).unwrap();
    let points = at_every_point(root.path(), before, &acts, |found, promised, point| {
        let store = Store::new(found);
        let mut session = match store.open(id(), NOW) {
            Ok(session) => session,
            Err(SessionError::NotFound(_) | SessionError::Empty { .. }) if promised == 0 => return,
            Err(error) => panic!("{point}: {error}"),
        };
        let text = fs::read_to_string(journal(found)).unwrap();
        let (common, lines) = in_common(&text, &whole);
        assert!(common as u64 >= promised, "{point}: {common} lines of {promised}");
        for repair in &lines[common..] {
            let made = ["\"outcome\":\"interrupted\"", "\"outcome\":\"cancelled\"", "\"note\""];
            assert!(made.iter().any(|made| repair.contains(made)), "{point}: {repair}");
        }
        let unknown = text.matches("\"outcome\":\"interrupted\"").count();
        let open =
            session.loaded.repairs.iter().filter(|r| matches!(r, crate::Repair::Interrupted { .. })).count();
        assert!(unknown >= open, "{point}");
        if promised > 1 {
            assert_eq!(session.metadata.tags, ["kept"], "{point}");
        }
        session.append(user("on"), NOW).unwrap();
        drop(session);
        let again = store.read(id()).unwrap_or_else(|error| panic!("{point}: {error}"));
        assert_eq!(again.repairs, [], "{point}");
        assert_eq!(again.transcript.as_slice().last(), Some(&Canister::User(User::text("on"))), "{point}");
    });
    assert!(points > 300, "{points}");
}

#[test]
fn a_torn_line_is_never_lost_however_often_mending_is_cut_short() {
    let root = tempfile::tempdir().unwrap();
    let mut session = Store::new(root.path()).create(id(), "p", NOW).unwrap();
    promise(&mut session, [vec![user("hello")], call(1, 1), vec![started(1, 0)]].concat());
    drop(session);
    let path = journal(root.path());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [whole.as_slice(), b"{\"seq\":7,"].concat()).unwrap();
    let before = Disk::of(root.path());
    let acts = witness::acts(|| drop(Store::new(root.path()).open(id(), NOW).unwrap()));
    let expected = Store::new(root.path()).read(id()).unwrap().transcript;
    at_every_point(root.path(), before, &acts, |found, _, point| {
        let session = Store::new(found).open(id(), NOW).unwrap_or_else(|error| panic!("{point}: {error}"));
        assert_eq!(session.loaded.transcript, expected, "{point}");
        drop(session);
        assert!(fs::read(journal(found)).unwrap().starts_with(&whole), "{point}");
        let torn = fs::read(journal(found).with_file_name("torn-7")).unwrap_or_default();
        assert!(torn.windows(9).any(|bytes| bytes == b"{\"seq\":7,"), "{point}");
    });
}

/// What version 1 wrote, with a call that was running and a torn line.
const FORMAT_1: &str = include_str!("../tests/journals/format-1.jsonl");

#[test]
fn a_migration_that_is_cut_short_is_done_again() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join(id().to_string())).unwrap();
    fs::write(journal(root.path()), FORMAT_1).unwrap();
    let seen = Store::new(root.path()).read(id()).unwrap();
    let before = Disk::of(root.path());
    let acts = witness::acts(|| drop(Store::new(root.path()).open(id(), NOW).unwrap()));
    let points = at_every_point(root.path(), before, &acts, |found, _, point| {
        let text = fs::read_to_string(journal(found)).unwrap();
        assert!(
            text == FORMAT_1
                || text.starts_with(
                    "{\"seq\":1,\"at\":\"2026-11-20T10:00:00Z\",\"type\":\"opened\",\"format\":2,"
                ),
            "{point}"
        );
        let session = Store::new(found).open(id(), NOW).unwrap_or_else(|error| panic!("{point}: {error}"));
        assert_eq!(session.loaded.transcript, seen.transcript, "{point}");
        assert_eq!(session.loaded.header.format, 2, "{point}");
        let dir = session.dir().to_owned();
        drop(session);
        let text = fs::read_to_string(journal(found)).unwrap();
        assert_eq!(text.matches("migrated from format 1").count(), 1, "{point}");
        assert_eq!(fs::read_to_string(dir.join("journal.v1.jsonl")).unwrap(), FORMAT_1, "{point}");
        assert!(!dir.join("journal.v1-2.jsonl").exists(), "{point}");
        assert_eq!(Store::new(found).read(id()).unwrap().repairs, [], "{point}");
    });
    assert!(points > 60, "{points}");
}
