//! What is on a cassette is all of a run; what is not all of one is none; and a replay says that it is one.

use serde_json::{Value, json};

use super::{Elsewhere, cassette, entries, steady};
use crate::body::{calls, text};
use crate::env::{TestEnv, files};
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;
use crate::signals::send;

fn sum(expression: &str) -> (&'static str, Value) {
    ("essentials__calculator", json!({ "expression": expression }))
}

fn stalled() -> Line {
    let stall = |answer: &mut Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    Line::Bent(text("one two three"), stall)
}

#[test]
fn files_are_read_on_the_cassette_and_not_on_the_disk() {
    let read = |path: &str| ("io__read_file", json!({ "path": path }));
    let provider = Provider::chat([
        calls([read("notes.md"), read("nowhere"), ("io__list_directory", json!({}))]),
        text("Read."),
    ]);
    let env = provider.env(TestEnv::hasty());
    env.write("work/notes.md", "what was written then\n");
    let args = ["ask", "go", "-m", provider.model(), "-e", "io", "--record", "f.cassette", "-o", "json"];
    let recorded = env.run(&args).exits(0);
    provider.is_content();
    let kept = cassette(&env);
    assert_eq!(entries(&kept, "invocation").len(), 3, "{kept}");
    let replayed = Elsewhere::with(&kept).run(&args).exits(0);
    assert_eq!(steady(&replayed), steady(&recorded));
    assert!(replayed.stdout.contains("what was written then"), "{}", replayed.stdout);
}

#[test]
fn what_a_clock_has_ended_is_not_the_whole_of_a_run() {
    let provider = Provider::chat([stalled()]);
    let env = provider.env(TestEnv::hasty());
    let args =
        ["ask", "go", "-m", provider.model(), "--no-tools", "--record", "f.cassette", "--deadline", "1"];
    let ran = env.run(&args).exits(7);
    assert!(ran.stderr.contains("the recording until then is in"), "{}", ran.stderr);
    assert!(!env.path("work/f.cassette").exists());
    let partial = std::fs::read_to_string(env.path("work/f.cassette.partial")).unwrap();
    assert_eq!(entries(&partial, "model").len(), 1, "{partial}");
    // A limit that is no clock ends the replay as it ended the run.
    let provider = Provider::chat([calls([sum("6*7")])]);
    let env = provider.env(TestEnv::hasty());
    let args = ["ask", "go", "-m", provider.model(), "--max-iterations", "1", "--record", "f.cassette"];
    let recorded = env.run(&args).exits(7);
    assert_eq!(Elsewhere::with(&cassette(&env)).run(&args).exits(7).stdout, recorded.stdout);
}

#[test]
fn a_run_whose_answer_nobody_can_write_is_recorded_all_the_same() {
    let provider = Provider::chat([text("Yes.")]);
    let env = provider.env(TestEnv::hasty());
    let line = format!(
        r#""$converse" ask go -m {} --no-tools -o json --record f.cassette > /dev/full"#,
        provider.model()
    );
    env.shell(&line).exits(9);
    assert!(!env.path("work/f.cassette.partial").exists());
    let args = ["ask", "go", "-m", provider.model(), "--no-tools", "--replay", "f.cassette"];
    assert_eq!(Elsewhere::with(&cassette(&env)).run(&args).exits(0).stdout, "Yes.\n");
}

fn below(env: &TestEnv, name: &str) -> Vec<Value> {
    let files = files(&env.path("home")).into_iter().filter(|path| path.ends_with(name));
    let text: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_replay_says_so_in_the_audit_log_and_in_the_session() {
    let script = || [calls([sum("6*7")]), text("42.")];
    let provider = Provider::chat(script());
    let env = provider.env(TestEnv::hasty());
    let args = ["ask", "6*7?", "-m", provider.model(), "--record", "f.cassette"];
    env.run(&args).exits(0);
    let notes = |env: &TestEnv| {
        let lines = below(env, "journal.jsonl").into_iter().filter(|line| line["type"] == "note");
        lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let marks = |env: &TestEnv| -> Vec<Value> {
        below(env, "audit.jsonl").iter().map(|record| record["replayed"].clone()).collect()
    };
    let costs = |env: &TestEnv| -> Vec<Value> {
        let lines = below(env, "journal.jsonl").into_iter().filter(|line| line["type"] == "used");
        lines.map(|line| line["cost"].clone()).collect()
    };
    assert_eq!((marks(&env), notes(&env)), (vec![Value::Null; 3], Vec::new()));
    let elsewhere = Elsewhere::with(&cassette(&env));
    elsewhere.run(&args).exits(0);
    assert_eq!(marks(&elsewhere.0), [true, true, true].map(Value::from));
    assert_eq!(notes(&elsewhere.0), ["replayed from a cassette"]);
    assert_eq!(costs(&elsewhere.0), [0, 0].map(Value::from));
    elsewhere.0.run(&["audit", "verify"]).exits(0);
    // With tools that run nothing of it is replayed but the model.
    let elsewhere = Elsewhere::with(&cassette(&env));
    elsewhere.run(&[&args[..], &["--live-tools"]].concat()).exits(0);
    assert_eq!(marks(&elsewhere.0), vec![Value::Null; 3]);
    assert_eq!(notes(&elsewhere.0), ["the model is replayed from a cassette"]);
}

#[test]
fn a_conversation_at_the_terminal_is_recorded_and_replayed() {
    let provider = Provider::chat([calls([sum("6*7")]), text("It is 42."), text("Still 42.")]);
    let env = provider.env(TestEnv::hasty());
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--record", "f.cassette"]);
    for (words, answer) in [("What is 6*7?", "It is 42."), ("Sure?", "Still 42.")] {
        screen.says(words);
        screen.shows(answer);
    }
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    provider.is_content();
    let kept = cassette(&env);
    assert_eq!((entries(&kept, "model").len(), entries(&kept, "invocation").len()), (3, 1), "{kept}");
    let elsewhere = Elsewhere::with(&kept);
    let mut screen = Screen::run(&elsewhere.0, &["--replay", "f.cassette"]);
    for (words, answer) in
        [("What is 6*7?", "It is 42."), ("Sure?", "Still 42."), ("Really?", "cassette-miss")]
    {
        screen.says(words);
        screen.shows(answer);
    }
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
    let notes = below(&elsewhere.0, "journal.jsonl").into_iter().filter(|line| line["type"] == "note");
    assert_eq!(notes.count(), 3, "one for each turn");
}

#[test]
fn a_turn_that_was_interrupted_leaves_half_a_cassette() {
    let provider = Provider::chat([stalled(), text("Yes.").into()]);
    let env = provider.env(TestEnv::hasty());
    let mut screen = Screen::run(&env, &["-m", provider.model(), "--record", "f.cassette"]);
    screen.says("count");
    screen.shows("one two");
    send("INT", &screen.child);
    screen.shows("interrupted");
    screen.says("are you there?");
    screen.shows("Yes.");
    screen.says("/quit");
    screen.shows("f.cassette.partial");
    assert_eq!(screen.ends(), 0);
    assert!(!env.path("work/f.cassette").exists());
}
