//! Entries that fill the screen. The library draws such an entry from the first row of the screen, over what is there. So
//! that nothing is lost, what is above the entry goes into the scrollback first.

use converse_text::{clusters, width};

use crate::entry::Typing;
use crate::terminal::says;

/// Columns before the text of a line, but for the first.
const INDENT: usize = 2;

/// Called before the line is drawn, with the byte that the cursor is at.
pub(crate) fn make_room(line: &str, cursor: usize, typing: &Typing) {
    let Ok((columns, rows)) = crossterm::terminal::size() else { return };
    let (columns, rows) = (usize::from(columns), usize::from(rows));
    // The library counts with the height in the place of the width.
    let is_tall = rows_of(line, columns.min(rows), columns / 3) >= rows;
    // Rather too few: a row too much in the scrollback is better than one that is lost.
    let before = rows_of(line.get(..cursor).unwrap_or(line), columns, 0).saturating_sub(1);
    if let Some(drawn) = typing.fills_screen(is_tall, before) {
        // To the last row, and as many rows further as are above the entry.
        says(&"\n".repeat(rows.saturating_sub(drawn + 1)));
    }
}

/// The rows that a text takes.
fn rows_of(text: &str, columns: usize, prompt: usize) -> usize {
    let lines = text.split('\n').enumerate();
    lines.map(|(at, line)| 1 + (width(line) + if at == 0 { prompt } else { INDENT }) / columns.max(1)).sum()
}

/// The rows of an entry above the one that its cursor is in, behind this text. A character that does not fit begins a row.
pub(crate) fn rows_above(before: &str, prompt: usize, columns: usize) -> usize {
    let mut rows = 0;
    for (index, line) in before.split('\n').enumerate() {
        rows += usize::from(index > 0);
        let mut column = if index == 0 { prompt } else { INDENT };
        for (_, width) in clusters(line, usize::MAX) {
            if column + width > columns {
                rows += 1;
                column = 0;
            }
            column += width;
        }
    }
    rows
}

/// Erases an entry with so many rows above the cursor, and what is below it.
pub(crate) fn erasing(rows: usize) -> String {
    let up = if rows > 0 { format!("\x1b[{rows}A") } else { String::new() };
    format!("{up}\r\x1b[J")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_above_the_cursor_are_counted() {
        let ten = "x".repeat(10);
        for (before, prompt, rows) in [
            ("", 5, 0),
            (&ten[..5], 5, 0),
            (&ten[..6], 5, 1),
            ("a\nb", 5, 1),
            (&format!("a\n{ten}"), 5, 2),
            ("日本語日本", 1, 1),
        ] {
            assert_eq!(rows_above(before, prompt, 10), rows, "{before}");
        }
        assert_eq!((erasing(0).as_str(), erasing(2).as_str()), ("\r\x1b[J", "\x1b[2A\r\x1b[J"));
    }

    #[test]
    fn rows_are_those_of_a_terminal() {
        let forty = "x".repeat(40);
        for (text, rows) in [("", 1), ("a\nb", 2), (&forty, 2), (&format!("a\n{forty}{forty}\n"), 5)] {
            assert_eq!(rows_of(text, 40, 13), rows, "{text}");
        }
    }
}
