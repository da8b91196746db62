//! Answers side by side, for a terminal; one below the other where it is too narrow for two.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::Report;
use super::words::{body, path, took};
use converse_text::safe;

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
    let mut lines = wrapped(&report.model, room);
    lines.push("─".repeat(room));
    lines.extend(wrapped(&body(report), room));
    lines.push(String::new());
    lines.extend(wrapped(&took(report), room));
    lines.extend(wrapped(&path(report), room));
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
    cell.to_owned() + &" ".repeat(room.saturating_sub(cell.width()))
}

/// Lines of at most this many columns, broken between words where that is possible. How a line is indented stays.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    safe(text).replace('\t', TAB).lines().flat_map(|line| broken(line.trim_end(), room)).collect()
}

fn broken(line: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = line;
    while rest.width() > room {
        let (head, tail) = rest.split_at(cut(rest, room));
        lines.push(head.trim_end().to_owned());
        rest = tail.trim_start();
    }
    if !rest.is_empty() || lines.is_empty() {
        lines.push(rest.to_owned());
    }
    lines
}

/// Where to break: after the last space that fits, else after the last character that does; never at the beginning.
fn cut(line: &str, room: usize) -> usize {
    let mut taken = 0;
    let (mut hard, mut soft) = (0, None);
    let mut words = false;
    for (place, c) in line.char_indices() {
        taken += c.width().unwrap_or(0);
        if c == ' ' && words {
            soft = Some(place);
        }
        if taken > room {
            break;
        }
        words |= c != ' ';
        hard = place + c.len_utf8();
    }
    let first = line.chars().next().map_or(0, char::len_utf8);
    soft.filter(|place| *place > 0).unwrap_or(hard).max(first)
}

#[cfg(test)]
mod tests;
