//! What holds wherever sessions are kept. `main.rs` runs it on PostgreSQL, `../files.rs` on files.

use std::sync::Arc;

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Invocation, InvocationId, Outcome, Stop, TurnId, Usage,
    User,
};
use converse_session::stats::{Folding, StatsFilter};
use converse_session::storage::{Area, JOURNAL, Storage};
use converse_session::{
    Body, Clearing, Fault, Fork, Metadata, Query, Repair, Session, SessionError, Within, digest,
};
use jiff::tz::TimeZone;

use crate::place::{id, now, read, say, session, store, user};

pub(crate) type Case = (&'static str, fn(&Arc<dyn Storage>));

pub(crate) const CASES: &[Case] = &[
    ("a session is read as it was written", written_and_read),
    ("sessions are found by id, name and tag", found),
    ("a session whose creator was killed is not the last one", unbegun),
    ("one process writes", one_writer),
    ("a torn line is kept and cut off", torn_line),
    ("an open call is closed", open_call),
    ("damage is refused and salvaged", damage),
    ("a later format is refused", later_format),
    ("format 1 is migrated", format_1),
    ("unreadable metadata is kept", broken_metadata),
    ("content is kept by digest", content),
    ("long lines and long content come in pieces", pieces),
    ("a fork, an export and an import are complete", copies),
    ("a session under construction does not exist", staged),
    ("what is deleted is gone", deleted),
    ("garbage is found and removed", garbage),
    ("a session without messages vanishes", fleeting),
    ("only what was begun here is abandoned", abandoned),
    ("one version of a file is read", one_version),
    ("figures are counted", figures),
    ("what was cut off is written again", cut_off),
];

fn reply(session: &mut Session, turn: u64, started: bool) {
    let turn = TurnId(turn);
    let id = InvocationId::of(turn, 0);
    let assistant = Assistant {
        turn,
        content: vec![Content::text("let me see")],
        native: None,
        stop: Stop::End,
        response_id: None,
    };
    let invocation = Invocation {
        turn,
        id: id.clone(),
        wire_id: None,
        tool: "t".into(),
        arguments: Arguments::parse("{}"),
        seal: None,
    };
    let usage = Usage { input: Some(3), output: Some(4), ..Usage::default() };
    let mut bodies = vec![
        Canister::Assistant(assistant).into(),
        Canister::Invocation(invocation).into(),
        Body::Used { usage, cost: Some(Cost(5)), model: "m".into(), provider: None },
    ];
    if started {
        bodies.push(Body::Started { id });
    }
    for body in bodies {
        session.append(body, now()).unwrap();
    }
    session.journal.commit().unwrap();
}

fn written_and_read(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello", "more"]);
    let store = store(storage);
    let loaded = store.read(id(1)).unwrap();
    assert_eq!(loaded.transcript.as_slice().len(), 2);
    assert_eq!(loaded.repairs, []);
    let journal = read(&*storage.session(id(1)), JOURNAL);
    assert_eq!(journal.iter().filter(|byte| **byte == b'\n').count(), 3);
    assert_eq!(storage.session(id(1)).journal().unwrap().length, journal.len() as u64);
    // Nothing is written by opening it.
    drop(store.open(id(1), now()).unwrap());
    assert_eq!(read(&*storage.session(id(1)), JOURNAL), journal);
    say(&mut store.open(id(1), now()).unwrap(), "again");
    let longer = read(&*storage.session(id(1)), JOURNAL);
    assert!(longer.starts_with(&journal) && longer.len() > journal.len());
    let [summary] = store.list().unwrap().try_into().unwrap();
    assert_eq!((summary.canisters, summary.words.as_str()), (3, "hello"));
    assert_eq!(summary.metadata.totals.unwrap().journal, longer.len() as u64);
    assert!(matches!(store.read(id(2)), Err(SessionError::NotFound(_))));
    assert_eq!(store.check(id(1)).unwrap().faults.len(), 0);
    assert!(matches!(store.create(id(1), "test 1", now()), Err(SessionError::Io { .. })), "it exists");
    assert_eq!(read(&*storage.session(id(1)), JOURNAL), longer);
}

fn found(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    assert_eq!((store.all().unwrap().len(), store.list().unwrap().len()), (0, 0));
    for number in 1..4 {
        session(storage, id(number), &[&format!("number {number}")]);
    }
    store.describe(id(2), |metadata| metadata.name = Some("Zwei".into())).unwrap();
    store.describe(id(3), |metadata| metadata.tags = vec!["odd".into()]).unwrap();
    assert_eq!(store.all().unwrap(), [id(1), id(2), id(3)]);
    assert_eq!(store.resolve("Zwei").unwrap(), id(2));
    assert_eq!(store.resolve(&id(3).to_string()).unwrap(), id(3));
    assert_eq!(store.resolve("last").unwrap(), id(3));
    assert_eq!(store.tagged("odd").unwrap(), [id(3)]);
    store.describe(id(1), |metadata| metadata.project = Some("/a".into())).unwrap();
    store.describe(id(3), |metadata| metadata.project = Some("/b".into())).unwrap();
    let of = |project| store.latest_of(project).unwrap();
    assert_eq!([of(Some("/a")), of(Some("/b")), of(None)], [id(1), id(3), id(2)]);
    let none = store.latest_of(Some("/a/b")).unwrap_err();
    assert!(matches!(&none, SessionError::NoneOfProject { project: Some(one) } if one == "/a/b"), "{none}");
    assert!(matches!(store.resolve("nobody"), Err(SessionError::NotFound(_))));
    assert!(matches!(store.resolve("0"), Err(SessionError::Ambiguous { count: 3, .. })));
    let query = Query::new(["number 2"], Within::All).unwrap();
    for _ in 0..2 {
        let found = store.search(&query, 5).unwrap();
        assert_eq!((found.total, found.hits[0].session, found.unread.len()), (1, id(2), 0));
    }
    assert!(storage.session(id(2)).has("index").unwrap(), "the words are kept for the next search");
}

fn unbegun(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    for number in [2, 3, 4] {
        // Without a journal, with an empty one, with its first line alone.
        match number {
            2 => drop(storage.begin(id(2), false).unwrap()),
            3 => drop(storage.begin(id(3), false).unwrap().lock().unwrap().create_journal().unwrap()),
            _ => drop(store.create(id(4), "test 1", now()).unwrap()),
        }
        assert!(matches!(store.latest(), Err(SessionError::NotFound(_))), "{number}");
        assert_eq!(store.list().unwrap().len(), usize::from(number) - 1);
        store.describe(id(number), |metadata| metadata.tags = vec!["odd".into()]).unwrap();
        assert!(store.tagged("odd").unwrap().is_empty(), "{number}");
    }
    session(storage, id(1), &["hello"]);
    storage.begin(id(5), false).unwrap();
    assert_eq!((store.latest().unwrap(), store.resolve("last").unwrap()), (id(1), id(1)));
}

fn one_writer(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let store = store(storage);
    let open = store.open(id(1), now()).unwrap();
    let Err(SessionError::InUse { session, holder }) = store.open(id(1), now()) else { panic!() };
    let holder = holder.unwrap();
    assert_eq!((session, holder.pid, holder.since), (id(1).to_string(), std::process::id(), now()));
    assert!(store.check(id(1)).unwrap().in_use);
    assert!(matches!(store.delete(id(1)), Err(SessionError::InUse { .. })));
    assert_eq!(store.read(id(1)).unwrap().transcript.as_slice().len(), 1);
    drop(open);
    assert!(!store.check(id(1)).unwrap().in_use);
    drop(store.open(id(1), now()).unwrap());
}

fn torn_line(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let at = storage.session(id(1));
    let whole = read(&*at, JOURNAL);
    at.lock().unwrap().append_journal().unwrap().write(b"{\"seq\":3,").unwrap();
    let store = store(storage);
    assert_eq!(store.read(id(1)).unwrap().repairs, [Repair::TornLine { bytes: 9 }]);
    drop(store.open(id(1), now()).unwrap());
    assert_eq!(read(&*at, "torn-3"), b"{\"seq\":3,");
    let repaired = read(&*at, JOURNAL);
    assert!(repaired.starts_with(&whole) && !repaired.windows(9).any(|bytes| bytes == b"{\"seq\":3,{"));
    let loaded = store.read(id(1)).unwrap();
    assert_eq!((loaded.repairs.len(), loaded.transcript.as_slice().len()), (0, 1));
}

fn open_call(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    let mut open = store.create(id(1), "test 1", now()).unwrap();
    say(&mut open, "hello");
    reply(&mut open, 1, true);
    drop(open);
    let repaired = store.open(id(1), now()).unwrap();
    assert!(matches!(repaired.loaded.repairs[..], [Repair::Interrupted { .. }]));
    drop(repaired);
    let loaded = store.read(id(1)).unwrap();
    let Some(Canister::Result(result)) = loaded.transcript.as_slice().last() else { panic!() };
    assert_eq!((result.outcome, loaded.repairs.len()), (Outcome::Interrupted, 0));
}

fn damage(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["first", "second", "third"]);
    let at = storage.session(id(1));
    let mut bytes = read(&*at, JOURNAL);
    let place = bytes.windows(6).position(|bytes| bytes == b"second").unwrap();
    bytes[place] ^= 1;
    at.lock().unwrap().replace(JOURNAL, &bytes, converse_session::files::Durability::Name).unwrap();
    let store = store(storage);
    assert!(matches!(store.open(id(1), now()), Err(SessionError::Corrupt { line: 3, .. })));
    assert!(store.check(id(1)).unwrap().faults.iter().any(Fault::is_damage));
    let checked = store.mend(id(1), now()).unwrap();
    let saved = store.read(checked.saved_as.unwrap()).unwrap();
    assert_eq!(saved.transcript.as_slice().len(), 2);
    assert_eq!(read(&*at, JOURNAL), bytes, "the damaged one stays");
}

fn later_format(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let at = storage.session(id(1));
    let later = b"{\"seq\":1,\"at\":\"2026-11-20T10:00:00Z\",\"type\":\"opened\",\"format\":99}\n".to_vec();
    at.lock().unwrap().replace(JOURNAL, &later, converse_session::files::Durability::Name).unwrap();
    let store = store(storage);
    assert!(matches!(store.open(id(1), now()), Err(SessionError::Newer { format: 99, .. })));
    assert!(store.describe(id(1), |metadata| metadata.name = None).is_err());
    assert_eq!(read(&*at, JOURNAL), later);
}

fn format_1(storage: &Arc<dyn Storage>) {
    const OLD: &[u8] = include_bytes!("../../../session/tests/journals/format-1.jsonl");
    session(storage, id(1), &[]);
    let at = storage.session(id(1));
    at.lock().unwrap().replace(JOURNAL, OLD, converse_session::files::Durability::Name).unwrap();
    let store = store(storage);
    let seen = store.read(id(1)).unwrap().transcript;
    let open = store.open(id(1), now()).unwrap();
    assert_eq!((&open.loaded.transcript, open.loaded.header.format), (&seen, 2));
    drop(open);
    assert_eq!(read(&*at, "journal.v1.jsonl"), OLD);
    assert_eq!(store.read(id(1)).unwrap().repairs, []);
}

fn broken_metadata(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let at = storage.session(id(1));
    at.lock()
        .unwrap()
        .replace("metadata.toml", b"name = 5", converse_session::files::Durability::Name)
        .unwrap();
    let store = store(storage);
    let open = store.open(id(1), now()).unwrap();
    let kept = "metadata.broken".to_owned();
    assert_eq!(open.loaded.repairs, [Repair::Metadata { kept }]);
    drop(open);
    assert_eq!(read(&*at, "metadata.broken"), b"name = 5");
    assert_eq!(store.metadata(id(1)).unwrap().name.as_deref(), Some("hello"));
}

fn content(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let store = store(storage);
    let contents = store.contents(id(1));
    let kept = contents.put(b"picture").unwrap();
    assert_eq!((contents.put(b"picture").unwrap(), kept), (kept, digest(b"picture")));
    assert_eq!(contents.get(&kept).unwrap().as_deref(), Some(&b"picture"[..]));
    assert_eq!(contents.get(&digest(b"other")).unwrap(), None);
    let at = storage.session(id(1));
    assert_eq!(at.names(Area::Content).unwrap(), [kept.to_string()]);
    // What does not match its name is missing, and is written again.
    at.put_content(&kept.to_string(), b"changed").unwrap();
    assert_eq!(contents.get(&kept).unwrap(), None);
    assert!(matches!(store.check(id(1)).unwrap().faults[..], [Fault::Damaged(_)]));
    contents.put(b"picture").unwrap();
    assert_eq!(store.check(id(1)).unwrap().faults.len(), 0);
}

fn pieces(storage: &Arc<dyn Storage>) {
    let long = |letter: &str| letter.repeat(700_000);
    session(storage, id(1), &[&long("a"), "short", &long("b"), &"c ".repeat(100)]);
    let store = store(storage);
    let loaded = store.read(id(1)).unwrap();
    let texts = [long("a"), "short".into(), long("b"), "c ".repeat(100)];
    let expected: Vec<_> = texts.iter().map(|text| Canister::User(User::text(text))).collect();
    assert_eq!(loaded.transcript.as_slice(), expected);
    let bytes: Vec<u8> = (0..1_500_000_u32).map(|number| (number % 251) as u8).collect();
    let kept = store.contents(id(1)).put(&bytes).unwrap();
    assert_eq!(store.contents(id(1)).get(&kept).unwrap().as_deref(), Some(bytes.as_slice()));
    let file = storage.session(id(1)).open(&format!("content/{kept}")).unwrap();
    let mut part = vec![0; 600_000];
    file.read_exact_at(&mut part, 400_001).unwrap();
    assert_eq!(part, bytes[400_001..1_000_001]);
    assert!(file.read_exact_at(&mut part, 1_000_000).is_err());
    let mut walked = 0;
    store.walk(id(1), |_, _| walked += 1).unwrap();
    assert_eq!(walked, 4);
}

fn copies(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    let mut open = store.create(id(1), "test 1", now()).unwrap();
    let picture = open.contents.put(b"picture").unwrap();
    let blob = Content::Blob { mime: "image/png".into(), digest: picture, name: None, seal: None };
    open.append(Canister::User(User { content: vec![Content::text("look"), blob] }).into(), now()).unwrap();
    drop(open);
    let fork = Fork { id: id(2), program: "test 1".into(), upto: None, metadata: Metadata::default() };
    store.fork(id(1), fork, now()).unwrap();
    let document = store.export(id(1), "test 1").unwrap();
    assert_eq!(document.contents.len(), 1);
    assert!(store.import(document, id(3), "test 1", now()).unwrap().is_empty());
    let original = store.read(id(1)).unwrap().transcript;
    for copy in [2, 3] {
        assert_eq!(store.read(id(copy)).unwrap().transcript, original);
        assert_eq!(store.contents(id(copy)).get(&picture).unwrap().as_deref(), Some(&b"picture"[..]));
        assert_eq!(store.check(id(copy)).unwrap().faults.len(), 0);
    }
    // One that fails leaves nothing.
    let fork = Fork { id: id(4), program: "test 1".into(), upto: Some(9), metadata: Metadata::default() };
    assert!(matches!(store.fork(id(1), fork, now()), Err(SessionError::Uncuttable { .. })));
    assert_eq!(store.all().unwrap(), [id(1), id(2), id(3)]);
    assert_eq!(store.litter().len(), 0);
}

fn staged(storage: &Arc<dyn Storage>) {
    let at = storage.begin(id(1), true).unwrap();
    let lock = at.lock().unwrap();
    lock.replace("note", b"half", converse_session::files::Durability::Name).unwrap();
    let store = store(storage);
    assert!(store.all().unwrap().is_empty() && store.list().unwrap().is_empty());
    assert!(matches!(store.read(id(1)), Err(SessionError::NotFound(_))));
    assert!(store.litter().is_empty(), "it is in use");
    drop(lock);
    assert_eq!(store.litter().len(), 1);
    store.sweep().unwrap();
    assert!(store.litter().is_empty());
    let at = storage.begin(id(1), true).unwrap();
    let lock = at.lock().unwrap();
    lock.create_journal().unwrap();
    lock.publish().unwrap();
    assert_eq!(store.all().unwrap(), [id(1)]);
}

fn deleted(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    session(storage, id(2), &["hello"]);
    let store = store(storage);
    store.contents(id(1)).put(b"picture").unwrap();
    store.delete(id(1)).unwrap();
    assert!(matches!(store.delete(id(1)), Err(SessionError::NotFound(_))));
    assert_eq!(store.all().unwrap(), [id(2)]);
    let at = storage.session(id(1));
    assert!(!at.has(&format!("content/{}", digest(b"picture"))).unwrap());
    session(storage, id(1), &["anew"]);
    assert_eq!(store.read(id(1)).unwrap().transcript.as_slice().len(), 1);
}

fn garbage(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    session(storage, id(2), &[]);
    let store = store(storage);
    let unused = store.contents(id(1)).put(b"unused").unwrap();
    let clearing = Clearing { empty: true, ..Clearing::default() };
    let found = store.clearable(&clearing).unwrap();
    let shown: Vec<_> = found.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown.iter().any(|one| one.ends_with(&unused.to_string())), "{shown:?}");
    assert!(found.iter().all(|one| one.bytes() > 0), "{found:?}");
    let cleared = store.clear(&clearing, found);
    assert_eq!((cleared.removed.len(), cleared.stayed.len(), cleared.failed.len()), (2, 0, 0));
    assert_eq!(store.all().unwrap(), [id(1)]);
    assert_eq!(store.contents(id(1)).get(&unused).unwrap(), None);
}

fn fleeting(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    drop(store.create(id(1), "test 1", now()).unwrap().fleeting());
    assert!(store.all().unwrap().is_empty());
    let mut stays = store.create(id(2), "test 1", now()).unwrap().fleeting();
    stays.append(user("hello"), now()).unwrap();
    drop(stays);
    assert_eq!(store.all().unwrap(), [id(2)]);
}

fn figures(storage: &Arc<dyn Storage>) {
    let store = store(storage);
    let mut open = store.create(id(1), "test 1", now()).unwrap();
    say(&mut open, "hello");
    reply(&mut open, 1, true);
    drop(open);
    let filter = StatsFilter { zone: TimeZone::UTC, since: None, until: None, model: None, tool: None };
    let mut folding = Folding::new(filter);
    folding.read_all(&store).unwrap();
    let figures = folding.figures();
    let [(name, model)] = Vec::from_iter(&figures.models).try_into().unwrap();
    assert_eq!((name.as_str(), model.spent.cost), ("m", Cost(5)));
}

fn cut_off(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    let at = storage.session(id(1));
    let whole = read(&*at, JOURNAL);
    let lock = at.lock().unwrap();
    let mut journal = lock.append_journal().unwrap();
    journal.write(b"one\n").unwrap();
    journal.write(b"two\n").unwrap();
    journal.truncate(whole.len() as u64).unwrap();
    journal.write(b"three\n").unwrap();
    journal.sync().unwrap();
    assert_eq!(read(&*at, JOURNAL), [whole.as_slice(), b"three\n"].concat());
}

fn abandoned(storage: &Arc<dyn Storage>) {
    session(storage, id(1), &["hello"]);
    storage.session(id(1)).abandon();
    // Published, and the creator does not know that.
    let at = storage.begin(id(2), true).unwrap();
    let lock = at.lock().unwrap();
    lock.create_journal().unwrap().write(b"{}\n").unwrap();
    lock.publish().unwrap();
    drop(lock);
    at.abandon();
    // Taken by another process as soon as it existed.
    let begun = storage.begin(id(3), false).unwrap();
    let other = storage.session(id(3));
    let lock = other.lock().unwrap();
    begun.abandon();
    lock.create_journal().unwrap().write(b"{}\n{}\n").unwrap();
    drop(lock);
    begun.abandon();
    assert_eq!(storage.ids().unwrap(), [id(1), id(2), id(3)]);
    let staged = storage.begin(id(4), true).unwrap();
    let lock = staged.lock().unwrap();
    lock.create_journal().unwrap().write(b"{}\n{}\n").unwrap();
    drop(lock);
    let plain = storage.begin(id(5), false).unwrap();
    drop(plain.lock().unwrap());
    for failed in [staged, plain, storage.begin(id(6), false).unwrap()] {
        failed.abandon();
        assert!(!failed.exists().unwrap());
    }
    assert_eq!((storage.ids().unwrap().len(), storage.litter().len()), (3, 0));
}

fn one_version(storage: &Arc<dyn Storage>) {
    use std::io::Read as _;

    session(storage, id(1), &["hello"]);
    let at = storage.session(id(1));
    let lock = at.lock().unwrap();
    let put = |name, letter, bytes| {
        lock.replace(name, &vec![letter; bytes], converse_session::files::Durability::Name).unwrap();
    };
    for (name, bytes) in [("note", 600_000), (JOURNAL, 600_000), ("note", 10)] {
        put(name, b'a', bytes);
        let mut file = at.open(name).unwrap();
        file.read_exact(&mut [0; 5]).unwrap();
        put(name, b'b', bytes);
        let mut rest = Vec::new();
        let is_read = file.read_to_end(&mut rest);
        assert!(rest.iter().all(|byte| *byte == b'a'), "{name}");
        assert!(is_read.is_err() || rest.len() == bytes - 5, "{name}");
        assert!(bytes > 10 || is_read.is_ok(), "what fits into one piece is read at once");
        let mut part = vec![0; bytes];
        let is_read = file.read_exact_at(&mut part, 0);
        assert!(is_read.is_err() || part.iter().all(|byte| *byte == b'a'), "{name}");
    }
}
