//! What is typed while a turn runs: it is neither lost nor an answer to a question, and Esc breaks the turn off.

use serde_json::json;

use super::breaking::{goes_on, stalls, yes};
use super::person::{Key, Kind, Person};
use super::talking;
use super::tools::{WAITING, at_with_waiting, with_waiting};
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

/// All that was said by the user, in order.
#[track_caller]
pub(super) fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let of_user = messages.iter().filter(|message| message["role"] == "user");
    of_user.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn waits_and_writes() -> [Line; 4] {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let writes = calls([("io__write_file", json!({ "path": "new.txt", "content": "x" }))]);
    [waits.into(), writes.into(), text("Written.").into(), text("I see.").into()]
}

#[test]
fn a_message_that_is_typed_before_a_question_is_sent_after_the_turn() {
    let plain = Kind { rows: 60, ..Kind::default() };
    for (kind, flags) in [(Kind::default(), &[][..]), (plain, &["--plain"])] {
        let is_plain = !flags.is_empty();
        let provider = Provider::chat(waits_and_writes());
        let env = provider.env(TestEnv::new());
        env.write("tools/wait.toml", WAITING);
        let tools = env.path("tools").display().to_string();
        let args = ["-m", provider.model(), "--ensembles", &tools, "-e", "wait", "-e", "io"];
        let mut person = Person::at(kind, &env, &[&args, flags].concat());
        person.says("go");
        person.until("a running line", |person| person.screen().contains("wait.for name=\"one\""));
        person.types("and what then?\r");
        if !is_plain {
            person.types("y");
            person.sees("queued: and what then?");
            person.sees("❯ y");
        }
        env.write("work/go-one", "");
        person.until("a question", Person::is_asked);
        assert!(!env.path("work/new.txt").exists(), "what was typed before is not an answer");
        person.types("y\r");
        person.sees("I see.");
        assert_eq!(said(&provider), ["go", "and what then?"]);
        if !is_plain {
            // What was not sent is on the line, and what was is in the history.
            person.until("the draft", |person| person.screen().ends_with("stub ❯ y"));
            person.presses(Key::Ctrl('c'));
            person.prompts();
            person.presses(Key::Up);
            person.until("the message", |person| person.screen().ends_with("❯ and what then?"));
            person.presses(Key::Ctrl('c'));
        }
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
        provider.is_content();
    }
}

#[test]
fn messages_that_are_sent_meanwhile_are_answered_one_after_the_other() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let answers = ["It is there.", "I see.", "Good."].map(|answer| Line::from(text(answer)));
    let provider = Provider::chat([Line::from(waits)].into_iter().chain(answers));
    let env = provider.env(TestEnv::new());
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    person.until("a running line", |person| person.screen().contains("wait.for name=\"one\""));
    person.types("secnd\x7f\x7fond\rthi");
    person.sees("queued: second");
    person.types("rd\r");
    person.sees("queued: third");
    env.write("work/go-one", "");
    person.sees("Good.");
    assert_eq!(said(&provider), ["wait for it", "second", "third"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn queued_messages_are_edited_and_removed() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let answers = ["It is there.", "I see.", "Good."].map(|answer| Line::from(text(answer)));
    let provider = Provider::chat([Line::from(waits)].into_iter().chain(answers));
    let env = provider.env(TestEnv::new());
    let narrow = Kind { columns: 40, ..Kind::default() };
    let mut person = at_with_waiting(narrow, &provider, &env, &[]);
    person.says("wait for it");
    person.until("a running line", |person| person.screen().contains("wait.for name=\"one\""));
    for message in ["frist", "second", "third"] {
        person.types(&format!("{message}\r"));
        person.sees(&format!("queued: {message}"));
    }
    person.sees("esc interrupts · ↑ edits");
    for (message, queued) in [("third", "second"), ("second", "third"), ("frist", "third")] {
        person.presses(Key::Up);
        person.until("a message in the line", |person| {
            let screen = person.screen();
            screen.contains(&format!("❯ {message}▏")) && screen.contains(&format!("queued: {queued}"))
        });
    }
    person.presses(Key::Home);
    person.presses(Key::Ctrl('f'));
    person.sees("❯ f▏rist");
    person.types("\x1b[3~\x1b[Cr\r");
    person.until("the message in its place", |person| {
        let screen = person.screen();
        screen.find("queued: first") < screen.find("queued: second") && screen.contains("queued: first")
    });
    person.presses(Key::Up);
    person.sees("❯ third▏");
    person.presses(Key::Up);
    person.sees("❯ second▏");
    person.presses(Key::Ctrl('u'));
    person.until("two messages", |person| !person.screen().contains("second"));
    env.write("work/go-one", "");
    person.sees("Good.");
    assert_eq!(said(&provider), ["wait for it", "first", "third"]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn esc_breaks_a_turn_off_and_swallows_nothing() {
    let provider = Provider::chat([stalls(), text("I see.").into(), yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("count");
    person.sees("one two");
    person.sees("esc interrupts");
    // A stream that has stopped is seen to have.
    person.sees("waiting for more");
    person.types("\x1b");
    person.sees("interrupted");
    person.types("next\r");
    person.sees("I see.");
    assert_eq!(said(&provider).last().unwrap(), "next");
    person.until("the end of the turn", |person| !person.screen().contains("esc interrupts"));
    goes_on(person, &env);
    provider.is_content();
}

#[test]
fn esc_stops_a_summary_too() {
    let provider = Provider::chat([text("I see.").into(), text("I see.").into(), stalls(), yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    for line in ["one", "two"] {
        person.says(line);
        person.prompts();
    }
    person.says("/compact");
    person.until("a request", |_| provider.requests().len() == 3);
    person.types("\x1b");
    person.sees("interrupted");
    goes_on(person, &env);
}

#[test]
fn a_paste_that_stalls_at_the_end_of_a_turn_is_one_paste() {
    let provider = Provider::chat([stalls(), text("I see.").into()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("count");
    person.sees("one two");
    person.types("\x1b[200~alpha\rbe");
    person.sees("a paste is coming in");
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    // Nothing else reads the keyboard, and the display goes on.
    person.until("the rest of the paste to be awaited", |person| {
        let screen = person.screen();
        screen.find("interrupted") < screen.find("a paste is coming in")
    });
    person.types("ta\r/quit\r");
    person.types("three\x1b[201~");
    person.until("the paste", |person| person.screen().ends_with("… three"));
    person.presses(Key::Enter);
    person.sees("I see.");
    assert_eq!(said(&provider).last().unwrap(), "alpha\nbeta\n/quit\nthree");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}
