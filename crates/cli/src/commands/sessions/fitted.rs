//! Rows that are no wider than the terminal: one that is broken is no row.

use converse_text::width;

use crate::render::table::table;

/// Between two columns of a table.
const GAP: usize = 2;
/// A name that has less room says nothing.
const LEAST: usize = 16;

/// A text in at most so many columns.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, _)| text.get(..at).unwrap_or_default());
    let kept = ends.take_while(|kept| width(kept) < columns).last().unwrap_or_default();
    if columns == 0 { String::new() } else { format!("{}…", kept.trim_end()) }
}

/// A table whose last column gets what is left. `dropped`: columns that may be left out, the first of them first.
/// Without a width all is there.
pub(super) fn narrow(rows: &[Vec<String>], dropped: &[usize], columns: Option<usize>) -> String {
    let Some(columns) = columns else { return table(rows) };
    let last = rows.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1);
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let mut kept: Vec<usize> = (0..last).collect();
    let taken = |kept: &[usize]| kept.iter().map(|column| widest(*column) + GAP).sum::<usize>();
    for column in dropped {
        if taken(&kept) + LEAST.min(widest(last)) > columns {
            kept.retain(|one| one != column);
        }
    }
    let room = columns.saturating_sub(taken(&kept)).max(1);
    let row = |row: &Vec<String>| {
        let cells = kept.iter().filter_map(|column| row.get(*column).cloned());
        cells.chain(row.get(last).map(|cell| fitted(cell, room))).collect::<Vec<_>>()
    };
    table(&rows.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_what_they_take_on_a_screen() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("ab cd", 4, "ab…"),
            ("a", 0, ""),
        ] {
            assert_eq!(fitted(text, columns), expected, "{text} {columns}");
            assert!(width(&fitted(text, columns)) <= columns);
        }
    }

    #[test]
    fn columns_are_dropped_before_names() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = [
            row(["0123456789012", "12", "ollama/some-model", "a long name of a session, 日本語日本語"]),
            row(["0123456789012", "3", "m", "x"]),
        ];
        for columns in [24, 31, 36, 40, 60, 80] {
            let text = narrow(&rows, &[2, 1], Some(columns));
            assert!(text.lines().all(|line| width(line) <= columns), "{columns}: {text}");
            assert!(text.contains("0123456789012") && text.contains("a long"), "{columns}: {text}");
            assert_eq!(text.contains("some-model"), columns >= 54, "{columns}: {text}");
        }
        assert_eq!(narrow(&rows, &[2, 1], None), table(&rows));
    }
}
