//! A conversation that is taken back, asked again, forked, named and summed up: the screen says where it stands.

use super::ahead::said;
use super::breaking::is_whole;
use super::looks::is_screen;
use super::person::{Kind, Person};
use super::talking;
use crate::body::text;
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

#[test]
fn turns_are_taken_back_asked_again_and_forked() {
    let provider =
        Provider::chat(["First.", "Second.", "Once more.", "Third."].map(|words| Line::from(text(words))));
    let env = provider.env(TestEnv::new());
    let kind = Kind { rows: 60, ..Kind::default() };
    let mut person = Person::at(kind, &env, &["-m", provider.model(), "--no-tools"]);
    for (line, shown) in [
        ("one", "First."),
        ("two", "Second."),
        ("/retry", "Once more."),
        ("/undo", "undone: two"),
        ("/save the first of all", "saved as `the first of all`"),
        ("/fork", "is unchanged"),
        ("three", "Third."),
        ("/reasoning", "reasoning is"),
        ("/undo 2", "undone: one"),
    ] {
        person.says(line);
        person.sees(shown);
        if let Some(taken_back) = shown.strip_prefix("undone: ") {
            person.clears(taken_back);
        }
    }
    person.prompts();
    is_screen("again", &person);
    assert_eq!(provider.requests()[3]["messages"].as_array().unwrap().len(), 3);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn esc_twice_on_an_empty_line_goes_back_to_an_earlier_message() {
    let provider = Provider::chat(["First.", "Second.", "Third."].map(|words| Line::from(text(words))));
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    for (line, answer) in [("one", "First."), ("two", "Second.")] {
        person.says(line);
        person.sees(answer);
    }
    person.prompts();
    person.types("\x1b");
    person.sees("Esc again: back to an earlier message");
    person.types("\x1b");
    person.until("a list", |person| person.screen().ends_with("Esc leaves"));
    let screen = person.screen();
    assert!(screen.contains("1  two") && screen.contains("2  one"), "{screen}");
    person.types("2\r");
    person.sees("undone: one");
    person.until("the message", |person| person.screen().ends_with("stub ❯ one"));
    person.types("!\r");
    person.sees("Third.");
    assert_eq!(said(&provider), ["one!"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn the_session_is_written_to_a_file() {
    let provider = Provider::chat([Line::from(text("First."))]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("/export talk.md");
    person.sees("nothing is saved yet");
    person.says("one");
    person.sees("First.");
    person.says("/export talk.md");
    person.sees("written: talk.md");
    person.says("/export talk.md");
    person.sees("talk.md exists: name another file");
    person.says("/export talk.html");
    person.sees("written: talk.html");
    let read = |name: &str| std::fs::read_to_string(env.path(&format!("work/{name}"))).unwrap();
    assert!(read("talk.md").contains("First.") && read("talk.html").starts_with("<!"));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn what_is_old_is_summed_up() {
    let long: &'static str = Box::leak(format!("{}END-1", "lorem ipsum ".repeat(700)).into_boxed_str());
    let script =
        [long, "Two.", "Three.", "Four.", "SUMMARY of it.", "Five."].map(|words| Line::from(text(words)));
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    for (line, shown) in [("one", "END-1"), ("two", "Two."), ("three", "Three."), ("four", "Four.")] {
        person.says(line);
        person.sees(shown);
    }
    person.prompts();
    person.presses(super::person::Key::Ctrl('l'));
    person.says("/compact the numbers of END");
    person.sees("context condensed");
    let request = provider.requests()[4].to_string();
    assert!(request.contains("You condense the record"), "{request}");
    assert!(request.contains("less of the rest: the numbers of END"), "{request}");
    person.says("five");
    person.sees("Five.");
    let request = provider.requests()[5].to_string();
    for (part, is_there) in [("END-1", false), ("SUMMARY of it.", true), ("one", true), ("Four.", true)] {
        assert_eq!(request.contains(part), is_there, "{part} in {request}");
    }
    person.prompts();
    assert!(!person.screen().contains("SUMMARY"), "it is the model's: {}", person.screen());
    is_screen("compact", &person);
    // All of it is kept.
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    assert!(env.run(&["sessions", "export", "last"]).exits(0).stdout.contains("END-1"));
    provider.is_content();
}
