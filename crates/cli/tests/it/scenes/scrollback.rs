//! What has been on the screen is in the scrollback, whatever is typed below it.

use super::person::{Key, Kind, Person};
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

const ROWS: usize = 24;
const ANSWER: usize = 400;

/// The numbers behind this word, wherever a line has one.
fn numbers(person: &mut Person, word: &str) -> Vec<usize> {
    let number =
        |line: String| line.trim().trim_start_matches(['-', '•', '*', ' ']).strip_prefix(word)?.parse().ok();
    person.history().into_iter().filter_map(number).collect()
}

#[test]
fn an_entry_that_is_taller_than_the_screen_overwrites_nothing() {
    let rows: Vec<String> = (1..=ANSWER).map(|number| format!("- row {number}\n")).collect();
    let rows: &'static str = Box::leak(rows.concat().into_boxed_str());
    let answers = [text(rows), text("I see."), text("I see, too.")];
    let provider = Provider::chat(answers.map(Line::from));
    let env = provider.env(TestEnv::new());
    let kind = Kind { rows: ROWS as u16, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
    let all: Vec<usize> = (1..=ANSWER).collect();
    person.says("count");
    person.sees("row 400");
    person.prompts();
    assert_eq!(numbers(&mut person, "row "), all);
    let pasted: Vec<String> = (1..=30).map(|number| format!("paste, line {number}")).collect();
    person.pastes(&pasted.join("\n"));
    person.sees("[pasted 30 lines]");
    person.presses(Key::Tab);
    person.sees("paste, line 30");
    assert_eq!(numbers(&mut person, "row "), all);
    // Cleared, recalled, and typed line by line.
    person.presses(Key::Ctrl('c'));
    person.prompts();
    person.pastes(&pasted.join("\n"));
    person.sees("[pasted 30 lines]");
    person.presses(Key::Tab);
    person.sees("paste, line 30");
    person.presses(Key::Enter);
    person.sees("I see.");
    person.prompts();
    assert_eq!(numbers(&mut person, "row "), all);
    person.presses(Key::Up);
    person.sees("paste, line 30");
    assert!(person.history().iter().any(|line| line.contains("I see.")));
    person.presses(Key::Ctrl('c'));
    person.prompts();
    for number in 1..=ROWS + 4 {
        person.types(&format!("typed {number}"));
        person.sees(&format!("typed {number}"));
        person.presses(Key::AltEnter);
    }
    person.types("end");
    person.sees("end");
    person.presses(Key::Enter);
    person.sees("I see, too.");
    let history = person.history();
    assert!(history.iter().any(|line| line.contains("I see.")), "{history:#?}");
    assert_eq!(numbers(&mut person, "row "), all);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
