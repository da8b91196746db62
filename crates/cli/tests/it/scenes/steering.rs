//! What is sent to the turn that runs: the model has it with the results of its tools, or it is the next message.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::ahead::said;
use super::breaking::{is_whole, stalls};
use super::person::{Key, Person};
use super::talking;
use super::tools::with_waiting;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

fn waits(name: &'static str) -> Line {
    calls([("wait__for", json!({ "name": name }))]).into()
}

#[track_caller]
fn is_running(person: &mut Person, name: &str) {
    let line = format!("wait.for name=\"{name}\"");
    person.until("a running line", |person| {
        person.screen().lines().any(|shown| shown.contains(&line) && shown.ends_with(" s"))
    });
}

/// The roles of the messages of the last request.
fn roles(provider: &Provider) -> Vec<Value> {
    let request = provider.requests().pop().unwrap();
    request["messages"].as_array().unwrap().iter().map(|one| one["role"].clone()).collect()
}

#[test]
fn a_running_turn_is_steered() {
    let answers = ["Faster then.", "I see.", "Once more."].map(|answer| Line::from(text(answer)));
    let provider = Provider::chat([waits("one")].into_iter().chain(answers));
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    is_running(&mut person, "one");
    person.types("go faster");
    person.sees("esc interrupts · ctrl-s steers");
    person.presses(Key::Ctrl('s'));
    person.sees("steers: go faster");
    // It can be taken back as long as it is not sent.
    person.presses(Key::Up);
    person.sees("❯ go faster▏");
    person.types("!\r");
    person.sees("queued: go faster!");
    person.types("/usage\r");
    person.sees("queued: /usage");
    person.presses(Key::Ctrl('s'));
    person.sees("steers: go faster!");
    person.presses(Key::Ctrl('s'));
    person.sees("queued, and not sent to the running turn: it is a command");
    env.write("work/go-one", "");
    person.sees("Faster then.");
    person.until("the messages", |person| person.screen().contains("❯ go faster!"));
    assert_eq!(provider.requests().len(), 2);
    assert_eq!(roles(&provider), ["user", "assistant", "tool", "user"]);
    assert_eq!(said(&provider), ["wait for it", "go faster!"]);
    person.prompts();
    // Each message is taken back by itself, as after `-c`.
    person.says("/undo");
    person.sees("undone: go faster!");
    person.clears("go faster!");
    person.says("slowly");
    person.sees("I see.");
    assert_eq!(said(&provider), ["wait for it", "slowly"]);
    person.says("/undo 2");
    person.sees("undone: wait for it");
    person.clears("wait for it");
    person.says("anew");
    person.sees("Once more.");
    assert_eq!(said(&provider), ["anew"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn what_a_turn_does_not_take_is_the_next_message() {
    let provider = Provider::chat([waits("one"), text("I see.").into(), text("Good.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &["--max-iterations", "1"]);
    person.says("wait for it");
    is_running(&mut person, "one");
    person.types("queued\rand then?");
    person.presses(Key::Ctrl('s'));
    person.sees("steers: and then?");
    env.write("work/go-one", "");
    person.sees("Good.");
    assert_eq!(said(&provider), ["wait for it", "and then?", "queued"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn what_an_interrupted_turn_was_to_be_told_is_the_next_message() {
    let provider = Provider::chat([stalls(), text("I see.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("count");
    person.sees("one two");
    person.types("stop at ten\x13");
    person.sees("steers: stop at ten");
    person.types("\x1b");
    person.sees("I see.");
    assert_eq!(said(&provider), ["count", "stop at ten"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn a_steered_turn_that_is_killed_goes_on() {
    let provider = Provider::chat([waits("one"), waits("two"), text("I see.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    is_running(&mut person, "one");
    person.types("go faster\x13");
    person.sees("steers: go faster");
    env.write("work/go-one", "");
    is_running(&mut person, "two");
    person.sends(Signal::KILL);
    person.until("its end", |person| person.program().is_none());
    person.goes();
    let mut person = with_waiting(&provider, &env, &["-c"]);
    person.prompts();
    person.says("and now?");
    person.sees("I see.");
    assert_eq!(said(&provider), ["wait for it", "go faster", "and now?"]);
    assert_eq!(roles(&provider), ["user", "assistant", "tool", "user", "assistant", "tool", "user"]);
    person.says("/undo 2");
    person.sees("undone: go faster");
    person.clears("go faster");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}
