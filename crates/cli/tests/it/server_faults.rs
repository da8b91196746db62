//! What servers do wrong in a call, row by row: each ends as it must, in bounded time and in bounded memory.

use serde_json::{Value, json};

use crate::body::{Says, calls, text};
use crate::env::{Ran, TestEnv, wait};
use crate::fake_server::{BROKEN, Called, FakeServer, MEMORY, ask, at_once, brief, noted, offered, outcomes};
use crate::provider::{Line, Provider};

fn faulty(tool: &str, arguments: Value, policy: &str) -> Called {
    FakeServer::new(BROKEN, &["--faulty"]).policy(policy).call(&TestEnv::new(), tool, arguments)
}

/// C4.
#[test]
fn a_call_that_hangs_is_given_up_and_the_server_is_told() {
    let env = TestEnv::new();
    let journal = format!("--journal={}", env.path("journal").display());
    let server = FakeServer::new(BROKEN, &["--faulty", &journal]).policy("timeout = 0.5");
    server.call(&env, "hang", json!({})).is("timeout");
    assert_eq!(noted(&env, "journal", "notifications/cancelled"), 1);
    assert_eq!(noted(&env, "journal", "tools/call hang"), 1);
}

#[test]
fn progress_keeps_a_call_alive_but_not_for_ever() {
    let called = faulty("hang", json!({}), "timeout = 600\nidle_timeout = 0.5");
    called.is("timeout");
    let called = faulty("progress", json!({ "steps": 8, "ms": 200 }), "timeout = 600\nidle_timeout = 0.8");
    assert_eq!(called.is("success"), "8 steps done");
    faulty("progress_forever", json!({ "ms": 5 }), "timeout = 1\nidle_timeout = 0.5").is("timeout");
}

/// C4: the answer that comes after it was given up is nobody's.
#[test]
fn a_late_answer_is_dropped_and_the_server_goes_on() {
    let script: Vec<Line> = vec![
        calls([("broken__pid", json!({}))]).into(),
        calls([("broken__stubborn", json!({ "ms": 900 })), ("broken__hang", json!({}))]).into(),
        calls([("broken__sleep", json!({ "ms": 1200 })), ("broken__pid", json!({}))]).into(),
        text("Done.").into(),
    ];
    let (ran, _) =
        conversation(script, &["--faulty"], "[tools.stubborn]\ntimeout = 0.3\n[tools.hang]\ntimeout = 0.4");
    let outcomes = outcomes(&ran);
    let kinds: Vec<&str> = outcomes.iter().map(|(outcome, _)| outcome.as_str()).collect();
    assert_eq!(kinds, ["success", "timeout", "timeout", "success", "success"], "{}", brief(&ran));
    assert_eq!(outcomes[3].1, "woken");
    assert_eq!(outcomes[0].1, outcomes[4].1, "it is still the same process");
}

/// A turn of the scripted model with one server, and the directory of it all.
#[track_caller]
fn conversation(script: Vec<Line>, flags: &[&str], tables: &str) -> (Ran, (Provider, TestEnv)) {
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::hasty());
    let journal = format!("--journal={}", env.path("journal").display());
    let flags: Vec<&str> = flags.iter().copied().chain([journal.as_str()]).collect();
    FakeServer::new(BROKEN, &flags).connection("protocol = \"legacy\"").and(tables).write(&env);
    let ran = ask(&provider, &env, &["-e", BROKEN]).exits(0);
    provider.is_content();
    (ran, (provider, env))
}

/// C5: nobody knows what came of it, so it is not sent again; others in flight are not left waiting either.
#[test]
fn a_server_that_dies_in_a_call_interrupts_all_that_run() {
    for how in ["exit", "abort", "crash", "close-stdout"] {
        let script: Vec<Line> = vec![
            calls([("broken__hang", json!({})), ("broken__die", json!({ "how": how }))]).into(),
            calls([("broken__echo", json!({ "text": "again" }))]).into(),
            text("Done.").into(),
        ];
        // One that waits for its own time is `timeout`, not `interrupted`.
        let retries = "[tools.die]\nmax_retries = 3\n[tools.hang]\nmax_retries = 3\nidempotent = true";
        let (ran, (_, env)) = conversation(script, &["--faulty"], retries);
        let outcomes = outcomes(&ran);
        let kinds: Vec<&str> = outcomes.iter().map(|(outcome, _)| outcome.as_str()).collect();
        assert_eq!(kinds, ["interrupted", "interrupted", "success"], "{how}: {}", brief(&ran));
        assert_eq!(outcomes[2].1, "again", "{how}");
        for call in ["tools/call die", "tools/call hang", "tools/call echo"] {
            assert_eq!(noted(&env, "journal", call), 1, "{how}: {call}");
        }
    }
}

#[test]
fn what_a_server_said_at_its_end_is_passed_on() {
    let called = faulty("die", json!({ "how": "exit" }), "");
    let text = called.is("interrupted");
    assert!(text.contains("met its end"), "{text}");
}

/// C5: it takes nothing any more, and says nothing of it.
#[test]
fn a_server_that_closes_its_stdin_is_given_up() {
    let script: Vec<Line> = vec![
        calls([("broken__die", json!({ "how": "close-stdin" }))]).into(),
        calls([("broken__echo", json!({ "text": "again" }))]).into(),
        calls([("broken__echo", json!({ "text": "and again" }))]).into(),
        text("Done.").into(),
    ];
    let limits = "[tools.die]\ntimeout = 1\n[tools.echo]\ntimeout = 600";
    let (ran, _) = conversation(script, &["--faulty"], limits);
    let outcomes = outcomes(&ran);
    assert!(["interrupted", "timeout"].contains(&outcomes[0].0.as_str()), "{}", brief(&ran));
    // The first one after it may be the one that finds out; the next one has a server again.
    assert_eq!(outcomes[2], ("success".to_owned(), "and again".to_owned()), "{}", brief(&ran));
}

/// C5: somebody else holds the pipes, so that their end does not tell.
#[test]
fn a_server_that_dies_before_its_children_is_seen_to_be_dead() {
    let server = FakeServer::new(BROKEN, &["--faulty", "--child"]);
    let called = server.call(&TestEnv::new(), "die", json!({ "how": "exit" }));
    called.is("interrupted");
}

#[test]
fn a_server_that_dies_once_is_started_again() {
    let script: Vec<Line> = vec![
        calls([("broken__echo", json!({ "text": "one" }))]).into(),
        calls([("broken__echo", json!({ "text": "two" }))]).into(),
        text("Done.").into(),
    ];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let died = format!("--die-first={}", env.path("died").display());
    FakeServer::new(BROKEN, &[&died]).write(&env);
    let ran = ask(&provider, &env, &[]).exits(0);
    let outcomes = outcomes(&ran);
    assert_eq!(outcomes[0].0, "interrupted", "{}", brief(&ran));
    assert_eq!(outcomes[1], ("success".to_owned(), "two".to_owned()), "{}", brief(&ran));
}

/// C5: there is no last restart.
#[test]
fn a_server_that_dies_again_and_again_is_started_for_each_call() {
    let call = || Line::from(calls([("broken__echo", json!({ "text": "x" }))]));
    let mut script: Vec<Line> = (0..7).map(|_| call()).collect();
    script.push(text("Enough.").into());
    let (ran, (_, env)) = conversation(script, &["--exit-on=tools/call"], "");
    assert_eq!(noted(&env, "journal", "initialize"), 7, "one start and six restarts");
    let kinds: Vec<String> = outcomes(&ran).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(kinds, ["interrupted"; 7], "{}", brief(&ran));
}

/// C6, M6. The calls have ten minutes; they must not need them.
#[test]
fn a_line_beyond_the_limit_ends_the_call_at_once() {
    const MIB: usize = 1024 * 1024;
    for (tool, arguments) in [
        ("long_text", json!({ "bytes": 17 * MIB })),
        ("long_text", json!({ "bytes": 100 * MIB })),
        ("items", json!({ "count": 1_000_000 })),
        ("big_image", json!({ "bytes": 90 * MIB })),
    ] {
        let called = faulty(tool, arguments, "timeout = 600");
        let text = called.below(MEMORY).is("interrupted");
        assert!(text.contains("16 MiB"), "{tool}: {text}");
    }
}

/// C6, T14: what is within the limit of a line is cut to that of a result, and may not cost more than it should.
#[test]
fn a_large_result_is_cut() {
    const MIB: usize = 1024 * 1024;
    let called = faulty("long_text", json!({ "bytes": 15 * MIB }), "timeout = 600");
    let text = called.below(MEMORY).is("success");
    assert!(text.len() < 80 * 1024 && text.contains("[truncated: kept"), "{} bytes", text.len());
    for (tool, count) in [("items", 550_000), ("scraps", 1_000_000), ("scraps", 7_000_000)] {
        let called = faulty(tool, json!({ "count": count }), "timeout = 600");
        called.below(MEMORY);
        let bytes = called.0.ran.stdout.len();
        assert!(bytes < 256 * 1024, "{tool}: {bytes} bytes are shown");
    }
    let called = faulty("big_image", json!({ "bytes": 12 * MIB }), "timeout = 600");
    called.below(MEMORY);
    assert!(called.0.ran.stdout.len() < 80 * 1024, "an image is not shown as text");
}

/// T14.
#[test]
fn progress_without_end_costs_no_memory() {
    let called = faulty("progress_forever", json!({ "ms": 0 }), "timeout = 2");
    called.below(MEMORY).is("timeout");
}

/// C7, in both eras: one tells unasked, the other only whom asked for it.
#[test]
fn a_list_of_tools_that_changes_is_asked_for_again() {
    for era in ["legacy", "modern"] {
        let script: Vec<Line> = vec![
            calls([("broken__pid", json!({}))]).into(),
            calls([("broken__change", json!({}))]).into(),
            calls([("broken__newcomer", json!({}))]).into(),
            text("Done.").into(),
        ];
        let provider = Provider::chat(script);
        let env = provider.env(TestEnv::new());
        let protocol = format!("protocol = \"{era}\"");
        FakeServer::new(BROKEN, &["--faulty"]).connection(&protocol).write(&env);
        let ran = ask(&provider, &env, &["-e", BROKEN]).exits(0);
        provider.is_content();
        assert!(outcomes(&ran).iter().all(|(outcome, _)| outcome == "success"), "{era}: {}", brief(&ran));
        let offers: Vec<Vec<String>> = provider.requests().iter().map(offered).collect();
        let has = |offer: &[String], name: &str| offer.iter().any(|offered| offered == name);
        assert!(has(&offers[1], "broken__echo") && !has(&offers[1], "broken__newcomer"), "{era}: {offers:?}");
        assert!(!has(&offers[2], "broken__echo") && has(&offers[2], "broken__newcomer"), "{era}: {offers:?}");
    }
}

#[test]
fn a_tool_that_vanished_is_a_failed_call() {
    let called =
        FakeServer::new(BROKEN, &["--vanish=echo"]).call(&TestEnv::new(), "echo", json!({ "text": "x" }));
    assert!(called.is("failed").contains("Unknown tool: echo"));
}

/// C8.
#[test]
fn odd_results_are_results() {
    let content = |tool: &str| {
        let called = faulty(tool, json!({}), "");
        called.is("success");
        called.content().to_string()
    };
    let unknown = content("unknown_content");
    assert!(unknown.contains("hologram") && unknown.contains("and words"), "{unknown}");
    let broken = content("bad_structure");
    assert!(broken.contains("the sum is twelve") && broken.contains("output schema"), "{broken}");
    let link = content("link");
    assert!(link.contains("file:///etc/shadow") && !link.contains("root:"), "{link}");
}

/// C10.
#[test]
fn a_flood_on_stderr_stops_nothing() {
    let server = FakeServer::new(BROKEN, &["--flood-stderr"]);
    let called = server.call(&TestEnv::new(), "sleep", json!({ "ms": 1500 }));
    assert_eq!(called.below(MEMORY).is("success"), "woken");
    assert!(called.0.ran.stderr.len() < 8 * 1024, "the user is not flooded");
}

/// C10: ten megabytes for a server that reads nothing. Writing has a limit of its own, below that of the calls.
#[test]
fn a_server_that_does_not_read_is_given_up() {
    let long = "x".repeat(1_000_000);
    let call = || ("broken__echo", json!({ "text": long }).to_string());
    at_once([(2, 1), (10, 600)], |(megabytes, timeout)| {
        let much = Says { calls: (0..megabytes).map(|_| call()).collect(), ..Says::default() };
        let provider = Provider::chat(vec![Line::from(much), text("Done.").into()]);
        let env = provider.env(TestEnv::new());
        FakeServer::new(BROKEN, &["--deaf-after=tools/list"])
            .policy(&format!("timeout = {timeout}"))
            .write(&env);
        // As one piece: a stream of ten megabytes takes longer than what is tried here.
        let args = ["ask", "go", "-m", provider.model(), "-o", "json", "--no-stream", "--ensembles"];
        let mut command = env.command(args);
        let ran = wait(command.arg(env.path("servers")).spawn().unwrap()).exits(0);
        let kinds: Vec<String> = outcomes(&ran).into_iter().map(|(outcome, _)| outcome).collect();
        assert_eq!(kinds.len(), megabytes);
        assert!(kinds.iter().all(|kind| kind == "timeout" || kind == "interrupted"), "{kinds:?}");
        provider.is_content();
    });
}
