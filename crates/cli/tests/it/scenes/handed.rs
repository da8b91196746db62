//! What goes in beside the words, and what is taken out: editors, attachments, prompts of servers, the clipboard.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::looks::is_screen;
use super::person::{Key, Kind, Person};
use super::talking;
use crate::body::text;
use crate::env::TestEnv;
use crate::fake_server::FakeServer;
use crate::provider::{Line, Provider};

fn answers<const N: usize>(words: [&'static str; N]) -> Provider {
    Provider::chat(words.map(|words| Line::from(text(words))))
}

/// What the user and the model said, in the last request.
fn said(provider: &Provider) -> Vec<String> {
    let request = provider.requests().pop().unwrap();
    let messages = request["messages"].as_array().unwrap().clone();
    messages.iter().map(|one| one["content"].as_str().unwrap_or_default().to_owned()).collect()
}

fn program(env: &TestEnv, name: &str, script: &str) -> PathBuf {
    let path = env.write(&format!("home/bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn leaves(mut person: Person) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
}

#[test]
fn a_message_is_written_in_an_editor_and_changed_in_it() {
    let provider = answers(["In the evening.", "In the morning."]);
    let env = provider.env(TestEnv::new());
    // It is the terminal's while it runs, as editors are.
    let script = "[ -s \"$1\" ] && sed -i s/moon/sun/ \"$1\" || printf 'when does\\nthe moon rise?\\n' > \"$1\"; stty -a < /dev/tty | grep -q ' icanon' || echo raw > \"$1\"";
    let editor = program(&env, "editor", script);
    let env = env.var("EDITOR", editor.display().to_string());
    let mut person = talking(&provider, &env);
    person.says("/editor");
    person.sees("In the evening.");
    assert_eq!(said(&provider), ["when does\nthe moon rise?"]);
    person.says("/edit");
    person.sees("In the morning.");
    assert_eq!(said(&provider), ["when does\nthe sun rise?"], "what was answered to the other is gone");
    person.prompts();
    is_screen("editors", &person);
    leaves(person);
    provider.is_content();
}

#[test]
fn an_editor_that_is_installed_is_used_if_none_is_set() {
    let provider = answers(["In the evening.", "I see."]);
    let env = provider.env(TestEnv::new());
    let vi = program(&env, "vi", "echo 'when does the moon rise?' > \"$1\"");
    let path = format!("{}:{}", vi.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let env = env.var("PATH", path);
    let mut person = talking(&provider, &env);
    person.says("/editor");
    person.sees("In the evening.");
    person.prompts();
    person.presses(Key::Ctrl('o'));
    person.sees("❯ when does the moon rise?");
    person.presses(Key::Enter);
    person.sees("I see.");
    let asked = "when does the moon rise?";
    assert_eq!(said(&provider), [asked, "In the evening.", asked]);
    leaves(person);
}

#[test]
fn an_answer_goes_to_the_terminals_clipboard() {
    let provider = answers(["Ünï**code**", "Last."]);
    let env = provider.env(TestEnv::new());
    let mut person = talking(&provider, &env);
    person.says("one");
    person.sees("Ünïcode");
    person.says("two");
    person.sees("Last.");
    person.says("/copy 2");
    person.sees("copied: 11 characters, by the terminal, if it takes it");
    person.says("/copy");
    person.sees("copied: 5 characters");
    let raw = person.raw();
    let handed: Vec<&str> =
        raw.split("\x1b]52;c;").skip(1).filter_map(|rest| rest.split('\x07').next()).collect();
    // As written, with its stars.
    assert_eq!(handed, ["w5xuw68qKmNvZGUqKg==", "TGFzdC4="]);
    leaves(person);
}

#[test]
fn an_answer_goes_to_a_clipboard_where_there_is_one() {
    let provider = answers(["Take **this**."]);
    let env = provider.env(TestEnv::new());
    let kept = env.path("home/clipboard");
    program(
        &env,
        "xclip",
        &format!("echo \"$@\" > '{0}'; env | grep -c KEY >> '{0}'; cat >> '{0}'", kept.display()),
    );
    let path = format!("{}:{}", env.path("home/bin").display(), std::env::var("PATH").unwrap());
    let env = env.var("PATH", path).var("DISPLAY", ":7");
    for plain in [&[][..], &["--plain"]] {
        provider.plays([text("Take **this**.")]);
        let args = [&["-m", provider.model(), "--no-tools"], plain].concat();
        let mut person = Person::at(Kind::default(), &env, &args);
        person.says("what?");
        person.sees("Take ");
        person.says("/copy");
        person.sees("copied: 14 characters, by xclip");
        let kept = std::fs::read_to_string(&kept).unwrap();
        assert_eq!(kept, "-selection clipboard\n0\nTake **this**.", "and it has no key of ours");
        assert!(!person.raw().contains("\x1b]52"));
        leaves(person);
    }
}

#[test]
fn files_are_attached_by_the_beginning_of_their_names() {
    let provider = answers(["I have read it."]);
    let env = provider.env(TestEnv::new());
    env.write("work/notes of today.txt", "rain");
    env.write("work/other.txt", "sun");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.types("/attach not");
    person.presses(Key::Tab);
    person.sees("today.txt");
    person.presses(Key::Enter);
    person.sees("with the next message:");
    person.says("what is in it?");
    person.sees("I have read it.");
    let request = provider.requests()[0].to_string();
    assert!(request.contains("rain") && !request.contains("sun"), "{request}");
    person.prompts();
    is_screen("attached", &person);
    leaves(person);
}

#[test]
fn a_prompt_of_a_server_is_completed_filled_in_and_said() {
    let provider = answers(["Here is the tower."]);
    let env = provider.env(TestEnv::new());
    FakeServer::new("town", &["--prompts"]).write(&env);
    let servers = env.path("servers").display().to_string();
    let args = ["-m", provider.model(), "--ensembles", &servers, "-e", "town"];
    let mut person = Person::runs(&env, &args);
    person.sees("connected: town");
    person.prompts();
    person.types("/town.gu");
    // Its server is asked what it has while somebody types: until then this is no command, and red.
    for _ in 0..1_000 {
        person.presses(Key::Backspace);
        person.types("u");
        person.listens();
        if person.cell("/town.gu").is_some_and(|cell| cell.fgcolor() != vt100::Color::Idx(9)) {
            break;
        }
    }
    person.presses(Key::Tab);
    person.sees("❯ /town.guide");
    person.types("ci");
    person.presses(Key::Tab);
    person.sees("/town.guide city=");
    person.types("Paris tone=dry");
    person.sees("city=Paris tone=dry");
    person.presses(Key::Enter);
    person.sees("Here is the tower.");
    assert_eq!(said(&provider), ["Be a guide through Paris, dry."]);
    person.prompts();
    is_screen("prompt", &person);
    person.says("/town.guide tone=dry");
    person.sees("needs `city`");
    leaves(person);
    provider.is_content();
}
