//! `--runner`: conversations that run on the workers of a Restate server. Here the server is a stand-in; `cargo xtask durable`
//! uses a real one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{questions, results};
use crate::env::{Ran, TestEnv};
use crate::http::{Answer, Request, serve};

/// What was asked: the path, and how often.
pub(crate) type Asked = Arc<Mutex<BTreeMap<String, usize>>>;

/// A server that answers each request by its line, and by how often it was sent before. Its workers are the understudy with the
/// calculator.
pub(crate) fn server(answer: impl Fn(&Value, usize) -> Answer + Send + Sync + 'static) -> (String, Asked) {
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    let port = serve(move |request: Request| {
        let key = request.path.split('/').nth(2).unwrap_or_default().to_owned();
        if request.path.ends_with("/settings") {
            assert!(request.body.is_empty() && request.header("idempotency-key").is_none());
            let settings = json!({ "model": "understudy", "ensembles": ["essentials"] });
            return Answer::new(200, "application/json", settings.to_string());
        }
        assert_eq!(request.path, format!("/ConverseSession/{key}/run"));
        assert_eq!(request.header("idempotency-key"), Some(key.as_str()));
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let mut seen = seen.lock().unwrap();
        let times = seen.entry(key).or_default();
        *times += 1;
        answer(&body, *times)
    });
    (format!("restate://127.0.0.1:{port}"), asked)
}

fn ended(body: &Value, exit: u8, reason: &str) -> Answer {
    let answer = body["line"]["question"].clone();
    let error = (exit > 0).then(|| json!({ "code": reason, "message": "no" }));
    let line =
        json!({ "id": "?", "answer": answer, "cost": 0.25, "exit": exit, "reason": reason, "error": error });
    Answer::new(200, "application/json", json!({ "line": line, "acts": "nothing" }).to_string())
}

pub(crate) fn failed(status: u16) -> Answer {
    Answer::new(status, "application/json", json!({ "code": status, "message": "wait" }).to_string())
}

fn batch(env: &TestEnv, runner: &str, args: &[&str]) -> Ran {
    env.run(&[&["batch", "in.jsonl", "-o", "out.jsonl", "--runner", runner], args].concat())
}

#[test]
fn a_request_that_is_lost_is_sent_again_with_its_key() {
    let (runner, asked) = server(|body, times| match times {
        1 if body["line"]["id"] == "1" => failed(503),
        _ => ended(body, 0, "answered"),
    });
    let env = TestEnv::new();
    env.write("work/in.jsonl", &questions(3));
    let ran = batch(&env, &runner, &["--max-cost", "10"]).exits(0);
    assert!(ran.stderr.contains("3 answered; 0.75 USD"), "{}", ran.stderr);
    let ids: Vec<_> = results(&env).iter().map(|line| (line["id"].clone(), line["answer"].clone())).collect();
    let expected = ["0", "1", "2"].map(|id| (json!(id), json!(id)));
    assert!(expected.iter().all(|one| ids.contains(one)) && ids.len() == 3, "{ids:?}");
    let mut times: Vec<usize> = asked.lock().unwrap().values().copied().collect();
    times.sort_unstable();
    assert_eq!(times, [1, 1, 2]);
    assert!(!env.path("work/out.jsonl.run").exists(), "nothing is open");
}

#[test]
fn a_batch_that_goes_on_asks_for_the_conversations_that_it_began() {
    let (runner, asked) = server(|body, times| match times {
        1 if body["line"]["id"] == "1" => ended(body, 4, "auth"),
        _ => ended(body, 0, "answered"),
    });
    let env = TestEnv::new();
    env.write("work/in.jsonl", &questions(2));
    batch(&env, &runner, &["-j", "1"]).exits(4);
    assert_eq!(results(&env).len(), 1, "a failure that all would share has no result");
    assert!(env.path("work/out.jsonl.run").exists());
    batch(&env, &runner, &[]).exits(0);
    let mut times: Vec<usize> = asked.lock().unwrap().values().copied().collect();
    times.sort_unstable();
    assert_eq!(times, [1, 2], "the same keys");
}

#[test]
fn what_a_provider_is_too_busy_for_is_another_conversation() {
    let (runner, asked) = server(|body, _| match body["line"]["id"].as_str() {
        Some("0") => ended(body, 0, "answered"),
        _ => ended(body, 5, "overloaded"),
    });
    let env = TestEnv::new();
    env.write("work/in.jsonl", &questions(2));
    let ran = batch(&env, &runner, &[]).exits(10);
    assert!(ran.stderr.contains("1 overloaded"), "{}", ran.stderr);
    let times: Vec<usize> = asked.lock().unwrap().values().copied().collect();
    assert_eq!(times, [1; 7], "five repeats, each with a key of its own");
}

#[test]
fn what_cannot_run_elsewhere_is_refused() {
    let (runner, asked) = server(|_, _| failed(500));
    let env = TestEnv::new();
    env.write("work/in.jsonl", &questions(1));
    for flags in [&["-m", "understudy"][..], &["--allow", "io.*"], &["--retry-failed"], &["--provider-batch"]]
    {
        let ran = batch(&env, &runner, flags).exits(2);
        assert!(ran.stderr.contains("--runner"), "{}", ran.stderr);
    }
    for wrong in ["http://a:1", "restate://a"] {
        let ran = batch(&env, wrong, &[]).exits(2);
        assert!(ran.stderr.contains("expected `restate://HOST:PORT`"), "{}", ran.stderr);
    }
    env.write("work/note.txt", "x");
    env.write("work/files.jsonl", r#"{"id": "1", "prompt": "x", "attachments": ["note.txt"]}"#);
    let ran = env.run(&["batch", "files.jsonl", "--runner", &runner]).exits(2);
    assert!(ran.stderr.contains("cannot be attached with `--runner`"), "{}", ran.stderr);
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn a_server_without_workers_stops_the_batch() {
    let (runner, asked) = server(|_, _| failed(404));
    let (other, asked_of_other) = server(|body, times| match times {
        1 if body["line"]["id"] == "1" => failed(400),
        _ => ended(body, 0, "answered"),
    });
    let env = TestEnv::new();
    env.write("work/in.jsonl", &questions(3));
    let ran = batch(&env, &runner, &["-j", "1"]).exits(5);
    let message = "error[runner-unregistered]: the Restate server knows no `ConverseSession`: wait";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
    assert!(ran.stderr.contains("curl http://127.0.0.1:9070/deployments"), "{}", ran.stderr);
    assert_eq!(asked.lock().unwrap().values().sum::<usize>(), 1, "the others are not tried");
    assert!(results(&env).is_empty() && env.path("work/out.jsonl.run").exists());
    // One of several nodes may not know of the workers yet.
    let both = format!("{runner},{}", other.strip_prefix("restate://").unwrap());
    batch(&env, &both, &["-j", "1"]).exits(10);
    let codes: Vec<_> = results(&env).iter().map(|line| line["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(null), json!("runner-refused"), json!(null)]);
    assert_eq!(asked_of_other.lock().unwrap().len(), 3);
}
