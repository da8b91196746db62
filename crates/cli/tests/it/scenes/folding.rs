//! Long pastes are marks in the line, and are sent whole.

use serde_json::json;

use super::person::{Key, Person};
use super::talking;
use super::tools::with_waiting;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn last_said(provider: &Provider) -> String {
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[track_caller]
fn answered(person: &mut Person, times: usize) {
    person.until("an answer", |person| person.screen().matches("I see.").count() == times);
}

/// What the screen ends with, without the characters that have no shape.
#[track_caller]
fn ends(person: &mut Person, words: &str) {
    person.until(words, |person| person.screen().replace('\u{fe01}', "").ends_with(words));
}

#[test]
fn a_long_paste_is_a_mark_and_is_sent_whole() {
    let provider = Provider::chat((0..3).map(|_| Line::from(text("I see."))));
    let env = provider.env(TestEnv::new());
    env.write("work/notes.txt", "rain");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("look at ");
    let pasted = format!("{}\n@notes.txt\u{200b} \\", lines(19));
    person.pastes(&pasted);
    ends(&mut person, "❯ look at [pasted 20 lines]");
    person.types(", please");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), format!("look at {pasted}, please"));
    // What nobody has seen attaches nothing, also on one line.
    person.prompts();
    let long = format!("{} @notes.txt", "x".repeat(1_000));
    person.pastes(&long);
    ends(&mut person, "❯ [pasted 1011 characters]");
    person.presses(Key::Enter);
    answered(&mut person, 2);
    assert_eq!(last_said(&provider), long);
    let screen = person.screen();
    assert_eq!(screen.matches("not attached, because it is in pasted text").count(), 1, "{screen}");
    // It is recalled whole.
    person.prompts();
    person.presses(Key::Up);
    person.presses(Key::Up);
    person.sees("line 19");
    ends(&mut person, "\\, please");
    person.presses(Key::Enter);
    answered(&mut person, 3);
    assert_eq!(last_said(&provider), format!("look at {pasted}, please"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_mark_is_removed_as_a_whole_and_expanded_by_tab() {
    let provider = Provider::chat([Line::from(text("I see."))]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    for key in [Key::Backspace, Key::Ctrl('w')] {
        person.pastes(&lines(30));
        ends(&mut person, "❯ [pasted 30 lines]");
        person.presses(key);
        person.until("an empty line", Person::is_prompted);
    }
    person.pastes(&lines(30));
    ends(&mut person, "❯ [pasted 30 lines]");
    person.types(" x");
    ends(&mut person, "❯ [pasted 30 lines] x");
    person.presses(Key::Backspace);
    ends(&mut person, "❯ [pasted 30 lines]");
    person.presses(Key::Ctrl('w'));
    person.until("an empty line", Person::is_prompted);
    person.pastes(&lines(30));
    ends(&mut person, "❯ [pasted 30 lines]");
    person.presses(Key::Tab);
    person.sees("… line 30");
    assert!(person.screen().contains("❯ line 1\n"), "{}", person.screen());
    person.types("!");
    person.sees("… line 30!");
    // What is typed like a mark is text.
    person.presses(Key::AltEnter);
    person.types("[pasted 30 lines]");
    person.sees("… [pasted 30 lines]");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), format!("{}!\n[pasted 30 lines]", lines(30)));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_long_paste_during_a_turn_is_sent_as_it_was() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let provider = Provider::chat([waits.into(), text("It is there.").into(), Line::from(text("I see."))]);
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    person.until("a running line", |person| person.hides_cursor() && person.screen().contains("wait.for"));
    person.pastes(&lines(40));
    person.sees("line 40");
    env.write("work/go-one", "");
    ends(&mut person, "… line 40");
    person.types(" and so on");
    ends(&mut person, "… line 40 and so on");
    person.presses(Key::Enter);
    person.sees("I see.");
    assert_eq!(last_said(&provider), format!("{} and so on", lines(40)));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn nothing_is_folded_in_plain_mode() {
    let provider = Provider::chat([Line::from(text("I see."))]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::runs(&env, &["-m", provider.model(), "--no-tools", "--plain"]);
    person.prompts();
    let long = "x".repeat(1_200);
    person.types(&format!("{long}\r"));
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), long);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
