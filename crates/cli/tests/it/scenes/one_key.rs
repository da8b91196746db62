//! Questions before a tool runs are answered by one key, or by words; and by nothing else that comes from a keyboard.

use serde_json::json;

use super::looks::is_screen_from;
use super::person::{Key, Kind, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const OPEN: &str = "words = no, and why";

fn writes(path: &str) -> (&'static str, serde_json::Value) {
    ("io__write_file", json!({ "path": path, "content": "x" }))
}

/// A model that writes these files, one after the other, and then is done.
fn asks(paths: &[&str]) -> (Provider, TestEnv) {
    let lines = paths.iter().map(|path| Line::from(calls([writes(path)])));
    let provider = Provider::chat(lines.chain([Line::from(text("Done."))]));
    let env = provider.env(TestEnv::new());
    (provider, env)
}

fn starts(provider: &Provider, env: &TestEnv, kind: Kind) -> Person {
    let mut person = Person::at(kind, env, &["-m", provider.model(), "-e", "io"]);
    person.says("go");
    person
}

/// Waits for the question about this file.
#[track_caller]
fn is_asked_about(person: &mut Person, path: &str) {
    let path = format!("path = \"{path}\"");
    person.until("a question", |person| person.screen().contains(&path) && person.screen().ends_with(OPEN));
}

#[test]
fn a_letter_arrows_esc_and_words() {
    let (provider, env) = asks(&["a", "b", "c", "d", "e", "f"]);
    let there = |name: &str| env.path("work").join(name).exists();
    let mut person = starts(&provider, &env, Kind::default());
    is_asked_about(&mut person, "a");
    person.types("y");
    is_asked_about(&mut person, "b");
    assert!(there("a"));
    // An Enter that belongs to the letter answers nothing.
    person.presses(Key::Enter);
    person.presses(Key::Up);
    person.sees("❯ y  yes, run io.write_file");
    person.presses(Key::Enter);
    is_asked_about(&mut person, "c");
    assert!(there("b"));
    person.presses(Key::Enter);
    is_asked_about(&mut person, "d");
    person.types("\x1b");
    is_asked_about(&mut person, "e");
    person.types("you should use another name");
    person.until("words", |person| {
        person.screen().contains("no, because: you should use another name")
            && person.screen().ends_with("Enter sends it; Esc goes back")
    });
    is_screen_from("one-key-words", &person, "allow io.write_file? no");
    person.presses(Key::Enter);
    is_asked_about(&mut person, "f");
    person.types("yes");
    person.sees("answer: yes");
    person.presses(Key::Ctrl('u'));
    person.until("the options", |person| person.screen().ends_with(OPEN));
    person.types("y");
    person.sees("Done.");
    person.prompts();
    is_screen_from("one-key", &person, "allow io.write_file? yes");
    // Nor does it send anything.
    person.presses(Key::Enter);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    assert_eq!(["a", "b", "c", "d", "e", "f"].map(there), [true, true, false, false, false, true]);
    let told = provider.requests()[5].to_string();
    assert!(told.contains("refused by the user: you should use another name"), "{told}");
    provider.is_content();
}

#[test]
fn a_paste_is_no_answer() {
    let (provider, env) = asks(&["a"]);
    let mut person = starts(&provider, &env, Kind::default());
    is_asked_about(&mut person, "a");
    assert!(person.brackets_pastes());
    person.types("\x1b[I\x1b[24;80R\x1b[O");
    person.pastes("y\ny\n");
    person.sees("no, because: y\\ny\\n");
    person.types("\x1b");
    person.until("the options", |person| person.screen().ends_with(OPEN));
    // As a terminal that does not bracket it sends it.
    person.types("a word\ry\r");
    person.sees("no, because: a word\\ny");
    assert!(!env.path("work/a").exists());
    person.presses(Key::Enter);
    person.sees("Done.");
    assert!(!env.path("work/a").exists());
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn several_calls_are_answered_by_one_key() {
    let two = |a: &str, b: &str| Line::from(calls([writes(a), writes(b)]));
    let provider = Provider::chat([two("a", "b"), two("c", "d"), two("e", "f"), text("Done.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = starts(&provider, &env, Kind::default());
    let open = |person: &mut Person, path: &str| {
        let path = format!("path = \"{path}\"");
        person.until("a question", |person| {
            person.screen().contains(&path) && person.screen().ends_with("words = none, and why")
        });
    };
    open(&mut person, "b");
    person.types("y");
    open(&mut person, "d");
    person.types("\x1b");
    open(&mut person, "f");
    person.answers("2");
    person.sees("Done.");
    let there = ["a", "b", "c", "d", "e", "f"].map(|name| env.path("work").join(name).exists());
    assert_eq!(there, [true, true, false, false, false, true]);
    person.prompts();
    is_screen_from("one-key-several", &person, "allow these 2 calls? all");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn on_the_usual_screen_and_on_a_narrow_one() {
    for (columns, name) in [(80, "one-key-80x24"), (40, "one-key-40x24")] {
        let (provider, env) = asks(&["a"]);
        let mut person = starts(&provider, &env, Kind { columns, rows: 24, ..Kind::default() });
        person.until("a question", |person| {
            person.screen().split_whitespace().collect::<Vec<_>>().join(" ").ends_with(OPEN)
        });
        is_screen_from(name, &person, "allow io.write_file?");
        person.types("y");
        person.sees("Done.");
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
        provider.is_content();
    }
}

/// Also `converse ask`, which nobody asks to step aside.
#[test]
fn a_run_without_a_prompt_is_stopped_and_asks_again() {
    let (provider, env) = asks(&["a"]);
    let mut person = Person::at_a_careless_shell(&env);
    person.until("a shell", |person| person.screen().ends_with("shell>"));
    person.types(&format!("$converse ask go -m {} -e io --ephemeral\n", provider.model()));
    is_asked_about(&mut person, "a");
    let asked = person.modes();
    for by_key in [true, false] {
        person.types("half an answ");
        person.sees("half an answ");
        match by_key {
            true => person.presses(Key::Ctrl('z')),
            false => person.sends(rustix::process::Signal::TSTP),
        }
        person.until("a stop", |person| person.screen().ends_with("shell>"));
        assert_ne!(person.modes().local_modes, asked.local_modes, "the shell has an echo");
        assert!(!person.brackets_pastes() && !person.hides_cursor());
        person.types("clear; fg\ny\n");
        is_asked_about(&mut person, "a");
        assert!(!env.path("work/a").exists());
    }
    person.types("y");
    person.until("the end", |person| person.screen().ends_with("shell>"));
    assert!(env.path("work/a").exists());
    person.types("exit\n");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

/// The modes of the terminal, and what is on it, are checked by `ends`.
#[test]
fn a_signal_at_a_question_leaves_the_terminal_as_it_was() {
    use rustix::process::Signal;
    for (words, signal, code) in [
        (&["ask", "go"][..], Signal::TERM, 143),
        (&["ask", "go"], Signal::INT, 130),
        (&["repl"], Signal::TERM, 143),
        (&["repl"], Signal::HUP, 129),
    ] {
        let (provider, env) = asks(&["a"]);
        let args = [words, &["-m", provider.model(), "-e", "io", "--ephemeral"]].concat();
        let mut person = Person::at(Kind::default(), &env, &args);
        if words == ["repl"] {
            person.says("go");
        }
        is_asked_about(&mut person, "a");
        person.sends(signal);
        assert_eq!(person.ends().code, code, "{words:?} {signal:?}");
        assert!(!env.path("work/a").exists());
    }
}
