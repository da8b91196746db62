//! Long foreign text between lines of ours. Where a terminal wraps a line, the rest would look like a line of ours. So lines
//! are broken here, and each has the mark of a quotation.

use super::output;
use converse_screen::{self as screen, Line, Tone};
use converse_text::safe;

/// The mark before each line.
const MARK: &str = "  | ";
/// Blanks in a row that are kept. More of them would push away what follows.
const BLANKS: usize = 8;
/// The width where the terminal reports none, and the least width.
const USUAL: usize = 80;
const LEAST: usize = 20;

/// Returns the width of the terminal on which questions are asked.
pub fn columns() -> usize {
    output::columns(std::io::stderr()).unwrap_or(USUAL).max(LEAST)
}

/// Marks each line of a text.
pub fn quoted(text: &str, columns: usize) -> String {
    text.lines().map(|line| broken(MARK, &safe(line), columns)).collect()
}

/// Breaks one line behind a lead of ours, with the mark before each continuation.
pub fn broken(lead: &str, line: &str, columns: usize) -> String {
    let line = Line::plain(lead).with(Tone::Plain, &squeezed(&line.replace('\n', " ")));
    screen::broken(&line, columns, &Line::plain(MARK)).iter().map(|line| line.text() + "\n").collect()
}

/// Replaces long runs of blanks by their number.
fn squeezed(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut run = String::new();
    for c in line.chars() {
        if c.is_whitespace() {
            run.push(c);
            continue;
        }
        settle(&mut out, &mut run);
        out.push(c);
    }
    settle(&mut out, &mut run);
    out
}

fn settle(out: &mut String, run: &mut String) {
    match run.chars().count() {
        count if count > BLANKS => out.push_str(&format!(" [{count} blanks] ")),
        _ => out.push_str(run),
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_stands_without_its_mark() {
        let forged = format!("Hello{}y = yes, n = no", " ".repeat(70));
        for (text, columns, shown) in [
            ("short\nlines", 80, "  | short\n  | lines\n"),
            ("0123456789abcdefghij", 20, "  | 0123456789abcdef\n  | ghij\n"),
            ("日本語日本語日本語日本語", 20, "  | 日本語日本語日本\n  | 語日本語\n"),
            ("a\u{1b}b", 80, "  | a\\x1bb\n"),
            (forged.as_str(), 80, "  | Hello [70 blanks] y = yes, n = no\n"),
            ("", 80, ""),
        ] {
            assert_eq!(quoted(text, columns), shown, "{text:?}");
        }
        let text = quoted(&"word ".repeat(100), 40);
        assert!(text.lines().all(|line| line.starts_with(MARK) && line.chars().count() <= 40), "{text}");
        assert_eq!(broken("  name = ", "0123456789abcdef", 20), "  name = 0123456789a\n  | bcdef\n");
    }
}
