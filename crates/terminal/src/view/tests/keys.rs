//! The rows of what is typed, and what is said to a turn that runs.

use converse_canister::User;

use super::super::keys::{hints, typed_row};
use super::*;

const ASCII: Style = Style { colour: false, unicode: false, ..RICH };

fn row(columns: usize, style: Style, before: &str, behind: &str) -> String {
    let play = Play::new(columns + 1, style);
    typed_row((before, behind), &play.view.frame()).text()
}

#[test]
fn the_line_has_a_cursor_and_fits() {
    for (columns, before, behind, shown) in [
        (40, "hello", "", "❯ hello▏"),
        (40, "hel", "lo", "❯ hel▏lo"),
        (40, "", "日本", "❯ ▏日本"),
        (40, "one\ntw", "o\x1b[2J", "❯ one\\ntw▏o\\x1b[2J"),
        (16, "a long line that", " goes on", "❯ ine that▏ goe"),
        (16, "a", " line that goes on", "❯ a▏ line that"),
    ] {
        assert_eq!(row(columns, RICH, before, behind), shown, "{before:?} {behind:?}");
    }
    assert_eq!(row(40, ASCII, "hel", "lo"), "> hel|lo");
    for columns in 1..12 {
        assert!(
            converse_text::width(&row(columns, RICH, &"x".repeat(30), &"y".repeat(30))) <= columns.max(5)
        );
    }
}

#[test]
fn hints_are_left_out_where_they_find_no_room() {
    let shown =
        |columns: usize, style, all: &[&str]| hints(all, &Play::new(columns + 1, style).view.frame()).text();
    let all = ["esc interrupts", "↑ edits", "ctrl-s steers", "accept-edits"];
    assert_eq!(shown(80, RICH, &all), "esc interrupts · ↑ edits · ctrl-s steers · accept-edits");
    assert_eq!(shown(39, RICH, &all), "esc interrupts · ↑ edits · accept-edits");
    assert_eq!(
        shown(39, RICH, &["esc interrupts", "", "ctrl-s steers", ""]),
        "esc interrupts · ctrl-s steers"
    );
    assert_eq!(shown(80, ASCII, &all[..2]), "esc interrupts - up edits");
    assert_eq!(shown(3, RICH, &all), "esc interrupts");
}

#[test]
fn what_is_said_to_a_running_turn_is_shown_in_it() {
    let said = |text: &str| Canister::User(User::text(text));
    let play = Play::new(60, RICH);
    play.hears(&Event::Appended(&said("the question was typed")));
    play.asks();
    play.replied("I look.");
    play.hears(&Event::Appended(&said("go faster\x1b[2J with sk-secret-0123456789")));
    let screen = play.rows().join("\n");
    assert!(screen.contains("❯ go faster\\x1b[2J with [redacted]"), "{screen}");
    assert!(!screen.contains("the question"), "{screen}");
    // On stderr beside an answer, a repair is no message of the user.
    let beside = Play::new(60, BESIDE);
    beside.asks();
    beside.hears(&Event::Appended(&said("answer again")));
    assert!(!beside.rows().join("\n").contains("again"));
}
