//! Sessions on a real file system.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use converse_canister::{
    Arguments, Assistant, Blobs as _, Canister, Invocation, InvocationId, Outcome, Stop, TurnId, User,
};
use converse_session::{Body, Metadata, Repair, Session, SessionError, Store, new_id};
use jiff::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

fn now() -> Timestamp {
    "2026-11-20T10:11:12.345Z".parse().unwrap()
}

fn id(dice: u8) -> Uuid {
    new_id(now(), &[dice; 10])
}

fn store() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("data/sessions"));
    (dir, store)
}

fn say(session: &mut Session, text: &str) {
    session.append(Canister::User(User::text(text)).into(), now()).unwrap();
}

fn ask(session: &mut Session) -> InvocationId {
    let (turn, id) = (TurnId(1), InvocationId::of(TurnId(1), 0));
    let assistant = Assistant { turn, content: vec![], native: None, stop: Stop::End, response_id: None };
    let arguments = Arguments::parse("");
    let invocation =
        Invocation { turn, id: id.clone(), wire_id: None, tool: "t".into(), arguments, seal: None };
    session.append(Canister::Assistant(assistant).into(), now()).unwrap();
    session.append(Canister::Invocation(invocation).into(), now()).unwrap();
    id
}

/// Every file below the directory with what is in it.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name().into_string().unwrap())).unwrap();
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            all.insert(name, fs::read(path).unwrap());
        }
    }
    all
}

#[test]
fn a_session_goes_on_where_it_was() {
    let (_dir, store) = store();
    let mut session = store.create(id(1), "converse 0.1.0", now()).unwrap();
    say(&mut session, "hello");
    let picture = session.contents.put(b"picture").unwrap();
    session.metadata.name = Some("greeting".into());
    session.save_metadata().unwrap();
    session.journal.commit().unwrap();
    drop(session);

    let mut session = store.open(id(1), now()).unwrap();
    assert_eq!(session.loaded.repairs, []);
    assert_eq!(session.loaded.transcript.as_slice(), [Canister::User(User::text("hello"))]);
    assert_eq!(session.loaded.header.program, "converse 0.1.0");
    assert_eq!(session.metadata.name.as_deref(), Some("greeting"));
    assert_eq!(session.contents.bytes(&picture).as_deref(), Some(b"picture".as_slice()));
    assert_eq!(session.append(Body::Note { text: "on".into() }, now()).unwrap(), 3);
    let journal = fs::read_to_string(session.dir().join("journal.jsonl")).unwrap();
    assert!(journal.starts_with(r#"{"seq":1,"at":"2026-11-20T10:11:12.345Z","type":"opened","format":2,"#));
    assert_eq!(journal.lines().count(), 3);
}

#[test]
fn what_a_crash_left_is_mended_once_and_nothing_is_lost() {
    let (_dir, store) = store();
    let mut session = store.create(id(1), "p", now()).unwrap();
    say(&mut session, "hello");
    let invocation = ask(&mut session);
    session.append(Body::Started { id: invocation.clone() }, now()).unwrap();
    let journal = session.dir().join("journal.jsonl");
    drop(session);
    let before = fs::read(&journal).unwrap();
    fs::write(&journal, [before.as_slice(), b"{\"seq\":6,\"at\":\"20"].concat()).unwrap();
    fs::write(journal.with_file_name(".tmp-0-metadata.toml"), "na").unwrap();

    let seen = store.read(id(1)).unwrap();
    assert_eq!(fs::read(&journal).unwrap().len(), before.len() + 17, "reading writes nothing");
    let mut session = store.open(id(1), now()).unwrap();
    let repairs = [Repair::TornLine { bytes: 17 }, Repair::Interrupted { id: invocation }];
    assert_eq!((seen.repairs.as_slice(), session.loaded.repairs.as_slice()), (&repairs[..], &repairs[..]));
    let last = session.loaded.transcript.as_slice().last().cloned();
    assert!(matches!(last, Some(Canister::Result(result)) if result.outcome == Outcome::Interrupted));
    say(&mut session, "go on");
    drop(session);

    let mended = fs::read(&journal).unwrap();
    assert!(mended.starts_with(&before));
    let names: Vec<_> = files(journal.parent().unwrap()).into_keys().collect();
    assert_eq!(names, ["journal.jsonl", "lock", "metadata.toml", "torn-6"]);
    assert_eq!(fs::read(journal.with_file_name("torn-6")).unwrap(), b"{\"seq\":6,\"at\":\"20");
    let again = store.open(id(1), now()).unwrap();
    assert_eq!(again.loaded.repairs, []);
    assert_eq!(again.loaded.transcript.as_slice().len(), 5);
    assert_eq!(fs::read(&journal).unwrap(), mended);
}

#[test]
fn damage_and_later_formats_are_left_byte_for_byte() {
    let (_dir, store) = store();
    let mut session = store.create(id(1), "p", now()).unwrap();
    for text in ["one", "two", "three"] {
        say(&mut session, text);
    }
    let journal = session.dir().join("journal.jsonl");
    drop(session);
    let whole = fs::read_to_string(&journal).unwrap();
    let flipped =
        whole.replace("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}", "{\0");
    let lost: String =
        whole.lines().enumerate().filter(|(n, _)| *n != 2).map(|(_, l)| format!("{l}\n")).collect();
    let (first, rest) = whole.split_once('\n').unwrap();
    // A later version may write in another way. What names a later one, and has our sum but for that, is damage.
    let (unsealed, _) = first.split_once(",\"sum\"").unwrap();
    let newer = format!("{}}}\n{rest}", unsealed.replace("\"format\":2", "\"format\":3"));
    let guarded = newer.replacen("}\n", ",\"sum\":\"0badc0de\"}\n", 1);
    let changed = whole.replacen("\"format\":2", "\"format\":3", 1);
    let older = whole.replacen("\"format\":2", "\"format\":1", 1);
    let word = whole.replace("two", "tow");
    for (damaged, expected) in [
        (flipped, "damaged at line 3"),
        (word, "damaged at line 3: the checksum does not match"),
        (lost, "`seq` is 4, not 3"),
        (newer, "format 3"),
        (guarded, "format 3"),
        (changed, "damaged at line 1"),
        (older, "damaged at line 1"),
    ] {
        assert_ne!(damaged, whole);
        fs::write(&journal, format!("{damaged}torn")).unwrap();
        let before = files(journal.parent().unwrap());
        let error = store.open(id(1), now()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(store.read(id(1)).is_err());
        assert_eq!(files(journal.parent().unwrap()), before);
        let listed = store.list().unwrap();
        assert!(listed.iter().all(|summary| summary.problem.as_ref().is_some_and(|p| p.contains(expected))));
    }
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let (_dir, store) = store();
    let first = store.create(id(1), "p", now()).unwrap();
    let error = store.open(id(1), now()).unwrap_err();
    let said =
        format!("session {} is in use by pid {} since 2026-11-20T10:11:12Z", id(1), std::process::id());
    assert_eq!(error.to_string(), said);
    assert!(matches!(store.delete(id(1)), Err(SessionError::InUse { .. })));
    assert!(matches!(store.describe(id(1), |_| ()), Err(SessionError::InUse { .. })));
    assert!(store.read(id(1)).is_ok());
    drop(first);
    let second = store.open(id(1), now()).unwrap();
    let lock = File::open(second.dir().join("lock")).unwrap();
    assert!(lock.try_lock().is_err());
    drop(second);
    lock.try_lock().unwrap();
    let said = format!("session {} is in use by another process", id(1));
    assert_eq!(store.open(id(1), now()).unwrap_err().to_string(), said);
}

/// Killed with the lock, it left its name in the file.
#[test]
fn nobody_is_told_of_a_holder_who_is_gone() {
    let (_dir, store) = store();
    let dir = store.create(id(1), "p", now()).unwrap().dir().to_owned();
    fs::write(dir.join("lock"), "4194305 2026-11-20T10:11:12Z\n").unwrap();
    let meanwhile = |_: &mut Metadata| {
        let error = store.open(id(1), now()).unwrap_err().to_string();
        assert_eq!(error, format!("session {} is in use by another process", id(1)));
    };
    store.describe(id(1), meanwhile).unwrap();
    assert_eq!(fs::read(dir.join("lock")).unwrap(), b"");
}

#[test]
fn a_session_that_is_left_has_a_name_and_totals_that_hold_until_it_is_written_to() {
    let (_dir, store) = store();
    let mut session = store.create(id(1), "p", now()).unwrap();
    let dir = session.dir().to_owned();
    say(&mut session, "\n\u{202e}What  is\tit?\nElse");
    say(&mut session, "more");
    assert_eq!(session.metadata.name.as_deref(), Some("What is it?"));
    drop(session);
    let metadata = store.metadata(id(1)).unwrap();
    let totals = metadata.current(&dir).unwrap();
    assert_eq!(
        (totals.turns, totals.canisters, totals.journal),
        (2, 2, fs::metadata(dir.join("journal.jsonl")).unwrap().len())
    );
    assert_eq!(metadata.name.as_deref(), Some("What is it?"));

    // A name that a person gave stays, and reading alone writes nothing.
    store.describe(id(1), |metadata| metadata.name = Some("mine".into())).unwrap();
    let before = files(&dir);
    drop(store.open(id(1), now()).unwrap());
    assert_eq!(files(&dir), before);
    say(&mut store.open(id(1), now()).unwrap(), "again");
    let metadata = store.metadata(id(1)).unwrap();
    assert_eq!((metadata.name.as_deref(), metadata.current(&dir).unwrap().turns), (Some("mine"), 3));

    // Nor is one made again for who wants none.
    let nameless = |metadata: &mut Metadata| (metadata.name, metadata.nameless) = (None, true);
    store.describe(id(1), nameless).unwrap();
    say(&mut store.open(id(1), now()).unwrap(), "and again");
    let metadata = store.metadata(id(1)).unwrap();
    assert_eq!((metadata.name.as_deref(), metadata.current(&dir).unwrap().turns), (None, 4));

    // Written by somebody who was killed.
    File::options().append(true).open(dir.join("journal.jsonl")).unwrap().write_all(b"{").unwrap();
    assert_eq!(metadata.current(&dir), None);
}

#[test]
fn the_latest_is_the_one_written_to_last() {
    let (_dir, store) = store();
    assert!(matches!(store.latest(), Err(SessionError::NotFound(_))));
    assert!(matches!(store.latest_of(Some("/a")), Err(SessionError::NotFound(_))));
    assert_eq!(store.list().unwrap(), []);
    let base = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    for (dice, age) in [(1, 50), (2, 10), (3, 30), (4, 10)] {
        let mut session = store.create(id(dice), "p", now()).unwrap();
        say(&mut session, &format!("words of\n{dice}"));
        let journal = File::options().append(true).open(session.dir().join("journal.jsonl")).unwrap();
        journal.set_times(FileTimes::new().set_modified(base - Duration::from_secs(age))).unwrap();
    }
    assert_eq!(store.latest().unwrap(), id(4), "the later id of two of the same time");
    let order: Vec<_> = store.list().unwrap().into_iter().map(|summary| summary.id).collect();
    assert_eq!(order, [id(4), id(2), id(3), id(1)]);

    // Younger, but killed while being created: no journal, an empty one, half a line. None of them is gone on with.
    for dice in [5, 6, 7] {
        let dir = store.create(id(dice), "p", now()).unwrap().dir().to_owned();
        match dice {
            5 => fs::remove_file(dir.join("journal.jsonl")).unwrap(),
            6 => fs::write(dir.join("journal.jsonl"), "").unwrap(),
            _ => fs::write(dir.join("journal.jsonl"), "{\"seq\":1,").unwrap(),
        }
        assert!(matches!(store.open(id(dice), now()), Err(SessionError::Empty { .. })));
    }
    // Or killed before anything was said: opened, and no more than half a word.
    for dice in [8, 9] {
        let session = store.create(id(dice), "p", now()).unwrap();
        let mut journal = File::options().append(true).open(session.dir().join("journal.jsonl")).unwrap();
        journal.write_all(if dice == 8 { b"" } else { b"{\"seq\":2," }).unwrap();
    }
    assert_eq!(store.latest().unwrap(), id(4));
    let summary = store.list().unwrap().into_iter().find(|summary| summary.id == id(4)).unwrap();
    assert_eq!((summary.words.as_str(), summary.canisters, summary.created), ("words of 4", 1, now()));
    assert_eq!(summary.updated.as_second(), 1_700_000_000 - 10);
}

#[test]
fn a_turn_is_taken_up_from_its_session_or_begins_anew() {
    let (_dir, store) = store();
    let closed = |_: &Invocation| false;
    let missing = |dice| matches!(store.take_up(id(dice), now(), &closed), Err(SessionError::NotFound(_)));
    assert!(missing(1));
    // Killed while it was created: nothing was said, so it begins anew under its id.
    for left in ["", "{\"seq\":1,"] {
        let dir = store.create(id(1), "p", now()).unwrap().dir().to_owned();
        fs::write(dir.join("journal.jsonl"), left).unwrap();
        assert!(missing(1));
    }
    let mut session = store.create(id(1), "p", now()).unwrap();
    say(&mut session, "go");
    let call = ask(&mut session);
    assert!(matches!(store.take_up(id(1), now(), &closed), Err(SessionError::InUse { .. })));
    session.append(Body::Started { id: call.clone() }, now()).unwrap();
    drop(session);
    let again = store.take_up(id(1), now(), &|_| true).unwrap();
    assert_eq!(again.loaded.transcript.open().len(), 1, "it may run again");
    drop(again);
    let closed = store.take_up(id(1), now(), &closed).unwrap();
    assert!(closed.loaded.repairs.contains(&Repair::Interrupted { id: call }));
    drop(closed);
    let settled = store.take_up(id(1), now(), &|_| true).unwrap();
    assert_eq!(settled.loaded.transcript.open().len(), 0, "what was written counts");
}

#[test]
fn a_session_is_found_by_id_name_or_beginning() {
    let (dir, store) = store();
    for dice in [1, 2] {
        store.create(id(dice), "p", now()).unwrap();
    }
    fs::create_dir(dir.path().join("data/sessions/not-a-session")).unwrap();
    store.describe(id(1), |metadata| metadata.name = Some("tax".into())).unwrap();
    let full = id(2).to_string();
    let short = id(1).to_string()[..16].to_owned();
    assert_eq!(store.resolve(&full).unwrap(), id(2));
    assert_eq!(store.resolve("tax").unwrap(), id(1));
    assert_eq!(store.resolve(&short).unwrap(), id(1));
    let common = &full[..8];
    assert!(matches!(store.resolve(common), Err(SessionError::Ambiguous { count: 2, .. })));
    store.describe(id(2), |metadata| metadata.name = Some(short.clone())).unwrap();
    assert_eq!(store.resolve(&short).unwrap(), id(2), "a name goes before a beginning");
    assert!(matches!(store.resolve("last"), Err(SessionError::NotFound(_))), "they are all without a word");
    for unknown in ["", "taxes", "not-a-session", "../x", &full.to_uppercase()] {
        assert!(matches!(store.resolve(unknown), Err(SessionError::NotFound(_))), "{unknown:?}");
    }
    assert!(matches!(store.open(id(9), now()), Err(SessionError::NotFound(_))));
    assert!(matches!(store.create(id(1), "p", now()), Err(SessionError::Io { .. })));
}

#[test]
fn one_that_nobody_would_miss_goes_unless_something_was_said() {
    let (dir, store) = store();
    let silent = store.create(id(1), "p", now()).unwrap().fleeting();
    assert_eq!(store.all().unwrap(), [id(1)]);
    drop(silent);
    let mut noted = store.create(id(2), "p", now()).unwrap().fleeting();
    noted.append(Body::Note { text: "a replay".into() }, now()).unwrap();
    noted.metadata.model = Some("m".into());
    noted.save_metadata().unwrap();
    drop(noted);
    assert_eq!(files(&dir.path().join("data/sessions")).len(), 0);
    let mut spoken = store.create(id(3), "p", now()).unwrap().fleeting();
    say(&mut spoken, "hello");
    drop(spoken);
    assert_eq!(store.all().unwrap(), [id(3)]);
}

#[test]
fn sessions_are_found_by_a_tag_in_the_order_of_their_ids() {
    let (_dir, store) = store();
    for (dice, tags) in
        [(3, vec!["compare:a", "x"]), (1, vec!["compare:a"]), (2, vec!["compare:ab"]), (4, vec![])]
    {
        let mut session = store.create(id(dice), "p", now()).unwrap();
        session.metadata.tags = tags.into_iter().map(str::to_owned).collect();
        session.save_metadata().unwrap();
        say(&mut session, "words");
    }
    let mut silent = store.create(id(5), "p", now()).unwrap();
    silent.metadata.tags = vec!["compare:a".to_owned()];
    silent.save_metadata().unwrap();
    assert_eq!(store.tagged("compare:a").unwrap(), [id(1), id(3)]);
    assert!(store.tagged("none").unwrap().is_empty());
    assert_eq!(store.metadata(id(2)).unwrap().tags, ["compare:ab"]);
    assert!(matches!(store.metadata(id(9)), Err(SessionError::NotFound(_))));
    // One that is damaged is not missing in silence; one that never came to hold anything cannot go on.
    let dir = store.open(id(3), now()).unwrap().dir().to_owned();
    fs::write(dir.join("journal.jsonl"), "{").unwrap();
    assert_eq!(store.tagged("compare:a").unwrap(), [id(1), id(3)]);
    fs::write(dir.join("metadata.toml"), "tags = [\"compare:a\"]").unwrap();
    assert_eq!(store.tagged("compare:a").unwrap(), [id(1)]);
}

#[test]
fn a_deleted_session_is_gone_and_takes_what_an_earlier_deletion_left() {
    let (dir, store) = store();
    for dice in [1, 2] {
        store.create(id(dice), "p", now()).unwrap().contents.put(b"x").unwrap();
    }
    let left = dir.path().join("data/sessions/.deleted-x/content");
    fs::create_dir_all(&left).unwrap();
    store.delete(id(1)).unwrap();
    assert!(!left.exists());
    let ids: Vec<_> = store.list().unwrap().into_iter().map(|summary| summary.id).collect();
    assert_eq!(ids, [id(2)]);
    assert!(matches!(store.delete(id(1)), Err(SessionError::NotFound(_))));
}

#[test]
fn ids_are_of_version_7_and_sort_by_time() {
    let later = new_id(now() + jiff::Span::new().milliseconds(1), &[0; 10]);
    assert_eq!(id(0xff).get_version_num(), 7);
    assert!(id(0xff).to_string() < later.to_string());
}

#[test]
fn twenty_writers_share_a_store() {
    let (_dir, store) = store();
    std::thread::scope(|scope| {
        for dice in 0..20 {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.create(id(dice), "p", now()).unwrap();
                say(&mut session, "hello");
            });
        }
    });
    assert!(store.list().unwrap().iter().all(|summary| summary.problem.is_none() && summary.canisters == 1));
    assert_eq!(store.list().unwrap().len(), 20);
}

/// Nobody will ever write to it, so reading it would wait for ever.
#[test]
fn a_pipe_in_the_journals_place_is_an_error_at_once() {
    let (_dir, store) = store();
    let path = store.create(id(1), "test 1", now()).unwrap().dir().join("journal.jsonl");
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert!(matches!(store.open(id(1), now()), Err(SessionError::Io { .. })));
    assert!(store.list().is_ok_and(|list| list[0].problem.is_some()));
}
