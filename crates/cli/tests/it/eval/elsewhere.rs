//! `--runner`: conversations that run on the workers of a Restate server, which is a stand-in here.

use serde_json::{Value, json};

use super::{lines, shows, suite};
use crate::batch::elsewhere::{failed, server};
use crate::env::{Ran, TestEnv};
use crate::http::{Answer, serve};

/// The end of a conversation in which the calculator was called.
fn ended(exit: u8, reason: &str) -> Answer {
    let calls = [json!({ "tool": "essentials__calculator", "arguments": { "expression": "6*7" } })];
    let error = (exit > 0).then(|| json!({ "code": reason, "message": "no" }));
    let line = json!({
        "id": "?", "answer": "It is 42.", "cost": 0.25, "invocations": calls, "exit": exit, "reason": reason,
        "error": error, "milliseconds": 7,
    });
    Answer::new(200, "application/json", json!({ "line": line, "acts": "nothing" }).to_string())
}

fn eval(env: &TestEnv, runner: &str, args: &[&str]) -> Ran {
    env.run(&[&["eval", "s.toml", "--runner", runner, "-j", "1"], args].concat())
}

const KEYS: &str = "tools.must = [\"essentials.calculator\"]\nanswer.contains = \"42\"\nlimits.cost = 0.5";

#[test]
fn workers_converse_and_the_verdict_is_given_here() {
    let (runner, asked) = server(|body, times| {
        let line = &body["line"];
        assert_eq!(line["before"], json!([{ "role": "system", "content": "Be brief." }]));
        assert_eq!((&line["question"], &body["max_cost"]), (&json!("What is 6*7?"), &json!(500_000)));
        if times == 1 { failed(503) } else { ended(0, "answered") }
    });
    let env = TestEnv::new();
    let text = suite(KEYS).replace("[suite]", "[suite]\nsystem = \"@system.txt\"\nmodels = [\"understudy\"]");
    env.write("work/system.txt", "Be brief.");
    env.write("work/s.toml", &text);
    let ran = eval(&env, &runner, &["--repeat", "2", "-o", "out.jsonl"]).exits(0);
    shows(&ran, "ok      sum  understudy  2 of 2\n");
    assert!(ran.stderr.contains("2 runs: 2 passed; 0.5 USD"), "{}", ran.stderr);
    let times: Vec<usize> = asked.lock().unwrap().values().copied().collect();
    assert_eq!(times, [2, 2], "each run has a key, and is sent again with it");
    let runs: Vec<_> = lines(&env, "out.jsonl").iter().map(|line| line["result"]["answer"].clone()).collect();
    assert_eq!(runs, [json!("It is 42."), json!("It is 42.")]);
    assert!(!env.path("work/out.jsonl.run").exists(), "nothing is open");
    env.write("work/s.toml", &text.replace("\"42\"", "\"43\""));
    shows(&eval(&env, &runner, &[]).exits(3), "the answer does not contain \"43\": \"It is 42.\"");
}

#[test]
fn the_same_command_asks_for_the_runs_that_were_begun() {
    let (runner, asked) = server(|_, times| match times {
        1 => ended(4, "auth"),
        _ => ended(0, "answered"),
    });
    let env = TestEnv::new();
    env.write("work/s.toml", &suite(KEYS));
    let ran = eval(&env, &runner, &["-o", "out.jsonl"]).exits(4);
    assert!(ran.stderr.contains("1 not run"), "{}", ran.stderr);
    eval(&env, &runner, &["-o", "out.jsonl"]).exits(0);
    assert_eq!(asked.lock().unwrap().values().copied().collect::<Vec<_>>(), [2], "the same key");
    // Another conversation is not taken for it.
    env.write("work/s.toml", &suite(KEYS).replace("6*7", "7*6"));
    eval(&env, &runner, &["-o", "out.jsonl"]).exits(4);
    assert_eq!(asked.lock().unwrap().len(), 2);
    env.write("work/s.toml", &suite(KEYS).replace("6*7", "7 * 6"));
    eval(&env, &runner, &["-o", "out.jsonl"]).exits(4);
    assert_eq!(asked.lock().unwrap().len(), 3);
}

#[test]
fn what_workers_cannot_do_is_refused() {
    let (runner, asked) = server(|_, _| ended(0, "answered"));
    let env = TestEnv::new();
    let refused = |text: &str, flags: &[&str], words: [&str; 2]| {
        env.write("work/s.toml", text);
        let ran = eval(&env, &runner, flags).exits(2);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{words:?}: {}", ran.stderr);
    };
    let plain = suite(KEYS);
    for flags in [&["--allow", "io.*"][..], &["-e", "io"], &["--system", "x"]] {
        refused(&plain, flags, ["cannot be used with", "--runner"]);
    }
    for flags in [&["--record", "c"][..], &["--replay", "c"]] {
        refused(&plain, flags, ["error[runner-cassette]", "hint: leave out"]);
    }
    refused(
        &plain,
        &["-m", "a/b"],
        ["error[runner-model]: the workers run `understudy`", "converse-worker -m a/b"],
    );
    let other = plain.replace("[\"essentials\"]", "[\"essentials\", \"io\"]");
    refused(&other, &[], ["error[runner-ensembles]: the workers use", "converse-worker -e essentials -e io"]);
    let case = |key: &str| plain.replace("limits.cost = 0.5", key);
    refused(&case("ensembles = [\"io\"]"), &[], ["error[runner-ensembles]: s.toml:4", "a suite of its own"]);
    refused(&case("limits.time = 5"), &[], ["error[runner-limit]: s.toml:4", "`limits.cost` works"]);
    refused(&case("attachments = [\"s.toml\"]"), &[], ["error[attachment]: s.toml:4", "into the prompt"]);
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn a_server_without_workers_stops_the_run() {
    let port = serve(|_| failed(404));
    let env = TestEnv::new();
    env.write("work/s.toml", &suite(KEYS));
    let ran = eval(&env, &format!("restate://127.0.0.1:{port}"), &[]).exits(5);
    assert!(ran.stderr.contains("error[runner-unregistered]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("curl http://127.0.0.1:9070/deployments"), "{}", ran.stderr);
    // They may also go away later.
    let (runner, asked) = server(|_, _| failed(404));
    let ran = eval(&env, &runner, &["--repeat", "3"]).exits(5);
    assert!(ran.stderr.contains("3 runs: 0 passed, 3 not run"), "{}", ran.stderr);
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A result that cannot be read says nothing about the model.
#[test]
fn what_a_worker_gives_up_is_an_error() {
    let (runner, _) = server(|_: &Value, _| failed(500));
    let env = TestEnv::new();
    env.write("work/s.toml", &suite(KEYS));
    shows(&eval(&env, &runner, &[]).exits(10), "runner-refused: the worker gave up: wait");
}
