//! Journals of version 1 are read as they are, and become ones of this version when they are written.

#![allow(clippy::unwrap_used, reason = "a test's helpers may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use converse_canister::{Canister, InvocationId, TurnId, User};
use converse_session::{Entry, Repair, Salvaged, SessionError, Store, Uuid, new_id};
use jiff::Timestamp;
use tempfile::TempDir;

/// What version 1 wrote: one finished question, one line of a later version, a call that was running, a torn line.
const FORMAT_1: &str = include_str!("journals/format-1.jsonl");
const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn session(text: &str) -> (TempDir, Store, Uuid, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let id = new_id(NOW, &[1; 10]);
    let session = dir.path().join(id.to_string());
    fs::create_dir(&session).unwrap();
    fs::write(session.join("journal.jsonl"), text).unwrap();
    let store = Store::new(dir.path());
    (dir, store, id, session)
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn reading_writes_nothing() {
    let (_dir, store, id, session) = session(FORMAT_1);
    let loaded = store.read(id).unwrap();
    assert_eq!((loaded.header.format, loaded.transcript.as_slice().len()), (1, 9));
    assert_eq!((loaded.usage.input, loaded.cost.0), (Some(420), 12));
    let summary = store.list().unwrap().remove(0);
    assert_eq!((summary.words.as_str(), summary.problem), ("What is the weather in Санкт-Петербург?", None));
    assert_eq!(store.latest().unwrap(), id);
    assert_eq!(names(&session), ["journal.jsonl"]);
    assert_eq!(fs::read_to_string(session.join("journal.jsonl")).unwrap(), FORMAT_1);
}

#[test]
fn writing_keeps_every_line_and_the_journal_as_it_was() {
    let (_dir, store, id, session) = session(FORMAT_1);
    let seen = store.read(id).unwrap();
    let mut opened = store.open(id, NOW).unwrap();
    let call = InvocationId::of(TurnId(3), 0);
    assert_eq!(opened.loaded.repairs, [Repair::TornLine { bytes: 50 }, Repair::Interrupted { id: call }]);
    assert_eq!(opened.loaded.repairs, seen.repairs);
    assert_eq!((&opened.loaded.transcript, opened.loaded.header.format), (&seen.transcript, 2));
    assert_eq!(opened.metadata.name.as_deref(), Some("What is the weather in Санкт-Петербург?"));
    let seq = opened.append(Canister::User(User::text("on")).into(), NOW).unwrap();
    drop(opened);

    let backup = session.join("journal.v1.jsonl");
    assert_eq!(fs::read_to_string(&backup).unwrap(), FORMAT_1);
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(FORMAT_1.ends_with(&fs::read_to_string(session.join("torn-20")).unwrap()));
    let text = fs::read_to_string(session.join("journal.jsonl")).unwrap();
    let (old, new): (Vec<_>, Vec<_>) = (FORMAT_1.lines().collect(), text.lines().collect());
    assert_eq!(
        new[0].split(",\"sum\"").next().unwrap(),
        old[0].replace("\"format\":1", "\"format\":2").trim_end_matches('}')
    );
    for (old, new) in old.iter().zip(&new).take(19).skip(1) {
        assert!(new.starts_with(old.trim_end_matches('}')), "{new}");
    }
    assert!(new.iter().zip(1..).all(|(line, seq)| Entry::from_line(line.as_bytes()).unwrap().seq == seq));
    // The result, the note of the repairs, that of the migration, what was said then.
    assert_eq!((new.len() as u64, seq), (23, 23));
    assert!(new[20].contains("repaired: ") && new[21].contains("migrated from format 1"), "{text}");

    let again = store.open(id, NOW).unwrap();
    assert_eq!((again.loaded.repairs.len(), again.loaded.transcript.as_slice().len()), (0, 10));
    drop(again);
    assert_eq!(fs::read_to_string(session.join("journal.jsonl")).unwrap(), text);
    assert_eq!(names(&session), ["journal.jsonl", "journal.v1.jsonl", "lock", "metadata.toml", "torn-20"]);
}

#[test]
fn damage_is_refused_before_anything_is_written() {
    for (damaged, line) in [
        (FORMAT_1.replacen("\"seq\":5", "\"seq\":6", 1), 5),
        (FORMAT_1.replacen("\"id\":\"inv_1_0\",\"content\"", "\"id\":\"inv_1_1\",\"content\"", 1), 9),
        (FORMAT_1.replacen("\"format\":1", "\"format\":0", 1), 1),
    ] {
        let (_dir, store, id, session) = session(&damaged);
        let error = store.open(id, NOW).unwrap_err();
        assert!(matches!(error, SessionError::Corrupt { line: said, .. } if said == line), "{error}");
        assert_eq!(names(&session), ["journal.jsonl", "lock"]);
        assert_eq!(fs::read_to_string(session.join("journal.jsonl")).unwrap(), damaged);
    }
}

#[test]
fn a_backup_that_is_there_is_never_lost() {
    let begun = FORMAT_1.lines().take(3).map(|line| format!("{line}\n")).collect::<String>();
    for (there, expected) in [
        (begun.as_str(), &["journal.v1.jsonl"][..]),
        ("something else", &["journal.v1-2.jsonl", "journal.v1.jsonl"]),
    ] {
        let (_dir, store, id, session) = session(FORMAT_1);
        fs::write(session.join("journal.v1.jsonl"), there).unwrap();
        drop(store.open(id, NOW).unwrap());
        let backups: Vec<_> = names(&session).into_iter().filter(|name| name.contains("v1")).collect();
        assert_eq!(backups, expected);
        assert_eq!(fs::read_to_string(session.join(expected[0])).unwrap(), FORMAT_1);
    }
}

/// The line that is lost named the format.
#[test]
fn a_journal_of_format_1_without_its_first_line_is_saved_whole() {
    let damaged = FORMAT_1.replacen("\"opened\"", "\"opend\"", 1);
    let (_dir, store, id, _) = session(&damaged);
    let Salvaged { id: saved, lost, .. } = store.salvage(id, NOW).unwrap();
    // The first line, and the torn one.
    assert_eq!(lost, 2);
    let canisters = |format_1: &str| {
        let (_dir, store, id, _) = session(format_1);
        store.read(id).unwrap().transcript
    };
    assert_eq!(store.read(saved).unwrap().transcript, canisters(FORMAT_1));
}
