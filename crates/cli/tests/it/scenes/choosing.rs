//! `/model` as a picker: what the provider serves, what converse knows of models, and how one is chosen.

use serde_json::{Value, json};

use super::person::{Key, Person};
use crate::env::TestEnv;
use crate::http::{Answer, serve};
use crate::models::server;
use crate::provider::KEY;

const QUESTION: &str = "which model?";
const ARGS: [&str; 3] = ["-m", "openai-chat/stub", "--no-tools"];
/// The name of a model that turns letters round.
const HOSTILE: &str = "evil\u{202e}x";
/// One that clears the screen: it is not in the list.
const ACTING: &str = "evil\u{1b}[2J";

fn env(port: u16) -> TestEnv {
    TestEnv::new().var("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1")).var("OPENAI_API_KEY", KEY)
}

fn leaves(mut person: Person) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

/// Waits for the nth question.
fn is_asked(person: &mut Person, times: usize) {
    person.until("the question", |person| person.raw().matches(QUESTION).count() == times);
}

#[test]
fn a_served_model_is_found_by_words_and_chosen_by_its_number() {
    let names = (1..=12).map(|number| format!("m{number:02}")).chain([HOSTILE, ACTING].map(str::to_owned));
    let list =
        json!({ "data": names.map(|name| json!({ "id": name, "context_length": 8192 })).collect::<Value>() });
    let (port, requests) = server(move |path| match path.ends_with("/models") {
        true => (200, list.to_string()),
        false => (400, json!({ "error": { "message": "enough" } }).to_string()),
    });
    let env = env(port);
    let mut person = Person::runs(&env, &ARGS);
    person.says("/model");
    let shown = person.sees(QUESTION);
    let row = |number: usize| {
        let row = shown.lines().find(|line| line.starts_with(&format!("{number:<2}  ")));
        row.unwrap_or_else(|| panic!("no row {number}: {shown}"))
    };
    assert!(row(1).contains("openai-chat/stub") && row(1).ends_with("current"), "{shown}");
    assert!(row(2).contains("openai-chat/evil\\u{202e}x"), "{shown}");
    assert!(row(3).contains("openai-chat/m01") && row(10).contains("openai-chat/m08"), "{shown}");
    assert!(!shown.contains("openai-chat/m09") && shown.contains(" more; type words to search"), "{shown}");
    // One match is shown, not taken.
    person.types("M1 2\r");
    is_asked(&mut person, 2);
    person.types("chat/ evil\r");
    is_asked(&mut person, 3);
    person.types("1\r");
    person.prompts();
    person.says("hello");
    person.sees("enough");
    assert!(!person.raw().contains('\u{202e}') && !person.raw().contains("evil\u{1b}"), "{:?}", person.raw());
    let asked: Value = serde_json::from_slice(&requests.lock().unwrap().last().unwrap().body).unwrap();
    assert_eq!(asked["model"], HOSTILE);
    person.says("/model m12");
    is_asked(&mut person, 4);
    person.types("\r");
    person.prompts();
    person.says("/model openai-chat/stub");
    person.prompts();
    person.says("/model nothing like it");
    person.sees("no model contains these words");
    leaves(person);
}

#[test]
fn without_a_list_the_known_models_are_shown_and_why() {
    // A port on which nobody listens.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let provided = env(closed);
    let mut person = Person::runs(&provided, &ARGS);
    person.says("/model");
    let shown = person.sees(QUESTION);
    assert!(shown.contains("`openai-chat` cannot be reached"), "{shown}");
    assert!(shown.contains("openai-chat/gpt-5"), "{shown}");
    person.types("\r");
    person.prompts();
    leaves(person);

    let bare = TestEnv::new();
    let mut person = Person::runs(&bare, &["--no-tools"]);
    person.says("/model");
    let shown = person.sees(QUESTION);
    assert!(shown.contains("no provider has a key"), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("1 ") && line.contains("understudy")), "{shown}");
    person.types("claude opus\r");
    is_asked(&mut person, 2);
    assert!(person.screen().contains("no ANTHROPIC_API_KEY"), "{}", person.screen());
    person.types("1\r");
    person.sees("error[no-key]");
    leaves(person);
}

#[test]
fn the_wait_for_a_list_can_be_ended() {
    let port = serve(|_| {
        let mut answer = Answer::new(200, "application/json", "{");
        (answer.stall, answer.cut_at) = (true, Some(0));
        answer
    });
    let env = env(port);
    for key in [Key::Ctrl('c'), Key::Ctrl('[')] {
        let mut person = Person::runs(&env, &ARGS);
        person.says("/model");
        person.sees("asking for the models of openai-chat");
        person.presses(key);
        let shown = person.sees(QUESTION);
        assert!(shown.contains("the wait for the models of `openai-chat` was ended"), "{shown}");
        assert!(shown.contains("openai-chat/gpt-5"), "{shown}");
        person.types("\r");
        person.prompts();
        leaves(person);
    }
}
