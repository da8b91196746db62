//! What `serve` does when its audit log cannot be had, and what it writes of calls that never ran.

use std::fs::File;

use super::*;

#[test]
fn nobody_is_served_without_the_log_that_was_promised() {
    let is_taken = |env: &TestEnv| std::fs::create_dir_all(env.path(LOG)).unwrap();
    let no_directory = |env: &TestEnv| drop(env.write("home/.local/state", "a file"));
    let broken: [fn(&TestEnv); 2] = [is_taken, no_directory];
    for breaks in broken {
        for way in [&["serve"][..], &["serve", "--http", "127.0.0.1:0"]] {
            let env = TestEnv::new();
            breaks(&env);
            let ran = env.run(way).exits(9);
            assert!(ran.stderr.contains("error[audit-failed]"), "{}", ran.stderr);
            assert!(ran.stdout.is_empty() && !ran.stderr.contains("serving"), "{ran:?}");
        }
    }
    let env = TestEnv::new().var("XDG_STATE_HOME", "/sys/nowhere");
    FakeServer::new("up", &[]).write(&env);
    let (ran, _) = Gate::begun(&env, &[]).hang_up();
    assert!(ran.code == 0 && ran.stderr.contains("not audited"), "{ran:?}");
}

#[test]
fn who_holds_the_log_keeps_calls_from_running_and_nothing_else() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    let other = File::open(env.path(LOG)).unwrap();
    other.lock().unwrap();
    for id in 1..=5 {
        gate.call(id, "up__echo", json!({ "text": "held" }));
    }
    assert!(!gate.names(6).is_empty());
    // It is answered before the calls are.
    assert!(!gate.others.iter().any(|message| message["id"].is_u64()), "{:?}", gate.others);
    for id in 1..=5 {
        assert_eq!(gate.answer(id)["error"]["code"], -32603);
    }
    assert!(audit(&env).is_empty());
    gate.call(7, "up__echo", json!({ "text": "late" }));
    assert!(!gate.names(8).is_empty());
    other.unlock().unwrap();
    assert_eq!(text(&gate.answer(7)), "late");
    let (ran, _) = gate.hang_up();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let kinds: Vec<_> = audit(&env).iter().map(|line| line["kind"].to_string()).collect();
    assert_eq!(kinds, ["\"decided\"", "\"started\"", "\"finished\""]);
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_removed_log_is_begun_again_and_no_call_is_refused() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--ensemble", "up"]);
    gate.call(1, "up__echo", json!({ "text": "before" }));
    assert_eq!(text(&gate.answer(1)), "before");
    let last = audit(&env).pop().unwrap();
    std::fs::remove_dir_all(env.path(LOG).parent().unwrap()).unwrap();
    gate.call(2, "up__echo", json!({ "text": "after" }));
    assert_eq!(text(&gate.answer(2)), "after");
    let (ran, _) = gate.hang_up();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = "the log was removed while it was written; the audit log was resumed";
    assert_eq!((ran.stderr.matches(said).count(), ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    let log = audit(&env);
    assert_eq!((&log[0]["kind"], &log[0]["missing_seq"]), (&json!("resumed"), &last["seq"]));
    let kinds: Vec<_> = log[1..].iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["decided", "started", "finished"]);
    env.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_call_that_is_taken_back_while_it_waits_is_written_down() {
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut gate = Gate::begun(&env, &["--max-calls", "1", "--drain", "0.2"]);
    gate.call(1, "up__sleep", json!({ "ms": 60_000 }));
    gate.started(&env, 1);
    gate.call(2, "up__echo", json!({ "text": "never" }));
    let cancelled = json!({ "requestId": 2 });
    gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    wait_until("a call that was taken back is written down", || {
        audit(&env).iter().any(|line| line["tool"] == "up__echo")
    });
    gate.call(3, "up__image", json!({}));
    let (ran, rest) = gate.hang_up();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let last = rest.iter().find(|message| message["id"] == 3);
    let last = last.unwrap_or_else(|| panic!("{rest:?}; {:?}", audit(&env)));
    assert!(last["error"]["message"].as_str().unwrap().contains("nothing was run"), "{last}");
    let log = audit(&env);
    for tool in ["up__echo", "up__image"] {
        let lines: Vec<_> = log.iter().filter(|line| line["tool"] == tool).collect();
        let [line] = &lines[..] else { panic!("{tool}: {log:?}") };
        assert_eq!((&line["kind"], &line["outcome"]), (&json!("finished"), &json!("cancelled")), "{line}");
        assert!(line.get("milliseconds").is_none(), "it ran: {line}");
    }
}

#[test]
fn who_never_reads_an_answer_does_not_keep_it_from_an_orderly_end() {
    const CALLS: u64 = 200;
    let env = TestEnv::new();
    FakeServer::new("up", &[]).write(&env);
    let mut command = env.command(["serve", "--drain", "0.5", "--ensemble", "up", "--ensembles"]);
    let mut child = command.arg(env.path("servers")).stdin(Stdio::piped()).spawn().unwrap();
    let unread = child.stdout.take().unwrap();
    let stdin = child.stdin.take();
    let mut gate = Gate { child, stdin, lines: channel().1, others: Vec::new() };
    let info = json!({ "name": "deaf", "version": "1" });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    gate.request(0, "initialize", params);
    gate.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    for id in 1..=CALLS {
        gate.call(id, "up__echo", json!({ "text": "x".repeat(16_000) }));
    }
    wait_until("all calls end", || {
        audit(&env).iter().filter(|line| line["kind"] == "finished").count() >= CALLS as usize
    });
    gate.signal("-TERM");
    let (ran, _) = gate.ended();
    // One that cannot end in good order ends by the signal's number.
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    drop(unread);
}
