//! What nobody needs, removed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use converse_canister::{Canister, Content, User};
use converse_session::{Body, Clearing, Removed, Uuid, digest};
use jiff::{Timestamp, ToSpan as _};

use super::*;

#[test]
fn only_what_nobody_needs_is_cleared() {
    let (dir, store) = store();
    let kept = talk(&store, 1, Some(b"needed"));
    let mut session = store.open(kept, at(90)).unwrap();
    let (gone_back, unused) =
        (session.contents.put(b"of what was left").unwrap(), session.contents.put(b"no one's").unwrap());
    let content = vec![Content::Blob { mime: "x/y".into(), digest: gone_back, name: None, seal: None }];
    let to = session.append(Canister::User(User { content }).into(), at(91)).unwrap() - 1;
    session.append(Body::Rewound { to }, at(92)).unwrap();
    fs::write(session.dir().join(".tmp-7-x"), "litter").unwrap();
    drop(session);
    for name in [".new-x", ".deleted-x"] {
        fs::create_dir_all(dir.path().join("sessions").join(name)).unwrap();
        fs::write(dir.path().join("sessions").join(name).join("f"), "12345").unwrap();
    }
    let found = store.clearable(&Clearing::default()).unwrap();
    let paths: Vec<_> = found
        .iter()
        .map(|one| match one {
            Removed::Content { path, .. } | Removed::Litter { path, .. } => {
                path.file_name().unwrap().to_str().unwrap().to_owned()
            }
            Removed::Session { .. } => panic!("no session was to go"),
        })
        .collect();
    assert_eq!(paths, [".tmp-7-x".to_owned(), unused.to_string(), ".deleted-x".into(), ".new-x".into()]);
    assert_eq!(found.iter().map(Removed::bytes).sum::<u64>(), 6 + 8 + 5 + 5);
    let cleared = store.clear(&Clearing::default(), found);
    assert_eq!((cleared.removed.len(), cleared.failed.len()), (4, 0));
    assert!(store.contents(kept).get(&gone_back).unwrap().is_some());
    assert!(store.clearable(&Clearing::default()).unwrap().is_empty());
}

#[test]
fn sessions_go_as_asked() {
    let (dir, store) = store();
    let ids: Vec<_> = (1..=4).map(|dice| talk(&store, dice, None)).collect();
    let empty = id(5);
    drop(store.create(empty, "p", at(0)).unwrap());
    fs::create_dir(path(&dir, id(6))).unwrap();
    for (age, id) in (0..).zip(ids.iter().rev()) {
        let when = std::time::SystemTime::now() - std::time::Duration::from_secs(age * 86_400);
        let journal = fs::File::options().append(true).open(path(&dir, *id).join("journal.jsonl")).unwrap();
        journal.set_modified(when).unwrap();
    }
    let would = |clearing: Clearing| -> BTreeMap<Uuid, &'static str> {
        let found = store.clearable(&clearing).unwrap();
        found
            .iter()
            .map(|one| match one {
                Removed::Session { id, why, .. } => (*id, *why),
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert!(would(Clearing::default()).is_empty());
    let empties = BTreeMap::from([(empty, "empty"), (id(6), "empty")]);
    assert_eq!(would(Clearing { empty: true, ..Clearing::default() }), empties);
    let before = Timestamp::now().checked_sub(36.hours()).unwrap();
    let old = would(Clearing { before: Some(before), ..Clearing::default() });
    assert_eq!(old.into_keys().filter(|id| ids.contains(id)).collect::<Vec<_>>(), ids[..2]);
    let beyond = would(Clearing { keep: Some(3), ..Clearing::default() });
    assert!(beyond.contains_key(&ids[0]) && !beyond.contains_key(&ids[3]), "{beyond:?}");
    let both = |keep| would(Clearing { before: Some(before), keep: Some(keep), ..Clearing::default() });
    assert_eq!(both(0), would(Clearing { before: Some(before), ..Clearing::default() }), "each keeps");
    assert!(both(usize::MAX).is_empty());
    // One that is in use stays.
    let open = store.open(ids[0], Timestamp::now()).unwrap();
    assert!(!would(Clearing { keep: Some(0), ..Clearing::default() }).contains_key(&ids[0]));
    drop(open);
    let inode = fs::metadata(path(&dir, ids[3])).unwrap().ino();
    let clearing = Clearing { before: Some(before), ..Clearing::default() };
    let cleared = store.clear(&clearing, store.clearable(&clearing).unwrap());
    assert!(cleared.failed.is_empty());
    assert_eq!(fs::metadata(path(&dir, ids[3])).unwrap().ino(), inode);
    assert!(!path(&dir, ids[1]).exists());
}

/// A question may stand for hours.
#[test]
fn a_session_that_was_gone_on_with_while_the_question_stood_stays() {
    let before = Timestamp::now().checked_sub(36.hours()).unwrap();
    // Where only so many are to stay, it goes all the same, if the list as it is now says so.
    for (clearing, expected) in [
        (Clearing { before: Some(before), ..Clearing::default() }, vec![id(1)]),
        (Clearing { keep: Some(0), ..Clearing::default() }, vec![id(1), id(2)]),
    ] {
        let (dir, store) = store();
        for dice in 1..=3 {
            talk(&store, dice, None);
            let journal = path(&dir, id(dice)).join("journal.jsonl");
            let when = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 86_400);
            fs::File::options().append(true).open(journal).unwrap().set_modified(when).unwrap();
        }
        let found = store.clearable(&clearing).unwrap();
        assert_eq!(found.len(), 3);
        say(&mut store.open(id(2), at(500)).unwrap(), "on", at(500));
        let used = store.open(id(3), at(500)).unwrap();
        let cleared = store.clear(&clearing, found);
        let mut removed: Vec<_> = cleared
            .removed
            .iter()
            .map(|one| match one {
                Removed::Session { id, .. } => *id,
                other => panic!("{other:?}"),
            })
            .collect();
        removed.sort_unstable();
        assert_eq!(removed, expected);
        assert_eq!((cleared.stayed.len(), cleared.failed.len()), (3 - expected.len(), 0));
        assert!(path(&dir, used.id).exists());
    }
    let (_dir, store) = store();
    drop(store.create(id(1), "p", at(0)).unwrap());
    let clearing = Clearing { empty: true, ..Clearing::default() };
    let found = store.clearable(&clearing).unwrap();
    say(&mut store.open(id(1), at(500)).unwrap(), "a first word", at(500));
    let cleared = store.clear(&clearing, found);
    assert_eq!((cleared.removed.len(), cleared.stayed.len()), (0, 1));
}

#[test]
fn content_stays_where_a_reference_to_it_may_be_damaged() {
    let flipped = |text: String| {
        let digest = converse_session::digest(b"x").to_string();
        let other = if digest.starts_with('0') { "1" } else { "0" };
        text.replacen(&digest, &format!("{other}{}", &digest[1..]), 1)
    };
    let torn = |text: String| text + "{\"seq\":";
    let emptied = |_| String::new();
    let damages: [&dyn Fn(String) -> String; 3] = [&flipped, &torn, &emptied];
    for damage in damages {
        let (dir, store) = store();
        let kept = talk(&store, 1, Some(b"x"));
        store.contents(kept).put(b"no one's").unwrap();
        let journal = path(&dir, kept).join("journal.jsonl");
        let whole = fs::read_to_string(&journal).unwrap();
        let found = store.clearable(&Clearing::default()).unwrap();
        assert_eq!(found.len(), 1);
        fs::write(&journal, damage(whole)).unwrap();
        assert!(store.clearable(&Clearing::default()).unwrap().is_empty());
        let cleared = store.clear(&Clearing::default(), found);
        assert_eq!((cleared.removed.len(), cleared.stayed.len()), (0, 1));
    }
}

/// The journal's time and length are as they were: only reading tells that a disk lost a bit.
#[test]
fn an_old_session_that_cannot_be_read_is_not_for_the_bin() {
    let (dir, store) = store();
    let journal = path(&dir, talk(&store, 1, None)).join("journal.jsonl");
    let when = fs::metadata(&journal).unwrap().modified().unwrap();
    let mut bytes = fs::read(&journal).unwrap();
    bytes[300] ^= 1;
    fs::write(&journal, bytes).unwrap();
    fs::File::options().append(true).open(journal).unwrap().set_modified(when).unwrap();
    assert!(store.clearable(&Clearing { keep: Some(0), ..Clearing::default() }).unwrap().is_empty());
}

#[test]
fn nobody_sweeps_what_is_just_being_made() {
    let (_dir, store) = store();
    let source = talk(&store, 1, Some(b"x"));
    let done = std::sync::atomic::AtomicBool::new(false);
    let ordering = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(ordering) {
                store.sweep().unwrap();
                let found = store.clearable(&Clearing::default()).unwrap();
                store.clear(&Clearing::default(), found);
            }
        });
        let forked: Vec<_> = (10..90)
            .map(|dice| {
                let metadata = converse_session::Metadata::default();
                let fork = converse_session::Fork { id: id(dice), program: "p".into(), upto: None, metadata };
                store.fork(source, fork, at(500)).map_err(|error| error.to_string())
            })
            .collect();
        done.store(true, ordering);
        assert_eq!(forked, vec![Ok(()); 80]);
    });
    assert!((10..90).all(|dice| store.check(id(dice)).unwrap().faults.is_empty()));
}

#[test]
fn a_file_without_a_readable_name_keeps_the_content_of_its_session_only() {
    use std::os::unix::ffi::OsStrExt as _;

    let (dir, store) = store();
    let [strange, plain] = [1, 2].map(|dice| {
        let id = talk(&store, dice, Some(b"needed"));
        store.contents(id).put(b"unused").unwrap();
        id
    });
    let name = std::ffi::OsStr::from_bytes(b"kept-\xff");
    fs::write(path(&dir, strange).join(name), digest(b"unused").to_string()).unwrap();
    fs::write(path(&dir, plain).join("content").join(name), "?").unwrap();
    let found = store.clearable(&Clearing::default()).unwrap();
    let [Removed::Content { path, .. }] = &found[..] else { panic!("{found:?}") };
    assert!(path.starts_with(self::path(&dir, plain)), "{path:?}");
    assert_eq!(store.clear(&Clearing::default(), found).removed.len(), 1);
    assert!(store.contents(strange).get(&digest(b"unused")).unwrap().is_some());
    assert!(store.contents(plain).get(&digest(b"unused")).unwrap().is_none());
}
