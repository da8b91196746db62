//! Servers that cannot be started, spoken with or understood: each is left out, with a word, in bounded time and memory,
//! and costs nobody else anything. What can be borne is borne.

use serde_json::json;

use crate::body::{Dialect, calls, text};
use crate::env::{Measured, TestEnv, measure};
use crate::fake_server::{BROKEN, Called, FakeServer, MEMORY, ask, at_once, brief, offered, outcomes};
use crate::provider::{Line, Provider};

/// A run with a broken server beside a good one. The good one is usable; what is said of the broken one comes back.
#[track_caller]
fn beside_a_good_one(broken: FakeServer) -> String {
    let env = TestEnv::new();
    broken.write(&env);
    FakeServer::new("good", &[]).write(&env);
    let mut command = env.command(["ask", "@good.echo text=here", "--ensembles"]);
    let Measured { ran, peak } = measure(command.arg(env.path("servers")).spawn().unwrap());
    assert!(ran.code == 0 && ran.stdout.contains("here"), "{}", brief(&ran));
    assert!(!ran.stderr.contains("not connected within 20 s"), "the default was waited for: {}", brief(&ran));
    assert!(peak <= MEMORY, "it held {peak} MiB");
    assert!(ran.stderr.contains(BROKEN), "nothing is said of it: {}", brief(&ran));
    assert!(!ran.stderr.contains('\x1b') && !ran.stderr.contains("panicked"), "{:?}", brief(&ran));
    ran.stderr
}

fn echo(flags: &[&str]) -> Called {
    FakeServer::new(BROKEN, flags).call(&TestEnv::new(), "echo", json!({ "text": "hello" }))
}

/// C1.
#[test]
fn a_server_that_does_not_start_is_left_out() {
    let cases = [
        (&["--exit=1", "--stderr=module not found: left-pad"][..], &["module not found: left-pad"][..]),
        (&["--exit=0"], &["the server ended"]),
        (&["--banner=Welcome to the server!", "--exit=0"], &["the server ended"]),
        (&["--exit=3", "--stderr=\x1b[31mred\x1b]0;title\x07"], &["red"]),
        // A launcher that ends while somebody else holds its pipes.
        (&["--child", "--exit=1", "--stderr=gone"], &["gone"]),
    ];
    at_once(cases, |(flags, said)| {
        let stderr = beside_a_good_one(FakeServer::new(BROKEN, flags));
        assert!(said.iter().all(|said| stderr.contains(said)), "{flags:?}: {stderr}");
    });
    let nobody = FakeServer::new(BROKEN, &[]).command(&["no-such-program-anywhere", "--stdio"]);
    assert!(beside_a_good_one(nobody).contains("no-such-program-anywhere"));
    // The end of what it said, and not all of it.
    let much = format!("--stderr={}and the reason", "so many words ".repeat(4000));
    let stderr = beside_a_good_one(FakeServer::new(BROKEN, &["--exit=1", &much]));
    assert!(stderr.contains("and the reason") && stderr.len() < 8 * 1024, "{} bytes", stderr.len());
}

/// C2.
#[test]
fn rubbish_between_messages_is_passed_over() {
    let cases = [
        &["--noise"][..],
        &["--bom"],
        &["--crlf"],
        &["--noise", "--bom", "--crlf", "--era=legacy"],
        &["--garbage-lines=900"],
        &["--garbage-bytes=900000"],
        &["--banner=Listening on stdio"],
    ];
    at_once(cases, |flags| {
        assert_eq!(echo(flags).is("success"), "hello", "{flags:?}");
    });
}

#[test]
fn rubbish_without_end_is_no_server() {
    for flags in [&["--garbage-lines=2000"][..], &["--garbage-bytes=2000000"]] {
        let stderr = beside_a_good_one(FakeServer::new(BROKEN, flags));
        assert!(stderr.contains("not MCP"), "{flags:?}: {stderr}");
    }
}

/// C3: those that can be spoken with, however they answer the first question.
#[test]
fn old_servers_are_spoken_with() {
    let cases = [
        &["--era=legacy"][..],
        &["--era=legacy", "--version=2024-11-05"],
        &["--exit-on=server/discover", "--era=legacy"],
        &["--empty-on=server/discover", "--era=legacy"],
        &["--error-on=server/discover", "--era=legacy"],
        &["--wrong-id=server/discover", "--era=legacy"],
        &["--mute=server/discover", "--era=legacy"],
    ];
    at_once(cases, |flags| {
        assert_eq!(echo(flags).is("success"), "hello", "{flags:?}");
    });
}

/// C3: those that cannot.
#[test]
fn a_handshake_that_fails_is_told_in_time() {
    let hasty = "connect_timeout = 1";
    let cases = [
        (&["--mute=initialize", "--era=legacy", "--stderr=thinking"][..], hasty, &["1 s", "thinking"][..]),
        (&["--mute=server/discover", "--mute=initialize"], hasty, &["1 s"]),
        (&["--mute=tools/list"], hasty, &["1 s"]),
        (&["--wrong-id=initialize", "--era=legacy"], hasty, &[]),
        (&["--wrong-id=tools/list"], hasty, &[]),
        (&["--slow=60000"], hasty, &["1 s"]),
        (&["--error-on=initialize", "--era=legacy"], "", &["out of order"]),
        (&["--error-on=tools/list"], "", &["out of order"]),
        (&["--empty-on=initialize", "--era=legacy"], hasty, &[]),
        (&["--empty-on=tools/list"], "", &["list of tools"]),
        (&["--exit-on=initialize", "--era=legacy"], "", &["met its end"]),
        (&["--exit-on=tools/list"], "", &["met its end"]),
        (&["--version=2099-01-01", "--era=legacy"], "", &["2099-01-01"]),
        (&["--version=2099-01-01", "--era=modern"], "", &[]),
        (&["--era=legacy"], "protocol = \"modern\"", &[]),
        (&["--era=modern"], "protocol = \"legacy\"", &[]),
    ];
    at_once(cases, |(flags, connection, said)| {
        let broken = FakeServer::new(BROKEN, flags).connection(connection);
        let stderr = beside_a_good_one(broken);
        assert!(said.iter().all(|said| stderr.contains(said)), "{flags:?}: {stderr}");
    });
}

#[test]
fn a_list_of_tools_without_end_is_no_list() {
    let cases = [
        &["--same-cursor", "--page=3"][..],
        &["--same-cursor"],
        &["--many=100000", "--page=1000"],
        &["--many=100000"],
    ];
    at_once(cases, |flags| {
        let stderr = beside_a_good_one(FakeServer::new(BROKEN, flags));
        assert!(stderr.contains("does not end"), "{flags:?}: {stderr}");
    });
}

/// T13, T4, mcp trap 5: tools that nobody can use are left out, each with a word, and the others stay.
#[test]
fn a_bad_tool_costs_only_itself() {
    let provider = Provider::chat([text("Hello.")]);
    let env = provider.env(TestEnv::new());
    FakeServer::new(BROKEN, &["--malformed"]).and("[tools]\nexclude = [\"sleep\"]").write(&env);
    // Schemas are weighed: unrolled, the worst of them would never end.
    let ran = ask(&provider, &env, &["-e", BROKEN]).exits(0);
    provider.is_content();
    let offered = offered(&provider.requests()[0]);
    for good in ["broken__echo", "broken__good", "broken__pattern"] {
        assert!(offered.iter().any(|name| name == good), "{good}: {offered:?}");
    }
    let good: Vec<&str> = [
        "echo", "env", "fds", "image", "fail", "pid", "progress", "meet", "good", "pattern", "any_of",
        "root_ref",
    ]
    .into();
    let others: Vec<&String> =
        offered.iter().filter(|name| !good.iter().any(|good| **name == format!("broken__{good}"))).collect();
    // `back_pattern` needs a backtracking engine, which is bounded; it may stay.
    assert!(others.iter().all(|name| *name == "broken__back_pattern"), "{others:?}");
    for said in ["no_schema", "array_schema", "two words", "more"] {
        assert!(ran.stderr.contains(said), "nothing is said of `{said}`: {}", brief(&ran));
    }
    assert!(!ran.stderr.contains('\u{202e}') && !ran.stderr.contains('\u{200b}'), "{}", brief(&ran));
}

/// Those that only a closer look finds, each with its reason.
#[test]
fn the_reason_a_tool_is_left_out_is_told() {
    let bad = ["twin", "bomb", "remote_ref", "file_ref", "large"];
    let flags = bad.map(|name| format!("--malformed={name}"));
    let called = echo(&flags.each_ref().map(String::as_str));
    assert_eq!(called.is("success"), "hello");
    for bad in bad {
        let lines = called.0.ran.stderr.lines().filter(|line| line.contains(bad)).count();
        assert!((1..=2).contains(&lines), "`{bad}`: {}", brief(&called.0.ran));
    }
}

/// What a provider refuses at the root of a schema is not sent to it, and still holds here.
#[test]
fn a_schema_is_narrowed_for_the_provider_and_not_for_the_check() {
    for dialect in [Dialect::Chat, Dialect::Anthropic] {
        let call = |tool: &'static str, arguments| calls([(tool, arguments)]);
        let provider = Provider::new(
            dialect,
            [
                Line::from(call("broken__any_of", json!({}))),
                call("broken__root_ref", json!({})).into(),
                text("Well.").into(),
            ],
        );
        let env = provider.env(TestEnv::new());
        FakeServer::new(BROKEN, &["--malformed"]).write(&env);
        let ran = ask(&provider, &env, &["-e", BROKEN]).exits(0);
        provider.is_content();
        let tools = provider.requests()[0]["tools"].as_array().unwrap().clone();
        let schema = |name: &str| {
            let function = |tool: &serde_json::Value| {
                if tool["function"].is_object() { tool["function"].clone() } else { tool.clone() }
            };
            let found = tools.iter().map(function).find(|tool| tool["name"] == name).unwrap();
            if found["parameters"].is_object() {
                found["parameters"].clone()
            } else {
                found["input_schema"].clone()
            }
        };
        for name in ["broken__any_of", "broken__root_ref"] {
            let schema = schema(name);
            assert!(schema["type"] == "object" && schema["properties"]["id"].is_object(), "{schema}");
            assert!(schema.get("anyOf").is_none() && schema.get("$ref").is_none(), "{schema}");
        }
        let refused = |(outcome, _): (String, String)| outcome == "invalid";
        assert!(outcomes(&ran).into_iter().all(refused), "{}", brief(&ran));
    }
}

/// T13: what a pattern would take for ever to refuse.
#[test]
fn a_pattern_that_explodes_does_not() {
    let value = format!("{}!", "a".repeat(60));
    for tool in ["pattern", "back_pattern"] {
        let server = FakeServer::new(BROKEN, &["--malformed"]);
        let called = server.call(&TestEnv::new(), tool, json!({ "value": value }));
        assert_eq!(called.0.ran.code, 2, "{}", brief(&called.0.ran));
    }
}
