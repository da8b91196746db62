//! The words of a model: streamed, taken back, thought.

use converse_canister::{Cost, Usage};
use converse_engine::Restart;
use converse_screen::markdown;

use super::*;
use converse_host::failure::{Failure, Kind};

const ANSWER: &str = "# Two cities\n\nOslo and *Bergen*, which is the wetter one of the two by far:\n\n| city | rain |\n| --- | ---: |\n| Oslo | 763 mm |\n| Bergen | 2250 mm |\n\n```rust\nfn main() {\n    println!(\"{}\", 6 * 7);\n}\n```\n\nThat is all.\n";

#[test]
fn an_answer_streams_into_its_final_form() {
    for columns in [20, 40, 100] {
        for piece in [1, 3, 7, 1000] {
            let play = Play::new(columns, RICH);
            play.asks();
            play.after(400);
            let chars: Vec<char> = ANSWER.chars().collect();
            for text in chars.chunks(piece) {
                play.text(&text.iter().collect::<String>());
                play.after(35);
            }
            play.replied(ANSWER);
            play.view.end_turn(None);
            let look = play.view.look();
            // The terminal wraps the code.
            let rows = |text: String| {
                let chars: Vec<char> = text.chars().collect();
                let rows =
                    chars.chunks(columns).map(|row| row.iter().collect::<String>().trim_end().to_owned());
                if text.is_empty() { vec![text] } else { rows.collect() }
            };
            let whole: Vec<String> =
                markdown(ANSWER, &look).iter().flat_map(|line| rows(line.text())).collect();
            assert_eq!(play.rows(), whole, "{columns} columns in pieces of {piece}");
        }
    }
}

#[test]
fn what_is_open_is_shown_and_changes_in_place() {
    let play = Play::new(40, RICH);
    play.asks();
    play.shows(&["⠋ asking mock/one 0 s"]);
    play.after(2000);
    assert!(play.rows()[0].ends_with("asking mock/one 2 s"), "{:?}", play.rows());
    play.text("First par");
    play.after(40);
    play.shows(&["First"]);
    play.text("agraph.\n\nSecond one");
    play.after(40);
    play.shows(&["First paragraph.", "", "Second"]);
    play.resized(60);
    play.text(" goes on");
    play.after(40);
    play.shows(&["First paragraph.", "", "Second one goes"]);
    play.view.end_turn(None);
    play.shows(&["First paragraph.", "", "Second one goes on"]);
}

#[test]
fn a_reply_that_breaks_off_is_taken_back() {
    let cut = |play: &Play| {
        play.hears(&Event::Restarted(Restart {
            reason: "the connection broke",
            attempt: 1,
            delay: Duration::from_millis(1200),
            discard: true,
        }));
    };
    let play = Play::new(100, RICH);
    play.asks();
    play.text("Old block.\n\nOld open ");
    play.after(40);
    cut(&play);
    play.shows(&[
        "Old block.",
        "",
        "(taken back) the connection broke; stream cut, asking again in 1.2 s",
        "⠋ waiting to ask again 0 s",
    ]);
    play.asks();
    play.text("New.");
    play.replied("New.");
    play.view.end_turn(None);
    let rows = play.rows();
    assert_eq!(
        rows[2..],
        ["(taken back) the connection broke; stream cut, asking again in 1.2 s", "", "New."]
    );

    let play = Play::new(100, RICH);
    play.asks();
    play.text("only open ");
    play.after(40);
    cut(&play);
    assert_eq!(play.rows()[0], "… the connection broke; stream cut, asking again in 1.2 s");
}

#[test]
fn thoughts_are_folded_until_they_are_asked_for() {
    let play = Play::new(40, RICH);
    play.asks();
    play.thinks("Let me think");
    play.after(12_000);
    play.shows(&["∙ thinking… 12 s"]);
    play.thinks(" about it.");
    play.text("Yes.\n\n");
    play.after(40);
    play.shows(&["∙ thought for 12.0 s (~6 tokens)", "", "Yes."]);
    play.replied("Yes.");
    play.view.show_reasoning(true);
    play.asks();
    play.thinks("One two three four five six seven eight nine");
    play.after(40);
    play.shows(&[
        "∙ thought for 12.0 s (~6 tokens)",
        "",
        "Yes.",
        "",
        "│ One two three four five six seven",
        "│ eight",
    ]);
    play.text("No.\n\n");
    play.after(40);
    let rows = play.rows();
    assert_eq!(rows[4..], ["│ One two three four five six seven", "│ eight nine", "", "No."]);
}

#[test]
fn the_end_tells_what_went_wrong_and_what_it_took() {
    let play = Play::new(100, RICH);
    play.asks();
    play.text("Half an answer");
    let usage = Usage { input: Some(1234), output: Some(56), cache_read: Some(1000), ..Usage::default() };
    play.hears(&Event::Used {
        usage,
        cost: Some(Cost(4200)),
        model: "one-2026",
        provider: "p",
        cut: true,
        instead: None,
    });
    play.after(4200);
    let failure =
        Failure::new(Kind::ProviderUnreachable, "unreachable", "nobody is there sk-secret-0123456789");
    play.view.end_turn(Some(&failure.hint("check the network")));
    play.shows(&[
        "Half an answer",
        "",
        "error[unreachable]: nobody is there [redacted]",
        "  hint: check the network",
        "one-2026 · ≥ 1,234 in (1,000 cached) · ≥ 56 out · ≥ $0.0042 · 4.2 s",
    ]);
    assert!(!play.shown.lock().unwrap().parser.screen().hide_cursor(), "the terminal is free");
}

#[test]
fn a_secret_is_no_part_of_an_answer() {
    for style in [RICH, PLAIN] {
        let play = Play::new(100, style);
        play.asks();
        for piece in ["The key is sk-", "secret-01", "23456789", ", and the", " next"] {
            play.text(piece);
            play.after(40);
        }
        play.replied("");
        play.view.end_turn(None);
        play.shows(&["The key is [redacted], and the next"]);
        assert!(!play.written().contains("sk-secret"), "{}", play.written());
    }
}

#[test]
fn an_encoded_secret_is_no_part_of_an_answer_wherever_it_is_split() {
    // `Bearer sk-secret-0123456789`, and the key alone.
    for encoded in ["QmVhcmVyIHNrLXNlY3JldC0wMTIzNDU2Nzg5", "736b2d7365637265742d30313233343536373839"] {
        for at in 0..=encoded.len() {
            let play = Play::new(100, PLAIN);
            play.asks();
            let (start, end) = encoded.split_at(at);
            for piece in ["It is ", start, end, ", and the next"] {
                play.text(piece);
                play.after(40);
            }
            play.replied("");
            play.view.end_turn(None);
            let written = play.written();
            assert!(written.contains("[redacted], and the next"), "{at}: {written}");
            assert!(!written.contains("LXNlY3JldC") && !written.contains("7365637265"), "{at}: {written}");
        }
    }
}

#[test]
fn plain_is_text_below_text() {
    let play = Play::new(40, PLAIN);
    play.asks();
    play.thinks("hm");
    let one = call(0, "weather__forecast", r#"{"city":"Oslo"}"#);
    play.text("\nI *look* ");
    play.text("it up.\n\n");
    play.replied("");
    play.asked_for(std::slice::from_ref(&one));
    play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
    play.says(&one, ToolProgress::Log { message: "connecting".to_owned() });
    play.finished(&one, Outcome::Success, "rain\nall day", 340);
    play.asks();
    play.text("| a |\n| - |\n| b |\n");
    play.replied("");
    play.view.end_turn(None);
    assert_eq!(
        play.written(),
        "∙ thought for 0 ms (~1 tokens)\n\nI *look* it up.\n\n… [1] weather.forecast city=\"Oslo\"\n✓ [1] weather.forecast city=\"Oslo\" 340 ms → 2 lines, 12 B\n\n| a |\n| - |\n| b |\n"
    );
}

#[test]
fn without_unicode_signs_are_ascii() {
    let play = Play::new(60, Style { unicode: false, ..RICH });
    play.view.show_reasoning(true);
    play.asks();
    play.after(100);
    play.thinks("so\n");
    let one = call(0, "weather__forecast", r#"{"city":"Oslo"}"#);
    play.text("- item\n\n");
    play.replied("");
    play.asked_for(std::slice::from_ref(&one));
    play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
    play.says(&one, ToolProgress::Log { message: "x".repeat(100) });
    play.after(40);
    play.finished(&one, Outcome::Failed, "no", 340);
    play.view.end_turn(None);
    assert!(play.written().is_ascii(), "{}", play.written());
    play.shows(&["| so", "", "* item", "", "x [1] weather.forecast city=\"Oslo\" 340 ms failed: no"]);
}

#[test]
fn a_long_answer_costs_in_proportion() {
    let cost = |tokens: usize, per_write: u64| {
        let play = Play::new(100, RICH);
        play.asks();
        for index in 0..tokens {
            play.text(if index % 200 == 199 { ".\n\n" } else { "word " });
            play.after(per_write);
        }
        play.replied("");
        play.view.end_turn(None);
        play.written().len() / tokens
    };
    // Each token a paint of its own is the worst case.
    let (short, long) = (cost(2_000, 40), cost(20_000, 40));
    assert!(long < 200, "{long} bytes a token");
    assert!(long <= short * 13 / 10, "{short} bytes a token, then {long}");
    assert!(cost(20_000, 2) < 40, "a fast answer is not painted for each token");
}
