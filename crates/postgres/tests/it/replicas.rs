//! What servers share in the database: owners, small values, turns and messages.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use converse_postgres::Postgres;
use converse_session::storage::{News, RecordKind, RecordUsage, Replicas, Storage};
use converse_session::{SessionError, Store, Uuid};
use converse_testkit::hang_guard::wait_until;
use converse_testkit::postgres::PostgresServer;

use crate::place::{address, id, now, server, session, store};

/// More than a heartbeat takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn process(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

/// A server with the database at this URL.
struct Member {
    storage: Arc<dyn Storage>,
    replicas: Arc<dyn Replicas>,
    woken: Receiver<()>,
}

impl Member {
    /// Joins, and waits until it listens.
    fn join(url: &str, number: u128) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(url)));
        let (wake, woken) = channel();
        let wake = Arc::new(move || {
            let _ = wake.send(());
        });
        let replicas = storage.join(process(number), wake).unwrap().unwrap();
        let member = Self { storage, replicas, woken };
        assert_eq!(member.next(), News::Anything);
        member
    }

    /// Returns the next change.
    fn next(&self) -> News {
        let mut news = self.until(1);
        assert_eq!(news.len(), 1, "{news:?}");
        news.remove(0)
    }

    fn until(&self, count: usize) -> Vec<News> {
        let mut news = Vec::new();
        while news.len() < count {
            self.woken.recv_timeout(PATIENCE).unwrap();
            news.extend(self.replicas.news());
        }
        news
    }
}

fn database(url: &str) -> &str {
    url.split(['/', '?']).find(|part| part.starts_with("test")).unwrap()
}

fn sql(server: &PostgresServer, url: &str, sql: &str) -> String {
    server.sql(database(url), sql).unwrap()
}

#[test]
fn a_session_of_another_owner_does_not_exist() {
    let server = server();
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&server.database().unwrap())));
    let (ann, bob) = (storage.of_owner("ann").unwrap(), storage.of_owner("bob").unwrap());
    session(&ann, id(1), &["a secret"]);
    let digest = store(&ann).contents(id(1)).put(b"bytes").unwrap();
    for other in [&storage, &bob] {
        let (theirs, at) = (store(other), other.session(id(1)));
        assert!(theirs.all().unwrap().is_empty() && theirs.list().unwrap().is_empty());
        assert!(matches!(theirs.read(id(1)), Err(SessionError::NotFound(_))));
        assert!(matches!(theirs.open(id(1), now()), Err(SessionError::NotFound(_))));
        assert!(matches!(theirs.delete(id(1)), Err(SessionError::NotFound(_))));
        assert!(theirs.contents(id(1)).get(&digest).unwrap().is_none());
        assert!(theirs.contents(id(1)).put(b"more").is_err());
        assert!(at.lock().is_err() && at.open("journal.jsonl").is_err() && at.journal().is_err());
        assert!(!at.exists().unwrap() && !at.has("metadata.toml").unwrap());
        assert!(at.names(converse_session::storage::Area::Content).unwrap().is_empty());
        assert!(at.put_derived("index", b"wrong").is_err());
        assert!(theirs.create(id(1), "test 1", now()).is_err(), "its id is taken");
        session(other, id(2), &["own"]);
        assert!(other.session(id(2)).adopt_content(&*at, &format!("content/{digest}")).is_err());
        theirs.delete(id(2)).unwrap();
    }
    assert_eq!(store(&ann).read(id(1)).unwrap().transcript.as_slice().len(), 1);
    assert_eq!(store(&ann).contents(id(1)).get(&digest).unwrap().unwrap().as_ref(), b"bytes");
}

#[test]
fn a_value_is_inserted_once_and_replaced_only_if_it_is_known() {
    let server = server();
    let url = server.database().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    let of = |owner: &str| storage.of_owner(owner).unwrap().records().unwrap();
    let (ann, bob, key) = (of("ann"), of("bob"), RecordKind::Idempotency);
    assert!(ann.insert(key, "k", b"one").unwrap() && !ann.insert(key, "k", b"two").unwrap());
    assert!(bob.insert(key, "k", b"own").unwrap());
    assert!(!ann.update(key, "k", b"two", b"three").unwrap());
    assert!(ann.update(key, "k", b"one", b"three").unwrap());
    assert_eq!(ann.get(key, "k").unwrap().unwrap(), b"three");
    assert!(ann.get(RecordKind::Waiting, "k").unwrap().is_none());
    ann.put(RecordKind::Waiting, "w", b"asked").unwrap();
    assert_eq!(
        (ann.keys(key).unwrap(), ann.keys(RecordKind::Waiting).unwrap()),
        (vec!["k".into()], vec!["w".into()])
    );
    // After a day a key is new again.
    assert_eq!(ann.sweep(key).unwrap(), RecordUsage { count: 1, bytes: 5 });
    sql(&server, &url, "UPDATE converse.records SET changed = changed - interval '25 hours'");
    assert!(ann.get(key, "k").unwrap().is_none() && ann.keys(key).unwrap().is_empty());
    assert!(ann.insert(key, "k", b"new").unwrap() && !ann.insert(key, "k", b"newer").unwrap());
    assert_eq!(ann.get(RecordKind::Waiting, "w").unwrap().unwrap(), b"asked");
    assert_eq!(ann.sweep(key).unwrap().count, 1);
    assert_eq!(
        sql(&server, &url, "SELECT owner, kind FROM converse.records ORDER BY 1, 2"),
        "ann|idempotency\nann|waiting"
    );
    assert!(!ann.remove_known(key, "k", b"newer").unwrap() && !bob.remove_known(key, "k", b"new").unwrap());
    assert!(ann.remove_known(RecordKind::Waiting, "w", b"asked").unwrap());
    assert!(ann.get(RecordKind::Waiting, "w").unwrap().is_none());
    ann.remove(key, "k").unwrap();
    ann.remove(key, "k").unwrap();
    assert!(ann.get(key, "k").unwrap().is_none());
}

#[test]
fn one_process_runs_a_turn_and_the_others_learn_of_it() {
    let server = server();
    let url = server.database().unwrap();
    let (one, two) = (Member::join(&url, 1), Member::join(&url, 2));
    let (ann, at) = ("ann", id(1));
    assert!(one.replicas.begin(ann, at, "run-1").unwrap());
    assert!(!two.replicas.begin(ann, at, "run-2").unwrap() && !one.replicas.begin(ann, at, "run-3").unwrap());
    assert!(!two.replicas.begin("bob", at, "run-4").unwrap());
    assert!(one.replicas.began(at, 4).unwrap() && !two.replicas.began(at, 5).unwrap());
    let turn = two.replicas.turn(ann, at).unwrap().unwrap();
    assert_eq!((turn.run.as_str(), turn.is_running, turn.began, turn.ending), ("run-1", true, Some(4), None));
    assert!(two.replicas.turn("bob", at).unwrap().is_none());
    assert_eq!(
        (two.replicas.running(ann).unwrap(), two.replicas.running("bob").unwrap()),
        (vec![at], vec![])
    );

    let owner = ann.to_owned();
    one.replicas.announce(News::Grown { owner: owner.clone(), session: at });
    assert_eq!(two.next(), News::Grown { owner: owner.clone(), session: at });
    assert!(!two.replicas.cancel("bob", at).unwrap());
    assert!(two.replicas.cancel(ann, at).unwrap());
    // By the message, and by the heartbeat if that is lost.
    assert_eq!(one.next(), News::Cancelled { owner: owner.clone(), session: at, run: "run-1".to_owned() });
    assert_eq!(one.next(), News::Cancelled { owner: owner.clone(), session: at, run: "run-1".to_owned() });

    // Only the process that runs it ends it.
    two.replicas.end(at, "wrong").unwrap();
    assert!(two.replicas.turn(ann, at).unwrap().unwrap().is_running);
    one.replicas.end(at, "done").unwrap();
    let turn = two.replicas.turn(ann, at).unwrap().unwrap();
    assert_eq!((turn.is_running, turn.ending.as_deref()), (false, Some("done")));
    assert!(!two.replicas.cancel(ann, at).unwrap());
    assert!(two.replicas.begin(ann, at, "run-5").unwrap());
    assert_eq!(one.replicas.turn(ann, at).unwrap().unwrap().ending, None);
}

#[test]
fn the_turn_of_a_lost_process_is_taken_over_once_and_not_before_its_lease_ends() {
    let server = server();
    let url = server.database().unwrap();
    let storage: Arc<dyn Storage> = Arc::new(Postgres::new(address(&url)));
    session(&storage, id(1), &["hello"]);
    let lost = process(9);
    sql(
        &server,
        &url,
        &format!(
            "INSERT INTO converse.processes VALUES ('{lost}', clock_timestamp() - interval '1 second');
             INSERT INTO converse.turns (session, owner, run, process)
             VALUES ('{}', '', 'run-1', '{lost}'), ('{}', '', 'run-2', '{lost}');
             UPDATE converse.sessions SET expires = clock_timestamp() + interval '1 hour'",
            id(1),
            id(2)
        ),
    );
    let (one, two) = (Member::join(&url, 1), Member::join(&url, 2));
    assert!(!one.replicas.is_alive(lost).unwrap() && two.replicas.is_alive(process(1)).unwrap());
    // While its writer has the lease, it is not lost: the same heartbeat finds the other one.
    let seen = |session| News::Lost { owner: String::new(), session, process: lost };
    assert_eq!((one.next(), two.next()), (seen(id(2)), seen(id(2))));
    sql(&server, &url, "UPDATE converse.sessions SET expires = clock_timestamp() - interval '1 second'");
    for member in [&one, &two] {
        while !member.until(1).contains(&seen(id(1))) {}
    }
    assert!(one.replicas.take_over(id(1), lost).unwrap() && !two.replicas.take_over(id(1), lost).unwrap());
    assert!(two.replicas.turn("", id(1)).unwrap().unwrap().is_running);
    one.replicas.end(id(1), "interrupted").unwrap();
    assert_eq!(one.replicas.running("").unwrap(), [id(2)]);
}

#[test]
fn the_turn_of_a_process_that_beats_again_is_not_taken_over() {
    let server = server();
    let url = server.database().unwrap();
    let (one, late) = (Member::join(&url, 1), process(9));
    session(&one.storage, id(1), &["hello"]);
    let beats = |when: &str| {
        let beat = format!(
            "INSERT INTO converse.processes VALUES ('{late}', clock_timestamp() + interval '{when}')
             ON CONFLICT (id) DO UPDATE SET expires = excluded.expires"
        );
        sql(&server, &url, &beat);
    };
    let lease = |when: &str| {
        let lease = "UPDATE converse.sessions SET expires = clock_timestamp() + interval";
        sql(&server, &url, &format!("{lease} '{when}'"));
    };
    let turn = "INSERT INTO converse.turns (session, owner, run, process) VALUES";
    sql(&server, &url, &format!("{turn} ('{}', '', 'run-1', '{late}')", id(1)));
    beats("1 hour");
    lease("-1 second");
    assert!(!one.replicas.take_over(id(1), late).unwrap(), "it beats");
    beats("-1 second");
    lease("1 hour");
    assert!(!one.replicas.take_over(id(1), late).unwrap(), "it writes");
    lease("-1 second");
    assert!(one.replicas.take_over(id(1), late).unwrap());
    one.replicas.give_back(id(1), late).unwrap();
    assert!(one.replicas.take_over(id(1), late).unwrap(), "it was given back");
}

#[test]
fn no_turn_begins_in_the_session_of_another_owner() {
    let server = server();
    let url = server.database().unwrap();
    let one = Member::join(&url, 1);
    session(&one.storage.of_owner("ann").unwrap(), id(1), &["hello"]);
    assert!(!one.replicas.begin("bob", id(1), "run-1").unwrap());
    assert!(one.replicas.turn("bob", id(1)).unwrap().is_none());
    // One that was there first is in nobody's way when it has ended.
    assert!(one.replicas.begin("bob", id(2), "run-2").unwrap());
    one.replicas.end(id(2), "done").unwrap();
    session(&one.storage.of_owner("ann").unwrap(), id(2), &["hello"]);
    for at in [id(1), id(2)] {
        assert!(one.replicas.begin("ann", at, "run-3").unwrap());
        assert!(one.replicas.turn("ann", at).unwrap().unwrap().is_running);
        assert!(!one.replicas.begin("bob", at, "run-4").unwrap());
        one.replicas.end(at, "done").unwrap();
        assert!(!one.replicas.begin("bob", at, "run-5").unwrap());
    }
}

#[test]
fn a_deleted_session_leaves_no_turn() {
    let server = server();
    let url = server.database().unwrap();
    let one = Member::join(&url, 1);
    session(&one.storage, id(1), &["hello"]);
    one.replicas.begin("", id(1), "run-1").unwrap();
    one.replicas.end(id(1), "done").unwrap();
    Store::on(one.storage.clone()).delete(id(1)).unwrap();
    assert_eq!(sql(&server, &url, "SELECT count(*) FROM converse.turns"), "0");
}

#[test]
fn a_process_that_was_cut_off_looks_at_everything_when_it_is_back() {
    let server = server();
    let url = server.database().unwrap();
    let one = Member::join(&url, 1);
    assert!(one.replicas.begin("", id(1), "run-1").unwrap());
    assert!(one.replicas.begin("", id(2), "run-2").unwrap());
    server.crash().unwrap();
    assert!(one.replicas.end(id(1), "done").is_err());
    server.resume().unwrap();
    assert_eq!(one.next(), News::Anything);
    // A turn whose end was lost ends by the heartbeats, and one that runs does not.
    let is_running = |session| one.replicas.turn("", session).unwrap().unwrap().is_running;
    wait_until("the turn has ended", || !is_running(id(1)));
    assert!(is_running(id(2)) && one.replicas.is_connected());
}

#[test]
fn questions_are_listed_while_no_turn_runs_and_are_deleted_with_their_session() {
    let server = server();
    let url = server.database().unwrap();
    let (one, two) = (Member::join(&url, 1), Member::join(&url, 2));
    let ann = one.storage.of_owner("ann").unwrap();
    let records = ann.records().unwrap();
    session(&ann, id(1), &["go"]);
    let waiting = || two.replicas.waiting().unwrap();
    let pass = |time: &str| {
        let pass = "UPDATE converse.records SET changed = changed - interval";
        sql(&server, &url, &format!("{pass} '{time}'"));
    };
    records.put(RecordKind::Waiting, &id(1).to_string(), b"asked").unwrap();
    records.put(RecordKind::Idempotency, &id(1).to_string(), b"key").unwrap();
    assert!(waiting().is_empty(), "who asks or answers goes on");
    pass("1 minute");
    let listed = waiting();
    assert_eq!((listed.len(), listed[0].owner.as_str(), listed[0].session), (1, "ann", id(1)));
    assert!(records.update(RecordKind::Waiting, &id(1).to_string(), b"asked", b"answered").unwrap());
    pass("10 seconds");
    assert!(waiting()[0].version != listed[0].version, "it has changed");
    assert!(one.replicas.begin("ann", id(1), "run").unwrap());
    assert!(waiting().is_empty(), "its turn asks or answers");
    one.replicas.end(id(1), "done").unwrap();
    assert_eq!(waiting().len(), 1);
    store(&ann).delete(id(1)).unwrap();
    assert!(waiting().is_empty());
    assert_eq!(sql(&server, &url, "SELECT kind FROM converse.records"), "idempotency");
}

#[test]
fn a_turn_is_lost_as_soon_as_heartbeats_have_come_for_a_lease_also_to_a_process_that_is_new() {
    let server = server();
    let url = server.database().unwrap();
    let lost = process(9);
    let first = Member::join(&url, 1);
    wait_until("it beats", || sql(&server, &url, "SELECT count(*) FROM converse.pulse") == "1");
    drop(first);
    let pulse = |since: &str, last: &str| {
        let pulse = "UPDATE converse.pulse SET since = clock_timestamp() - interval";
        sql(&server, &url, &format!("{pulse} '{since}', last = clock_timestamp() - interval '{last}'"));
    };
    let turn = "INSERT INTO converse.turns (session, owner, run, process) VALUES";
    sql(&server, &url, &format!("{turn} ('{}', '', 'run-1', '{lost}')", id(1)));
    let seen = News::Lost { owner: String::new(), session: id(1), process: lost };
    // All servers but one are killed again and again: none lives for a lease, and one always beats.
    pulse("1 minute", "3 seconds");
    assert_eq!(Member::join(&url, 2).next(), seen);
    let young = "SELECT since > clock_timestamp() - interval '9 seconds' FROM converse.pulse";
    assert_eq!(sql(&server, &url, young), "f");
    // After an outage it begins anew.
    pulse("1 minute", "11 seconds");
    let _first = Member::join(&url, 3);
    wait_until("it begins anew", || sql(&server, &url, young) == "t");
}
