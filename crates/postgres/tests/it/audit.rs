//! The audit log in the database: a chain for each owner, whoever appends and whatever is lost.

use std::path::PathBuf;
use std::sync::Arc;

use converse_canister::{Digest, InvocationId, InvocationResult, Outcome, TurnId};
use converse_postgres::Postgres;
use converse_session::storage::{AuditLines, Storage};
use converse_session::{
    AuditChain, AuditError, Happened, Record, Verified, VerifyError, chain_records, verify_chain,
};
use converse_testkit::postgres::{Cut, PostgresServer, Proxy};

use crate::place::{address, now, server};

/// One process's view of the log of an owner.
fn lines(url: &str, owner: &str) -> Arc<dyn AuditLines> {
    Postgres::new(address(url)).of_owner(owner).unwrap().audit().unwrap()
}

fn chain(lines: &Arc<dyn AuditLines>) -> AuditChain {
    AuditChain::new(Arc::clone(lines), Box::new(|text| text.replace("canary", "[redacted]")))
}

fn record(tool: &str) -> Record {
    let invocation = InvocationId::of(TurnId(1), 0);
    let result = InvocationResult::new(invocation.clone(), Outcome::Success, "");
    let happened = Happened::finished(&result, None);
    let session = Some("s".to_owned());
    Record { session, client: None, replayed: false, invocation, tool: tool.to_owned(), happened }
}

fn append(chain: &mut AuditChain, tools: &[&str]) -> Result<(), AuditError> {
    let records: Vec<Record> = tools.iter().map(|tool| record(tool)).collect();
    chain.append_all(&[(&records, now())])
}

#[track_caller]
fn whole(lines: &Arc<dyn AuditLines>) -> Verified {
    verify_chain(&**lines, None).unwrap().0
}

#[track_caller]
fn broken(lines: &Arc<dyn AuditLines>, line: u64, reason: &str) {
    match verify_chain(&**lines, None) {
        Err(VerifyError::Broken(broken)) => {
            assert!(broken.line == line && broken.reason.contains(reason), "{broken}");
        }
        other => panic!("{other:?}"),
    }
}

/// The tools of all records, the first first.
fn tools(lines: &Arc<dyn AuditLines>) -> Vec<String> {
    let records = chain_records(&**lines, None, None, usize::MAX).unwrap();
    records.iter().rev().map(|record| record["tool"].as_str().unwrap_or("-").to_owned()).collect()
}

fn sql(server: &PostgresServer, sql: &str) -> String {
    server.sql("test0", sql).unwrap()
}

#[test]
fn each_owner_has_a_chain() {
    let server = server();
    let url = server.database().unwrap();
    let [ours, hers] = ["", "ada"].map(|owner| lines(&url, owner));
    assert_eq!((whole(&ours).records, ours.owners().unwrap().len()), (0, 0));
    append(&mut chain(&ours), &["one", "two canary"]).unwrap();
    let noted = whole(&ours).head;
    append(&mut chain(&hers), &["three"]).unwrap();
    append(&mut chain(&ours), &[]).unwrap();
    append(&mut chain(&ours), &["four"]).unwrap();
    assert_eq!(
        (tools(&ours), tools(&hers)),
        (vec!["one".to_owned(), "two [redacted]".to_owned(), "four".to_owned()], vec!["three".to_owned()])
    );
    assert_eq!(ours.owners().unwrap(), ["", "ada"]);
    let verified = whole(&ours);
    assert_eq!((verified.records, verified.before, verified.torn, verified.repairs), (3, 0, 0, 0));
    // Exactly the lines of a file.
    let line =
        sql(&server, "SELECT convert_from(line, 'UTF8') FROM converse.audit WHERE owner = '' AND seq = 3");
    assert!(
        line.starts_with(&format!(r#"{{"seq":3,"at":"2026-11-20T10:11:12.345Z","prev":"{noted}""#)),
        "{line}"
    );
    assert!(!line.contains("synced"), "{line}");
    assert_eq!(converse_session::digest(format!("{line}\n").as_bytes()), verified.head);
    // A noted head is in one of them.
    let has = |lines: &Arc<dyn AuditLines>, head: &Digest| verify_chain(&**lines, Some(head)).unwrap().1;
    assert!(has(&ours, &noted) && !has(&hers, &noted) && !has(&ours, &Digest([7; 32])));
    // Pages, the last first.
    let page = |before, session| {
        let records = chain_records(&*ours, before, session, 2).unwrap();
        records.iter().map(|record| record["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        (page(None, None), page(Some(2), Some("s")), page(None, Some("t"))),
        (vec![3, 2], vec![1], vec![])
    );
}

#[test]
fn two_processes_append_to_one_chain_without_a_gap() {
    let server = server();
    let url = server.database().unwrap();
    let processes = [(); 2].map(|()| Postgres::new(address(&url)));
    std::thread::scope(|scope| {
        for process in &processes {
            for thread in 0..3 {
                // Each thread has a sink of its own.
                let mut chain = chain(&process.audit().unwrap());
                scope.spawn(move || {
                    (0..40).for_each(|round| {
                        append(&mut chain, &[&format!("{thread} {round}"), "two"]).unwrap()
                    });
                });
            }
        }
    });
    let lines = lines(&url, "");
    assert_eq!(whole(&lines).records, 2 * 3 * 40 * 2);
    // What was appended together is together.
    assert!(tools(&lines).chunks(2).all(|pair| pair[0] != "two" && pair[1] == "two"));
}

#[test]
fn what_is_changed_or_removed_is_found() {
    let server = server();
    let url = server.database().unwrap();
    let lines = lines(&url, "");
    let mut writer = chain(&lines);
    (0..3).for_each(|_| append(&mut writer, &["one", "two"]).unwrap());
    let saved = "CREATE TABLE saved AS SELECT * FROM converse.audit; CREATE TABLE saved_heads AS SELECT * FROM converse.audit_heads";
    sql(&server, saved);
    let restore = "DELETE FROM converse.audit; INSERT INTO converse.audit SELECT * FROM saved;
        DELETE FROM converse.audit_heads; INSERT INTO converse.audit_heads SELECT * FROM saved_heads";
    for (change, line, reason) in [
        (
            "UPDATE converse.audit SET line = replace(convert_from(line, 'UTF8'), 'two', 'six')::bytea WHERE seq = 2",
            3,
            "`prev` is not the hash of line 2",
        ),
        ("UPDATE converse.audit SET line = line || ' '::bytea WHERE seq = 4", 4, "no newline"),
        ("UPDATE converse.audit SET line = '' WHERE seq = 4", 4, "no newline"),
        ("DELETE FROM converse.audit WHERE seq = 4", 4, "the next line is 5"),
        ("DELETE FROM converse.audit WHERE seq = 6", 5, "lines at the end were removed"),
        (
            "UPDATE converse.audit SET line = replace(convert_from(line, 'UTF8'), 'two', 'six')::bytea WHERE seq = 6",
            6,
            "the last line was changed",
        ),
        ("DELETE FROM converse.audit", 1, "lines at the end were removed"),
        ("DELETE FROM converse.audit_heads", 6, "follows the last one"),
        (
            "UPDATE converse.audit_heads SET seq = 4, head = sha256((SELECT line FROM converse.audit WHERE seq = 4))",
            6,
            "follows the last one",
        ),
        ("UPDATE converse.audit SET seq = seq + 10 WHERE seq > 4", 5, "the next line is 15"),
        ("UPDATE converse.audit SET seq = 9 - seq WHERE seq IN (4, 5)", 4, "`seq` is 5"),
    ] {
        let swapped = "ALTER TABLE converse.audit DROP CONSTRAINT IF EXISTS audit_pkey";
        sql(&server, &format!("{swapped}; {change}"));
        broken(&lines, line, reason);
        sql(&server, restore);
        assert_eq!(whole(&lines).records, 6, "{change}");
    }
    // The earliest may be removed: what is left is verified, and says so.
    sql(&server, "DELETE FROM converse.audit WHERE seq <= 2");
    let verified = whole(&lines);
    assert_eq!((verified.records, verified.before), (4, 2));
}

/// Appends with a connection that is lost at each statement in turn.
fn lost_at_each_statement(cut: Cut, again: bool) {
    let server = server();
    let url = server.database().unwrap();
    let (base, socket) = url.split_once("?host=").unwrap();
    let proxy = Proxy::start(&PathBuf::from(socket)).unwrap();
    let through = format!("{base}?host={}", proxy.dir().display());
    let seen = lines(&url, "");
    let mut promised = Vec::new();
    for statement in 0..u8::MAX {
        let mut chain = chain(&lines(&through, ""));
        append(&mut chain, &["first"]).unwrap();
        promised.push("first".to_owned());
        proxy.cut_at(statement.into(), cut, || {});
        let tool = statement.to_string();
        let appended = append(&mut chain, &[&tool, "end"]);
        let was_cut = proxy.has_cut();
        match appended {
            Ok(()) if !was_cut => {
                assert!(statement >= 1, "an append is one statement");
                whole(&seen);
                return;
            }
            Ok(()) => panic!("{statement}: nobody knows whether it was written"),
            Err(error) => assert!(matches!(error, AuditError::Io { .. }), "{error}"),
        }
        let first = tools(&seen).len() > promised.len();
        assert_eq!(first, cut == Cut::After, "{statement}");
        if again || first {
            promised.extend([tool.clone(), "end".to_owned()]);
        }
        if again {
            // The same process connects again. The same records are not written twice.
            append(&mut chain, &[&tool, "end"]).unwrap();
        }
        append(&mut chain, &["last"]).unwrap();
        promised.push("last".to_owned());
        assert_eq!(tools(&seen), promised, "{statement}");
        whole(&seen);
    }
    panic!("it was always cut");
}

#[test]
fn a_connection_that_is_lost_refuses_and_is_made_again() {
    for cut in [Cut::Before, Cut::After] {
        [true, false].into_iter().for_each(|again| lost_at_each_statement(cut, again));
    }
}

#[test]
fn a_server_that_ends_refuses_and_the_log_is_resumed() {
    let server = server();
    let url = server.database().unwrap();
    let lines = lines(&url, "");
    let mut chain = chain(&lines);
    append(&mut chain, &["one", "two"]).unwrap();
    server.crash().unwrap();
    for _ in 0..2 {
        assert!(matches!(append(&mut chain, &["lost"]), Err(AuditError::Io { .. })));
        chain.check().unwrap_err();
        chain.resume("no server", now()).unwrap_err();
    }
    server.resume().unwrap();
    // What was appended is there.
    assert_eq!(tools(&lines), ["one", "two"]);
    chain.resume("no server", now()).unwrap();
    append(&mut chain, &["three"]).unwrap();
    assert_eq!(tools(&lines), ["one", "two", "-", "three"]);
    let last = || chain_records(&*lines, None, None, 1).unwrap().remove(0);
    // A server that has lost lines, as after a failover.
    sql(
        &server,
        "DELETE FROM converse.audit WHERE seq = 4; UPDATE converse.audit_heads
        SET seq = 3, head = sha256((SELECT line FROM converse.audit WHERE seq = 3))",
    );
    chain.resume("a failover", now()).unwrap();
    let resumed = last();
    assert_eq!((&resumed["kind"], &resumed["comment"]), (&"resumed".into(), &"a failover".into()));
    assert_eq!((resumed["seq"].as_u64(), resumed["missing_seq"].as_u64()), (Some(4), Some(4)));
    assert_eq!(whole(&lines).records, 4);
    // The same, and nobody has noticed anything before the next append.
    sql(
        &server,
        "DELETE FROM converse.audit WHERE seq = 4; UPDATE converse.audit_heads
        SET seq = 3, head = sha256((SELECT line FROM converse.audit WHERE seq = 3))",
    );
    append(&mut chain, &["four"]).unwrap();
    let records = chain_records(&*lines, None, None, 2).unwrap();
    assert_eq!((&records[1]["kind"], records[1]["missing_seq"].as_u64()), (&"resumed".into(), Some(4)));
    assert_eq!((&records[0]["tool"], whole(&lines).records), (&"four".into(), 5));
}

#[test]
fn long_logs_and_long_lines_come_in_pages() {
    let server = server();
    let url = server.database().unwrap();
    let lines = lines(&url, "");
    let mut chain = chain(&lines);
    let many = vec!["many"; 2_500];
    append(&mut chain, &many).unwrap();
    let arguments = [("text".to_owned(), "x".repeat(3 << 20).into())].into_iter().collect();
    let long = Record { happened: Happened::Started { arguments }, ..record("long") };
    let several = vec![long.clone(); 4];
    chain.append_all(&[(&several, now())]).unwrap();
    assert_eq!((whole(&lines).records, tools(&lines).len()), (2_504, 2_504));
    assert_eq!(lines.after(2_500).unwrap().len(), 2, "the second one begins within the limit");
    // More at once than one statement carries: each alone can be written.
    let refused = chain.append_all(&[(&vec![long; 30], now())]).unwrap_err();
    assert!(matches!(refused, AuditError::TooMuch { .. }), "{refused}");
    assert_eq!(whole(&lines).records, 2_504);
}
