//! A batch that ends in the middle, and the run after it.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use converse_testkit::hang_guard::wait_until;
use serde_json::json;

use super::{MODEL, answering, batch, each_once, ids, questions, results, says, silent};
use crate::env::{TestEnv, wait};
use crate::signals::{SLEEPER, send};

/// A provider that is silent after so many answers, until the number is raised; the second number counts the silences.
fn silent_after(count: usize) -> (TestEnv, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let [left, unanswered] = [count, 0].map(|count| Arc::new(AtomicUsize::new(count)));
    let (shared, silences) = (Arc::clone(&left), Arc::clone(&unanswered));
    let env = answering(move |question| {
        if shared.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return says(question);
        }
        silences.fetch_add(1, SeqCst);
        silent()
    });
    (env, left, unanswered)
}

fn lines(env: &TestEnv) -> usize {
    std::fs::read_to_string(env.path("work/out.jsonl")).map_or(0, |text| text.lines().count())
}

const ARGS: [&str; 5] = ["batch", "in.jsonl", "-o", "out.jsonl", "-j3"];

#[test]
fn a_batch_that_was_killed_goes_on_with_one_result_for_each() {
    let (env, left, unanswered) = silent_after(5);
    env.write("work/in.jsonl", &questions(12));
    let mut child = env.command([&ARGS[..], &MODEL[..]].concat()).spawn().unwrap();
    // No request of the first run arrives later.
    wait_until("five results", || lines(&env) == 5 && unanswered.load(SeqCst) == 3);
    child.kill().unwrap();
    wait(child);
    let before = results(&env);
    // As a kill in the middle of a write leaves it.
    let mut file = std::fs::OpenOptions::new().append(true).open(env.path("work/out.jsonl")).unwrap();
    file.write_all(b"{\"id\":\"11\",\"answer\":\"hal").unwrap();
    drop(file);
    left.store(100, SeqCst);
    let ran = batch(&env, &["-o", "out.jsonl"]).exits(0);
    assert!(ran.stderr.contains("12 conversations: 7 answered, 5 already in the file; "), "{}", ran.stderr);
    let after = results(&env);
    each_once(&after, 12);
    assert_eq!(after[..5], before[..], "what was there is not run again");
    assert_eq!(left.load(SeqCst), 93);
    // Nothing is left to do.
    batch(&env, &["-o", "out.jsonl"]).exits(0);
    assert_eq!((left.load(SeqCst), results(&env).len()), (93, 12));
}

#[test]
fn a_kill_loses_no_result_that_comes_before_an_earlier_one() {
    let (is_open, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (open, count) = (Arc::clone(&is_open), Arc::clone(&asked));
    let env = answering(move |question| {
        count.fetch_add(1, SeqCst);
        if question == "0" && open.load(SeqCst) == 0 { silent() } else { says(question) }
    });
    env.write("work/in.jsonl", &questions(30));
    let mut child = env.command([&ARGS[..], &["--keep-order"], &MODEL[..]].concat()).spawn().unwrap();
    wait_until("all but the first", || lines(&env) == 29);
    child.kill().unwrap();
    wait(child);
    is_open.store(1, SeqCst);
    batch(&env, &["-o", "out.jsonl", "--keep-order"]).exits(0);
    let results = results(&env);
    each_once(&results, 30);
    assert_eq!(ids(&results), (0..30).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(asked.load(SeqCst), 31, "the first one twice");
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let (env, left, _) = silent_after(2);
        env.write("work/in.jsonl", &questions(6));
        let child = env.command([&ARGS[..], &MODEL[..]].concat()).spawn().unwrap();
        wait_until("two results", || lines(&env) == 2);
        send(signal, &child);
        let ran = wait(child).exits(code);
        assert!(ran.stderr.contains("2 answered, 4 not run; "), "{}", ran.stderr);
        assert_eq!(results(&env).len(), 2, "what was interrupted has no result");
        left.store(100, SeqCst);
        batch(&env, &["-o", "out.jsonl"]).exits(0);
        each_once(&results(&env), 6);
    }
}

#[test]
fn two_runs_do_not_write_one_file() {
    let (env, ..) = silent_after(1);
    env.write("work/in.jsonl", &questions(3));
    let mut child = env.command([&ARGS[..], &MODEL[..]].concat()).spawn().unwrap();
    wait_until("a result", || lines(&env) == 1);
    let ran = batch(&env, &["-o", "out.jsonl"]).exits(9);
    assert!(ran.stderr.contains("error[results-in-use]: "), "{}", ran.stderr);
    child.kill().unwrap();
    wait(child);
}

#[test]
fn a_tool_with_effects_never_runs_again_after_a_kill() {
    let env = TestEnv::new();
    let sleeper = SLEEPER.replace("builtin =", "effects = \"write\"\npermission = \"allow\"\nbuiltin =");
    env.write("fakes/fakes.toml", &sleeper);
    let fakes = env.path("fakes").display().to_string();
    let line = |id: &str, prompt: &str| format!("{}\n", json!({ "id": id, "prompt": prompt }));
    env.write("work/in.jsonl", &(line("sum", "What is 6*7?") + &line("act", "@fakes.sleep")));
    let args = [&ARGS[..], &["-m", "understudy", "--ensembles", &fakes]].concat();
    let mut child = env.command(&args).spawn().unwrap();
    let begun = env.path("work/out.jsonl.begun");
    wait_until("a tool with effects", || {
        lines(&env) == 1 && std::fs::read_to_string(&begun).is_ok_and(|text| text.contains("\"act\"\n"))
    });
    child.kill().unwrap();
    wait(child);
    let ran = env.run(&args).exits(10);
    assert!(ran.stderr.contains("\n  1 outcome-unknown\n"), "{}", ran.stderr);
    let results = results(&env);
    assert_eq!((ids(&results), &results[1]["reason"]), (vec!["sum", "act"], &json!("outcome-unknown")));
    assert!(!begun.exists(), "nothing is open any more");
}
