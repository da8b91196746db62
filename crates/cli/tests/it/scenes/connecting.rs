//! Servers that take their time: they are connected behind the prompt, and a turn waits for them.

use super::ahead::said;
use super::person::{Key, Kind, Person};
use crate::body::text;
use crate::env::TestEnv;
use crate::fake_server::FakeServer;
use crate::provider::{Line, Provider};

/// A server that connects when the file `work/go` is there.
fn slow(env: &TestEnv) -> String {
    let go = env.path("work/go").display().to_string();
    let waits = format!("until [ -e '{go}' ]; do sleep 0.05; done; exec \"$0\" \"$@\"");
    let server = FakeServer::new("slow", &[]).connection("connect_timeout = 120");
    server.in_a_shell(&waits).write(env);
    env.path("servers").display().to_string()
}

#[test]
fn the_prompt_does_not_wait_for_a_server() {
    for (kind, flags) in [(Kind::default(), &[][..]), (Kind::default(), &["--plain"])] {
        let provider = Provider::chat([Line::from(text("I see."))]);
        let env = provider.env(TestEnv::new());
        let servers = slow(&env);
        let args = ["-m", provider.model(), "--ensembles", &servers, "-e", "slow"];
        let mut person = Person::at(kind, &env, &[&args, flags].concat());
        person.sees("connecting slow");
        person.prompts();
        person.types("half a line");
        person.sees("half a line");
        env.write("work/go", "");
        person.sees("connected: slow, ");
        if flags.is_empty() {
            // The line is where it was, below the news, and nothing is left of another one.
            person.until("the line", |person| person.screen().ends_with("stub ❯ half a line"));
            let screen = person.screen();
            assert_eq!(screen.matches("half a line").count(), 1, "{screen}");
            assert!(screen.find("connected: slow") < screen.find("half a line"), "{screen}");
            assert!(!screen.contains("starting slow"), "{screen}");
        }
        person.types(" and more\r");
        person.sees("I see.");
        assert_eq!(said(&provider), ["half a line and more"]);
        assert!(provider.requests()[0]["tools"].to_string().contains("slow__"), "its tools are there");
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
    }
}

#[test]
fn a_line_of_several_rows_stays_whole_below_what_is_said_above_it() {
    let provider = Provider::chat([Line::from(text("I see."))]);
    let env = provider.env(TestEnv::new());
    let servers = slow(&env);
    let kind = Kind { rows: 24, columns: 40, ..Kind::default() };
    let args = ["-m", provider.model(), "--ensembles", &servers, "-e", "slow"];
    let mut person = Person::at(kind, &env, &args);
    person.prompts();
    let long = "word ".repeat(20);
    person.types(&long);
    person.presses(Key::AltEnter);
    person.types("second 日本");
    person.presses(Key::Left);
    person.sees("second 日本");
    env.write("work/go", "");
    person.sees("connected: slow, ");
    person.until("the line", |person| person.screen().ends_with("… second 日本"));
    let rows = person.history().join("");
    assert_eq!(rows.matches("second").count(), 1, "{rows}");
    assert_eq!(rows.matches("word").count(), 20, "{rows}");
    person.presses(Key::End);
    person.types("!\r");
    person.sees("I see.");
    assert_eq!(said(&provider), [format!("{long}\nsecond 日本!")]);
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_turn_waits_for_the_server_and_can_be_broken_off() {
    let provider = Provider::chat([Line::from(text("I see.")), text("I see, too.").into()]);
    let env = provider.env(TestEnv::new());
    let servers = slow(&env);
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &servers, "-e", "slow"]);
    person.says("hello");
    person.sees("starting slow");
    person.types("\x1b");
    person.sees("interrupted");
    assert!(provider.requests().is_empty());
    person.says("/tools");
    person.sees("starting slow");
    person.presses(Key::Ctrl('c'));
    person.sees("error[interrupted]");
    person.says("hello again");
    person.sees("starting slow");
    person.types("next\rand mo");
    person.sees("queued: next");
    env.write("work/go", "");
    person.sees("I see, too.");
    assert_eq!(said(&provider), ["hello again", "next"]);
    person.until("the draft", |person| person.screen().ends_with("stub ❯ and mo"));
    assert!(!person.screen().contains("starting slow"), "{}", person.screen());
    person.presses(Key::Ctrl('c'));
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn what_is_not_connected_is_stopped_at_the_end() {
    let provider = Provider::chat([] as [Line; 0]);
    let env = provider.env(TestEnv::new());
    let servers = slow(&env);
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &servers, "-e", "slow"]);
    person.prompts();
    person.presses(Key::Ctrl('d'));
    assert_eq!(person.ends().code, 0);
}
