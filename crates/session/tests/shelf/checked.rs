//! What is wrong, found and mended.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use converse_session::{Clearing, Fault, Repair, SessionError, Store, Uuid, digest};

use super::*;

/// What a check is to find, and what is done to a session's directory before.
type Damage<'a> = (&'a [&'a str], &'a dyn Fn(&Path));

/// Kinds of what is wrong.
fn faults(store: &Store, id: Uuid) -> Vec<&'static str> {
    store.check(id).unwrap().faults.iter().map(Fault::kind).collect()
}

#[test]
fn a_check_finds_what_is_wrong_and_mends_what_can_be() {
    let (dir, store) = store();
    let damages: [Damage<'_>; 8] = [
        (&["mode"], &|dir| {
            fs::set_permissions(dir.join("journal.jsonl"), Permissions::from_mode(0o644)).unwrap()
        }),
        (&["mode"], &|dir| fs::set_permissions(dir, Permissions::from_mode(0o755)).unwrap()),
        (&["mode"], &|dir| fs::set_permissions(dir.join("content"), Permissions::from_mode(0o750)).unwrap()),
        (&["litter", "litter"], &|dir| {
            for name in [".tmp-0-x", "content/.tmp-1-y"] {
                fs::write(dir.join(name), "x").unwrap();
                fs::set_permissions(dir.join(name), Permissions::from_mode(0o600)).unwrap();
            }
        }),
        (&["unmended"], &|dir| {
            let journal = dir.join("journal.jsonl");
            let text = fs::read_to_string(&journal).unwrap();
            fs::write(journal, text + "{\"seq\":").unwrap();
        }),
        (&["metadata"], &|dir| fs::write(dir.join("metadata.toml"), "name = ").unwrap()),
        (&["unreadable"], &|dir| {
            let journal = dir.join("journal.jsonl");
            let text = fs::read_to_string(&journal).unwrap();
            fs::write(journal, text.replacen("And tapes", "And apples", 1)).unwrap();
        }),
        (&["missing_content"], &|dir| {
            fs::remove_file(dir.join(format!("content/{}", digest(b"x")))).unwrap()
        }),
    ];
    for (dice, (expected, damage)) in (1u8..).zip(damages) {
        let id = talk(&store, dice, Some(b"x"));
        assert_eq!(faults(&store, id), [""; 0]);
        let dir = path(&dir, id);
        damage(&dir);
        assert_eq!(faults(&store, id), expected);
        let mended = store.mend(id, at(500)).unwrap();
        match expected[0] {
            "unreadable" => {
                let said = &mended.mended[0];
                assert!(said.starts_with("line 11 is lost; all others are now session"), "{said}");
                // What is known and saved is no fault any more.
                assert_eq!((mended.faults.len(), mended.notes.len()), (0, 1), "the damaged one stays");
                assert!(mended.notes[0].contains("damaged at line 11"));
                let saved = mended.saved_as.unwrap();
                assert_eq!(faults(&store, saved), [""; 0]);
                assert_eq!(store.read(saved).unwrap().transcript.as_slice().len(), 9);
                // Once is enough.
                let again = store.mend(id, at(501)).unwrap();
                assert_eq!((again.saved_as, again.mended.len()), (Some(saved), 0));
            }
            "missing_content" => assert_eq!(faults(&store, id), expected),
            _ => {
                assert_eq!(faults(&store, id), [""; 0], "{expected:?}");
                assert_eq!(mended.mended.len(), expected.len());
            }
        }
    }
    // Content that is not what its name says.
    let last = talk(&store, 30, Some(b"x"));
    fs::write(path(&dir, last).join(format!("content/{}", digest(b"x"))), "y").unwrap();
    assert_eq!(faults(&store, last), ["damaged_content"]);
    // What somebody writes just now is in the middle of something.
    let open = store.open(last, at(600)).unwrap();
    fs::write(open.dir().join(".tmp-0-x"), "").unwrap();
    fs::set_permissions(open.dir().join(".tmp-0-x"), Permissions::from_mode(0o600)).unwrap();
    let checked = store.mend(last, at(601)).unwrap();
    assert!(checked.in_use && open.dir().join(".tmp-0-x").exists());
    assert_eq!(checked.faults.iter().map(Fault::kind).collect::<Vec<_>>(), ["damaged_content"]);
}

/// Everything in a session's directory, but for the lock.
fn all(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(self::all(&path)),
            false if path.ends_with("lock") => {}
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

fn change(dir: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let journal = dir.join("journal.jsonl");
    fs::write(&journal, change(fs::read(&journal).unwrap())).unwrap();
}

/// What `gc` keeps is nothing to be sorry for: it was killed before its first line.
#[test]
fn a_session_that_never_held_anything_is_a_note_and_no_fault() {
    let (dir, store) = store();
    let hollow = id(7);
    for begun in [None, Some(""), Some("{\"seq\":1,")] {
        let _ = fs::remove_dir_all(path(&dir, hollow));
        fs::create_dir_all(path(&dir, hollow)).unwrap();
        fs::set_permissions(path(&dir, hollow), Permissions::from_mode(0o700)).unwrap();
        if let Some(begun) = begun {
            let journal = path(&dir, hollow).join("journal.jsonl");
            fs::write(&journal, begun).unwrap();
            fs::set_permissions(journal, Permissions::from_mode(0o600)).unwrap();
        }
        let checked = store.check(hollow).unwrap();
        assert!(checked.faults.is_empty(), "{begun:?}: {checked:?}");
        assert!(matches!(&checked.notes[..], [note] if note.contains("`gc --empty`")), "{checked:?}");
        assert!(store.clearable(&Clearing::default()).unwrap().is_empty());
        assert_eq!(store.clearable(&Clearing { empty: true, ..Clearing::default() }).unwrap().len(), 1);
    }
}

#[test]
fn nothing_is_written_to_a_session_of_a_later_version() {
    let (dir, store) = store();
    let id = talk(&store, 1, Some(b"x"));
    let session = path(&dir, id);
    change(&session, |_| b"{\"seq\":1,\"type\":\"opened\",\"format\":3}\n".to_vec());
    fs::write(session.join("metadata.toml"), "in = another way\n").unwrap();
    fs::write(session.join(".tmp-0-x"), "x").unwrap();
    let before = all(&session);
    assert!(matches!(store.describe(id, |_| ()), Err(SessionError::Newer { .. })));
    assert_eq!(store.mend(id, at(500)).unwrap().mended, [""; 0]);
    assert!(
        store.clearable(&Clearing { empty: true, keep: Some(0), before: Some(at(0)) }).unwrap().is_empty()
    );
    assert_eq!(all(&session), before);
}

#[test]
fn a_journal_that_was_emptied_is_damage_and_not_a_session_without_a_word() {
    type Left = fn(&Path);
    let only_content: Left = |dir| fs::remove_file(dir.join("metadata.toml")).unwrap();
    let only_backup: Left = |dir| {
        fs::remove_file(dir.join("metadata.toml")).unwrap();
        fs::remove_dir_all(dir.join("content")).unwrap();
        fs::copy(dir.join("journal.jsonl"), dir.join("journal.v1.jsonl")).unwrap();
    };
    let lefts: [Left; 3] =
        [|dir| fs::remove_dir_all(dir.join("content")).unwrap(), only_content, only_backup];
    for left in lefts {
        for emptied in [Some(&b""[..]), Some(b"{\"seq\":1,"), None] {
            let (dir, store) = store();
            let id = talk(&store, 1, Some(b"x"));
            let session = path(&dir, id);
            left(&session);
            change(&session, |_| emptied.unwrap_or_default().to_vec());
            if emptied.is_none() {
                fs::remove_file(session.join("journal.jsonl")).unwrap();
            }
            assert_eq!(faults(&store, id)[0], "unreadable");
            assert!(store.mend(id, at(500)).unwrap().mended.is_empty());
            let listed = store.list().unwrap().remove(0);
            assert!(!listed.hollow && listed.problem.unwrap().contains("its beginning is missing"));
            let clearing = Clearing { empty: true, keep: Some(0), before: Some(at(1 << 32)) };
            assert!(store.clearable(&clearing).unwrap().is_empty());
            assert!(matches!(store.walk(id, |_, _| ()), Err(SessionError::Corrupt { line: 1, .. })));
            // It is not passed over for an earlier one.
            if emptied == Some(b"") {
                assert_eq!(store.latest().unwrap(), id);
            }
        }
    }
}

#[test]
fn an_end_that_was_noted_and_is_not_there_is_told_once() {
    let (dir, store) = store();
    let id = talk(&store, 1, Some(b"x"));
    let session = path(&dir, id);
    let whole = fs::read(session.join("journal.jsonl")).unwrap().len();
    change(&session, |bytes| {
        bytes.split_inclusive(|byte| *byte == b'\n').take(15).collect::<Vec<_>>().concat()
    });
    let lost = (whole - fs::read(session.join("journal.jsonl")).unwrap().len()) as u64;
    let content = store.contents(id).put(b"of a line that is gone").unwrap();
    assert_eq!(store.read(id).unwrap().repairs[0], Repair::Shortened { bytes: lost });
    assert_eq!(faults(&store, id)[0], "unmended");
    assert!(store.clearable(&Clearing::default()).unwrap().is_empty(), "{content} may have been of it");
    let mut opened = store.open(id, at(500)).unwrap();
    assert_eq!(opened.loaded.repairs[0], Repair::Shortened { bytes: lost });
    // Killed at once, it is not told again.
    let noted = fs::read(session.join("metadata.toml")).unwrap();
    say(&mut opened, "on", at(501));
    drop(opened);
    fs::write(session.join("metadata.toml"), noted).unwrap();
    let told = fs::read_to_string(session.join("journal.jsonl")).unwrap();
    assert!(told.contains(&format!("{lost} bytes at the end are missing")), "{told}");
    assert_eq!(store.open(id, at(502)).unwrap().loaded.repairs, []);
}

#[test]
fn an_interruption_is_no_damage() {
    let (dir, store) = store();
    let id = talk(&store, 1, None);
    let damaged = |store: &Store| store.check(id).unwrap().faults.iter().any(Fault::is_damage);
    change(&path(&dir, id), |bytes| [&bytes[..], b"{\"seq\":"].concat());
    assert_eq!((faults(&store, id), damaged(&store)), (vec!["unmended"], false));
    change(&path(&dir, id), |bytes| {
        bytes.split_inclusive(|byte| *byte == b'\n').take(5).collect::<Vec<_>>().concat()
    });
    assert_eq!((faults(&store, id)[0], damaged(&store)), ("unmended", true), "lines are missing");
}

/// What was made of the readable lines is checked too.
#[test]
fn a_repair_whose_product_lacks_content_is_not_a_success() {
    let (dir, store) = store();
    let id = talk(&store, 1, Some(b"x"));
    change(&path(&dir, id), |mut bytes| {
        let at = bytes.len() - 60;
        bytes[at] ^= 1;
        bytes
    });
    fs::remove_file(path(&dir, id).join(format!("content/{}", digest(b"x")))).unwrap();
    let mended = store.mend(id, at(500)).unwrap();
    let saved = mended.saved_as.unwrap();
    let kinds: Vec<_> = mended.faults.iter().map(Fault::kind).collect();
    assert_eq!((kinds, faults(&store, saved)), (vec!["missing_content"], vec!["missing_content"]));
}

#[test]
fn a_session_that_is_being_created_is_not_taken_for_a_leftover() {
    let (_dir, store) = store();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let empty = Clearing { empty: true, ..Clearing::default() };
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = store.clearable(&empty).unwrap_or_default();
                store.clear(&empty, found);
            }
        });
        let created: Vec<_> = (0..200u8)
            .map(|dice| {
                let session = store.create(new_id(at(0), &[dice; 10]), "p", at(0));
                session
                    .map(|session| session.dir().join("journal.jsonl").is_file())
                    .map_err(|error| error.to_string())
            })
            .collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(created.iter().all(|created| *created == Ok(true)), "{created:?}");
    });
}

#[test]
fn mending_is_not_using() {
    let (dir, store) = store();
    let torn = talk(&store, 1, None);
    let damaged = talk(&store, 2, None);
    let last = talk(&store, 3, None);
    change(&path(&dir, torn), |bytes| [&bytes[..], b"{\"seq\":"].concat());
    change(&path(&dir, damaged), |mut bytes| {
        let at = bytes.len() - 60;
        bytes[at] ^= 1;
        bytes
    });
    let old = SystemTime::now() - Duration::from_secs(3600);
    for id in [torn, damaged] {
        let journal = fs::File::options().append(true).open(path(&dir, id).join("journal.jsonl")).unwrap();
        journal.set_modified(old).unwrap();
    }
    assert_eq!(store.mend(torn, at(500)).unwrap().mended.len(), 1);
    assert!(store.mend(damaged, at(500)).unwrap().saved_as.is_some());
    assert_eq!((store.latest().unwrap(), store.resolve("last").unwrap()), (last, last));
    let metadata = store.metadata(torn).unwrap();
    assert!(metadata.current(&path(&dir, torn)).is_some(), "its totals hold");
}

#[test]
fn metadata_that_cannot_be_read_is_kept_whoever_writes() {
    let (dir, store) = store();
    let id = talk(&store, 1, None);
    let notes = path(&dir, id).join("metadata.toml");
    let kept = |name: &str| fs::read_to_string(notes.with_file_name(name)).unwrap();
    fs::write(&notes, "name = one").unwrap();
    assert_eq!(
        store.describe(id, |_| ()).unwrap(),
        Some(Repair::Metadata { kept: "metadata.broken".into() })
    );
    fs::write(&notes, "name = two").unwrap();
    let session = store.open(id, at(500)).unwrap();
    assert_eq!(session.loaded.repairs, [Repair::Metadata { kept: "metadata.broken-2".into() }]);
    fs::write(&notes, "name = three").unwrap();
    drop(session);
    fs::write(&notes, "name = four").unwrap();
    let mended = store.mend(id, at(501)).unwrap().mended;
    assert!(mended.iter().any(|one| one.contains("kept as `metadata.broken-4`")), "{mended:?}");
    let all = ["", "-2", "-3", "-4"].map(|end| kept(&format!("metadata.broken{end}")));
    assert_eq!(all, ["one", "two", "three", "four"].map(|word| format!("name = {word}")));
    let long = store.describe(id, |metadata| metadata.tags = vec!["x".repeat(70_000)]).unwrap_err();
    assert!(long.to_string().contains("64 KiB"), "{long}");
}

#[test]
fn a_pipe_in_the_place_of_the_lock_makes_nobody_wait() {
    let (dir, store) = store();
    let id = talk(&store, 1, None);
    let lock = path(&dir, id).join("lock");
    fs::remove_file(&lock).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&lock).status().unwrap();
    assert!(made.success());
    store.check(id).unwrap();
    store.clearable(&Clearing::default()).unwrap();
    assert!(store.open(id, at(500)).unwrap_err().to_string().contains("not a regular file"));
}

#[test]
fn names_in_the_content_that_are_not_digests_are_reported_and_do_not_keep_lines_from_being_saved() {
    use std::os::unix::ffi::OsStrExt as _;

    let (dir, store) = store();
    let id = talk(&store, 1, Some(b"x"));
    let content = path(&dir, id).join("content");
    fs::create_dir(content.join("deep")).unwrap();
    fs::write(content.join(std::ffi::OsStr::from_bytes(b"\xff")), "?").unwrap();
    let damaged = |fault: &Fault| matches!(fault, Fault::Damaged(_));
    assert_eq!(store.check(id).unwrap().faults.iter().filter(|fault| damaged(fault)).count(), 2);
    let saved = store.salvage(id, at(500)).unwrap();
    assert!(store.contents(saved.id).get(&digest(b"x")).unwrap().is_some());
}

/// A directory in the place of a file cannot be read, also by a user who may read everything.
#[test]
fn nothing_is_decided_about_a_session_of_which_a_part_cannot_be_read() {
    let (dir, store) = store();
    let id = talk(&store, 1, None);
    let at_path = |name: &str| path(&dir, id).join(name);
    let io = |error: SessionError| assert!(matches!(error, SessionError::Io { .. }), "{error}");
    let noted = fs::read(at_path("metadata.toml")).unwrap();

    // The version is not known.
    fs::rename(at_path("journal.jsonl"), at_path("away")).unwrap();
    fs::create_dir(at_path("journal.jsonl")).unwrap();
    io(store.describe(id, |metadata| metadata.tags = vec!["x".into()]).unwrap_err());
    assert_eq!(fs::read(at_path("metadata.toml")).unwrap(), noted);
    fs::remove_dir(at_path("journal.jsonl")).unwrap();

    // It may have had content.
    fs::write(at_path("journal.jsonl"), "").unwrap();
    fs::remove_file(at_path("metadata.toml")).unwrap();
    fs::remove_dir(at_path("content")).unwrap_or_default();
    fs::write(at_path("content"), "not a directory").unwrap();
    io(store.read(id).unwrap_err());
    let clearing = Clearing { empty: true, ..Clearing::default() };
    assert_eq!(store.clearable(&clearing).unwrap(), []);
    fs::remove_file(at_path("content")).unwrap();

    // It may have been saved already.
    let damaged = fs::read_to_string(at_path("away")).unwrap().replacen("And tapes", "And apples", 1);
    fs::write(at_path("journal.jsonl"), damaged).unwrap();
    fs::write(at_path("metadata.toml"), noted).unwrap();
    assert!(store.mend(id, at(500)).unwrap().saved_as.is_some());
    fs::rename(at_path("metadata.toml"), at_path("noted")).unwrap();
    fs::create_dir(at_path("metadata.toml")).unwrap();
    let sessions = store.all().unwrap().len();
    let checked = store.mend(id, at(501)).unwrap();
    assert!(matches!(checked.faults[..], [Fault::Unreadable(SessionError::Io { .. })]), "{checked:?}");
    assert_eq!(store.all().unwrap().len(), sessions);
    // Its name may be the wanted one.
    io(store.resolve("some name").unwrap_err());
    io(store.tagged("x").unwrap_err());
    assert_eq!(store.resolve(&id.to_string()).unwrap(), id);
}
