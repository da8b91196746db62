//! Words of others in every place that has them: nothing but our own sequences reaches the terminal.

use converse_canister::{Condensed, Usage};
use converse_engine::Restart;
use converse_text::is_unsafe;

use super::*;
use converse_host::failure::{Failure, Kind};

#[path = "../../../../screen/tests/corpus/sequences.rs"]
mod sequences;

/// What acts on terminals, in all its spellings; and each control character, and what is too long.
fn corpus() -> Vec<String> {
    let all = sequences::sequences()
        .into_iter()
        .filter(|one| one.bytes.len() < 1000 || one.what.contains("blanks"));
    let mut corpus: Vec<String> = all.map(|one| String::from_utf8_lossy(&one.bytes).into_owned()).collect();
    corpus.extend((0u8..32).chain(0x7f..=0x9f).map(|byte| format!("x{}y", char::from(byte))));
    corpus.extend(["\u{301}".repeat(3000), "日".repeat(3000), "x".repeat(10_000)]);
    corpus
}

/// Without the sequences that a view writes.
fn without_ours(written: &str) -> String {
    let mut out = String::new();
    let mut rest = written;
    while let Some(at) = rest.find('\x1b') {
        let (before, sequence) = rest.split_at(at);
        out.push_str(before);
        let body = sequence.strip_prefix("\x1b[").unwrap_or_default();
        let end = body.find(|c: char| !c.is_ascii_digit() && c != ';' && c != '?').unwrap_or(body.len());
        let (parameters, kind) = (&body[..end], body[end..].chars().next());
        let ours = match kind {
            Some('m') => !parameters.contains('?'),
            Some('A' | 'B') => parameters.parse::<u16>().is_ok_and(|rows| rows < 24),
            Some('K' | 'J') => parameters.is_empty(),
            Some('h' | 'l') => ["?2026", "?25", "?7"].contains(&parameters),
            _ => false,
        };
        assert!(ours, "this is not ours: {:?}", &sequence.chars().take(20).collect::<String>());
        rest = &body[end + 1..];
    }
    out + rest
}

/// A turn that has the words everywhere.
fn played(words: &str, style: Style, columns: usize) -> Play {
    let play = Play::new(columns, style);
    let evil = |place: &str| format!("{place} {words} end");
    play.hears(&Event::Requested { turn: TurnId(1), iteration: 1, model: &evil("model"), tools: &[] });
    play.after(40);
    play.thinks(&evil("thought"));
    play.view.show_reasoning(true);
    play.thinks(&evil("thought"));
    play.after(40);
    play.text(&evil("first"));
    play.after(40);
    let delay = Duration::from_millis(10);
    play.hears(&Event::Restarted(Restart { reason: &evil("reason"), attempt: 1, delay, discard: true }));
    words.chars().take(200).for_each(|c| play.text(&c.to_string()));
    play.text(words);
    play.after(40);
    play.hears(&Event::Delta(&Delta::InvocationStarted { index: 0, tool: evil("tool") }));
    play.after(40);
    play.replied(words);
    let arguments = serde_json::json!({ evil("name"): evil("value"), "list": [words] }).to_string();
    let (good, bad) = (call(0, &evil("tool"), &arguments), call(1, &evil("tool"), &evil("no json")));
    let calls = [good, bad];
    play.asked_for(&calls);
    play.hears(&Event::Started { invocations: &calls, has_effects: true });
    play.after(40);
    play.says(&calls[0], ToolProgress::Log { message: evil("log") });
    play.says(
        &calls[1],
        ToolProgress::Progress { done: 1.0, total: Some(f64::NAN), message: Some(evil("progress")) },
    );
    play.after(40);
    play.finished(&calls[0], Outcome::Success, words, 5);
    play.finished(&calls[1], Outcome::Failed, &evil("result"), 5);
    play.hears(&Event::Warned(&evil("warning")));
    let condensed = &Condensed { covers: 3, summary: evil("summary"), model: evil("model") };
    play.hears(&Event::Condensed { condensed, before: 9000, after: 100 });
    let (model, instead) = (&evil("model"), evil("instead"));
    let used = Event::Used {
        usage: Usage::default(),
        cost: None,
        model,
        provider: "p",
        cut: false,
        instead: Some(&instead),
    };
    play.hears(&used);
    play.view.say(&evil("say"));
    play.view.note(&evil("note"));
    play.view.markdown(&evil("markdown"));
    play.view.print(play.view.call_in_full(1).unwrap());
    play.view
        .end_turn(Some(&Failure::new(Kind::ProviderRefused, "auth", evil("failure")).hint(evil("hint"))));
    play
}

#[test]
fn nothing_but_our_own_sequences_is_written() {
    let corpus = corpus();
    assert!(corpus.len() > 500, "{}", corpus.len());
    for words in &corpus {
        for (style, columns) in [(RICH, 40), (PLAIN, 80)] {
            let written = played(words, style, columns).written();
            let acts = without_ours(&written).chars().find(|c| is_unsafe(*c) && *c != '\r');
            assert_eq!(acts, None, "{words:?}");
            if !style.live {
                assert!(!written.contains(['\x1b', '\r']), "{words:?}");
            }
        }
    }
}

#[test]
fn a_long_word_does_not_flood_the_screen() {
    let play = played(&" ".repeat(10_000), RICH, 40);
    assert!(play.written().len() < 100_000, "{}", play.written().len());
}

#[test]
fn a_secret_is_told_nowhere() {
    // Wherever a text is cut, it is cut with the secret out of it.
    for before in ["", "key=", &"x ".repeat(30), &"x ".repeat(100)] {
        for style in [RICH, PLAIN] {
            let written = played(&format!("{before}sk-secret-0123456789 "), style, 100).written();
            assert!(written.contains("[redacted]"), "{written:?}");
            let parts: Vec<_> = written.match_indices("sk-").map(|(at, _)| &written[at..]).collect();
            assert!(parts.is_empty(), "{before:?}: {parts:?}");
        }
    }
}
