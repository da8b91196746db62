//! Long text of others between lines of ours. A terminal breaks a line where it ends, and what comes then looks like one
//! of ours: so lines are broken here, and each says that it is quoted.

use unicode_width::UnicodeWidthChar as _;

use converse_text::safe;

/// Stands before each line.
const MARK: &str = "  | ";
/// Blanks in a row that stay; more of them push away what comes after.
const BLANKS: usize = 8;
/// Columns where nobody says how many there are, and those that are needed.
const USUAL: usize = 80;
const LEAST: usize = 20;

/// As many columns as the terminal has on which questions are asked.
pub fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stderr());
    let columns = size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(USUAL).max(LEAST)
}

/// Each line of a text, marked.
pub fn quoted(text: &str, columns: usize) -> String {
    text.lines().map(|line| broken(MARK, &safe(line), columns)).collect()
}

/// One line after a lead of ours; the mark stands before what is left of it.
pub fn broken(lead: &str, line: &str, columns: usize) -> String {
    let mut out = lead.to_owned();
    let mut column = lead.chars().map(wide).sum::<usize>();
    for c in squeezed(&line.replace('\n', " ")).chars() {
        // A tab may be as wide as eight.
        if column + wide(c) > columns && column > MARK.len() {
            out.push('\n');
            out.push_str(MARK);
            column = MARK.len();
        }
        out.push(c);
        column += wide(c);
    }
    out.push('\n');
    out
}

fn wide(c: char) -> usize {
    if c == '\t' { 8 } else { c.width().unwrap_or(0) }
}

/// Long runs of blanks are told by their number.
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
