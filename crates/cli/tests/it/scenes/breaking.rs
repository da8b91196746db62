//! Ctrl-C at every stage: the conversation goes on, or the program has ended by its number; nothing is damaged and
//! nothing is left behind.

use rustix::process::Signal;
use serde_json::json;

use super::person::{Key, Person};
use super::talking;
use super::tools::WAITING;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::fake_server::FakeServer;
use crate::http::Answer;
use crate::provider::{Line, Provider};

/// Not a byte of a body.
fn silent() -> Line {
    let bend = |answer: &mut Answer| (answer.cut_at, answer.stall) = (Some(0), true);
    Line::Bent(text("never"), bend)
}

/// Says `one two`, and nothing more.
pub(super) fn stalls() -> Line {
    let bend = |answer: &mut Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    Line::Bent(text("one two three"), bend)
}

/// Asks to be asked again in a while.
fn busy() -> Line {
    let body = r#"{"error":{"message":"too many at once"}}"#;
    Answer::new(429, "application/json", body).header("retry-after", "20").into()
}

pub(super) fn yes() -> Line {
    text("Yes.").into()
}

/// A tool that no polite signal ends.
const STUBBORN: &str = "[ensemble]\nname = \"stubborn\"\ndescription = \"x\"\n[defaults]\npermission = \"allow\"\n[[invokers]]\nname = \"sleep\"\ndescription = \"x\"\ncommand = { argv = [\"sh\", \"-c\", \"trap '' INT TERM HUP; echo begun; sleep 600; sleep 600\"] }\narguments = { type = \"object\", properties = {} }\n";

/// The next turn works, the session is whole, and the end is a good one.
#[track_caller]
pub(super) fn goes_on(mut person: Person, env: &TestEnv) {
    person.says("are you there?");
    person.sees("Yes.");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(env);
}

#[track_caller]
pub(super) fn is_whole(env: &TestEnv) {
    env.run(&["sessions", "check"]).exits(0);
}

#[test]
fn while_a_model_is_waited_for() {
    for (line, sign) in [(silent(), "asking"), (stalls(), "one two"), (busy(), "waiting to ask again")] {
        let provider = Provider::chat([line, yes()]);
        let env = provider.env(TestEnv::new());
        let mut person = talking(&provider, &env);
        person.says("count");
        person.sees(sign);
        person.until("a request", |_| provider.requests().len() == 1);
        person.presses(Key::Ctrl('c'));
        person.sees("interrupted");
        goes_on(person, &env);
        provider.is_content();
    }
}

#[test]
fn while_a_question_is_asked() {
    let writes = calls([("io__write_file", json!({ "path": "a", "content": "x" }))]);
    let provider = Provider::chat([writes.into(), yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::runs(&env, &["-m", provider.model()]);
    person.says("write it");
    person.sees("allow io.write_file?");
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    assert!(!env.path("work/a").exists());
    goes_on(person, &env);
    provider.is_content();
}

#[test]
fn while_a_tool_runs_that_ignores_it() {
    let provider = Provider::chat([Line::from(calls([("stubborn__sleep", json!({}))])), yes()]);
    let env = provider.env(TestEnv::new());
    env.write("tools/stubborn.toml", STUBBORN);
    let tools = env.path("tools").display().to_string();
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &tools]);
    person.says("sleep");
    // What it says when it ignores signals.
    person.sees("begun");
    person.presses(Key::Ctrl('c'));
    person.sees("stopping; Ctrl-C again leaves at once");
    person.sees("interrupted");
    assert!(!person.screen().contains("stopping"), "{}", person.screen());
    goes_on(person, &env);
    provider.is_content();
}

#[test]
fn while_servers_are_connected() {
    let provider = Provider::chat([yes()]);
    let env = provider.env(TestEnv::new());
    FakeServer::new("mute", &[]).command(&["sleep", "600"]).write(&env);
    let servers = env.path("servers").display().to_string();
    // A turn waits for them, which can be broken off; the end does not wait.
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &servers]);
    person.says("hello");
    person.sees("starting mute");
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    // So does a command.
    let mut person =
        Person::runs(&env, &["-m", provider.model(), "--ensembles", &servers, "-e", "essentials"]);
    person.says("/ensembles +mute");
    person.sees("starting mute");
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    goes_on(person, &env);
    provider.is_content();
}

#[test]
fn at_the_prompt() {
    let provider = Provider::chat([yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("never mind");
    person.sees("never mind");
    person.presses(Key::Ctrl('c'));
    person.says("are you there?");
    person.sees("Yes.");
    assert!(!provider.requests()[0].to_string().contains("never mind"));
    // With nothing typed it is told what a second one does; something said in between, and it is the first one again.
    person.prompts();
    person.presses(Key::Ctrl('c'));
    person.sees("press Ctrl-C again");
    person.says("/help quit");
    person.sees("/quit");
    person.prompts();
    person.presses(Key::Ctrl('c'));
    person.until("it once more", |person| person.screen().matches("press Ctrl-C again").count() == 2);
    person.prompts();
    person.presses(Key::Ctrl('c'));
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
    provider.is_content();
}

#[test]
fn while_it_shuts_down() {
    let provider = Provider::chat([yes()]);
    let env = provider.env(TestEnv::new());
    // It ends neither when its stdin does nor when it is asked to.
    FakeServer::new("clinging", &[])
        .in_a_shell("trap '' TERM INT; \"$0\" \"$@\"; sleep 600; sleep 600")
        .write(&env);
    let servers = env.path("servers").display().to_string();
    let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &servers, "-e", "clinging"]);
    person.says("are you there?");
    person.sees("Yes.");
    person.prompts();
    person.presses(Key::Ctrl('d'));
    person.presses(Key::Ctrl('c'));
    let ended = person.ends();
    assert!([0, 130].contains(&ended.code), "{ended:?}");
    is_whole(&env);
    provider.is_content();
}

/// Whenever it comes: between two events, while something is saved, when the answer has just ended.
#[test]
fn at_any_moment_of_a_turn() {
    let slowly = |answer: &mut Answer| answer.pause = std::time::Duration::from_millis(1);
    let turns = 12;
    let script = (0..turns).flat_map(|_| [Line::Bent(text("one two three four five six"), slowly), yes()]);
    // Some of them are never asked for: then the next question has their answer.
    let provider = Provider::chat(script);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    for turn in 0..turns {
        let lines = |person: &Person| person.raw().matches("\x1b[?2004l").count();
        let before = lines(&person);
        person.says(&format!("count {turn}"));
        // A key in one breath with Enter is the editor's.
        person.until("a turn", |person| lines(person) > before);
        // As far as the program has come by then: that differs by a little from turn to turn, and from run to run.
        let until = std::time::Instant::now() + std::time::Duration::from_millis(3 * turn);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        person.presses(Key::Ctrl('c'));
        person.says(&format!("/copy {}", 1000 + turn));
        person.sees("there is no such answer");
        person.says("/clear");
    }
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    is_whole(&env);
}

/// What was said before it ended is there in the next run.
#[track_caller]
fn is_kept(provider: &Provider, env: &TestEnv) {
    provider.plays([yes()]);
    env.run(&["ask", "-c", "go on", "--no-tools"]).exits(0);
    let request = provider.requests().pop().unwrap();
    let words = |index: usize| request["messages"][index]["content"].as_str().unwrap_or_default().to_owned();
    assert_eq!((words(0).as_str(), words(2).as_str()), ("count", "go on"), "{request}");
    assert!(words(1).starts_with("one two"), "{request}");
    provider.is_content();
}

#[test]
fn signals_that_end_it() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::QUIT, 131)] {
        let provider = Provider::chat([stalls()]);
        let env = provider.env(TestEnv::new());
        let mut person = talking(&provider, &env);
        person.says("count");
        person.sees("one two");
        person.sends(signal);
        assert_eq!(person.ends().code, code, "{signal:?}");
        is_whole(&env);
        is_kept(&provider, &env);
    }
}

#[test]
fn a_terminal_that_goes_away() {
    for stage in ["prompt", "turn", "question", "call"] {
        let writes = calls([("io__write_file", json!({ "path": "a", "content": "x" }))]);
        let script = match stage {
            "turn" => stalls(),
            "call" => calls([("wait__for", json!({ "name": "nobody" }))]).into(),
            _ => writes.into(),
        };
        let provider = Provider::chat([script]);
        let env = provider.env(TestEnv::new());
        env.write("tools/wait.toml", WAITING);
        let tools = env.path("tools").display().to_string();
        let mut person = Person::runs(&env, &["-m", provider.model(), "--ensembles", &tools]);
        person.prompts();
        match stage {
            "prompt" => person.types("half a li"),
            "turn" => {
                person.says("count");
                person.sees("one two");
            }
            "call" => {
                person.says("wait");
                person.sees("wait.for name=\"nobody\"");
            }
            _ => {
                person.says("write");
                person.sees("allow io.write_file?");
            }
        }
        assert_eq!(person.goes(), Vec::<std::path::PathBuf>::new(), "{stage}: something still runs");
        is_whole(&env);
        if stage == "call" {
            let checked = env.run(&["sessions", "check"]).exits(0);
            assert!(!checked.stdout.contains("not repaired"), "{}", checked.stdout);
        }
        assert!(!env.path("work/a").exists());
        if stage == "turn" {
            is_kept(&provider, &env);
        }
    }
}

#[test]
fn a_job_that_is_stopped_and_goes_on() {
    let provider = Provider::chat([stalls(), yes()]);
    let env = provider.env(TestEnv::new());
    let mut person = Person::at_a_shell(&env);
    person.starts(&format!("-m {} --no-tools", provider.model()));
    person.types("a dra");
    person.sees("a dra");
    person.presses(Key::Ctrl('z'));
    person.sees("Stopped");
    person.types("fg\n");
    person.until("the draft", |person| person.screen().trim_end().ends_with("❯ a dra"));
    person.types("ft\r");
    person.sees("one two");
    // In the middle of a turn the key does nothing, and the signal stops it.
    person.presses(Key::Ctrl('z'));
    person.presses(Key::Ctrl('c'));
    person.sees("interrupted");
    person.until("a prompt", |person| person.screen().ends_with('❯'));
    person.types("are you there?\r");
    person.sees("Yes.");
    assert!(provider.requests()[0].to_string().contains("a draft"));
    person.leaves_both();
    is_whole(&env);
}
