//! A person who looks elsewhere is called by the bell and a notification, and the terminal is named.

use serde_json::json;

use super::person::{Key, Person};
use super::tools::with_waiting;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const QUESTION: &str = "\x07\x1b]9;converse: a question waits for your answer\x07";
const ANSWER: &str = "\x07\x1b]9;converse: the answer is ready\x07";
const NOTIFICATION: &str = "\x1b]9;";

fn settings(env: &TestEnv, notify: &str) {
    env.write("home/.config/converse/config.toml", &format!("[repl]\nnotify = \"{notify}\"\n"));
}

fn reports_focus(person: &Person) -> bool {
    let raw = person.raw();
    raw.rfind("\x1b[?1004h") > raw.rfind("\x1b[?1004l")
}

fn notifications(person: &Person) -> usize {
    person.raw().matches(NOTIFICATION).count()
}

#[test]
fn a_person_who_looks_elsewhere_is_called() {
    let waits = || Line::from(calls([("wait__for", json!({ "name": "one" }))]));
    let writes = calls([("io__write_file", json!({ "path": "new.txt", "content": "x" }))]);
    let lines = [waits(), writes.into(), text("Written.").into(), waits(), text("I see.").into()];
    let provider = Provider::chat(lines.into_iter().chain([Line::from(text("At once."))]));
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &["-e", "io"]);
    person.says("go");
    person.until("a running line", |person| person.screen().contains("wait.for name=\"one\""));
    assert!(reports_focus(&person));
    person.types("\x1b[I\x1b[O");
    env.write("work/go-one", "");
    person.until("a question", Person::is_asked);
    assert!(person.raw().contains(QUESTION), "{:?}", person.raw());
    assert!(!reports_focus(&person), "its answer is a line of text");
    person.types("y\r");
    person.sees("Written.");
    person.prompts();
    assert_eq!(notifications(&person), 1, "the answer showed that somebody is there");
    assert!(!reports_focus(&person), "while a line is read");

    std::fs::remove_file(env.path("work/go-one")).unwrap();
    person.says("again");
    person.until("another turn", reports_focus);
    person.until("a running line", |person| person.screen().matches("wait.for name=\"one\"").count() > 1);
    person.types("\x1b[O");
    env.write("work/go-one", "");
    person.until("a call", |person| person.raw().contains(ANSWER));
    person.says("at once");
    person.sees("At once.");
    person.prompts();
    assert_eq!(notifications(&person), 2, "a line was typed");
    person.presses(Key::Ctrl('d'));
    let ended = person.ends();
    assert!(ended.code == 0 && !ended.screen.contains("[O"), "{}", ended.screen);
}

#[test]
fn a_setting_calls_always_or_never() {
    for (notify, count) in [("always", 1), ("never", 0)] {
        let provider = Provider::chat([Line::from(text("I see."))]);
        let env = provider.env(TestEnv::new());
        settings(&env, notify);
        let mut person = Person::runs(&env, &["-m", provider.model(), "--no-tools"]);
        person.says("hello");
        person.sees("I see.");
        person.prompts();
        assert_eq!(
            (person.raw().matches(ANSWER).count(), notifications(&person)),
            (count, count),
            "{notify}"
        );
        assert!(!person.raw().contains("\x1b[?1004h"), "{notify}");
        person.presses(Key::Ctrl('d'));
        assert_eq!(person.ends().code, 0);
    }
}

#[test]
fn the_title_names_the_directory_and_is_restored() {
    let provider = Provider::chat([] as [Line; 0]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::runs(&env, &["-m", provider.model(), "--no-tools"]);
    person.prompts();
    assert!(person.raw().contains("\x1b[22;2t\x1b]2;converse · work\x07"), "{:?}", person.raw());
    assert!(!person.raw().contains("\x1b[23;2t"));
    person.presses(Key::Ctrl('d'));
    person.until("the end", |person| person.raw().contains("\x1b[23;2t"));
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_program_that_is_suspended_gives_the_title_back() {
    let provider = Provider::chat([] as [Line; 0]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::at_a_shell(&env);
    person.starts(&format!("-m {} --no-tools", provider.model()));
    for round in 1..=2 {
        let titles = |person: &Person, sequence: &str| person.raw().matches(sequence).count();
        person.until("the title", |person| titles(person, "\x1b[22;2t\x1b]2;converse · work\x07") == round);
        assert_eq!(titles(&person, "\x1b[23;2t"), round - 1);
        person.presses(Key::Ctrl('z'));
        person.until("the shell", |person| person.screen().ends_with("shell>"));
        assert_eq!(titles(&person, "\x1b[23;2t"), round, "{:?}", person.raw());
        person.types("clear; fg\n");
        person.is_back();
    }
    person.leaves_both();
}
