//! Changes of files: what goes and what comes is in sight, with the file that it is about, before a question is answered
//! and after a call that needed none.

use serde_json::json;

use super::looks::is_screen_from;
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
        assert!(!person.screen().contains("line_17 ="), "{}", person.screen());
        // All that changes with three lines around it, not all of the file, and still which file it is.
        person.types("v\r");
        person.until("all", |person| person.screen().contains("line_23 =") && person.is_asked());
        let screen = person.screen();
        assert!(screen.contains("line_17 =") && screen.contains("⋮ 16 unchanged lines"), "{screen}");
        assert!(!screen.contains("line_16 =") && screen.contains("path = \"src/main.rs\""), "{screen}");
        person.types("y\r");
        person.sees("Done.");
        // What was approved is not shown once more.
        assert!(!person.screen().contains("src/main.rs: 1 line"), "{}", person.screen());
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

/// A model that edits a file, makes one and replaces one, each with a call of its own.
fn three_changes() -> (Provider, TestEnv) {
    let edit = json!({ "path": "src/main.rs", "old_text": "answer = 41", "new_text": "answer = 42" });
    let content: String = (1..=30).map(|number| format!("row {number}\n")).collect();
    let write = |path: &str, content: &str| json!({ "content": content, "path": path });
    let provider = Provider::chat([
        Line::from(calls([("io__edit_file", edit)])),
        calls([("io__write_file", write("new.txt", &content))]).into(),
        calls([("io__write_file", write("old.txt", "kept\nnew\n"))]).into(),
        text("Done.").into(),
    ]);
    let env = provider.env(TestEnv::new());
    env.write("work/src/main.rs", &passage(41));
    env.write("work/old.txt", "kept\nold\n");
    (provider, env)
}

const EDITED: &str = "  src/main.rs: 1 line removed, 1 added\n    ⋮ 17 unchanged lines\n    │ let line_18 = 18;\n    │ let line_19 = 19;\n  - │ let answer = 41;\n  + │ let answer = 42;\n    │ let line_21 = 21;\n    │ let line_22 = 22;\n    ⋮ 18 unchanged lines\n";
const WRITTEN: &str = "  new.txt: new, 30 lines\n  + │ row 1\n";
const REPLACED: &str = "  old.txt: 1 line removed, 1 added\n    │ kept\n  - │ old\n  + │ new\n";

#[test]
fn what_was_changed_without_a_question_is_shown_after_it() {
    for flags in [&[][..], &["--plain"]] {
        let (provider, env) = three_changes();
        let args = [&["-m", provider.model(), "-e", "io", "--mode", "accept-edits"], flags].concat();
        let mut person = Person::at(Kind { rows: 60, ..Kind::default() }, &env, &args);
        person.says("go");
        let screen = person.sees("Done.");
        for part in [EDITED, WRITTEN, "  + │ row 11\n  … 19 more lines, /show 2\n", REPLACED] {
            assert!(screen.contains(part), "no {part:?} in\n{screen}");
        }
        match flags {
            [] => {
                assert!(person.cell("42;").is_some_and(vt100::Cell::bold), "the changed word");
                assert!(!person.cell("answer = 42").is_some_and(vt100::Cell::bold), "and no other one");
            }
            _ => assert!(!person.raw().contains('\x1b'), "{:?}", person.raw()),
        }
        person.says("/show 2");
        person.sees("  + │ row 30");
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
        provider.is_content();
    }
}

/// `ask` at a terminal shows it as well; where programs read, there is nothing.
#[test]
fn ask_shows_changes_at_a_terminal_alone() {
    let args = |provider: &Provider| {
        let args = ["ask", "go", "-m", provider.model(), "-e", "io", "--mode", "accept-edits", "--ephemeral"];
        args.map(str::to_owned).to_vec()
    };
    for output in [&[][..], &["-o", "json", "-v"]] {
        let (provider, env) = three_changes();
        let args = args(&provider);
        let args: Vec<&str> = args.iter().map(String::as_str).chain(output.iter().copied()).collect();
        let person = Person::at(Kind { rows: 60, ..Kind::default() }, &env, &args);
        let screen = person.ends().screen;
        assert!(screen.contains("Done."), "{screen}");
        for part in [EDITED, "  … 19 more lines\n", REPLACED] {
            assert_eq!(screen.contains(part), output.is_empty(), "{part:?} in\n{screen}");
        }
        provider.is_content();
    }
    let (provider, env) = three_changes();
    let args = args(&provider);
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["-v"]).collect();
    let ran = env.run(&args).exits(0);
    assert!(!ran.stderr.contains("row 1\n") && !ran.stderr.contains("unchanged"), "{}", ran.stderr);
}

#[test]
fn several_changes_at_once_are_in_sight_before_one_answer() {
    let edit = |path: &str, old: &str, new: &str| {
        let both = [old, new].map(|answer| format!("let a = 1;\n{answer}\nlet c = 3;\n"));
        ("io__edit_file", json!({ "old_text": both[0], "new_text": both[1], "path": path }))
    };
    let both = calls([
        edit("one.rs", "let answer = 41;", "let answer = 42;"),
        edit("src/two.rs", "let width = 1;", "let height = 1;"),
        ("io__write_file", json!({ "content": "x", "path": "new.txt" })),
    ]);
    let provider = Provider::chat([Line::from(both), text("Done.").into()]);
    let env = provider.env(TestEnv::new());
    env.write("work/one.rs", "let a = 1;\nlet answer = 41;\nlet c = 3;\n");
    env.write("work/src/two.rs", "let a = 1;\nlet width = 1;\nlet c = 3;\n");
    let kind = Kind { rows: 40, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model(), "-e", "io"]);
    person.says("go");
    person.until("a question", |person| person.screen().ends_with("words = none, and why"));
    is_screen_from("changes", &person, "allow these");
    assert!(person.cell("42;").is_some_and(vt100::Cell::bold), "the changed word");
    person.types("y");
    person.sees("Done.");
    assert!(!person.screen().contains("one.rs: 1 line"), "{}", person.screen());
    assert!(env.path("work/new.txt").exists());
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn defaults_are_left_out_and_those_that_the_model_wrote_are_counted() {
    let write = json!({ "path": "a", "content": "x", "append": false, "encoding": "utf-8" });
    let other = json!({ "path": "b", "content": "x", "create_directories": true });
    let both = |arguments| Line::from(calls([("io__write_file", arguments)]));
    let provider = Provider::chat([both(write), both(other), text("Done.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = asks(&provider, &env, &[]);
    let asked = |person: &Person| person.screen().rsplit("allow io.write_file?").next().unwrap().to_owned();
    assert!(asked(&person).contains("content = \"x\"\n  and 2 defaults\n"), "{}", person.screen());
    person.types("v");
    person.sees("  encoding = \"utf-8\"");
    person.until("a question", Person::is_asked);
    assert!(asked(&person).contains("append = false") && !asked(&person).contains("create_dir"));
    person.types("y");
    person.until("a question", |person| person.screen().contains("path = \"b\"") && person.is_asked());
    assert!(
        asked(&person).contains("content = \"x\"\n  create_directories = true\n  y "),
        "{}",
        person.screen()
    );
    person.types("y");
    person.sees("Done.");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
