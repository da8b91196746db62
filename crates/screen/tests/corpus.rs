//! A corpus of what text can do to a terminal, through everything here that makes lines of text.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers may panic")]

#[path = "corpus/guard.rs"]
mod guard;
#[path = "corpus/page.rs"]
mod page;
#[path = "corpus/places.rs"]
mod places;
#[path = "corpus/sequences.rs"]
mod sequences;
#[path = "corpus/strict.rs"]
mod strict;

use std::collections::HashSet;

use converse_screen::{Line, Live, Look, Size, Stream, Table, Tone, broken, markdown, wrapped};
use converse_text::{is_unsafe, safe, safe_line};
use guard::{Manner, foreign};
use places::PLACES;
use sequences::{Sequence, sequences};

/// Styled with everything there is, and not at all.
fn looks() -> [(Look, Manner); 2] {
    let styled = Look { colour: true, links: true, ..Look::plain(40) };

    [(styled, Manner::Styled), (Look::plain(40), Manner::Plain)]
}

fn text(sequence: &Sequence) -> String {
    format!("before {} after", String::from_utf8_lossy(&sequence.bytes))
}

#[track_caller]
fn is_ours(sequence: &Sequence, written: &str, manner: Manner) {
    assert_eq!(foreign(written.as_bytes(), manner), None, "it {}", sequence.what);
}

#[test]
fn the_corpus_is_large_and_each_of_it_is_another() {
    let all = sequences();
    assert!(all.len() >= 400, "{}", all.len());
    let [names, sequences]: [HashSet<&[u8]>; 2] = [
        all.iter().map(|one| one.what.as_bytes()).collect(),
        all.iter().map(|one| one.bytes.as_slice()).collect(),
    ];
    assert_eq!((names.len(), sequences.len()), (all.len(), all.len()));
    // Most of it would be seen as what it is if it came through as it stands.
    let caught = all.iter().filter(|one| foreign(&one.bytes, Manner::Plain).is_some()).count();
    assert!(caught >= 350, "{caught}");
}

#[test]
fn the_guard_lets_pass_what_we_write_and_nothing_else() {
    for (written, manner, passes) in [
        ("plain\r\n\ttext 日本 é", Manner::Plain, true),
        ("\x1b[1;31mred\x1b[0m", Manner::Styled, true),
        ("\x1b[1;31mred\x1b[0m", Manner::Plain, false),
        ("\x1b]8;;https://e.com/%1B\x1b\\x\x1b]8;;\x1b\\", Manner::Styled, true),
        ("\x1b]8;;file:///x\x1b\\x", Manner::Styled, false),
        ("\x1b]8;;https://e.com/\n\x1b\\x", Manner::Styled, false),
        ("\x1b]0;t\x07", Manner::Drawn, false),
        ("a\rb", Manner::Styled, false),
        ("a\rb\x1b[2A\x1b[K\x1b[?2026h\x1b[?25l", Manner::Drawn, true),
        ("\x1b[2A", Manner::Styled, false),
        ("\x1b[3J", Manner::Drawn, false),
        ("\x1b[?1049h", Manner::Drawn, false),
        ("\x1b[8m", Manner::Drawn, false),
        ("\x1b[41m", Manner::Drawn, false),
        ("\x1b[m", Manner::Drawn, false),
        ("\x1b[999A", Manner::Drawn, false),
        ("\u{9b}2J", Manner::Drawn, false),
        ("\u{202e}", Manner::Drawn, false),
        ("\x1b", Manner::Drawn, false),
        ("\x1b[", Manner::Drawn, false),
    ] {
        assert_eq!(foreign(written.as_bytes(), manner).is_none(), passes, "{written:?} {manner:?}");
    }
    assert!(foreign(b"a\x9bb", Manner::Drawn).is_some());
}

#[test]
fn text_made_safe_acts_on_nothing_and_tells_of_it() {
    for sequence in sequences() {
        let text = text(&sequence);
        let (whole, line) = (safe(&text), safe_line(&text, 100));
        is_ours(&sequence, &whole, Manner::Plain);
        is_ours(&sequence, &line, Manner::Plain);
        assert!(!line.contains(['\n', '\t']) && line.chars().count() < 1000, "{}", sequence.what);
        // What is taken out of its place is shown there.
        let odd = text.replace("\r\n", "\n").chars().filter(|c| is_unsafe(*c)).count();
        assert!(
            whole.matches("\\x").count() + whole.matches("\\u{").count() + whole.matches("\\r").count()
                >= odd
        );
    }
}

#[test]
fn however_it_is_cut_markdown_shows_it() {
    for sequence in sequences() {
        let text = text(&sequence);
        for (look, manner) in looks() {
            let lines = markdown(&text, &look);
            lines.iter().for_each(|line| is_ours(&sequence, &line.painted(&look), manner));
            // At each place where it might be cut; of the long ones the first.
            let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).take(16).collect();
            for at in cuts {
                let mut stream = Stream::new();
                let (first, second) = text.split_at(at);
                let mut lines = stream.push(first, &look);
                lines.extend(stream.open(&look));
                lines.extend(stream.push(second, &look));
                lines.extend(stream.end(&look));
                lines.iter().for_each(|line| is_ours(&sequence, &line.painted(&look), manner));
            }
        }
    }
}

#[test]
fn it_is_nothing_but_text_wherever_it_stands_in_markdown() {
    for sequence in sequences().iter().filter(|one| one.bytes.len() < 1000) {
        let evil = String::from_utf8_lossy(&sequence.bytes);
        for (place, made) in PLACES {
            for (look, manner) in looks() {
                for line in markdown(&made(&evil), &look) {
                    let wrong = foreign(line.painted(&look).as_bytes(), manner);
                    assert_eq!(wrong, None, "it {} in {place}", sequence.what);
                }
            }
        }
    }
}

#[test]
fn code_of_any_language_is_nothing_but_text() {
    let all: String =
        sequences().iter().filter(|one| one.bytes.len() < 1000).map(text).collect::<Vec<_>>().join("\n");
    for language in
        ["rust", "python", "sh", "json", "toml", "html", "diff", "js", "c", "sql", "yaml", "nothing known"]
    {
        for (look, manner) in looks() {
            let lines = markdown(&format!("````{language}\n{all}\n````\n"), &look);
            for line in lines {
                assert_eq!(foreign(line.painted(&look).as_bytes(), manner), None, "{language}");
            }
        }
    }
}

#[test]
fn a_table_and_a_region_that_is_drawn_show_it() {
    let size = Size { columns: 40, rows: 24 };
    for sequence in sequences() {
        let line = || Line::toned(Tone::Strong, &text(&sequence));
        for (look, manner) in looks() {
            let table = Table {
                head: vec![vec![line()], vec![Line::plain("b")]],
                rows: vec![vec![vec![line()], vec![line()]]],
                ..Table::default()
            };
            for line in
                table.lines(&look).iter().chain(&wrapped(&line(), 20)).chain(&broken(&line(), 20, &line()))
            {
                is_ours(&sequence, &line.painted(&look), manner);
            }
            let mut live = Live::new();
            let painted = [
                live.paint(&[line()], &[line(), line()], &look, size),
                live.paint(&[], &[Line::plain("x"), line()], &look, size),
                live.leave(),
            ];
            is_ours(&sequence, &painted.concat(), Manner::Drawn);
        }
    }
}
