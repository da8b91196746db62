//! What a turn does with a real terminal: its modes, its cursor, the keys that are pressed meanwhile.

use converse_testkit::hang_guard::Deadline;
use rustix::termios::LocalModes;
use serde_json::json;

use crate::body::{calls, text};
use crate::env::TestEnv;
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;
use crate::signals::send;

/// Says `one two`, and nothing more.
fn stalls() -> Line {
    let stall = |answer: &mut Answer| {
        answer.cut_at = answer.body.windows(5).position(|window| window == b"three");
        answer.stall = true;
    };
    Line::Bent(text("one two three"), stall)
}

fn echoes(screen: &Screen) -> bool {
    screen.modes().local_modes.contains(LocalModes::ECHO | LocalModes::ICANON)
}

fn cursor_is_hidden(screen: &Screen) -> bool {
    let raw = screen.raw();
    raw.rfind("\x1b[?25l") > raw.rfind("\x1b[?25h")
}

#[test]
fn keys_that_are_pressed_meanwhile_wait_for_the_next_prompt() {
    let provider = Provider::chat([stalls(), text("Yes.").into()]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::run(&env, &["-m", provider.model()]);
    screen.says("count");
    screen.shows("one two");
    assert!(!echoes(&screen) && cursor_is_hidden(&screen));
    screen.types("are you there?\r");
    send("INT", &screen.child);
    screen.shows("interrupted");
    screen.shows("Yes.");
    let raw = screen.raw();
    assert!(raw.rfind("are you there?") > raw.find("interrupted"), "{raw:?}");
    let requests = provider.requests();
    assert!(requests[1]["messages"].to_string().contains("are you there?"), "{}", requests[1]);
    screen.says("/quit");
    assert_eq!(screen.ends(), 0);
}

#[test]
fn a_run_that_is_told_to_end_leaves_the_terminal_as_it_was() {
    for signal in ["TERM", "HUP", "QUIT"] {
        let provider = Provider::chat([stalls()]);
        let env = provider.env(TestEnv::new());
        let mut screen = Screen::run(&env, &["-m", provider.model()]);
        screen.says("count");
        screen.shows("one two");
        send(signal, &screen.child);
        let deadline = Deadline::begin();
        while screen.child.try_wait().unwrap().is_none() {
            deadline.check(|| "it does not end");
            screen.listens();
        }
        (0..5).for_each(|_| {
            screen.listens();
        });
        assert!(echoes(&screen) && !cursor_is_hidden(&screen), "{signal}: {:?}", screen.raw());
    }
}

#[test]
fn a_terminal_that_can_do_nothing_gets_text_and_nothing_else() {
    let provider = Provider::chat([
        calls([("essentials__calculator", json!({ "expression": "6*7" }))]),
        text("It is **42**.\n\n- really"),
    ]);
    let env = provider.env(TestEnv::new());
    let mut screen = Screen::of("dumb", &env, &["-m", provider.model()]);
    screen.says("what is it?");
    screen.shows("- really");
    screen.says("/quit");
    let shown = screen.text();
    for part in
        ["… [1] essentials.calculator expression=\"6*7\"", "✓ [1] essentials.calculator", "It is **42**."]
    {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    assert!(!screen.raw().contains('\x1b'), "{:?}", screen.raw());
    assert_eq!(screen.ends(), 0);
}
