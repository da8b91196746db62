//! Questions before a tool runs, where there is little room, and where nothing can be drawn.

use serde_json::json;

use super::looks::{is_screen, is_screen_from};
use super::person::{Kind, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const LONG: &str =
    "a sentence that is longer than forty columns, and in it \u{202e}something that would turn it around";

fn writes(path: &str) -> (&'static str, serde_json::Value) {
    ("io__write_file", json!({ "path": path, "content": LONG }))
}

/// The end of a question, wherever its last line is broken: of one that keys answer, or of one that a line does.
fn ends(person: &Person, words: [&str; 2]) -> bool {
    let screen = person.screen().split_whitespace().collect::<Vec<_>>().join(" ");
    words.iter().any(|words| screen.ends_with(words))
}

const ONE: [&str; 2] = ["words = no, and why", "for the rest of this run:"];
const SEVERAL: [&str; 2] = ["words = none, and why", "v = view all:"];

/// One question that is answered with yes, and two at once of which the second is refused. `shows_all`: there is room for
/// all that two calls would do.
fn asked(kind: Kind, flags: &[&str], name: &str, shows_all: bool) -> Person {
    let provider = Provider::chat([
        Line::from(calls([writes("a.txt")])),
        text("First.").into(),
        calls([writes("b.txt"), writes("c.txt")]).into(),
        text("Second.").into(),
    ]);
    let env = provider.env(TestEnv::new());
    let args = [&["-m", provider.model(), "-e", "io"], flags].concat();
    let mut person = Person::at(kind, &env, &args);
    let there = |name: &str| env.path("work").join(name).exists();
    person.says("one");
    person.until("a question", |person| ends(person, ONE));
    is_screen(&format!("question-{name}"), &person);
    assert!(!there("a.txt"));
    person.types("y\r");
    person.sees("First.");
    assert!(there("a.txt"));
    person.says("two");
    person.until("questions", |person| ends(person, SEVERAL));
    is_screen(&format!("questions-{name}"), &person);
    person.types("1\r");
    if !shows_all {
        // A yes to what was cut shows it first.
        person.until("them in full", |person| {
            ends(person, SEVERAL) && person.screen().contains("not everything was shown")
        });
        is_screen_from(&format!("questions-{name}-in-full"), &person, "not everything");
        assert!(!there("b.txt"));
        person.types("1\r");
    }
    person.sees("Second.");
    assert!(there("b.txt") && !there("c.txt"));
    person.says("/quit");
    person.until("the end", |person| person.program().is_none());
    while person.listens() {}
    provider.is_content();
    person
}

#[test]
fn in_forty_columns() {
    let kind = Kind { columns: 40, rows: 60, ..Kind::default() };
    let person = asked(kind, &[], "40", false);
    assert_eq!(person.ends().code, 0);
}

#[test]
fn where_nothing_is_drawn() {
    let tall = Kind { rows: 60, ..Kind::default() };
    for (name, kind, flags) in
        [("plain", tall, &["--plain"][..]), ("dumb", Kind { term: "dumb", ..tall }, &[])]
    {
        let person = asked(kind, flags, name, true);
        let raw = person.raw();
        assert!(!raw.contains('\x1b') && !raw.contains('\u{202e}'), "{raw:?}");
        assert_eq!(person.ends().code, 0);
    }
}
