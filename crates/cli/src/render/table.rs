//! Rows in columns, as wide as what is in them; the last column runs free.

use crate::render::safe::safe_line;

/// Longer cells are cut: a table is an overview. The last one has more room.
const MOST: usize = 60;
const MOST_LAST: usize = 200;

/// The first row is the heading. Rows may be of different length.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let limit = |row: &[String], column: usize| if column + 1 == row.len() { MOST_LAST } else { MOST };
    let cells = |row: &Vec<String>| {
        let row = row.iter().enumerate().map(|(column, cell)| safe_line(cell, limit(row, column)));
        row.collect::<Vec<String>>()
    };
    let clean: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let columns = clean.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        clean.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}", width = *width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    clean.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let text = table(&[row(&["name", "tools"]), row(&["длинное имя", "2"]), row(&["x", "a\nb", "free"])]);
        assert_eq!(text, "name         tools\nдлинное имя  2\nx            a\\nb   free\n");
        assert_eq!(table(&[]), "");
    }
}
