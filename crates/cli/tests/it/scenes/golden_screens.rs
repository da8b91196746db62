//! The REPL's screens that a user sees first: the start, an answer with a tool call, `/help`, an approval; each at 80
//! columns and at 40.

use serde_json::json;

use super::looks::is_screen;
use super::person::{Kind, Person};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::Provider;

fn shows_its_screens(columns: u16) {
    let provider = Provider::chat([
        calls([("essentials__calculator", json!({ "expression": "6*7" }))]),
        text("It is **42**."),
        calls([("io__write_file", json!({ "path": "a", "content": "42" }))]),
        text("It is written."),
    ]);
    let env = provider.env(TestEnv::new());
    let kind = Kind { columns, rows: 90, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model()]);
    let is_screen = |name: &str, person: &Person| is_screen(&format!("{name}-{columns}"), person);
    person.prompts();
    is_screen("golden-start", &person);
    person.says("6*7?");
    person.sees("It is 42.");
    person.prompts();
    is_screen("golden-answer", &person);
    person.says("write it");
    person.sees("and why");
    is_screen("golden-approval", &person);
    person.types("y\r");
    person.sees("It is written.");
    person.prompts();
    is_screen("golden-approved", &person);
    person.says("/help");
    person.prompts();
    is_screen("golden-help", &person);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn screens_of_80_columns() {
    shows_its_screens(80);
}

#[test]
fn screens_of_40_columns() {
    shows_its_screens(40);
}
