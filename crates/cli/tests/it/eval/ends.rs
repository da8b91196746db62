//! How an evaluation ends early, or does not begin.

use serde_json::json;

use super::{calculates, played, shows, suite};
use crate::body::{calls, text};
use crate::env::{TestEnv, wait};
use crate::http::{Answer, serve};
use crate::provider::{Line, Provider};
use crate::signals::send;
use converse_testkit::hang_guard::wait_until;

#[test]
fn a_broken_suite_is_reported_as_a_whole_and_nothing_runs() {
    let env = TestEnv::new();
    env.write(
        "work/s.toml",
        "[suite]\nrepeat = 0\n\n[[cases]]\nname = \"a\"\npromt = \"x\"\n\n[[cases]]\nname = \"b\"\nprompt = \"x\"\n\
         answer.matches = \"(\"\ntools.must = [\"io[\"]\n\n[[cases]]\nname = \"b\"\nprompt = \"y\"\n",
    );
    let ran = env.run(&["eval", "s.toml", "-m", "understudy", "-o", "r.jsonl"]).exits(2);
    for told in [
        "error[out-of-range]: `repeat` must be from 1 to 1000\n --> s.toml:2:10\n",
        "error[unknown-key]: `promt` is not a key of [[cases]]\n --> s.toml:6:1\n",
        "= hint: did you mean `prompt`?\n",
        "--> s.toml:11:18\n",
        "--> s.toml:12:15\n",
        "error[duplicate-case]: there is another case `b`\n  --> s.toml:15:8\n",
        "error[bad-suite]: `s.toml` has 6 errors; nothing was run",
    ] {
        assert!(ran.stderr.contains(told), "{told}\n{}", ran.stderr);
    }
    assert!(ran.stdout.is_empty() && !env.path("work/r.jsonl").exists());
    env.write("work/s.toml", &suite("answer.schema = \"gone.json\"\nattachments = [\"gone.txt\"]"));
    let ran = env.run(&["eval", "s.toml", "-m", "understudy"]).exits(2);
    for told in
        ["s.toml:4: `gone.json` cannot be used: ", "s.toml:4: `gone.txt` is not a file", "schema-understudy"]
    {
        assert!(ran.stderr.contains(told), "{told}\n{}", ran.stderr);
    }
    assert!(env.run(&["eval", "gone.toml"]).exits(2).stderr.contains("error[suite-file]: "));
    env.write("work/s.toml", &suite(""));
    let ran = env.run(&["eval", "s.toml", "-m", "understudy", "--filter", "summ"]).exits(2);
    assert!(ran.stderr.contains("error[no-cases]: ") && ran.stderr.contains("`sum`"), "{}", ran.stderr);
    env.run(&["eval", "s.toml", "-m", "understudy", "--filter", "su"]).exits(0);
}

#[test]
fn a_limit_of_a_case_fails_it_and_the_budget_ends_the_run() {
    let provider = Provider::chat(Vec::<Line>::new());
    let env = provider.env(TestEnv::hasty());
    let price = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";
    env.write("home/.config/converse/config.toml", price);
    let args = ["eval", "s.toml", "-m", provider.model(), "-j", "1"];
    // 225 millionths of a dollar for each reply.
    env.write("work/s.toml", &suite("limits.cost = 0.0001"));
    provider.plays(calculates("6*7", "42").into_iter().take(1));
    let ran = env.run(&args).exits(3);
    shows(&ran, "ending: limit: the limit of 0.0001 USD is reached");
    env.write("work/s.toml", &suite(""));
    provider.plays((0..2).map(|_| text("42")));
    let ran = env.run(&[&args[..], &["--repeat", "5", "--max-cost", "0.0004"]].concat()).exits(7);
    assert!(ran.stderr.contains("5 runs: 2 passed, 3 not run; 0.00045 USD"), "{}", ran.stderr);
    assert!(ran.stderr.contains("error[budget]: "), "{}", ran.stderr);
    provider.is_content();
}

/// Each run has a limit of its own beside the budget of all, which two of them use up.
#[test]
fn a_run_that_the_budget_of_all_stops_has_not_reached_its_own_limit() {
    let call = || calls([("essentials__calculator", json!({ "expression": "6*7" }))]);
    let provider = Provider::chat([call(), call()]);
    let env = provider.env(TestEnv::hasty());
    let price = "[models.\"openai-chat/stub\"]\nprice = { input = 15.0, output = 15.0 }\n";
    env.write("home/.config/converse/config.toml", price);
    // 225 millionths of a dollar for each reply.
    env.write("work/s.toml", &suite("limits.cost = 0.0006"));
    let args = ["eval", "s.toml", "-m", provider.model(), "-j", "1", "--repeat", "2"];
    let ran = env.run(&[&args[..], &["--max-cost", "0.00044"]].concat()).exits(7);
    assert!(ran.stderr.contains("error[budget]: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 runs: 0 passed, 2 not run; 0.00045 USD"), "{}", ran.stderr);
    provider.is_content();
}

#[test]
fn a_judge_that_cannot_be_asked_is_found_before_anything_is_paid() {
    let provider = Provider::chat(Vec::<Line>::new());
    let env = provider.env(TestEnv::hasty());
    for (judge, code, exit) in [
        ("nobody/x", "unknown-model", 2),
        ("understudy", "schema-understudy", 2),
        ("anthropic/claude-sonnet-4-6", "no-key", 4),
    ] {
        let keys = format!("answer.judge = {{ model = \"{judge}\", question = \"q\" }}");
        env.write("work/s.toml", &suite(&keys));
        let ran = env.run(&["eval", "s.toml", "-m", provider.model()]).exits(exit);
        let message = format!("error[{code}]: s.toml:4: the judge `{judge}` cannot be asked: ");
        assert!(ran.stderr.contains(&message), "{}", ran.stderr);
    }
    // Only the judges of the cases that run are asked.
    let other = "\n[[cases]]\nname = \"other\"\nprompt = \"What is 6*7?\"\n";
    let keys = "answer.judge = { model = \"nobody/x\", question = \"q\" }";
    env.write("work/s.toml", &(suite(keys) + other));
    env.run(&["eval", "s.toml", "-m", "understudy", "--filter", "other"]).exits(0);
    provider.is_content();
}

#[test]
fn reports_that_cannot_be_written_are_reported_whatever_the_verdict_is() {
    let reports = ["--junit", "gone/r.xml", "--markdown", "gone/r.md"];
    for (answer, exit, last) in [("42", 9, "error[report-failed]: "), ("41", 3, "error[eval-failed]: ")] {
        let ran = played("answer.contains = \"42\"", [text(answer).into()], &reports).exits(exit);
        for file in ["gone/r.xml", "gone/r.md"] {
            assert!(ran.stderr.contains(&format!("{file}` could not be written: ")), "{}", ran.stderr);
        }
        let error = ran.stderr.lines().rev().find(|line| line.starts_with("error[")).unwrap();
        assert!(error.starts_with(last), "{}", ran.stderr);
    }
}

#[test]
fn a_reader_that_went_away_hides_no_report_that_was_not_written() {
    for (report, exit) in [("gone/r.xml", 9), ("r.xml", 0)] {
        let provider = Provider::chat([text("42")]);
        let env = provider.env(TestEnv::hasty());
        env.write("work/s.toml", &suite("answer.contains = \"42\""));
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = env.command(["eval", "s.toml", "-m", provider.model(), "--junit", report]);
        let output = command.stdout(writer).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(exit), "{stderr}");
        assert_eq!(stderr.contains("error[report-failed]: "), exit == 9, "{stderr}");
    }
}

#[test]
fn what_says_nothing_about_the_model_is_an_error_and_no_failure() {
    let failing = || Line::from(Answer::new(400, "application/json", r#"{"error":{"message":"bad tools"}}"#));
    let ran = played("", [failing()], &["--save-baseline", "b.json"]).exits(10);
    let left_out =
        "warning: not in the baseline, because no run could be judged: 1 case: `sum` with openai-chat/stub";
    assert!(ran.stderr.contains(left_out), "{}", ran.stderr);
    shows(&ran, "ERROR   sum  openai-chat/stub  0 of 0\n        rejected: ");
    assert!(ran.stderr.contains("error[eval-incomplete]: 1 of 1 case could not be judged"), "{}", ran.stderr);
    // What all runs would share stops them.
    let refused = Line::from(Answer::new(401, "application/json", r#"{"error":{"message":"no such key"}}"#));
    let ran = played("", [refused], &["--repeat", "3"]).exits(4);
    assert!(ran.stderr.contains("3 runs: 0 passed, 3 not run; "), "{}", ran.stderr);
    let env = TestEnv::new();
    env.write("work/s.toml", &suite(""));
    assert!(env.run(&["eval", "s.toml", "-m", "openai/gpt-5"]).exits(4).stderr.contains("error[no-key]: "));
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let body = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "stub",
        "choices": [{ "index": 0, "message": { "role": "assistant", "content": "42" }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 } });
    let answered = std::sync::atomic::AtomicUsize::new(0);
    let port = serve(move |_| {
        let mut answer = Answer::new(200, "application/json", body.to_string());
        if answered.fetch_add(1, std::sync::atomic::Ordering::SeqCst) >= 2 {
            (answer.cut_at, answer.stall) = (Some(0), true);
        }
        answer
    });
    let env = Provider::chat(Vec::<Line>::new()).env(TestEnv::hasty());
    let env = env.var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
    env.write("work/s.toml", &suite("answer.contains = \"42\""));
    let args = ["eval", "s.toml", "-m", "openai-chat/stub", "--no-stream", "-j", "1", "--repeat", "4"];
    let child =
        env.command([&args[..], &["-o", "r.jsonl", "--save-baseline", "b.json"]].concat()).spawn().unwrap();
    let written = || std::fs::read_to_string(env.path("work/r.jsonl")).map_or(0, |text| text.lines().count());
    wait_until("two results", || written() == 2);
    send("INT", &child);
    let ran = wait(child).exits(130);
    assert!(ran.stderr.contains("4 runs: 2 passed, 2 not run; "), "{}", ran.stderr);
    shows(&ran, "ok      sum  openai-chat/stub  2 of 2\n");
    assert_eq!(written(), 2);
    assert!(!env.path("work/b.json").exists(), "a part of a run is not a baseline");
    assert!(ran.stderr.contains("warning: the baseline was not written, "), "{}", ran.stderr);
}
