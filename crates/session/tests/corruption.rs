//! A thousand ways in which a journal may be damaged: none of them is read as if nothing had happened.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use converse_canister::{
    Arguments, Assistant, Canister, Content, Cost, Decision, Invocation, InvocationId, InvocationResult,
    Outcome, Stop, TurnId, Usage, User,
};
use converse_session::{Body, Loaded, Repair, Salvaged, SessionError, Store, Uuid, new_id};
use jiff::Timestamp;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const SEEDS: u64 = 1000;

/// SplitMix64: the same dice in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.throw() % bound.max(1) as u64) as usize
    }
}

/// Where a block of at most so many bytes begins and ends.
fn block(dice: &mut Dice, bytes: &[u8], most: usize) -> (usize, usize) {
    let at = dice.below(bytes.len());
    (at, (at + 1 + dice.below(most)).min(bytes.len()))
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// What happened, and what is left.
fn damaged(whole: &[u8], dice: &mut Dice) -> (&'static str, Vec<u8>) {
    let mut bytes = whole.to_vec();
    let (at, end) = block(dice, whole, 300);
    let all = lines(whole);
    let (one, other) = (dice.below(all.len()), dice.below(all.len()));
    let what = match dice.below(9) {
        0 => {
            bytes[at] ^= 1 << dice.below(8);
            "a bit"
        }
        1 => {
            for _ in 0..=dice.below(8) {
                let at = dice.below(bytes.len());
                bytes[at] = dice.throw() as u8;
            }
            "some bytes"
        }
        2 => {
            bytes[at..end].fill(0);
            "zeros"
        }
        3 => {
            bytes.truncate(at);
            "the end is missing"
        }
        4 => {
            bytes.drain(at..end);
            "a block is missing"
        }
        5 => {
            let foreign: Vec<u8> = (at..end).map(|_| dice.throw() as u8).collect();
            bytes.splice(at..at, foreign);
            "foreign bytes"
        }
        6 => {
            let mut all = all;
            all.swap(one, other);
            bytes = all.concat();
            "lines are swapped"
        }
        7 => {
            let mut all = all;
            all.insert(one, all[other]);
            bytes = all.concat();
            "a line is there twice"
        }
        _ => {
            // A digit for a digit, a letter for a letter: still JSON.
            let changed = bytes.iter_mut().skip(at).find(|byte| byte.is_ascii_alphanumeric());
            changed.into_iter().for_each(|byte| {
                *byte = if *byte == b'1' || *byte == b'a' {
                    *byte + 1
                } else if byte.is_ascii_digit() {
                    b'1'
                } else {
                    b'a'
                }
            });
            "a letter"
        }
    };
    (what, bytes)
}

fn tell(store: &Store) -> Uuid {
    let id = new_id(NOW, &[1; 10]);
    let mut session = store.create(id, "p", NOW).unwrap();
    session.contents.put(b"picture").unwrap();
    for turn in (1..=8).map(TurnId) {
        let call = InvocationId::of(turn, 0);
        let content = vec![Content::text(format!("turn {} with \"words\" and {{braces}}", turn.0))];
        let arguments = Arguments::parse("{\"path\":\"notes/1.txt\",\"line\":21}");
        let tool = "io__read_file".into();
        let usage = Usage { input: Some(100), output: Some(11), ..Usage::default() };
        for body in [
            Canister::User(User::text(format!("question {}\nof several lines", turn.0))).into(),
            Canister::Assistant(Assistant {
                turn,
                content,
                native: None,
                stop: Stop::End,
                response_id: None,
            })
            .into(),
            Canister::Invocation(Invocation {
                turn,
                id: call.clone(),
                wire_id: None,
                tool,
                arguments,
                seal: None,
            })
            .into(),
            Body::Used { usage, cost: Some(Cost(1)), model: "m".into(), provider: None },
            Body::Decided { id: call.clone(), decision: Decision::Allow { rule: "r".into() } },
            Body::Started { id: call.clone() },
            Canister::Result(InvocationResult::new(call, Outcome::Success, "done")).into(),
        ] {
            session.append(body, NOW).unwrap();
        }
    }
    session.append(Body::Rewound { to: 50 }, NOW).unwrap();
    session.append(Canister::User(User::text("rather this")).into(), NOW).unwrap();
    session.journal.commit().unwrap();
    id
}

fn all_files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(all_files(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

/// All that is told of a conversation, but for repairs.
fn told(loaded: &Loaded) -> String {
    format!(
        "{:?}",
        (&loaded.transcript.as_slice(), &loaded.decisions, &loaded.usage, loaded.cost, &loaded.places)
    )
}

#[test]
fn a_thousand_damages_are_mended_with_a_note_or_refused_with_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = tell(&store);
    let session = dir.path().join(id.to_string());
    let journal = session.join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    // What so many lines come to, read from a journal that has no more.
    let prefixes: Vec<String> = (1..=lines(&whole).len())
        .map(|count| {
            fs::write(&journal, lines(&whole)[..count].concat()).unwrap();
            told(&store.read(id).unwrap())
        })
        .collect();
    let metadata = fs::read(session.join("metadata.toml")).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let (what, bytes) = damaged(&whole, &mut Dice(seed));
        let same = lines(&bytes).into_iter().zip(lines(&whole)).take_while(|(a, b)| a == b).count();
        fs::write(&journal, &bytes).unwrap();
        let before = all_files(&session);
        let read = store.read(id);
        match (read, store.open(id, NOW)) {
            (Ok(read), Ok(opened)) => {
                // Only what a crash may do was done: whole lines at first, and no other behind them.
                let torn = bytes.len() - lines(&bytes)[..same].concat().len();
                assert_eq!(lines(&bytes).len(), same + usize::from(torn > 0), "{seed}: {what}");
                assert_eq!(told(&read), prefixes[same - 1], "{seed}: {what}");
                assert_eq!(
                    read.repairs.contains(&Repair::TornLine { bytes: torn }),
                    torn > 0,
                    "{seed}: {what}"
                );
                assert_eq!(opened.loaded.repairs, read.repairs, "{seed}: {what}");
                drop(opened);
                let mended = fs::read(&journal).unwrap();
                assert!(mended.starts_with(&lines(&whole)[..same].concat()), "{seed}: {what}");
                let noted = String::from_utf8_lossy(&mended).contains("an unfinished last line");
                assert_eq!(noted, torn > 0, "{seed}: {what}");
                *counts.entry(if torn > 0 { "mended" } else { "read" }).or_default() += 1;
            }
            (Err(error), Err(again)) => {
                assert_eq!(error.to_string(), again.to_string(), "{seed}: {what}");
                assert_eq!(all_files(&session), before, "{seed}: {what}");
                match error {
                    SessionError::Corrupt { line, reason, .. } => {
                        assert_eq!(line, same as u64 + 1, "{seed}: {what}: {reason}");
                        *counts.entry("refused").or_default() += 1;
                    }
                    SessionError::Empty { .. } => assert_eq!(same, 0, "{seed}: {what}"),
                    other => panic!("{seed}: {what}: {other}"),
                }
            }
            (read, opened) => panic!("{seed}: {what}: {read:?}, {opened:?}"),
        }
        // Whatever was there beside the journal is as it was for the next one.
        let left = all_files(&session).into_keys().filter(|path| !before.contains_key(path));
        left.for_each(|path| fs::remove_file(path).unwrap());
        fs::write(session.join("metadata.toml"), &metadata).unwrap();
    }
    assert!(counts["refused"] > 500 && counts["mended"] > 50, "{counts:?}");
}

/// Without the totals that an orderly end writes, only the journal itself shows what was synced.
#[test]
fn of_a_killed_session_only_what_no_sync_covered_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = new_id(NOW, &[1; 10]);
    let mut session = store.create(id, "p", NOW).unwrap();
    for line in 2..=60 {
        session.append(Canister::User(User::text(format!("line {line}"))).into(), NOW).unwrap();
        if [30, 50].contains(&line) {
            session.journal.commit().unwrap();
        }
    }
    drop(session);
    let session = dir.path().join(id.to_string());
    let journal = session.join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        fs::remove_file(session.join("metadata.toml")).unwrap_or_default();
        let (what, bytes) = damaged(&whole, &mut Dice(seed));
        let all = lines(&bytes);
        let same = all.iter().zip(lines(&whole)).take_while(|(a, b)| **a == *b).count();
        let shows = |line: usize| all.iter().any(|there| *there == lines(&whole)[line - 1]);
        let synced = if shows(51) {
            50
        } else if shows(31) {
            30
        } else {
            1
        };
        fs::write(&journal, &bytes).unwrap();
        match store.open(id, NOW) {
            Ok(opened) => {
                assert!(
                    same >= synced || bytes == all[..same].concat(),
                    "{seed}: {what}: {same} of {synced}"
                );
                assert_eq!(opened.loaded.transcript.as_slice().len(), same - 1, "{seed}: {what}");
                let torn = &bytes[all[..same].concat().len()..];
                let aside = session.join(format!("torn-{}", same + 1));
                assert_eq!(fs::read(&aside).unwrap_or_default(), torn, "{seed}: {what}");
                drop(opened);
                if !torn.is_empty() {
                    let said = fs::read_to_string(&journal).unwrap().contains(" set aside");
                    assert!(said, "{seed}: {what}");
                    fs::remove_file(aside).unwrap();
                }
                *counts.entry("opened").or_default() += 1;
            }
            Err(SessionError::Corrupt { line, .. }) => {
                assert_eq!(line, same as u64 + 1, "{seed}: {what}");
                assert!(same < synced || same == 0, "{seed}: {what}: {same} of {synced}");
                assert_eq!(fs::read(&journal).unwrap(), bytes, "{seed}: {what}");
                *counts.entry("refused").or_default() += 1;
            }
            Err(SessionError::Empty { .. }) => assert_eq!(same, 0, "{seed}: {what}"),
            Err(other) => panic!("{seed}: {what}: {other}"),
        }
    }
    assert!(counts["refused"] > 400 && counts["opened"] > 150, "{counts:?}");
}

#[test]
fn readable_lines_are_saved_and_the_damaged_session_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = tell(&store);
    store.describe(id, |metadata| metadata.tags = vec!["kept".into()]).unwrap();
    let session = dir.path().join(id.to_string());
    let journal = session.join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let count = lines(&whole).len();
    let expected = |kept: usize| {
        fs::write(&journal, lines(&whole)[..kept].concat()).unwrap();
        store.read(id).unwrap()
    };
    // The line that is damaged, how many lines are saved besides the first one, how many are lost.
    for (line, kept, lost) in [(count, count - 2, 1), (1, count - 1, 1)] {
        let expected = expected(if line == 1 { count } else { kept + 1 });
        let mut all: Vec<_> = lines(&whole).into_iter().map(<[u8]>::to_vec).collect();
        all[line - 1][20] ^= 1;
        fs::write(&journal, all.concat()).unwrap();
        let before = all_files(&session);
        assert!(matches!(store.open(id, NOW), Err(SessionError::Corrupt { .. })), "{line}");
        let now = NOW + jiff::SignedDuration::from_secs(line as i64);
        let Salvaged { id: saved, lost: said, .. } = store.salvage(id, now).unwrap();
        assert_eq!(said, lost as u64, "{line}");
        assert_eq!(all_files(&session), before, "{line}");
        let mut saved = store.open(saved, NOW).unwrap();
        assert_eq!(told(&saved.loaded), told(&expected), "{line}");
        // The one that is compared with was cut off, and is told to be.
        let cut = |repair: &&Repair| matches!(repair, Repair::Shortened { .. });
        let repairs: Vec<_> = expected.repairs.iter().filter(|one| !cut(one)).cloned().collect();
        assert_eq!(saved.loaded.repairs, repairs, "{line}");
        assert_eq!(
            (
                saved.metadata.tags[0].as_str(),
                saved.contents.get(&converse_session::digest(b"picture")).unwrap().is_some()
            ),
            ("kept", true)
        );
        saved.append(Canister::User(User::text("on")).into(), NOW).unwrap();
    }
    assert_eq!(store.list().unwrap().len(), 3);
}

/// A flipped bit anywhere in any line costs that line only, and what cannot stand without it in the same turn. The saved session is
/// whole.
#[test]
fn a_damaged_line_leaves_all_other_turns() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = tell(&store);
    let journal = dir.path().join(id.to_string()).join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let original = store.read(id).unwrap();
    let mut dice = Dice(7);
    for line in 2..=lines(&whole).len() {
        let mut all: Vec<_> = lines(&whole).into_iter().map(<[u8]>::to_vec).collect();
        let end = all[line - 1].len() - 1;
        all[line - 1][dice.below(end)] ^= 1;
        fs::write(&journal, all.concat()).unwrap();
        let salvaged = store.salvage(id, NOW + jiff::SignedDuration::from_secs(line as i64)).unwrap();
        let Salvaged { id: saved, lost, may_restore } = salvaged;
        // The flipped bit may be in the type of the line itself.
        assert!(may_restore || line != 58, "{line}");
        store.mend(saved, NOW).unwrap();
        assert!(store.check(saved).unwrap().faults.is_empty(), "{line}");
        let canisters = original.transcript.as_slice().iter().zip(&original.places);
        // Without its first line, a reply is nothing: its call is left out. Without its call, a result is.
        let lost_canister = canisters.clone().find(|(_, place)| place.seq == line as u64).map(|(one, _)| one);
        let lost_call = match lost_canister {
            Some(Canister::Invocation(call)) => Some(call.id.clone()),
            Some(Canister::Assistant(reply)) => Some(InvocationId::of(reply.turn, 0)),
            _ => None,
        };
        let is_of_call = |canister: &Canister| match canister {
            Canister::Invocation(call) => Some(&call.id) == lost_call.as_ref(),
            Canister::Result(result) => Some(&result.id) == lost_call.as_ref(),
            _ => false,
        };
        let needs =
            canisters.clone().filter(|(one, place)| place.seq != line as u64 && is_of_call(one)).count();
        let expected: Vec<_> = canisters
            .filter(|(canister, place)| place.seq != line as u64 && !is_of_call(canister))
            .map(|(canister, _)| canister.clone())
            .collect();
        assert_eq!(lost, 1 + needs as u64, "{line}");
        let loaded = store.read(saved).unwrap();
        let added = |canister: &&Canister| matches!(canister, Canister::Result(result) if result.outcome != Outcome::Success);
        let mut found = loaded.transcript.as_slice().iter().filter(|canister| !added(canister)).cloned();
        if line == 58 {
            // The step back is lost, so the turn before it is there again.
            assert!(expected.iter().all(|canister| found.any(|one| one == *canister)), "{line}");
        } else {
            assert_eq!(found.collect::<Vec<_>>(), expected, "{line}");
        }
        store.delete(saved).unwrap();
    }
}

/// Whole lines with their sums that together make no conversation: no crash, and no flipped bit.
#[test]
fn lines_that_break_the_law_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = new_id(NOW, &[2; 10]);
    let mut session = store.create(id, "p", NOW).unwrap();
    let stray = InvocationResult::new(InvocationId::of(TurnId(9), 0), Outcome::Success, "of nothing");
    for canister in
        [Canister::User(User::text("one")), Canister::Result(stray), Canister::User(User::text("two"))]
    {
        session.append(canister.into(), NOW).unwrap();
    }
    drop(session);
    match store.open(id, NOW) {
        Err(SessionError::Corrupt { line: 3, .. }) => {}
        other => panic!("{other:?}"),
    }
    let Salvaged { id: saved, lost, may_restore } = store.salvage(id, NOW).unwrap();
    assert_eq!((lost, may_restore), (1, false));
    let kept = ["one", "two"].map(|text| Canister::User(User::text(text)));
    assert_eq!(store.read(saved).unwrap().transcript.as_slice(), kept);
}

/// A turn, which is taken back.
fn taken_back(store: &Store) -> Uuid {
    let id = new_id(NOW, &[3; 10]);
    let mut session = store.create(id, "p", NOW).unwrap();
    for text in ["one", "taken back"] {
        session.append(Canister::User(User::text(text)).into(), NOW).unwrap();
    }
    session.append(Body::Rewound { to: 2 }, NOW).unwrap();
    session.append(Canister::User(User::text("two")).into(), NOW).unwrap();
    id
}

#[test]
fn a_lost_line_that_may_be_a_step_back_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = taken_back(&store);
    let journal = dir.path().join(id.to_string()).join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let sums = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap().replace("\"sum\":\"", "\"sum\":\"0");
    // The damaged line, what stands there, and whether it may have been a step back.
    for (line, text, may_restore) in [
        (4, None, true),
        (4, Some("\u{0}".repeat(60) + "\n"), true),
        (4, Some(sums(lines(&whole)[3])), true),
        (3, None, true),
        (3, Some("garbage\n".to_owned()), true),
        (3, Some(sums(lines(&whole)[2])), false),
    ] {
        let mut all: Vec<Vec<u8>> = lines(&whole).into_iter().map(<[u8]>::to_vec).collect();
        all[line - 1] = text.clone().unwrap_or_default().into_bytes();
        fs::write(&journal, all.concat()).unwrap();
        let now = NOW + jiff::SignedDuration::from_secs(1);
        let checked = store.mend(id, now).unwrap();
        let said = checked.mended.concat();
        assert!(said.contains("is now session") || said.contains("are now session"), "{said}");
        assert_eq!(
            said.contains("turns that were taken back may have returned"),
            may_restore,
            "{text:?}: {said}"
        );
        store.delete(checked.saved_as.unwrap()).unwrap();
    }
}

/// A call and its result.
fn called(turn: TurnId) -> [Canister; 3] {
    let id = InvocationId::of(turn, 0);
    let arguments = Arguments::parse("{}");
    let result = InvocationResult::new(id.clone(), Outcome::Success, "ok");
    let reply = Assistant { turn, content: vec![], native: None, stop: Stop::End, response_id: None };
    let call = Invocation { turn, id, wire_id: None, tool: "t".into(), arguments, seal: None };
    [Canister::Assistant(reply), Canister::Invocation(call), Canister::Result(result)]
}

/// Every second result is lost: each call without one is closed, in one pass.
#[test]
fn a_long_journal_with_thousands_of_lost_lines_is_saved() {
    const CALLS: u64 = 4000;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let id = new_id(NOW, &[4; 10]);
    let mut session = store.create(id, "p", NOW).unwrap();
    for turn in (1..=CALLS).map(TurnId) {
        for canister in called(turn) {
            session.append(canister.into(), NOW).unwrap();
        }
    }
    session.append(Canister::User(User::text("end")).into(), NOW).unwrap();
    drop(session);
    let journal = dir.path().join(id.to_string()).join("journal.jsonl");
    let whole = fs::read(&journal).unwrap();
    let mut results = 0;
    let is_kept = |line: &&&[u8]| {
        let is_result = String::from_utf8_lossy(line).contains("\"outcome\":\"success\"");
        results += u64::from(is_result);
        !is_result || results % 2 == 0
    };
    let left: Vec<u8> = lines(&whole).iter().filter(is_kept).copied().collect::<Vec<_>>().concat();
    fs::write(&journal, left).unwrap();
    let Salvaged { id: saved, may_restore, .. } = store.salvage(id, NOW).unwrap();
    assert!(may_restore);
    let loaded = store.read(saved).unwrap();
    let outcomes = |wanted| {
        let is =
            |canister: &&Canister| matches!(canister, Canister::Result(result) if result.outcome == wanted);
        loaded.transcript.as_slice().iter().filter(is).count() as u64
    };
    assert_eq!((outcomes(Outcome::Success), outcomes(Outcome::Cancelled)), (CALLS / 2, CALLS / 2));
    assert_eq!(loaded.transcript.as_slice().last(), Some(&Canister::User(User::text("end"))));
}
