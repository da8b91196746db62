//! Pictures in a message: from the clipboard by Ctrl-V, and files that are dropped into the terminal.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::json;

use super::person::{Key, Person};
use super::talking;
use super::tools::with_waiting;
use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::provider::{Line, Provider};

/// No real picture; it is recognised by its first bytes.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nUUUUUUUUUU";
const PNG_IN_BASE64: &str = "iVBORw0KGgpVVVVVVVVVVVVV";
const WRITES_PNG: &str = "printf '\\211PNG\\r\\n\\032\\nUUUUUUUUUU'";
/// Of the digest of it.
const MARK: &str = "[picture 1: clipboard-";

fn answers(count: usize) -> Provider {
    Provider::chat((0..count).map(|_| Line::from(text("I see."))))
}

/// A desktop on which these programs are the only ones that have the clipboard.
fn desktop(provider: &Provider, programs: &[(&str, &str)]) -> TestEnv {
    let env = provider.env(TestEnv::new());
    for (name, script) in programs {
        let path = env.write(&format!("home/bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", env.path("home/bin").display(), std::env::var("PATH").unwrap());
    env.var("PATH", path).var("DISPLAY", ":7")
}

fn request(provider: &Provider) -> String {
    provider.requests().last().unwrap().to_string()
}

#[track_caller]
fn answered(person: &mut Person, times: usize) {
    person.until("an answer", |person| person.screen().matches("I see.").count() >= times);
    person.prompts();
}

fn leaves(mut person: Person, provider: &Provider) {
    person.says("/quit");
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn the_picture_of_the_clipboard_goes_with_the_message() {
    let provider = answers(3);
    let asked = "[ -z \"$KEY\" ] && [ \"$*\" = '--no-newline --type image/png' ]";
    let gives = format!("{asked} && {WRITES_PNG}");
    for programs in [&[("wl-paste", gives.as_str())][..], &[("wl-paste", "exit 1"), ("xclip", WRITES_PNG)]] {
        let env = desktop(&provider, programs).var("WAYLAND_DISPLAY", "wayland-0");
        let mut person = talking(&provider, &env);
        person.prompts();
        person.types("what is ");
        person.presses(Key::Ctrl('v'));
        person.sees(&format!("❯ what is {MARK}"));
        person.types("?");
        person.until("the rest", |person| person.screen().ends_with(".png]?"));
        person.presses(Key::Enter);
        answered(&mut person, 1);
        let sent = request(&provider);
        assert!(sent.contains(PNG_IN_BASE64) && sent.contains(&format!("what is {MARK}")), "{sent}");
        assert!(person.screen().contains("attached: clipboard-"), "{}", person.screen());
        if programs.len() > 1 {
            // Recalled, it counts again.
            person.presses(Key::Ctrl('v'));
            person.sees("❯ [picture 1: ");
            person.presses(Key::Ctrl('c'));
            person.prompts();
            person.presses(Key::Up);
            person.until("it", |person| person.screen().ends_with(".png]?"));
            person.presses(Key::Enter);
            answered(&mut person, 2);
            assert_eq!(request(&provider).matches(PNG_IN_BASE64).count(), 2);
        }
        person.says("/quit");
        assert_eq!(person.ends().code, 0);
    }
    provider.is_content();
}

#[test]
fn a_picture_that_is_not_there_is_told_beside_the_line() {
    let provider = answers(0);
    for (programs, told) in [
        (&[("xclip", "exit 1")][..], "there is no picture in the clipboard"),
        (&[("xclip", "echo text")], "there is no picture in the clipboard"),
        (&[("xclip", "head -c 30000000 /dev/zero")], "`xclip` gave more than"),
    ] {
        let env = desktop(&provider, programs);
        let mut person = talking(&provider, &env);
        person.prompts();
        person.types("hello");
        person.presses(Key::Ctrl('v'));
        person.sees(told);
        person.until("the line", |person| person.screen().ends_with("❯ hello"));
        person.presses(Key::Ctrl('u'));
        leaves(person, &provider);
    }
    let env = provider.env(TestEnv::new()).without("DISPLAY").without("WAYLAND_DISPLAY");
    let mut person = talking(&provider, &env);
    person.prompts();
    person.presses(Key::Ctrl('v'));
    person.sees("drop a file, or use `/attach FILE`");
    leaves(person, &provider);
}

#[test]
fn a_clipboard_that_does_not_answer_holds_no_key_and_no_end_up() {
    let provider = answers(1);
    let env = desktop(&provider, &[("xclip", "exec sleep 1000")]);
    let mut person = talking(&provider, &env);
    person.prompts();
    person.presses(Key::Ctrl('v'));
    person.types("hello");
    person.sees("❯ hello");
    person.presses(Key::Enter);
    person.sees("waiting for the clipboard");
    person.presses(Key::Ctrl('c'));
    answered(&mut person, 1);
    assert!(!request(&provider).contains("image_url"));
    person.presses(Key::Ctrl('v'));
    person.types("x");
    person.sees("❯ x");
    person.presses(Key::Ctrl('u'));
    person.presses(Key::Ctrl('d'));
    // Nothing that was started still runs.
    assert_eq!(person.ends().code, 0);
    provider.is_content();
}

#[test]
fn a_message_waits_for_the_picture_that_was_asked_for() {
    let provider = answers(1);
    let script = format!("while [ ! -e \"$HOME/../work/go\" ]; do sleep 0.01; done; {WRITES_PNG}");
    let env = desktop(&provider, &[("xclip", &script)]);
    let mut person = talking(&provider, &env);
    person.prompts();
    person.presses(Key::Ctrl('v'));
    person.says("what is it?");
    person.sees("waiting for the clipboard");
    env.write("work/go", "");
    answered(&mut person, 1);
    assert!(request(&provider).contains(PNG_IN_BASE64), "{}", request(&provider));
    // Asked for by a key before a command, it is in the next line.
    std::fs::remove_file(env.path("work/go")).unwrap();
    person.presses(Key::Ctrl('v'));
    person.types("/mode\r");
    person.sees("waiting for the clipboard");
    env.write("work/go", "");
    person.sees(&format!("❯ {MARK}"));
    person.presses(Key::Ctrl('c'));
    leaves(person, &provider);
}

#[test]
fn a_dropped_file_of_a_picture_is_attached() {
    let provider = answers(2);
    let env = provider.env(TestEnv::new());
    std::fs::create_dir(env.path("home/my pictures")).unwrap();
    for name in ["my pictures/a chart.png", "other.png"] {
        std::fs::write(env.path(&format!("home/{name}")), PNG).unwrap();
    }
    env.write("home/notes.txt", "rain");
    let pipe = env.path("home/pipe.png");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let home = env.path("home").display().to_string();
    let chart = format!("{home}/my pictures/a chart.png");
    let mut person = talking(&provider, &env);
    person.prompts();
    for dropped in [
        format!("'{chart}' "),
        chart.replace(' ', "\\ "),
        format!("file://{}", chart.replace(' ', "%20")),
        chart.clone(),
    ] {
        person.pastes(&dropped);
        person.until("its mark", |person| person.screen().ends_with("❯ [picture 1: a chart.png]"));
        if dropped.ends_with(' ') {
            person.presses(Key::Backspace);
        }
        // One key removes all of it.
        person.presses(Key::Backspace);
        person.until("an empty line", |person| person.screen().ends_with('❯'));
    }
    person.pastes(&format!("'{chart}' {home}/other.png "));
    person.types("which one?");
    person.sees("❯ [picture 1: a chart.png] [picture 2: other.png] which one?");
    person.presses(Key::Enter);
    answered(&mut person, 1);
    let sent = request(&provider);
    assert_eq!(sent.matches(PNG_IN_BASE64).count(), 2, "{sent}");
    assert!(sent.contains("[picture 1: a chart.png] [picture 2: other.png] which one?"), "{sent}");
    // What is no picture stays text.
    for dropped in [format!("{home}/notes.txt"), format!("{home}/pipe.png"), format!("see {chart}")] {
        person.pastes(&dropped);
        person.until("text", |person| {
            person.screen().replace('\n', "").ends_with(&dropped[dropped.len() - 9..])
        });
        person.presses(Key::Ctrl('c'));
        person.prompts();
    }
    // A mark that was changed, or of another run, attaches nothing.
    person.says("[picture 7: old.png] and [picture 1: a chart.pn");
    answered(&mut person, 2);
    assert!(
        person.screen().contains("nothing is attached for `[picture 7: old.png]`"),
        "{}",
        person.screen()
    );
    assert_eq!(request(&provider).matches(PNG_IN_BASE64).count(), 2, "those of before");
    leaves(person, &provider);
}

#[test]
fn a_file_is_dropped_while_a_turn_runs() {
    let waits = calls([("wait__for", json!({ "name": "one" }))]);
    let provider = Provider::chat([waits.into(), text("It is there.").into(), Line::from(text("I see."))]);
    let env = desktop(&provider, &[("xclip", WRITES_PNG)]);
    std::fs::write(env.path("home/a.png"), PNG).unwrap();
    let mut person = with_waiting(&provider, &env, &[]);
    person.says("wait for it");
    person.until("a running line", |person| person.hides_cursor() && person.screen().contains("wait.for"));
    person.pastes(&env.path("home/a.png").display().to_string());
    person.sees("[picture 1: a.png]");
    person.presses(Key::Ctrl('v'));
    env.write("work/go-one", "");
    person.sees("It is there.");
    person.sees("❯ [picture 1: a.png][picture 2: clipboard-");
    person.presses(Key::Enter);
    person.sees("I see.");
    assert_eq!(request(&provider).matches(PNG_IN_BASE64).count(), 2);
    leaves(person, &provider);
}
