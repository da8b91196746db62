use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use converse_canister::{Canister, User};
use tempfile::TempDir;

use super::*;
use crate::witness::{self, Act};
use crate::{Store, new_id};

fn now() -> Timestamp {
    "2026-11-20T10:11:12.345Z".parse().unwrap()
}

fn id(dice: u8) -> Uuid {
    new_id(now(), &[dice; 10])
}

fn say(store: &Store, id: Uuid, text: &str) {
    let mut session = store.open(id, now()).unwrap();
    session.append(Canister::User(User::text(text)).into(), now()).unwrap();
    session.journal.commit().unwrap();
}

/// Sessions that say their number.
fn store(sessions: u8) -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path().join("sessions"));
    for number in 0..sessions {
        drop(store.create(id(number), "p", now()).unwrap());
        say(&store, id(number), &number.to_string());
    }
    (dir, store)
}

/// The list, and the files that were read for it.
fn listed(store: &Store) -> (Vec<Summary>, Vec<PathBuf>) {
    let mut list = Vec::new();
    let acts = witness::acts(|| list = store.list().unwrap());
    let read = |act| match act {
        Act::Read(path) => Some(path),
        _ => None,
    };
    (list, acts.into_iter().filter_map(read).collect())
}

/// The list without an index.
fn fresh(store: &Store) -> Vec<Summary> {
    let mut all: Vec<_> =
        store.all().unwrap().into_iter().map(|id| Summary::of(&*store.at(id), id)).collect();
    all.sort_by_key(|summary| std::cmp::Reverse((summary.updated, summary.id)));
    all
}

#[test]
fn a_list_reads_one_file_however_many_sessions_there_are() {
    for sessions in [1, 40] {
        let (_dir, store) = store(sessions);
        let (first, read) = listed(&store);
        assert!(read.len() > usize::from(sessions), "{read:?}");
        let file = store.dir().join(FILE);
        let (second, read) = listed(&store);
        assert_eq!(read, std::slice::from_ref(&file));
        assert_eq!((&first, first.len()), (&second, usize::from(sessions)));
        assert_eq!(first, fresh(&store));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        // Deleted at any time, and made again.
        fs::remove_file(&file).unwrap();
        assert_eq!(listed(&store).0, first);
        assert_eq!(listed(&store).1, [file]);
    }
}

#[test]
fn only_a_session_that_has_changed_is_read_again() {
    let (_dir, store) = store(5);
    listed(&store);
    say(&store, id(2), "more");
    store.describe(id(3), |metadata| metadata.name = Some("named".to_owned())).unwrap();
    // The same length and time of the last write, but another file.
    let journal = store.path(id(4)).join(journal::FILE);
    let (text, modified) =
        (fs::read_to_string(&journal).unwrap(), journal.metadata().unwrap().modified().unwrap());
    fs::remove_file(&journal).unwrap();
    fs::write(&journal, text).unwrap();
    fs::File::options().append(true).open(&journal).unwrap().set_modified(modified).unwrap();
    let (list, read) = listed(&store);
    assert_eq!(list, fresh(&store));
    let is_read = |number| read.iter().any(|path| path.starts_with(store.path(id(number))));
    assert_eq!([0, 1, 2, 3, 4].map(is_read), [false, false, true, true, true]);
    assert_eq!(listed(&store).1.len(), 1);
}

#[test]
fn a_damaged_entry_is_ignored() {
    let (_dir, store) = store(3);
    let (list, _) = listed(&store);
    let file = store.dir().join(FILE);
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        for bytes in [damaged.as_slice(), &whole[..at]] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(listed(&store).0, list, "{at}");
            assert_eq!(listed(&store).1.len(), 1, "{at}: it was made again");
        }
    }
    // An entry of another session, with its sum.
    let lines: Vec<_> = String::from_utf8(whole).unwrap().lines().map(str::to_owned).collect();
    let (sum, json) = lines[1].split_once(' ').unwrap();
    let ids = [0, 1, 2].map(|number| id(number).to_string());
    let own = ids.iter().position(|id| json.contains(id.as_str())).unwrap();
    let json = json.replace(&ids[own], &ids[(own + 1) % 3]);
    assert_ne!(sum, format!("{:08x}", crc32fast::hash(json.as_bytes())));
    let forged = format!("{FIRST}\n{:08x} {json}\n", crc32fast::hash(json.as_bytes()));
    fs::write(&file, forged).unwrap();
    assert_eq!(listed(&store).0, list);
}

#[test]
fn several_write_it_at_once() {
    let (_dir, store) = store(4);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for text in 0..20 {
                    say(store, id(number), &text.to_string());
                    let list = store.list().unwrap();
                    let own = list.iter().find(|summary| summary.id == id(number)).unwrap();
                    assert_eq!((list.len(), own.canisters), (4, text + 2));
                }
            });
        }
    });
    assert_eq!(listed(&store).0, fresh(&store));
    assert_eq!(listed(&store).1.len(), 1);
    assert!(store.litter().is_empty());
}

#[test]
fn a_session_that_is_deleted_leaves_no_words_in_it() {
    let (_dir, store) = store(2);
    say(&store, id(1), "first words");
    listed(&store);
    let words = || fs::read_to_string(store.dir().join(FILE)).unwrap();
    assert!(words().contains(&id(1).to_string()));
    store.delete(id(1)).unwrap();
    assert!(!words().contains(&id(1).to_string()) && words().contains(&id(0).to_string()));
    assert_eq!(listed(&store).1.len(), 1);
}

#[test]
fn a_session_with_a_problem_is_read_each_time_and_the_index_stays() {
    let (_dir, store) = store(2);
    fs::write(store.path(id(1)).join(journal::FILE), "damaged\n{}\n").unwrap();
    assert!(listed(&store).0.iter().any(|summary| summary.problem.is_some()));
    let file = store.dir().join(FILE);
    let inode = file.metadata().unwrap().ino();
    assert!(listed(&store).0.iter().any(|summary| summary.problem.is_some()));
    assert_eq!(file.metadata().unwrap().ino(), inode, "it is not written again");
}

#[test]
fn what_a_killed_writer_left_is_litter() {
    let (_dir, store) = store(1);
    let left = store.dir().join(".tmp-1-0");
    fs::write(&left, "half").unwrap();
    assert_eq!(store.litter(), std::slice::from_ref(&left));
    store.sweep().unwrap();
    assert!(!left.exists() && store.list().unwrap().len() == 1);
}

#[test]
fn a_session_that_is_deleted_while_a_list_is_made_leaves_no_words() {
    let (dir, store) = store(2);
    let sessions = dir.path().join("sessions");
    let mut index = ListIndex::read(&sessions);
    for number in 0..2 {
        index.summary(&*store.at(id(number)), id(number));
    }
    store.delete(id(1)).unwrap();
    index.store(&sessions);
    let text = fs::read_to_string(sessions.join(FILE)).unwrap();
    assert!(text.contains(&id(0).to_string()) && !text.contains(&id(1).to_string()), "{text}");
}

#[test]
fn a_session_that_vanishes_reads_nothing_of_others() {
    let (_dir, store) = store(3);
    store.list().unwrap();
    let rest = store.dir().join(".deleted-x");
    fs::create_dir(&rest).unwrap();
    let session = store.create(id(9), "p", now()).unwrap().fleeting();
    let acts = witness::acts(|| drop(session));
    assert!(!acts.iter().any(|act| matches!(act, Act::Read(_))), "{acts:?}");
    assert!(rest.exists() && !store.path(id(9)).exists());
}
