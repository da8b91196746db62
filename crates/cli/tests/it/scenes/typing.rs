//! Keys: a line is typed and changed, recalled, pasted, completed.

use super::person::{Key, Kind, Person};
use super::talking;
use super::tools::with_waiting;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};
use serde_json::json;

pub(super) fn answers(count: usize) -> Provider {
    Provider::chat((0..count).map(|_| Line::from(text("I see."))))
}

/// What was said last.
#[track_caller]
fn last_said(provider: &Provider) -> String {
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    messages.last().unwrap()["content"].as_str().unwrap().to_owned()
}

#[track_caller]
fn answered(person: &mut Person, times: usize) {
    person.until("an answer", |person| person.screen().matches("I see.").count() >= times);
}

#[test]
fn a_line_is_changed_before_it_is_sent() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("helo wörld 日本 👩‍👩‍👧!");
    for key in [Key::Home, Key::Ctrl('f'), Key::Ctrl('f'), Key::Ctrl('f')] {
        person.presses(key);
    }
    person.types("l");
    person.presses(Key::End);
    person.presses(Key::Left);
    // The whole family is one letter.
    person.presses(Key::Backspace);
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), "hello wörld 日本 !");
    person.prompts();
    person.types("one two three");
    person.presses(Key::Ctrl('w'));
    person.types("four");
    person.presses(Key::Enter);
    answered(&mut person, 2);
    assert_eq!(last_said(&provider), "one two four");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn what_was_typed_is_recalled_also_in_the_next_run() {
    let provider = answers(3);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("the first one");
    answered(&mut person, 1);
    person.says("the second one");
    answered(&mut person, 2);
    person.prompts();
    person.presses(Key::Ctrl('d'));
    assert_eq!(person.ends().code, 0);
    let mut person = talking(&provider, &env);
    person.prompts();
    person.presses(Key::Up);
    person.sees("❯ the second one");
    person.presses(Key::Up);
    person.sees("❯ the first one");
    person.presses(Key::Down);
    person.sees("❯ the second one");
    person.presses(Key::Ctrl('c'));
    person.prompts();
    person.presses(Key::Ctrl('r'));
    person.types("first");
    person.sees("the first one");
    person.presses(Key::Enter);
    // Found, and sent with the next one.
    person.until("an answer", |person| {
        if person.screen().contains("I see.") { true } else { person.screen().contains("❯ the first one") }
    });
    if !person.screen().contains("I see.") {
        person.presses(Key::Enter);
    }
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), "the first one");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn several_lines_are_one_message() {
    let provider = answers(4);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("one");
    person.presses(Key::AltEnter);
    person.types("two\\");
    person.presses(Key::Enter);
    person.types("three");
    person.sees("… three");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), "one\ntwo\nthree");
    // A paste is not sent by the ends of its lines.
    person.prompts();
    person.pastes("alpha\n  beta\ngamma");
    person.sees("gamma");
    assert_eq!(provider.requests().len(), 1);
    person.presses(Key::Enter);
    answered(&mut person, 2);
    assert_eq!(last_said(&provider), "alpha\n  beta\ngamma");
    // More of them than the screen has.
    let many: Vec<String> = (1..=200).map(|number| format!("line {number}")).collect();
    person.prompts();
    person.pastes(&many.join("\n"));
    person.sees("[pasted 200 lines]");
    person.presses(Key::Enter);
    person.until("a request", |_| provider.requests().len() == 3);
    assert_eq!(last_said(&provider), many.join("\n"));
    person.sees("I see.");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn what_is_pasted_in_a_turn_is_one_message_after_it() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let provider = Provider::chat([waits.into(), text("It is there.").into(), Line::from(text("I see."))]);
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    person.until("a running line", |person| person.hides_cursor() && person.screen().contains("wait.for"));
    person.pastes("alpha\n  beta\ngamma");
    env.write("work/go-one", "");
    person.sees("It is there.");
    person.sees("gamma");
    assert_eq!(provider.requests().len(), 2);
    person.presses(Key::Enter);
    person.sees("I see.");
    assert_eq!(last_said(&provider), "alpha\n  beta\ngamma");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn what_a_terminal_cannot_show_is_sent_as_it_was_pasted() {
    let provider = answers(3);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    let pasted = "a\u{200b}b\u{feff}c\u{2028}d\u{202e}e \\u{200b} f\u{200f}";
    let shown = "a\\u{200b}b\\u{feff}c\\u{2028}d\\u{202e}e \\u{200b} f";
    let sees = |person: &Person| person.screen().replace('\u{fe01}', "").contains(shown);
    person.prompts();
    person.pastes(pasted);
    person.until("escapes", sees);
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), pasted);
    // Recalled, it is the same.
    person.prompts();
    person.presses(Key::Up);
    person.until("escapes", |person| person.screen().replace('\u{fe01}', "").matches(shown).count() == 2);
    person.presses(Key::Enter);
    answered(&mut person, 2);
    assert_eq!(last_said(&provider), pasted);
    assert!(!person.raw().contains(['\u{200b}', '\u{feff}', '\u{2028}', '\u{202e}']));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    let mut person = Person::runs(&env, &["-m", provider.model(), "--no-tools", "--plain"]);
    person.prompts();
    person.types(&format!("{pasted}\r"));
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), pasted);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn files_and_directories_are_attached_from_several_lines_but_not_from_a_paste() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    env.write("work/notes.txt", "rain");
    env.write("work/log.txt", "hail");
    env.write("work/src/snow.rs", "");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("look at @notes.txt");
    person.presses(Key::AltEnter);
    person.types("and at @src");
    person.presses(Key::AltEnter);
    person.pastes("from elsewhere:\n@log.txt");
    person.sees("@log.txt");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    let request = provider.requests()[0].to_string();
    assert!(
        request.contains("rain") && request.contains("snow.rs") && !request.contains("hail"),
        "{request}"
    );
    let screen = person.screen();
    assert!(screen.contains("attached: notes.txt (4 B), src/ (8 B)"), "{screen}");
    assert!(screen.contains("not attached, because it is in pasted text: "), "{screen}");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn what_was_cut_from_a_paste_attaches_nothing_where_it_is_put_back() {
    let provider = answers(1);
    let env = provider.env(TestEnv::new());
    env.write("work/log.txt", "hail");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.pastes("from elsewhere:\n@log.txt");
    person.sees("@log.txt");
    person.presses(Key::Ctrl('u'));
    person.prompts();
    // Another entry: before it is there, Enter is a line break of the terminal's.
    person.presses(Key::Ctrl('c'));
    person.sees("press Ctrl-C again");
    person.prompts();
    person.types("look at");
    person.sees("look at");
    person.presses(Key::AltEnter);
    person.presses(Key::Ctrl('y'));
    person.until("what was cut", |person| person.screen().trim_end().ends_with("… @log.txt"));
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), "look at\nfrom elsewhere:\n@log.txt");
    assert!(person.screen().contains("not attached, because it is in pasted text: "), "{}", person.screen());
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn the_first_names_of_a_large_directory_are_offered() {
    let provider = answers(0);
    let env = provider.env(TestEnv::new());
    for number in (0..2_000).rev() {
        env.write(&format!("work/many/file{number:04}.txt"), "");
    }
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("/attach many/fi");
    person.presses(Key::Tab);
    person.until("the first names", |person| {
        (0..8).all(|number| person.screen().contains(&format!("file000{number}")))
    });
    person.presses(Key::Ctrl('c'));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn tab_completes_commands_models_and_files() {
    let provider = answers(1);
    let env = provider.env(TestEnv::new());
    env.write("work/notes-of-today.txt", "rain");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("/rea");
    person.presses(Key::Tab);
    person.sees("❯ /reasoning");
    person.types("o");
    person.presses(Key::Tab);
    person.until("what there is", |person| {
        let screen = person.screen();
        screen
            .lines()
            .skip_while(|line| !line.contains("❯ /reasoning"))
            .skip(1)
            .any(|line| line.contains("off"))
    });
    person.presses(Key::Ctrl('c'));
    person.prompts();
    person.types("/model underst");
    person.presses(Key::Tab);
    person.sees("/model understudy");
    person.presses(Key::Ctrl('c'));
    person.prompts();
    person.types("see @notes");
    person.presses(Key::Tab);
    person.sees("@notes-of-today.txt");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    assert!(provider.requests()[0].to_string().contains("rain"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_terminal_that_never_answers_has_lines_all_the_same() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    let kind = Kind { answers: false, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
    person.prompts();
    // What is typed at once is not lost.
    person.types("are you there?\r");
    answered(&mut person, 1);
    assert_eq!(last_said(&provider), "are you there?");
    person.says("and now?");
    answered(&mut person, 2);
    assert_eq!(last_said(&provider), "and now?");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
