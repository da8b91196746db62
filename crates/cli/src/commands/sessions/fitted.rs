//! Rows that are no wider than the terminal: one that is broken is no row.

use converse_text::shorten::within_columns;
use converse_text::width;

use converse_terminal::render::table::table;

/// Between two columns of a table.
const GAP: usize = 2;
/// A name that has less room says nothing.
const LEAST: usize = 16;

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
        cells
            .chain(row.get(last).map(|cell| within_columns(cell, room, "…").into_owned()))
            .collect::<Vec<_>>()
    };
    table(&rows.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

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
