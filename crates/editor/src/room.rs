//! Room on the screen for an entry. The library draws it from the row that it remembers, from the first one if the entry fills
//! the screen, and after a resize from one that it computes of the new text and the place of the cursor behind the old. It
//! erases what is below. So that nothing is lost, what is above the entry goes up first. So it does for lines that are
//! written above it.

use converse_text::clusters;

use crate::above::Above;
use crate::entry::Typing;
use crate::terminal::says;

/// Columns before each line of an entry but the first.
const INDENT: usize = 2;

/// An entry as it is drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawing {
    pub(crate) line: String,
    /// The byte that the cursor is at.
    pub(crate) cursor: usize,
    /// Columns before its first line, and before each other.
    pub(crate) prompt: usize,
    pub(crate) indent: usize,
    /// The size of the terminal.
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Drawing {
    /// The line at its prompt.
    pub(crate) fn at_prompt(line: &str, cursor: usize, prompt: usize) -> Self {
        Self { line: line.to_owned(), cursor, prompt, indent: INDENT, ..Self::default() }
    }

    /// An earlier entry that was found, which the library draws without a sign before its lines.
    pub(crate) fn of_search(line: &str, prompt: usize) -> Self {
        Self { line: line.to_owned(), cursor: line.len(), prompt, ..Self::default() }
    }

    /// Returns the rows above the one that the cursor is in, where the terminal has so many columns.
    fn above(&self, columns: usize) -> usize {
        let before = self.line.get(..self.cursor).unwrap_or(&self.line);
        rows_above(before, self.prompt, self.indent, columns)
    }

    pub(crate) fn fills_screen(&self) -> bool {
        rows_above(&self.line, self.prompt, self.indent, self.columns) + 1 >= self.rows
    }

    /// Returns the rows below it, with one that stays empty: the library lets an entry and a menu that fill the screen overwrite
    /// what is above them.
    pub(crate) fn rows_below(&self) -> usize {
        let taken = rows_above(&self.line, self.prompt, self.indent, self.columns) + 1;
        self.rows.saturating_sub(taken + 1)
    }

    fn size(&self) -> (usize, usize) {
        (self.columns, self.rows)
    }

    /// The rows above the cursor's, of a terminal that has so many columns by now. Some wrap lines again when they are resized
    /// and some do not: rather too few, where a row of it is left, than too many.
    fn least_above(&self, columns: usize) -> usize {
        self.above(self.columns).min(self.above(columns))
    }
}

/// What an entry is drawn over.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// `None`: nothing was drawn.
    pub(crate) drawn: Option<Drawing>,
    /// The library has heard of another size since.
    pub(crate) is_resized: bool,
}

/// Called before it is drawn. Writes what waits above it.
pub(crate) fn make_room(next: Drawing, typing: &Typing, above: &Above) {
    let Ok((columns, rows)) = crossterm::terminal::size() else { return };
    let next = Drawing { columns: usize::from(columns), rows: usize::from(rows), ..next };
    let (columns, rows, ahead) = (next.columns, next.rows, next.above(next.columns));
    let (is_tall, size) = (next.fills_screen(), next.size());
    let before = typing.draws(next);
    let drawn = before.drawn.as_ref();
    // The library does not know the size yet, and draws where the entry may not be any more.
    let is_late = !before.is_resized && drawn.is_some_and(|drawn| drawn.size() != size);
    let grows_tall = is_tall && !drawn.is_some_and(Drawing::fills_screen);
    let told = if is_late { String::new() } else { above.take() };
    let above_cursor = drawn.map(|drawn| drawn.least_above(columns));
    let is_shifted = before.is_resized && above_cursor.is_some_and(|above| above < ahead);
    if !(is_shifted || is_late || !told.is_empty()) {
        if grows_tall {
            // To the last row, and as many rows further as are above the entry.
            says(&"\n".repeat(rows.saturating_sub(above_cursor.unwrap_or_default() + 1)));
        }
        return;
    }
    let told = told.replace('\n', "\r\n");
    let Ok((column, row)) = crossterm::cursor::position() else {
        return says(&format!("\r\n{told}{}", "\n".repeat(rows)));
    };
    let row = usize::from(row);
    let start = above_cursor.map_or(row + usize::from(column > 0), |above| row.saturating_sub(above));
    let anchor = if is_tall || is_late {
        0
    } else if before.is_resized {
        row.saturating_sub(ahead)
    } else {
        start
    };
    says(&(erasing_from(start) + &told));
    let end = match told.is_empty() {
        true => start,
        false => crossterm::cursor::position().map_or(rows, |(_, row)| usize::from(row)),
    };
    let up = "\n".repeat(end.saturating_sub(anchor));
    let cursor = (anchor + ahead + 1).min(rows);
    says(&format!("\x1b[{rows};1H{up}\x1b[{cursor};1H"));
}

/// Erases this row and those below. Some terminals keep what is erased from the first cell on.
fn erasing_from(row: usize) -> String {
    let row = row + 1;
    format!("\x1b[{row};1H\x1b[K\x1b[{row};2H\x1b[J\r")
}

/// The rows of an entry above the one that its cursor is in, behind this text. A character that does not fit begins a row,
/// and so does the cursor.
fn rows_above(before: &str, prompt: usize, indent: usize, columns: usize) -> usize {
    let columns = columns.max(1);
    let (mut rows, mut column) = (prompt / columns, prompt % columns);
    for (index, line) in before.split('\n').enumerate() {
        if index > 0 {
            rows += 1;
            column = indent;
        }
        for (_, width) in clusters(line, usize::MAX) {
            if column >= columns || (column > 0 && column + width > columns) {
                rows += 1;
                column = 0;
            }
            column += width;
        }
    }
    rows + usize::from(column >= columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_above_the_cursor_are_counted() {
        let ten = "x".repeat(10);
        for (before, prompt, rows) in [
            ("", 5, 0),
            (&ten[..4], 5, 0),
            (&ten[..5], 5, 1),
            (&ten[..6], 5, 1),
            ("a\nb", 5, 1),
            (&format!("{}\nb", &ten[..5]), 5, 1),
            (&format!("a\n{ten}"), 5, 2),
            ("日本語日本", 1, 1),
            ("a", 25, 2),
        ] {
            assert_eq!(rows_above(before, prompt, INDENT, 10), rows, "{before}");
        }
        assert_eq!(rows_above("日本", 0, 0, 1), 2);
    }

    #[test]
    fn rows_are_those_of_each_terminal_or_fewer() {
        let drawn = Drawing { columns: 20, rows: 10, ..Drawing::at_prompt(&"x".repeat(25), 25, 5) };
        // One row above the cursor if lines are wrapped again at a resize, or three.
        for (columns, above) in [(20, 1), (10, 1), (40, 0)] {
            assert_eq!(drawn.least_above(columns), above, "{columns}");
        }
        assert!(!drawn.fills_screen() && Drawing { rows: 2, ..drawn }.fills_screen());
    }
}
