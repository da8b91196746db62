//! Answers side by side, for a terminal; one below the other where it is too narrow for two.

use super::Report;
use super::words::{body, path, took};
use converse_screen::{Line, wrapped};
use converse_text::{safe, width};

/// Columns that an answer needs at least.
const LEAST: usize = 38;
const BETWEEN: &str = " │ ";
/// Longer lines are hard to read, alone on a wide screen too.
const MOST: usize = 100;
const TAB: &str = "    ";

/// As many beside each other as there is room for. Text of models cannot act on the terminal.
pub fn terminal(reports: &[Report], width: usize) -> String {
    let beside = (width + 3) / (LEAST + 3);
    let beside = beside.clamp(1, reports.len().max(1));
    // The last row may have fewer: rows as even as can be look better than a lonely last one.
    let rows = reports.len().div_ceil(beside).max(1);
    let beside = reports.len().div_ceil(rows).max(1);
    let room = (width.max(20) + 3) / beside - 3;
    let room = if beside == 1 { room.min(MOST) } else { room };
    let rows = reports.chunks(beside).map(|row| {
        let columns: Vec<Vec<String>> = row.iter().map(|report| column(report, room)).collect();
        beside_each_other(&columns, room)
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// Heading, answer, facts.
fn column(report: &Report, room: usize) -> Vec<String> {
    let mut lines = laid_out(&report.model, room);
    lines.push("─".repeat(room));
    lines.extend(laid_out(&body(report), room));
    lines.push(String::new());
    lines.extend(laid_out(&took(report), room));
    lines.extend(laid_out(&path(report), room));
    lines
}

fn beside_each_other(columns: &[Vec<String>], room: usize) -> String {
    let height = columns.iter().map(Vec::len).max().unwrap_or(0);
    let line = |row: usize| {
        let cells = columns.iter().map(|lines| padded(lines.get(row).map_or("", String::as_str), room));
        cells.collect::<Vec<_>>().join(BETWEEN).trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

fn padded(cell: &str, room: usize) -> String {
    cell.to_owned() + &" ".repeat(room.saturating_sub(width(cell)))
}

/// Lines of at most this many columns, broken between words where that is possible. How a line is indented stays.
fn laid_out(text: &str, room: usize) -> Vec<String> {
    safe(text).replace('\t', TAB).lines().flat_map(|line| broken(line.trim_end(), room)).collect()
}

fn broken(line: &str, room: usize) -> Vec<String> {
    wrapped(&Line::plain(line), room).iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests;
