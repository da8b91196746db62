//! What an evaluation keeps for a later one: cassettes and baselines.

use serde_json::json;

use super::{calculates, lines, shows, suite};
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{KEY, Line, Provider};

#[test]
fn a_recorded_suite_is_replayed_without_a_key() {
    let provider = Provider::chat(Vec::<Line>::new());
    let env = provider.env(TestEnv::hasty());
    let keys = "tools.must = [\"essentials.calculator\"]\nanswer.contains = \"42\"";
    env.write("work/s.toml", &suite(keys));
    let args = ["eval", "s.toml", "-m", provider.model(), "--repeat", "2", "-j", "1"];
    provider.plays(calculates("6*7", "42").into_iter().chain([text("41").into()]));
    let recorded = env.run(&[&args[..], &["--record", "tapes", "-o", "live.jsonl"]].concat()).exits(3);
    shows(&recorded, "FAILED  sum  openai-chat/stub  1 of 2\n");
    provider.is_content();
    for run in [1, 2] {
        let tape = env.path(&format!("work/tapes/sum/openai-chat+stub.{run}.cassette"));
        assert!(!std::fs::read_to_string(tape).unwrap().contains(KEY));
    }
    let env = env.without("OPENAI_API_KEY").var("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let replayed = env.run(&[&args[..], &["--replay", "tapes", "-o", "tape.jsonl"]].concat()).exits(3);
    shows(&replayed, "FAILED  sum  openai-chat/stub  1 of 2\n");
    let statuses = |file: &str| {
        let mut lines = lines(&env, file);
        lines.sort_by_key(|line| line["run"].as_u64());
        lines.iter().map(|line| (line["status"].clone(), line["misses"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(statuses("live.jsonl"), statuses("tape.jsonl"));
    // A case that was changed is a miss, and the others go on.
    let other = "\n[[cases]]\nname = \"other\"\nprompt = \"x\"\n";
    env.write("work/s.toml", &(suite(keys).replace("6*7", "6*8") + other));
    let ran = env.run(&[&args[..], &["--replay", "tapes"]].concat()).exits(10);
    shows(&ran, "ERROR   sum    openai-chat/stub  0 of 0\n        run 1: cassette-miss: ");
    shows(&ran, "run 1: cassette-file: ");
    assert!(
        ran.stderr.contains("error[eval-incomplete]: 2 of 2 cases could not be judged"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_judge_is_replayed_too() {
    let provider = Provider::chat([text("42"), text("{\"reason\": \"r\", \"pass\": true}")]);
    let env = provider.env(TestEnv::hasty());
    env.write("work/s.toml", &suite("answer.judge = { model = \"openai-chat/stub\", question = \"q\" }"));
    let args = ["eval", "s.toml", "-m", provider.model()];
    env.run(&[&args[..], &["--record", "t"]].concat()).exits(0);
    provider.is_content();
    env.without("OPENAI_API_KEY").run(&[&args[..], &["--replay", "t"]].concat()).exits(0);
}

#[test]
fn only_what_is_worse_than_the_baseline_fails() {
    let provider = Provider::chat(Vec::<Line>::new());
    let env = provider.env(TestEnv::hasty());
    env.write("work/s.toml", &suite("answer.contains = \"42\""));
    let args = ["eval", "s.toml", "-m", provider.model(), "--repeat", "2", "-j", "1"];
    let run = |answers: [&'static str; 2], more: &[&str]| {
        provider.plays(answers.map(text));
        env.run(&[&args[..], more].concat())
    };
    // It has failed before, and may fail again.
    run(["42", "no"], &["--save-baseline", "b.json"]).exits(3);
    let written: serde_json::Value =
        serde_json::from_slice(&std::fs::read(env.path("work/b.json")).unwrap()).unwrap();
    let entry = json!({ "case": "sum", "model": "openai-chat/stub", "passed": 1, "runs": 2 });
    assert_eq!(written, json!({ "suite": "s", "results": [entry] }));
    let ran = run(["no", "42"], &["--baseline", "b.json"]).exits(0);
    shows(&ran, "no pass rate differs from the baseline\n");
    let ran = run(["42", "42"], &["--baseline", "b.json"]).exits(0);
    shows(&ran, "better  sum  openai-chat/stub  1 of 2, now 2 of 2\n");
    let ran = run(["no", "no"], &["--baseline", "b.json"]).exits(3);
    shows(&ran, "WORSE   sum  openai-chat/stub  1 of 2, now 0 of 2\n");
    assert!(ran.stderr.contains("error[eval-regressed]: "), "{}", ran.stderr);
    run(["no", "no"], &["--baseline", "b.json", "--threshold", "0.5"]).exits(0);
    // A case that is new must pass.
    env.write("work/b.json", "{\"suite\": \"s\", \"results\": []}");
    run(["42", "no"], &["--baseline", "b.json"]).exits(3);
    env.write("work/b.json", "{}");
    let ran = env.run(&[&args[..], &["--baseline", "b.json"]].concat()).exits(2);
    assert!(ran.stderr.contains("error[baseline-file]: "), "{}", ran.stderr);
}
