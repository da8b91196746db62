//! `/model` as a picker: what the provider serves, what converse knows of models, and how one is chosen.

use serde_json::{Value, json};

use super::looks::is_screen_from;
use super::person::{Key, Kind, Person};
use crate::env::TestEnv;
use crate::http::{Answer, serve};
use crate::models::server;
use crate::provider::KEY;

const QUESTION: &str = "which model?";
/// How the list ends without words, and with them.
const LEAVES: &str = "Esc leaves";
const TAKES: &str = "Enter takes the selected one; Esc clears the words";
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

/// Waits for the list.
#[track_caller]
fn listed(person: &mut Person) -> String {
    person.until("the list", |person| person.screen().ends_with(LEAVES));
    person.screen()
}

/// Waits for the list that these words leave, which ends in this.
#[track_caller]
fn searches(person: &mut Person, words: &str, end: &str) -> String {
    person.types(words);
    let title = format!("{QUESTION} {words}▏");
    person.until(words, |person| person.screen().contains(&title) && person.screen().ends_with(end));
    person.screen().rsplit_once(&title).unwrap().1.to_owned()
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
    let shown = listed(&mut person);
    let row = |number: usize| {
        let row = shown
            .lines()
            .find(|line| line.trim_start_matches(['❯', ' ']).starts_with(&format!("{number:<2}  ")));
        row.unwrap_or_else(|| panic!("no row {number}: {shown}"))
    };
    assert!(row(1).contains("openai-chat/stub") && row(1).contains("current"), "{shown}");
    assert!(row(2).contains("openai-chat/evil\\u{202e}x"), "{shown}");
    assert!(row(3).contains("openai-chat/m01") && row(10).contains("openai-chat/m08"), "{shown}");
    assert!(!shown.contains("openai-chat/m09") && shown.contains("1-10 of "), "{shown}");
    // The list follows the selection.
    person.types(&"\x1b[B".repeat(10));
    person.until("the next one", |person| person.screen().contains("❯ 11  openai-chat/m09"));
    // One match is shown, not taken.
    let found = searches(&mut person, "M1 2", TAKES);
    assert!(found.contains("❯ 1  openai-chat/m12") && !found.contains("m11"), "{found}");
    person.presses(Key::Ctrl('u'));
    searches(&mut person, "chat/ vil", TAKES);
    person.presses(Key::Enter);
    person.prompts();
    person.says("hello");
    person.sees("enough");
    assert!(!person.raw().contains('\u{202e}') && !person.raw().contains("evil\u{1b}"), "{:?}", person.raw());
    let asked: Value = serde_json::from_slice(&requests.lock().unwrap().last().unwrap().body).unwrap();
    assert_eq!(asked["model"], HOSTILE);
    // What is one match is listed, too.
    person.says("/model m12");
    let found = listed(&mut person);
    assert!(found.contains("which model? m12\n") && found.contains("❯ 1  openai-chat/m12"), "{found}");
    person.types("\x1b");
    person.prompts();
    // A number and Enter.
    person.says("/model");
    listed(&mut person);
    person.types("11\r");
    person.sees("openai-chat/m10 · context window");
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
    let shown = listed(&mut person);
    assert!(shown.contains("`openai-chat` cannot be reached"), "{shown}");
    assert!(shown.contains("openai-chat/gpt-5"), "{shown}");
    person.types("\x1b");
    person.prompts();
    assert!(!person.screen().contains("^["), "{}", person.screen());
    leaves(person);

    let bare = TestEnv::new();
    let mut person = Person::runs(&bare, &["--no-tools"]);
    person.says("/model");
    let shown = listed(&mut person);
    assert!(shown.contains("no provider has a key"), "{shown}");
    assert!(shown.lines().any(|line| line.starts_with("❯ 1 ") && line.contains("understudy")), "{shown}");
    let found = searches(&mut person, "claude opus", TAKES);
    assert!(found.contains("no ANTHROPIC_API_KEY · $") && found.contains("k  "), "{found}");
    // What is in no list may exist all the same.
    person.presses(Key::Ctrl('u'));
    searches(
        &mut person,
        "nothing-like-it",
        "Enter takes nothing-like-it all the same; Esc clears the words",
    );
    person.presses(Key::Ctrl('u'));
    searches(&mut person, "claude", TAKES);
    person.presses(Key::Enter);
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
        let shown = listed(&mut person);
        assert!(shown.contains("the wait for the models of `openai-chat` was ended"), "{shown}");
        assert!(shown.contains("openai-chat/gpt-5"), "{shown}");
        person.presses(Key::Ctrl('c'));
        person.prompts();
        leaves(person);
    }
}

/// Of a small terminal as much is used as there is, and nothing wraps.
#[test]
fn on_the_usual_screen_and_on_a_narrow_one() {
    for (columns, rows, name) in [(80, 24, "models-80x24"), (40, 12, "models-40x12")] {
        let env = TestEnv::new();
        let mut person = Person::at(Kind { columns, rows, ..Kind::default() }, &env, &["--no-tools"]);
        person.says("/model");
        person.until("the list", |person| {
            person.screen().split_whitespace().collect::<Vec<_>>().join(" ").ends_with(LEAVES)
        });
        person.types("mini");
        person.sees("mini▏");
        is_screen_from(name, &person, QUESTION);
        person.presses(Key::Ctrl('c'));
        leaves(person);
    }
}
