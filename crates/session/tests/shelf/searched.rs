//! Words, found in all sessions.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use converse_session::{Query, SessionError, Store, Uuid, Who, Within};

use super::*;

/// Session and number of what is found, and how much there is.
fn search(store: &Store, words: &[&str], within: Within, limit: usize) -> (Vec<(Uuid, usize)>, usize) {
    let found = store.search(&Query::new(words.iter().copied(), within).unwrap(), limit).unwrap();
    assert!(found.unread.is_empty(), "{:?}", found.unread);
    (found.hits.into_iter().map(|hit| (hit.session, hit.number)).collect(), found.total)
}

#[test]
fn words_are_found_where_they_were_said() {
    let (_dir, store) = store();
    let (one, two) = (talk(&store, 1, None), talk(&store, 2, None));
    let both = |numbers: &[usize]| -> Vec<_> {
        let of = |id| numbers.iter().map(move |number| (id, *number));
        let mut all: Vec<_> = of(one).chain(of(two)).collect();
        all.sort_unstable();
        all
    };
    for (words, within, numbers) in [
        (&["disk"][..], Within::All, &[1, 3][..]),
        (&["DISK", "full"], Within::All, &[3]),
        (&["диск"], Within::All, &[4]),
        (&["ДИСК", "полон"], Within::Tools, &[4]),
        (&["about disks"], Within::All, &[1]),
        (&["web__search"], Within::All, &[3, 8]),
        (&["disk"], Within::User, &[1]),
        (&["disk"], Within::Tools, &[3]),
        (&["look"], Within::Assistant, &[2, 7]),
        // Words of two messages are in neither; what stands between them is nobody's.
        (&["disks", "let"], Within::All, &[]),
        (&["disk", "full", "no"], Within::All, &[]),
        (&["disks?let"], Within::All, &[]),
        (&["nowhere"], Within::All, &[]),
    ] {
        for round in ["made", "kept"] {
            let (mut hits, total) = search(&store, words, within, 100);
            hits.sort_unstable();
            assert_eq!((hits, total), (both(numbers), 2 * numbers.len()), "{words:?} {round}");
        }
    }
    // The latest first, and no more than were asked for.
    let (hits, total) = search(&store, &["e"], Within::All, 3);
    assert_eq!((hits.len(), total), (3, 14));
    assert!(hits.iter().all(|(_, number)| *number > 5), "{hits:?}");
    assert_eq!(search(&store, &["e"], Within::All, 0), (vec![], 14));
    let hit = &store.search(&Query::new(["FULL"], Within::All).unwrap(), 1).unwrap().hits[0];
    assert_eq!((hit.who, hit.at, &hit.snippet[hit.marks[0].clone()]), (Who::Invocation, at(1), "FULL"));
    assert!(hit.snippet.starts_with("web__search"), "{}", hit.snippet);
}

#[test]
fn an_index_is_made_anew_when_it_is_gone_old_or_broken() {
    let (dir, store) = store();
    let session = talk(&store, 1, None);
    let file = path(&dir, session).join("index");
    let look = |words| search(&store, words, Within::All, 9);
    let before = look(&["disk"]);
    let good = fs::read(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Gone.
    fs::remove_file(&file).unwrap();
    assert_eq!(look(&["disk"]), before);
    assert_eq!(fs::read(&file).unwrap(), good, "nothing was lost");
    // Broken in any place, cut or longer: the same is found, and the file is as it was.
    let half = good.len() / 2;
    let cases = (0..good.len().min(120)).map(|at| (at, good.len()));
    for (flipped, length) in
        cases.chain([(half, good.len()), (0, 0), (0, 20), (0, half), (half, good.len() - 1)])
    {
        let mut bad = good.clone();
        bad[flipped] ^= 0x20;
        bad.truncate(length);
        fs::write(&file, &bad).unwrap();
        assert_eq!(look(&["disk"]), before, "{flipped} {length}");
        assert!(fs::read(&file).unwrap() == good || flipped >= half, "{flipped} {length}");
    }
    fs::write(&file, [good.as_slice(), b"more"].concat()).unwrap();
    assert_eq!(look(&["disk"]), before);
    // Out of date.
    let mut open = store.open(session, at(100)).unwrap();
    say(&mut open, "another disk", at(101));
    drop(open);
    let (hits, total) = look(&["disk"]);
    assert_eq!((hits[0], total), ((session, 11), before.1 + 1));
}

#[test]
fn words_that_were_changed_in_the_index_are_not_shown() {
    let (dir, store) = store();
    let session = talk(&store, 1, None);
    let file = path(&dir, session).join("index");
    let query = Query::new(["disk"], Within::All).unwrap();
    let before = store.search(&query, 9).unwrap().hits;
    let good = fs::read(&file).unwrap();
    let mut rebuilt = 0;
    for at in (0..good.len()).rev().take(400) {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        fs::write(&file, &bad).unwrap();
        assert_eq!(store.search(&query, 9).unwrap().hits, before, "{at}");
        rebuilt += usize::from(fs::read(&file).unwrap() == good);
    }
    assert!(rebuilt > 0);
}

#[test]
fn what_cannot_be_written_is_searched_and_what_cannot_be_read_is_said() {
    let (dir, store) = store();
    let (one, two) = (talk(&store, 1, None), talk(&store, 2, None));
    let journal = path(&dir, two).join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("Disks", "Disk!", 1)).unwrap();
    // In the place of the index something that cannot be replaced.
    fs::create_dir_all(path(&dir, one).join("index/x")).unwrap();
    fs::create_dir(path(&dir, id(9))).unwrap();
    let found = store.search(&Query::new(["disks"], Within::All).unwrap(), 9).unwrap();
    assert_eq!((found.total, found.hits[0].session), (1, one));
    assert!(
        matches!(&found.unread[..], [(id, SessionError::Corrupt { .. })] if *id == two),
        "{:?}",
        found.unread
    );
    assert!(
        fs::read_dir(path(&dir, one)).unwrap().all(|e| !e
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with(".tmp"))
    );
}
