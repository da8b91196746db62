//! Questions about changes of files: what goes and what comes is in sight, with the file that it is about.

use serde_json::json;

use super::person::{Kind, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{KEY, Line, Provider};

fn asks(provider: &Provider, env: &TestEnv, flags: &[&str]) -> Person {
    let kind = Kind { rows: 24, ..Kind::default() };
    let args = [&["-m", provider.model(), "-e", "io"], flags].concat();
    let mut person = Person::at(kind, env, &args);
    person.says("go");
    person.until("a question", Person::is_asked);
    person
}

/// Forty lines, of which one has the answer.
fn passage(answer: u32) -> String {
    let line = |number| match number {
        20 => format!("let answer = {answer};\n"),
        number => format!("let line_{number} = {number};\n"),
    };
    (1..=40).map(line).collect()
}

#[test]
fn one_word_of_a_long_passage_is_asked_about_in_a_few_rows() {
    for flags in [&[][..], &["--plain"]] {
        let edit = json!({ "path": "src/main.rs", "old_text": passage(41), "new_text": passage(42) });
        let provider = Provider::chat([Line::from(calls([("io__edit_file", edit)])), text("Done.").into()]);
        let env = provider.env(TestEnv::new());
        env.write("work/src/main.rs", &passage(41));
        let mut person = asks(&provider, &env, flags);
        let (old, new, rest) = match flags {
            [] => ("- │ let answer = 41;", "+ │ let answer = 42;", "⋮ 17 unchanged lines"),
            _ => ("- │ let answer = 41;", "+ │ let answer = 42;", "⋮ 17 unchanged lines"),
        };
        for part in ["allow io.edit_file?", "path = \"src/main.rs\"", old, new, rest] {
            assert!(person.screen().contains(part), "no {part:?} in\n{}", person.screen());
        }
        assert!(!person.screen().contains("line_1 ="), "{}", person.screen());
        if flags.is_empty() {
            assert!(person.cell("42;").is_some_and(vt100::Cell::bold), "the changed word");
            assert!(!person.cell("answer = 42").is_some_and(vt100::Cell::bold), "and no other one");
        }
        // All of it, and still which file it is.
        person.types("v\r");
        person.until("all", |person| person.screen().contains("line_40 =") && person.is_asked());
        assert!(person.screen().contains("path = \"src/main.rs\""), "{}", person.screen());
        person.types("y\r");
        person.sees("Done.");
        assert_eq!(std::fs::read_to_string(env.path("work/src/main.rs")).unwrap(), passage(42));
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
    }
}

#[test]
fn a_file_that_would_be_overwritten_is_announced() {
    let old = format!("KEY={KEY}\n{}\nkept\n", "x".repeat(208 - KEY.len()));
    let write = |content: &str| calls([("io__write_file", json!({ "path": "a.txt", "content": content }))]);
    let adds = calls([("io__write_file", json!({ "path": "a.txt", "content": "x", "append": true }))]);
    let provider = Provider::chat([Line::from(write("new\nkept\n")), adds.into(), text("Done.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("work/a.txt", &old);
    let mut person = asks(&provider, &env, &[]);
    for part in ["path = \"a.txt\"", "overwrites 219 bytes", "+ │ new", "  │ kept"] {
        assert!(person.screen().contains(part), "no {part:?} in\n{}", person.screen());
    }
    assert!(!person.raw().contains(KEY), "a key of the file is shown:\n{}", person.screen());
    person.types("y\r");
    person.sees("adds to a file of 9 bytes");
    person.until("a question", Person::is_asked);
    person.types("y\r");
    person.sees("Done.");
    assert_eq!(std::fs::read_to_string(env.path("work/a.txt")).unwrap(), "new\nkept\nx");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
