//! A program that is stopped in the middle of a turn, by its signal and not by a key: the terminal is the shell's
//! meanwhile, and the program's again afterwards.

use rustix::process::Signal;
use rustix::termios::LocalModes;
use serde_json::json;

use super::breaking::{goes_on, is_whole, stalls, yes};
use super::person::{Key, Person};
use super::talking;
use super::tools::WAITING;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

/// Does the terminal edit and show what is typed?
fn is_cooked(person: &Person) -> bool {
    person.modes().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
}

fn runs(person: &Person) -> bool {
    person.screen().lines().any(|line| line.contains("wait.for name=\"one\"") && line.ends_with(" s"))
}

fn is_at(person: &Person, prompt: &str) -> bool {
    person.screen().ends_with(prompt)
}

#[test]
fn a_turn_that_is_stopped_goes_on_where_it_was() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let provider = Provider::chat([Line::from(waits), text("It is there.").into(), yes()]);
    let env = provider.env(TestEnv::new());
    env.write("tools/wait.toml", WAITING);
    let tools = env.path("tools").display().to_string();
    let mut person = Person::at_a_careless_shell(&env);
    person.until("a shell", |person| is_at(person, "shell>"));
    let before = person.modes().local_modes;
    person.starts(&format!("-m {} --ensembles {tools} -e wait", provider.model()));
    person.types("wait for it\r");
    person.until("a running line", runs);
    assert!(person.hides_cursor() && !is_cooked(&person));
    for _ in 0..2 {
        person.sends(Signal::TSTP);
        person.until("a stop", |person| person.screen().contains("Stopped") && is_at(person, "shell>"));
        assert!(!person.hides_cursor() && is_cooked(&person), "{}", person.screen());
        assert_eq!(person.modes().local_modes, before);
        assert!(!runs(&person), "what moves has gone: {}", person.screen());
        person.types("clear; fg\n");
        person.until("a running line", runs);
        person.until("its terminal", |person| person.hides_cursor() && !is_cooked(person));
    }
    env.write("work/go-one", "");
    person.sees("It is there.");
    person.until("a prompt", |person| is_at(person, "❯"));
    let screen = person.screen();
    assert_eq!(screen.matches("It is there.").count(), 1, "{screen}");
    assert!(screen.contains('✓') && !runs(&person), "{screen}");
    person.types("are you there?\r");
    person.sees("Yes.");
    person.leaves_both();
    is_whole(&env);
    provider.is_content();
}

#[test]
fn a_prompt_that_is_stopped_has_its_draft_when_it_goes_on() {
    let provider = Provider::chat([yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::at_a_careless_shell(&env);
    person.until("a shell", |person| is_at(person, "shell>"));
    let before = person.modes().local_modes;
    person.starts(&format!("-m {} --no-tools", provider.model()));
    person.types("are you");
    person.sees("❯ are you");
    for round in 1..=2 {
        person.sends(Signal::TSTP);
        person.until("a stop", |person| person.screen().contains("Stopped") && is_at(person, "shell>"));
        assert!(is_cooked(&person) && !person.brackets_pastes(), "{}", person.screen());
        assert_eq!(person.modes().local_modes, before, "{round}");
        person.types("clear; fg\n");
        person.until("the draft", |person| is_at(person, "❯ are you"));
    }
    person.types(" there?\r");
    person.sees("Yes.");
    assert!(provider.requests()[0].to_string().contains("are you there?"));
    person.leaves_both();
    is_whole(&env);
}

#[test]
fn without_a_shell_that_could_let_it_go_on_nothing_stops() {
    let provider = Provider::chat([stalls(), yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("count");
    person.sees("one two");
    person.sends(Signal::TSTP);
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    goes_on(person, &env);
    provider.is_content();
}
