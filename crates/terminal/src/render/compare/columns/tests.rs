use std::time::Duration;

use converse_canister::{Cost, Usage};

use super::super::sections;
use super::*;
use crate::render::json::{Gist, Passed};
use converse_host::failure::{Failure, Kind};

fn report(model: &str, answer: &str) -> Report {
    let usage = Usage { input: Some(120), output: Some(30), ..Usage::default() };
    let step = |tool: &str, outcome, shared| Passed { tool: tool.to_owned(), outcome: Some(outcome), shared };
    let path = vec![step("web__search", "success", false), step("web__fetch", "failed", true)];
    let gist = Gist { answer: answer.to_owned(), whole: false, usage, cost: Some(Cost(1200)), path };
    Report { model: model.to_owned(), gist, elapsed: Duration::from_millis(1234), failure: None }
}

#[test]
fn two_stand_side_by_side_in_eighty_columns() {
    let text = terminal(&[report("a/one", "Yes."), report("b/two", "No.\nNever.")], 79);
    let facts = "1.2 s · 120 in, 30 out · 0.0012 USD";
    let path = "search → fetch (shared, failed) →";
    let rows = [
        format!("{:38} │ b/two", "a/one"),
        format!("{} │ {}", "─".repeat(38), "─".repeat(38)),
        format!("{:38} │ No.", "Yes."),
        format!("{:38} │ Never.", ""),
        format!("{facts:38} │"),
        format!("{path:38} │ {facts}"),
        format!("{:38} │ {path}", "answer"),
        format!("{:38} │ answer", ""),
    ];
    assert_eq!(text, rows.join("\n") + "\n");
}

#[test]
fn where_there_is_no_room_they_stand_one_below_the_other() {
    let reports = [report("a/one", "Yes."), report("b/two", "No."), report("c/three", "Perhaps.")];
    for (width, beside) in [(40, 1), (78, 1), (79, 2), (119, 2), (120, 3), (160, 3)] {
        let text = terminal(&reports, width);
        let heads = text.lines().next().unwrap();
        assert_eq!(heads.matches('│').count() + 1, beside, "{width}: {text}");
        assert!(text.lines().all(|line| converse_text::width(line) <= width), "{width}: {text}");
        assert!(text.contains("c/three") && text.contains("Perhaps."), "{text}");
    }
}

#[test]
fn lines_are_broken_between_words_and_by_their_width_on_the_screen() {
    for (line, room, broken) in [
        ("one two three", 9, vec!["one two", "three"]),
        ("one two", 7, vec!["one two"]),
        ("unbreakable", 5, vec!["unbre", "akabl", "e"]),
        ("    let x = 5;", 10, vec!["    let x", "= 5;"]),
        ("    indented", 6, vec!["    in", "dented"]),
        ("日本語の答え", 5, vec!["日本", "語の", "答え"]),
        ("", 5, vec![""]),
        ("日", 1, vec!["日"]),
    ] {
        assert_eq!(super::broken(line, room), broken, "{line}");
    }
}

#[test]
fn what_a_model_says_cannot_act_on_the_terminal() {
    let text = terminal(&[report("a/one", "\x1b[2Jgone"), report("b/two", "a\tb\r\nc\u{202e}d")], 100);
    assert!(text.contains("\\x1b[2Jgone") && text.contains("a    b") && text.contains("\\u{202e}"), "{text}");
    assert!(!text.contains('\x1b') && !text.contains('\t'), "{text}");
}

#[test]
fn a_pipe_gets_sections_with_the_very_answers() {
    let mut broken = report("b/two", "Half");
    broken.failure = Some(Failure::new(Kind::ProviderUnreachable, "cut-short", "x"));
    broken.gist.cost = None;
    broken.gist.path.clear();
    let text = sections(&[report("a/one", "\x1b[1mYes"), broken]);
    let first = "## a/one\n\n\x1b[1mYes\n\n> 1.2 s · 120 in, 30 out · 0.0012 USD\n> search → fetch (shared, failed) → answer\n";
    let second = "## b/two\n\nHalf\n\n(broken off: cut-short)\n\n> 1.2 s · 120 in, 30 out · cost unknown\n> cut-short\n";
    assert_eq!(text, format!("{first}\n{second}"));
}
