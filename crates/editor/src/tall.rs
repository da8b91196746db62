//! Entries that fill the screen. The library draws such an entry from the first row of the screen, over what is there. So
//! that nothing is lost, what is above the entry goes into the scrollback first.

use converse_text::width;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_a_terminal() {
        let forty = "x".repeat(40);
        for (text, rows) in [("", 1), ("a\nb", 2), (&forty, 2), (&format!("a\n{forty}{forty}\n"), 5)] {
            assert_eq!(rows_of(text, 40, 13), rows, "{text}");
        }
    }
}
