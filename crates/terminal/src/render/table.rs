//! Rows in columns, as wide as their content. The last column takes the remaining width and wraps. In a pipe nothing
//! wraps.

use super::output::columns;
use converse_screen::{Line, wrapped};
use converse_text::width;

use converse_text::safe_line;

/// On a terminal longer cells are cut: a table is an overview. The last one has more room. In a pipe, where a program
/// looks for a path, all of it is there.
const MOST: usize = 60;
const MOST_LAST: usize = 200;
/// With less room for its last column a row goes on below itself instead.
const LEAST: usize = 16;
const BETWEEN: usize = 2;
const INDENT: &str = "    ";

/// A table with a heading, as wide as the terminal on stdout.
pub fn headed(heading: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let heading = heading.iter().map(|cell| (*cell).to_owned()).collect();
    table(&std::iter::once(heading).chain(rows).collect::<Vec<_>>())
}

/// Rows may have different lengths. The width is that of the terminal on stdout, if there is one.
pub fn table(rows: &[Vec<String>]) -> String {
    within(rows, columns(std::io::stdout()).unwrap_or(0)).concat()
}

/// Each row with the lines that it takes. `columns`: what there is room for; 0: no limit.
pub fn within(rows: &[Vec<String>], columns: usize) -> Vec<String> {
    let limit = |row: &[String], column: usize| match columns {
        0 => usize::MAX,
        _ if column + 1 == row.len() => MOST_LAST,
        _ => MOST,
    };
    let cells = |row: &Vec<String>| {
        let row = row.iter().enumerate().map(|(column, cell)| safe_line(cell, limit(row, column)));
        row.collect::<Vec<String>>()
    };
    let clean: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let count = clean.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |column: usize| {
        clean.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..count).map(widest).collect();
    let last = widths.pop().unwrap_or(0);
    let before: usize = widths.iter().map(|width| width + BETWEEN).sum();
    let room = columns.saturating_sub(before);
    clean
        .iter()
        .map(|row| match columns {
            0 => in_columns(row, &widths, usize::MAX),
            _ if last <= room || room >= LEAST => in_columns(row, &widths, room),
            _ => below_itself(row, columns),
        })
        .collect()
}

/// `room`: of the last column, which has no width of its own.
fn in_columns(row: &[String], widths: &[usize], room: usize) -> String {
    let (own, last) = row.split_at(widths.len().min(row.len()));
    let mut lead = String::new();
    for (cell, wide) in own.iter().zip(widths) {
        lead.push_str(cell);
        lead.push_str(&" ".repeat((wide + BETWEEN).saturating_sub(width(cell))));
    }
    let Some(last) = last.first() else { return lead.trim_end().to_owned() + "\n" };
    let indent = " ".repeat(width(&lead));
    let lines = wrapped(&Line::plain(last), room);
    let line = |(at, line): (usize, &Line)| {
        let lead = if at == 0 { &lead } else { &indent };
        format!("{lead}{}", line.text()).trim_end().to_owned() + "\n"
    };
    lines.iter().enumerate().map(line).collect()
}

fn below_itself(row: &[String], columns: usize) -> String {
    let whole = row.iter().filter(|cell| !cell.is_empty()).cloned().collect::<Vec<_>>().join("  ");
    let lines = wrapped(&Line::plain(&whole), columns.saturating_sub(INDENT.len()).max(1));
    let line = |(at, line): (usize, &Line)| {
        let indent = if at == 0 { "" } else { INDENT };
        format!("{indent}{}", line.text()).trim_end().to_owned() + "\n"
    };
    lines.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(rows: &[Vec<String>], columns: usize) -> String {
        within(rows, columns).concat()
    }

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let text = laid_out(
            &[
                row(&["name", "tools"]),
                row(&["длинное имя", "2"]),
                row(&["日本", "1"]),
                row(&["x", "a\nb", "free"]),
            ],
            0,
        );
        assert_eq!(text, "name         tools\nдлинное имя  2\n日本         1\nx            a\\nb   free\n");
        assert_eq!(laid_out(&[], 80), "");
    }

    #[test]
    fn it_fits_the_terminal() {
        let rows =
            [row(&["tool", "does"]), row(&["io.read", "reads a file, and says what is in it, line by line"])];
        assert_eq!(
            laid_out(&rows, 30),
            "tool     does\nio.read  reads a file, and\n         says what is in it,\n         line by line\n"
        );
        assert_eq!(
            laid_out(&rows, 20),
            "tool  does\nio.read  reads a\n    file, and says\n    what is in it,\n    line by line\n"
        );
        let wide = [row(&["имя", "日本".repeat(20).as_str()]), row(&["x".repeat(50).as_str(), "y"])];
        for columns in 10..120 {
            for rows in [&rows[..], &wide] {
                let text = laid_out(rows, columns);
                assert!(text.lines().all(|line| width(line) <= columns), "{columns}:\n{text}");
            }
        }
        assert_eq!(laid_out(&rows, 0).lines().count(), 2);
    }
}
