//! A terminal that changes its size at every stage, also to sizes that nothing fits into.

use serde_json::json;

use super::breaking::{is_whole, stalls};
use super::person::{Key, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const SIZES: [(u16, u16); 4] = [(1, 1), (20, 5), (500, 200), (80, 40)];

/// As somebody does who drags a corner of the window.
fn storm(person: &mut Person) {
    for step in 0..200 {
        let (columns, rows) = SIZES[step % SIZES.len()];
        person.resizes(columns.saturating_add(step as u16 % 7), rows.saturating_add(step as u16 % 3));
        if step % 20 == 0 {
            person.listens();
        }
    }
    person.resizes(80, 40);
}

#[test]
fn while_something_is_typed_streamed_and_asked() {
    let writes = calls([("io__write_file", json!({ "path": "a", "content": "x" }))]);
    let script = [stalls(), Line::from(writes), text("Written.").into()];
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut person = Person::runs(&env, &["-m", provider.model()]);
    person.prompts();
    for (columns, rows) in SIZES {
        person.resizes(columns, rows);
        person.types("ab");
        person.listens();
    }
    person.sees("abababab");
    storm(&mut person);
    person.types("!");
    person.until("the line", |person| person.screen().contains("abababab!"));
    person.presses(Key::Enter);
    person.sees("one two");
    assert!(provider.requests()[0].to_string().contains("abababab!"));
    for (columns, rows) in SIZES {
        person.resizes(columns, rows);
        person.listens();
    }
    storm(&mut person);
    person.presses(Key::Ctrl('c'));
    // What a terminal keeps of what it showed, when it becomes smaller, is its own affair.
    person.until("the end of it", |person| person.raw().contains("interrupted"));
    person.says("write it");
    person.sees("allow io.write_file?");
    storm(&mut person);
    person.types("y\r");
    person.sees("Written.");
    assert!(env.path("work/a").exists());
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn from_the_beginning() {
    for (columns, rows) in SIZES {
        let provider = Provider::chat([text("| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\ncode\n```\n\nso")]);
        let env = provider.env(TestEnv::new());
        let kind = super::person::Kind { columns, rows, ..Default::default() };
        let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
        person.until("a prompt", |person| person.screen().contains('❯'));
        person.types("hi");
        person.until("it", |person| person.screen().contains("hi"));
        person.presses(Key::Enter);
        person.until("a request", |_| provider.requests().len() == 1);
        person.resizes(80, 40);
        // While the answer comes the key means nothing.
        for _ in 0..500 {
            if person.program().is_none() {
                break;
            }
            person.presses(Key::Ctrl('d'));
            person.listens();
        }
        assert_eq!(person.ends().code, 0, "{columns}×{rows}");
        is_whole(&env);
    }
}
