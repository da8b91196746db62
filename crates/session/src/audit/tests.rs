use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use converse_canister::{
    Content, Decision, Digest, InvocationId, InvocationResult, Labels, Origin, Outcome, TurnId,
};
use serde_json::{Value, json};

use super::*;

fn now() -> Timestamp {
    "2026-11-20T10:11:12Z".parse().unwrap()
}

fn open(path: &Path) -> AuditLog {
    AuditLog::open(path, Box::new(|text| text.replace("canary", "[redacted]"))).unwrap()
}

fn happens(happened: Happened) -> Record {
    let invocation = InvocationId::of(TurnId(1), 0);
    Record {
        session: Some("s".to_owned()),
        client: None,
        replayed: false,
        invocation,
        tool: "io__write_file".to_owned(),
        happened,
    }
}

fn three() -> [Record; 3] {
    let Value::Object(arguments) = json!({ "path": "x", "deep": [{ "a canary": "b canary" }] }) else {
        unreachable!()
    };
    let decision = Decision::Deny { rule: "io (--deny)".into(), comment: Some("not with my canary".into()) };
    let id = InvocationId::of(TurnId(1), 0);
    let labels = Labels { from: Origin::web("a.example"), private: vec!["a canary".to_owned()] };
    let result =
        InvocationResult { labels: Some(labels), ..InvocationResult::new(id, Outcome::Success, "done") };
    [
        happens(Happened::decided(&decision, &arguments)),
        happens(Happened::Started { arguments }),
        happens(Happened::finished(&result, Some(Duration::from_millis(7)))),
    ]
}

/// A log of `3 * batches` records, as bytes.
fn log(batches: usize) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let mut log = open(&path);
    (0..batches).for_each(|_| log.append(&three(), now()).unwrap());
    fs::read(path).unwrap()
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

#[track_caller]
fn holds(bytes: &[u8]) -> Verified {
    verify(bytes, None).unwrap()
}

/// The line that is blamed.
#[track_caller]
fn blamed(bytes: &[u8], noted: Option<&Digest>) -> u64 {
    match verify(bytes, noted) {
        Err(VerifyError::Broken(broken)) => broken.line,
        other => panic!("{other:?}: {}", String::from_utf8_lossy(bytes)),
    }
}

#[test]
fn a_record_says_what_happened_and_no_secret() {
    let bytes = log(1);
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(!text.contains("canary"), "{text}");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let zeros = "0".repeat(64);
    let asked = crate::digest(br#"{"path":"x","deep":[{"a canary":"b canary"}]}"#).to_string();
    let pid = std::process::id();
    let decided = json!({ "seq": 1, "at": "2026-11-20T10:11:12Z", "prev": zeros, "kind": "decided", "pid": pid,
        "session": "s", "invocation": records[0]["invocation"], "tool": "io__write_file", "decision": "deny",
        "rule": "io (--deny)", "comment": "not with my [redacted]", "arguments_sha256": asked, "synced": 0 });
    assert_eq!(records[0], decided);
    assert_eq!(
        (&records[1]["kind"], &records[1]["arguments_sha256"]),
        (&json!("started"), &json!(asked)),
        "the digest is of what runs"
    );
    assert_eq!(records[1]["arguments"], json!({ "path": "x", "deep": [{ "a [redacted]": "b [redacted]" }] }));
    assert_eq!(records[1]["prev"], json!(crate::digest(&lines(&bytes)[0]).to_string()));
    let said = ["kind", "outcome", "milliseconds"].map(|key| records[2][key].clone());
    assert_eq!(said, [json!("finished"), json!("success"), json!(7)]);
    let content = serde_json::to_vec(&[Content::text("done")]).unwrap();
    assert_eq!(records[2]["result_sha256"], json!(crate::digest(&content).to_string()));
}

#[test]
fn a_whole_log_holds_and_its_head_is_the_hash_of_the_last_line() {
    let bytes = log(3);
    let verified = holds(&bytes);
    assert_eq!((verified.records, verified.torn), (9, 0));
    assert_eq!(verified.head, crate::digest(lines(&bytes).last().unwrap()));
    for line in lines(&bytes) {
        verify(&bytes[..], Some(&crate::digest(&line))).unwrap();
    }
    assert_eq!(holds(b""), Verified { records: 0, before: 0, head: Digest([0; 32]), torn: 0, repairs: 0 });
    assert_eq!(blamed(&bytes, Some(&Digest([7; 32]))), 9);
    assert_eq!(blamed(b"", Some(&verified.head)), 1);
}

#[test]
fn every_flipped_byte_is_found() {
    let bytes = log(2);
    let head = holds(&bytes).head;
    let starts: Vec<usize> = lines(&bytes)
        .iter()
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some(start)
        })
        .collect();
    for at in 0..bytes.len() {
        for mask in [0x01, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            let line = starts.partition_point(|start| *start <= at) as u64;
            let blamed = blamed(&changed, Some(&head));
            assert!(
                blamed == line || blamed == line + 1,
                "byte {at} of line {line}, {mask:#x}: line {blamed} is blamed"
            );
            if line < 6 {
                // Only the last line needs the head.
                verify(&changed[..], None).unwrap_err();
            }
        }
    }
}

#[test]
fn lines_taken_out_repeated_moved_or_put_in_are_found_where_they_are() {
    let all = lines(&log(2));
    let head = holds(&all.concat()).head;
    for at in 0..all.len() - 1 {
        let line = at as u64 + 1;
        let mut deleted = all.clone();
        deleted.remove(at);
        assert_eq!(blamed(&deleted.concat(), None), line, "deleted");
        let mut repeated = all.clone();
        repeated.insert(at, all[at].clone());
        assert_eq!(blamed(&repeated.concat(), None), line + 1, "repeated");
        let mut moved = all.clone();
        moved.swap(at, at + 1);
        assert_eq!(blamed(&moved.concat(), None), line, "moved");
        let mut other = all.clone();
        other.insert(at, b"{\"seq\":1}\n".to_vec());
        assert_eq!(blamed(&other.concat(), None), line, "put in");
        let mut emptied = all.clone();
        emptied[at] = b"\n".to_vec();
        assert_eq!(blamed(&emptied.concat(), None), line, "emptied");
        let cut = all[..=at].concat();
        assert_eq!(holds(&cut).records, line, "a shorter chain is a chain");
        assert_eq!(blamed(&cut, Some(&head)), line, "cut off");
    }
    let forged = String::from_utf8(all[0].clone()).unwrap().replace("\"seq\":1,", "\"seq\":1,\"seq\":1,");
    assert_eq!(blamed(forged.as_bytes(), None), 1, "a key twice");
}

#[test]
fn a_line_cut_in_the_middle_is_torn_at_the_end_and_broken_elsewhere() {
    let bytes = log(1);
    let all = lines(&bytes);
    let last = all[2].len();
    for left in 1..last {
        let cut = &bytes[..bytes.len() - left];
        let verified = holds(cut);
        assert_eq!((verified.records, verified.torn), (2, last - left));
        let middle = [&all[0], &all[1][..all[1].len().saturating_sub(left + 1)], b"\n", &all[2]].concat();
        assert_eq!(blamed(&middle, None), 2);
    }
    let zeros = [&bytes[..bytes.len() - 9], &[0; 9]].concat();
    assert_eq!(holds(&zeros).torn, last);
    for garbage in ["x", "{\"seq\":4}x", "{\"seq\":4,,", "[", " {"] {
        assert_eq!(blamed(&[&bytes, garbage.as_bytes()].concat(), None), 4, "{garbage}");
    }
}

#[test]
fn an_unfinished_line_is_set_aside_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let bytes = log(2);
    let torn = lines(&bytes)[5].len() - 5;
    fs::write(&path, &bytes[..bytes.len() - 5]).unwrap();
    let mut log = open(&path);
    log.append(&three()[..1], now()).unwrap();
    log.append(&three(), now()).unwrap();
    let mended = fs::read(&path).unwrap();
    assert_eq!(holds(&mended).records, 5 + 1 + 1 + 3);
    let record: Value = serde_json::from_slice(&lines(&mended)[5]).unwrap();
    let kept = fs::read(dir.path().join("audit-torn-6")).unwrap();
    assert_eq!((&record["kind"], &record["torn_bytes"]), (&json!("mended"), &json!(torn)));
    assert_eq!(record["torn_sha256"], json!(crate::digest(&kept).to_string()));
    assert_eq!(kept[..], bytes[bytes.len() - 5 - torn..bytes.len() - 5]);
}

#[test]
fn nothing_is_appended_to_what_has_no_record() {
    let mut long = vec![b'x'; MAX_LINE_BYTES * 5];
    long.push(b'\n');
    for damaged in [&b"garbage\n"[..], b"{}\n", b"\n", b"x", &long] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        fs::write(&path, damaged).unwrap();
        let error = open(&path).append(&three(), now()).unwrap_err();
        assert!(matches!(error, AuditError::Damaged { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), damaged);
    }
}

/// A log with two synced records and four that were written after that, and the length of the synced part.
fn synced_log(dir: &Path) -> (PathBuf, Vec<u8>, usize) {
    let path = dir.join("audit.jsonl");
    let mut log = open(&path);
    log.append(&three()[..2], now()).unwrap();
    log.commit().unwrap();
    let synced = fs::read(&path).unwrap().len();
    log.append(&three()[2..], now()).unwrap();
    log.append(&three(), now()).unwrap();
    (path.clone(), fs::read(path).unwrap(), synced)
}

#[test]
fn the_first_record_after_a_sync_names_the_last_one_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes, _) = synced_log(dir.path());
    let records = lines(&bytes).into_iter().map(|line| serde_json::from_slice::<Value>(&line).unwrap());
    let named: Vec<_> = records.map(|record| record.get("synced").and_then(Value::as_u64)).collect();
    assert_eq!(named, [Some(0), None, Some(2), None, None, None]);
}

/// Sectors reached the disk in another order, and one did not.
#[test]
fn a_hole_behind_the_last_sync_is_set_aside_and_said() {
    for sector in [64, 200, 512] {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes, synced) = synced_log(dir.path());
        for hole in (synced..bytes.len()).step_by(sector) {
            let mut cut = bytes.clone();
            let end = (hole + sector).min(cut.len());
            cut[hole..end].fill(0);
            fs::write(&path, &cut).unwrap();
            let all = lines(&bytes);
            let whole = all.iter().scan(0, |at, line| {
                *at += line.len();
                Some(*at)
            });
            let kept = whole.take_while(|end| *end <= hole).last().unwrap();
            let before = holds(&cut);
            assert_eq!((before.torn, before.repairs), (cut.len() - kept, 0), "{sector} {hole}");
            let mut log = open(&path);
            log.append(&three(), now()).unwrap();
            let said = log.repaired().unwrap();
            let number = before.records + 1;
            let aside = dir.path().join(format!("audit-torn-{number}"));
            assert_eq!(fs::read(&aside).unwrap(), cut[kept..], "{sector} {hole}");
            assert!(said.contains(&format!("audit-torn-{number}")) && log.repaired().is_none(), "{said}");
            let mended = fs::read(&path).unwrap();
            assert!(mended.starts_with(&bytes[..kept]));
            let after = holds(&mended);
            assert_eq!((after.records, after.torn, after.repairs), (before.records + 4, 0, 1));
            let record: Value = serde_json::from_slice(&lines(&mended)[before.records as usize]).unwrap();
            assert_eq!(record["torn_bytes"], json!(cut.len() - kept));
            assert_eq!(record["torn_sha256"], json!(crate::digest(&cut[kept..]).to_string()));
            fs::remove_file(aside).unwrap();
        }
    }
}

/// A stale sector may make a line that is a record with the right number, but not the one that the next line follows.
#[test]
fn a_changed_record_behind_the_last_sync_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let (path, bytes, _) = synced_log(dir.path());
    let all = lines(&bytes);
    let changed = String::from_utf8(all[3].clone()).unwrap().replacen("not with my", "but with my", 1);
    assert_ne!(changed.as_bytes(), all[3]);
    fs::write(&path, [&all[..3].concat(), changed.as_bytes(), &all[4..].concat()].concat()).unwrap();
    open(&path).append(&three(), now()).unwrap();
    let mended = fs::read(&path).unwrap();
    // The changed record is kept, because nothing shows the change but the line after it.
    assert_eq!((holds(&mended).records, holds(&mended).repairs), (4 + 1 + 3, 1));
    assert_eq!(fs::read(dir.path().join("audit-torn-5")).unwrap(), all[4..].concat());
}

#[test]
fn a_change_in_what_was_synced_stays_in_the_log_and_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut bytes, synced) = synced_log(dir.path());
    bytes[synced - 100..synced - 20].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(blamed(&bytes, None), 2);
    let mut log = open(&path);
    log.append(&three(), now()).unwrap();
    assert_eq!(log.repaired(), None);
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&bytes));
    assert_eq!(blamed(&after, None), 2);
}

#[test]
fn what_follows_the_last_record_does_not_end_the_log() {
    for garbage in ["x", "x\n", "{}\n\n", "\0\0\0"] {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes, _) = synced_log(dir.path());
        fs::write(&path, [&bytes[..], garbage.as_bytes()].concat()).unwrap();
        open(&path).append(&three(), now()).unwrap();
        assert_eq!(holds(&fs::read(&path).unwrap()).records, 6 + 1 + 3, "{garbage:?}");
        assert_eq!(fs::read(dir.path().join("audit-torn-7")).unwrap(), garbage.as_bytes());
    }
}

/// Nothing is known of the syncs of an older version, so only what follows its last record is cut off.
#[test]
fn of_a_log_without_marks_no_record_is_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let text = String::from_utf8(log(2)).unwrap().replace(",\"synced\":0", "");
    fs::write(&path, text.clone() + "x\n").unwrap();
    let mut log = open(&path);
    log.append(&three(), now()).unwrap();
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text));
    assert_eq!(fs::read(dir.path().join("audit-torn-7")).unwrap(), b"x\n");
}

#[test]
fn eight_writers_make_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/audit.jsonl");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut log = open(&path);
                (0..50).for_each(|at| log.append(&three()[..1 + at % 3], now()).unwrap());
            });
        }
    });
    let each: usize = (0..50).map(|at| 1 + at % 3).sum();
    assert_eq!(holds(&fs::read(&path).unwrap()).records, 8 * each as u64);
}

#[test]
fn a_log_is_for_its_owner_alone_and_a_place_without_one_is_told_from_a_broken_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/audit.jsonl");
    open(&path).append(&three(), now()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let refused = |path: &Path| AuditLog::open(path, Box::new(str::to_owned)).unwrap_err();
    // Nobody may make a directory there, root included.
    let nowhere = refused(Path::new("/sys/nowhere/audit.jsonl"));
    assert!(matches!(nowhere, AuditError::Unavailable { .. }), "{nowhere}");
    for broken in [dir.path(), Path::new("/dev/null/converse/audit.jsonl")] {
        let error = refused(broken);
        assert!(matches!(error, AuditError::Io { .. }), "{error}");
    }
    fs::remove_file(&path).unwrap();
    let mut gone = open(&path);
    fs::remove_file(&path).unwrap();
    assert!(matches!(gone.append(&three(), now()), Err(AuditError::Io { .. })));
}

#[test]
fn only_a_place_that_is_read_only_or_forbidden_is_no_place() {
    let is_no_place = |error: AuditError| matches!(error, AuditError::Unavailable { .. });
    for (errno, made, opened) in [
        (rustix::io::Errno::ROFS, true, true),
        (rustix::io::Errno::ACCESS, true, false),
        (rustix::io::Errno::PERM, true, false),
        (rustix::io::Errno::MFILE, false, false),
        (rustix::io::Errno::NOSPC, false, false),
        (rustix::io::Errno::DQUOT, false, false),
        (rustix::io::Errno::NOTDIR, false, false),
        (rustix::io::Errno::IO, false, false),
    ] {
        let error = || io::Error::from_raw_os_error(errno.raw_os_error());
        let judged = [unmade(Path::new("a"), error()), unopened(Path::new("a"), error())].map(is_no_place);
        assert_eq!(judged, [made, opened], "{errno}");
    }
}

#[test]
fn a_lock_that_is_not_given_back_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let mut log = open(&path);
    let other = File::open(&path).unwrap();
    other.lock().unwrap();
    log.timeout = Duration::from_millis(2);
    assert!(matches!(log.append(&three(), now()), Err(AuditError::Busy { .. })));
    other.unlock().unwrap();
    log.append(&three(), now()).unwrap();
}

/// As where the file system, or whoever shut us in, has no locks.
#[test]
fn a_log_that_cannot_be_locked_says_that_it_is_the_lock() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let mut log = open(&path);
    let unlockable = OpenOptions::new().read(true).custom_flags(O_PATH).open(&path).unwrap();
    log.lines = Lines::new(unlockable, 0, false);
    let error = log.append(&three(), now()).unwrap_err().to_string();
    assert!(error.contains("audit.jsonl`: the log cannot be locked: "), "{error}");
}

/// A file that is only named: nothing can be done with it.
const O_PATH: i32 = 0o10_000_000;

fn values(path: &Path) -> Vec<Value> {
    let bytes = fs::read(path).unwrap();
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[test]
fn a_removed_log_is_resumed_behind_its_older_files_and_names_what_is_missing() {
    for batches in [1, 7] {
        let dir = tempfile::tempdir().unwrap();
        let (path, files) = several_files(dir.path(), batches);
        let mut log = open(&path);
        log.append(&three(), now()).unwrap();
        log.commit().unwrap();
        let last = lines(&fs::read(&path).unwrap()).pop().unwrap();
        let before = values(&path)[0]["seq"].clone();
        // The directory too, which is made again.
        if files.is_empty() { fs::remove_dir_all(dir.path()) } else { fs::remove_file(&path) }.unwrap();
        log.append(&three(), now()).unwrap_err();
        log.append(&three(), now()).unwrap_err();
        log.resume("gone with my canary", now()).unwrap();
        let sync = log.syncer().unwrap();
        log.append(&three(), now()).unwrap();
        sync().unwrap();
        log.append(&three(), now()).unwrap();
        let records = values(&path);
        assert_eq!((&records[0]["kind"], &records[0]["seq"]), (&json!("resumed"), &before));
        assert_eq!(records[0]["comment"], "gone with my [redacted]");
        let seq = batches as u64 * 3 + 3;
        assert_eq!(records[0]["missing_seq"], seq);
        assert_eq!(records[0]["missing_sha256"], json!(crate::digest(&last).to_string()));
        // Nothing that the removed file had counts as synced.
        let named: Vec<_> = records.iter().map(|record| record["synced"].as_u64()).collect();
        let first = before.as_u64().unwrap();
        let expected = [Some(first - 1), Some(first), None, None, Some(first + 3), None, None];
        assert_eq!(named, expected);
        assert_eq!(whole(&path), (first - 1 + 7, files.len() + 1));
    }
}

#[test]
fn after_a_failed_sync_a_log_is_written_again_before_it_is_resumed() {
    use std::os::unix::fs::OpenOptionsExt as _;
    for is_dropped in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (path, bytes, synced) = synced_log(dir.path());
        let mut log = open(&path);
        log.append(&three(), now()).unwrap();
        let whole_log = fs::read(&path).unwrap();
        // A file that is only named cannot be synced.
        log.lines =
            Lines::new(OpenOptions::new().read(true).custom_flags(O_PATH).open(&path).unwrap(), 0, false);
        log.commit().unwrap_err();
        log.append(&three(), now()).unwrap_err();
        if is_dropped {
            let mut dropped = whole_log.clone();
            dropped[synced..].fill(0);
            fs::write(&path, dropped).unwrap();
        }
        log.resume("EIO", now()).unwrap();
        log.append(&three(), now()).unwrap();
        let after = fs::read(&path).unwrap();
        let kept = if is_dropped { &bytes[..synced] } else { &whole_log[..] };
        assert!(after.starts_with(kept));
        let records: Vec<Value> =
            lines(&after[kept.len()..]).iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
        let kinds: Vec<_> = records.iter().map(|record| record["kind"].as_str().unwrap()).collect();
        let synced = [2, 9][usize::from(!is_dropped)];
        assert_eq!(records[0]["synced"], synced, "what was written again is on disk");
        let after_it = ["resumed", "decided", "started", "finished"];
        let resumed = usize::from(is_dropped);
        assert_eq!((&kinds[..resumed], &kinds[resumed..]), (&["mended"][..resumed], &after_it[..]));
        assert_eq!(records[resumed]["missing_seq"], if is_dropped { json!(9) } else { Value::Null });
        assert_eq!(holds(&after).repairs, u64::from(is_dropped));
    }
}

#[test]
fn a_log_that_cannot_be_resumed_yet_is_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/audit.jsonl");
    let mut log = open(&path);
    // It keeps the file open.
    let _sync = log.syncer().unwrap();
    log.append(&three(), now()).unwrap();
    let before = fs::read(&path).unwrap();
    let (state, moved) = (path.parent().unwrap(), dir.path().join("moved"));
    fs::rename(state, &moved).unwrap();
    fs::write(state, "").unwrap();
    log.append(&three(), now()).unwrap_err();
    (0..2).for_each(|_| drop(log.resume("not a directory", now()).unwrap_err()));
    fs::remove_file(state).unwrap();
    fs::rename(&moved, state).unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    log.resume("not a directory", now()).unwrap();
    log.append(&three(), now()).unwrap();
    assert_eq!(whole(&path), (7, 1));
    assert_eq!(values(&path)[3]["missing_seq"], Value::Null);
}

/// A log of `batches * 3` records in files of two batches each, and its older files.
fn several_files(dir: &Path, batches: usize) -> (PathBuf, Vec<PathBuf>) {
    let path = dir.join("audit.jsonl");
    let mut log = open(&path);
    log.full = 1_500;
    (0..batches).for_each(|_| log.append(&three(), now()).unwrap());
    let files = older::older(&path).unwrap().into_iter().map(|(_, path)| path).collect();
    (path, files)
}

fn whole(path: &Path) -> (u64, usize) {
    let (verified, files) = verify_files(path, None).unwrap();
    (verified.records, files)
}

#[test]
fn a_full_log_goes_on_in_another_file_with_the_same_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (path, files) = several_files(dir.path(), 7);
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    let first = "audit-000000000001.jsonl";
    assert!(names.len() > 1 && names[0] == first, "{names:?}");
    assert_eq!(whole(&path), (21, files.len() + 1));
    // The chain is one: all files in a row are a log too.
    let all: Vec<u8> = files.iter().chain([&path]).flat_map(|file| fs::read(file).unwrap()).collect();
    let verified = holds(&all);
    assert_eq!(verified.records, 21);
    for line in lines(&all) {
        verify_files(&path, Some(&crate::digest(&line))).unwrap();
    }
    assert!(verify_files(&path, Some(&Digest([7; 32]))).is_err());
    // Another process goes on, and one that still has an older file open.
    let mut late = open(&path);
    let mut filling = open(&path);
    filling.full = 1;
    filling.append(&three(), now()).unwrap();
    late.append(&three(), now()).unwrap();
    assert_eq!(whole(&path), (27, files.len() + 2));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert!(files.iter().chain([&path]).all(|file| mode(file) == 0o600));
}

#[test]
fn a_crash_between_two_files_breaks_no_chain() {
    for left in [None, Some(&b""[..]), Some(&b"{\"seq\":7,\"at"[..]), Some(&b"\0\0\0"[..])] {
        let dir = tempfile::tempdir().unwrap();
        let (path, files) = several_files(dir.path(), 2);
        assert_eq!(files.len(), 0);
        fs::rename(&path, dir.path().join("audit-000000000001.jsonl")).unwrap();
        left.into_iter().for_each(|bytes| fs::write(&path, bytes).unwrap());
        assert_eq!(whole(&path), (6, 1 + usize::from(left.is_some())), "{left:?}");
        open(&path).append(&three(), now()).unwrap();
        let mended = u64::from(left.is_some_and(|bytes| !bytes.is_empty()));
        assert_eq!(whole(&path), (9 + mended, 2), "{left:?}");
    }
}

#[test]
fn the_syncer_syncs_the_file_that_lines_go_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let mut log = open(&path);
    log.full = 1;
    let sync = log.syncer().unwrap();
    log.append(&three(), now()).unwrap();
    sync().unwrap();
    log.append(&three(), now()).unwrap();
    let held = log.syncs.file.lock().unwrap().clone().unwrap();
    assert!(older::is_at(&held, &path).unwrap());
    sync().unwrap();
    assert_eq!(log.syncs.synced.load(Ordering::SeqCst), 6);
}

#[test]
fn eight_writers_share_files_that_fill_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut log = open(&path);
                log.full = 4_000;
                (0..20).for_each(|_| log.append(&three(), now()).unwrap());
            });
        }
    });
    let (records, files) = whole(&path);
    assert!(records == 8 * 20 * 3 && files > 10, "{records} {files}");
}

#[test]
fn what_is_changed_or_missing_in_an_older_file_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (path, files) = several_files(dir.path(), 9);
    assert!(files.len() >= 3, "{files:?}");
    let broken = || verify_files(&path, None).map_err(|(path, _)| path).unwrap_err();
    let bytes = fs::read(&files[1]).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    fs::write(&files[1], text.replacen("io__write_file", "io__read_file", 1)).unwrap();
    assert_eq!(broken(), files[1]);
    fs::write(&files[1], &bytes[..bytes.len() - 3]).unwrap();
    assert_eq!(broken(), files[1], "a part of a line, although others follow");
    fs::remove_file(&files[1]).unwrap();
    assert_eq!(broken(), files[2]);
    fs::write(&files[1], &bytes).unwrap();
    // The earliest may be removed: what is left is verified, and says so.
    let records = whole(&path).0;
    let lost = lines(&fs::read(&files[0]).unwrap()).len() as u64;
    fs::remove_file(&files[0]).unwrap();
    let (verified, count) = verify_files(&path, None).unwrap();
    assert_eq!((verified.records, verified.before, count), (records - lost, lost, files.len()));
    // An older file alone, too; but not a file whose name says something else.
    assert_eq!(whole(&files[1]).1, 1);
    fs::rename(&files[1], dir.path().join("audit-000000000001.jsonl")).unwrap();
    verify_files(&path, None).unwrap_err();
}
