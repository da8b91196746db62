//! A program that is stopped while it asks whether a tool may run: when it goes on, it asks again, and only what is typed
//! then is an answer.

use serde_json::json;

use super::breaking::is_whole;
use super::person::{Key, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

fn writes(path: &str) -> (&'static str, serde_json::Value) {
    ("io__write_file", json!({ "path": path, "content": "x" }))
}

fn is_at(person: &Person, words: &str) -> bool {
    person.screen().split_whitespace().collect::<Vec<_>>().join(" ").ends_with(words)
}

/// Stopped by its key at a question that ends so, and let go on with an answer typed to nothing that can be seen.
fn is_asked_again(person: &mut Person, title: &str, end: &str) {
    person.until("a question", |person| is_at(person, end));
    person.presses(Key::Ctrl('z'));
    person.until("a stop", |person| person.screen().contains("Stopped") && is_at(person, "shell>"));
    person.types("clear; fg\ny\n");
    person.until("the question", |person| person.screen().contains(title) && is_at(person, end));
}

#[test]
fn a_question_that_is_stopped_is_asked_again() {
    let provider = Provider::chat([
        Line::from(calls([writes("a")])),
        calls([writes("b"), writes("c")]).into(),
        text("Written.").into(),
    ]);
    let env = provider.env(TestEnv::new());
    let there = |name: &str| env.path("work").join(name).exists();
    let mut person = Person::at_a_careless_shell(&env);
    person.starts(&format!("-m {} -e io", provider.model()));
    person.types("write them\r");
    for _ in 0..2 {
        is_asked_again(&mut person, "allow io.write_file?", "words = no, and why");
        assert!(!there("a"), "a yes to what could not be seen is none");
    }
    person.types("y\n");
    is_asked_again(&mut person, "allow these 2 calls?", "words = none, and why");
    assert!(there("a") && !there("b") && !there("c"));
    person.types("2\n");
    person.sees("Written.");
    assert!(!there("b") && there("c"));
    person.leaves_both();
    is_whole(&env);
    provider.is_content();
}

/// Each line is shown until the next one has been.
const TALKS: &str = "[ensemble]\nname = \"talk\"\ndescription = \"x\"\n[defaults]\npermission = \"allow\"\n[[invokers]]\nname = \"now\"\ndescription = \"x\"\ncommand = { argv = [\"sh\", \"-c\", \"for n in one two; do echo line $n; until [ -e go-$n ]; do sleep 0.05; done; done; printf '\\\\033]0;x\\\\007 aside\\\\n' >&2; until [ -e go-on ]; do sleep 0.05; done\"] }\n";

#[test]
fn the_last_line_of_a_program_is_seen_while_it_runs() {
    let provider =
        Provider::chat([Line::from(calls([("talk__now", json!({}))])), text("It is done.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("tools/talk.toml", TALKS);
    let tools = env.path("tools").display().to_string();
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &tools, "-e", "talk"]);
    person.says("talk");
    for (line, go) in [("line one", "one"), ("line two", "two"), ("aside", "on")] {
        person.until(line, |person| {
            person.screen().lines().any(|shown| shown.contains("talk.now") && shown.ends_with(line))
        });
        env.write(&format!("work/go-{go}"), "");
    }
    person.sees("It is done.");
    let screen = person.screen();
    assert!(!screen.contains("line one") && !screen.contains("aside"), "nothing of it is kept: {screen}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}
