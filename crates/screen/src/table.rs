//! Tables that fit: columns shrink and cells wrap. Without room for columns, each row is shown as one value per line.

use crate::line::Line;
use crate::wrap::{narrowest, wrapped};
use crate::{Look, Tone};

/// The lines of a cell, before they are wrapped.
pub type Cell = Vec<Line>;

/// The alignment of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Align {
    #[default]
    Left,
    Centre,
    Right,
}

/// A head and rows below it. A row may have fewer cells than the head has, not more.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub aligns: Vec<Align>,
    pub head: Vec<Cell>,
    pub rows: Vec<Vec<Cell>>,
}

/// Minimum width of a column; below it the table is not shown in columns.
const NARROWEST: usize = 5;
const SMALLEST_TABLE: usize = 20;
/// Between columns: a bar and a space on each side.
const BETWEEN: usize = 3;

impl Table {
    /// Lines no wider than `look.width`.
    pub fn lines(&self, look: &Look) -> Vec<Line> {
        let natural = self.widest(Line::width);
        let between = natural.len().saturating_sub(1) * BETWEEN;
        let fits = natural.iter().sum::<usize>() + between <= look.width;
        if !fits && (look.width < SMALLEST_TABLE || look.width < natural.len() * NARROWEST + between) {
            return self.records(look);
        }
        let widths = if fits { natural } else { self.shrunk(&natural, look.width - between) };
        let rows: Vec<Vec<Line>> = self.rows.iter().map(|row| self.row(row, &widths, look)).collect();
        let ruled = rows.iter().any(|row| row.len() > 1);
        let strong: Vec<Cell> = self.head.iter().map(|cell| cell.iter().map(strong).collect()).collect();
        let mut lines = self.row(&strong, &widths, look);
        for (index, row) in rows.into_iter().enumerate() {
            if index == 0 || ruled {
                lines.push(rule(&widths, look));
            }
            lines.extend(row);
        }
        lines
    }

    /// Of each column the widest line, by that measure.
    fn widest(&self, measure: fn(&Line) -> usize) -> Vec<usize> {
        let columns = self.head.len();
        let wide = |cell: Option<&Cell>| cell.into_iter().flatten().map(measure).max().unwrap_or(0);
        let rows = || std::iter::once(&self.head).chain(&self.rows);
        (0..columns).map(|at| rows().map(|row| wide(row.get(at))).max().unwrap_or(0).max(1)).collect()
    }

    /// No word is broken but the longest ones, and only where not all of them have room.
    fn shrunk(&self, natural: &[usize], room: usize) -> Vec<usize> {
        let least = floors(self.widest(narrowest), room);
        let rest = room.saturating_sub(least.iter().sum());
        let more: Vec<usize> = natural.iter().zip(&least).map(|(natural, least)| natural - least).collect();
        shared(&more, rest).iter().zip(least).map(|(more, least)| more + least).collect()
    }

    fn row(&self, cells: &[Cell], widths: &[usize], look: &Look) -> Vec<Line> {
        let wrap = |(cell, width): (&Cell, &usize)| -> Vec<Line> {
            cell.iter().flat_map(|line| wrapped(line, *width)).collect()
        };
        let cells: Vec<Vec<Line>> = cells.iter().zip(widths).map(wrap).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        (0..height).map(|at| self.row_line(&cells, at, widths, look)).collect()
    }

    fn row_line(&self, cells: &[Vec<Line>], at: usize, widths: &[usize], look: &Look) -> Line {
        let mut line = Line::new();
        for (index, width) in widths.iter().enumerate() {
            if index > 0 {
                line.push(Tone::Dim, look.either(" │ ", " | "));
            }
            let text = cells.get(index).and_then(|cell| cell.get(at)).cloned().unwrap_or_default();
            let left = width.saturating_sub(text.width());
            let before = match self.aligns.get(index).copied().unwrap_or_default() {
                Align::Left => 0,
                Align::Centre => left / 2,
                Align::Right => left,
            };
            line.push(Tone::Plain, &" ".repeat(before));
            line.append(text);
            line.push(Tone::Plain, &" ".repeat(left - before));
        }
        line.trimmed()
    }

    fn records(&self, look: &Look) -> Vec<Line> {
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                lines.push(Line::new());
            }
            for (at, cell) in row.iter().enumerate() {
                let name = self.head.get(at).map(joined).unwrap_or_default();
                let line = strong(&name).with(Tone::Plain, ": ");
                lines.extend(hanging(joined_after(line, cell), look.width));
            }
        }
        if self.rows.is_empty() {
            lines.extend(self.head.iter().flat_map(|cell| hanging(strong(&joined(cell)), look.width)));
        }
        lines
    }
}

/// What each column gets first: its longest word, unless these are too long together.
fn floors(mut words: Vec<usize>, room: usize) -> Vec<usize> {
    let share = room / words.len().max(1);
    while words.iter().sum::<usize>() > room {
        let Some(longest) = words.iter_mut().max() else { break };
        *longest = share;
    }
    words
}

/// Columns that need less than their share leave the rest to the others.
fn shared(wishes: &[usize], room: usize) -> Vec<usize> {
    let mut widths = vec![0; wishes.len()];
    let (mut left, mut open) = (room, wishes.len());
    let mut order: Vec<(usize, usize)> = wishes.iter().copied().enumerate().collect();
    order.sort_by_key(|(_, width)| *width);
    for (index, wish) in order {
        let width = wish.min(left / open.max(1));
        if let Some(slot) = widths.get_mut(index) {
            *slot = width;
        }
        (left, open) = (left - width, open - 1);
    }
    widths
}

fn rule(widths: &[usize], look: &Look) -> Line {
    let dash = look.either("─", "-");
    let columns: Vec<String> = widths.iter().map(|width| dash.repeat(*width)).collect();
    Line::toned(Tone::Dim, &columns.join(look.either("─┼─", "-+-")))
}

fn strong(line: &Line) -> Line {
    line.restyled(|style| style.strong = true)
}

fn joined(cell: &Cell) -> Line {
    joined_after(Line::new(), cell)
}

fn joined_after(mut line: Line, cell: &Cell) -> Line {
    for (index, part) in cell.iter().enumerate() {
        if index > 0 {
            line.push(Tone::Plain, " ");
        }
        line.append(part.clone());
    }
    line
}

/// Wrapped, and all but the first line indented.
fn hanging(line: Line, width: usize) -> Vec<Line> {
    let indent = if width > 8 { "  " } else { "" };
    let lines = wrapped(&line, width.saturating_sub(indent.len()).max(1));
    let indented = lines.into_iter().enumerate().map(|(index, line)| match index {
        0 => line,
        _ => {
            let mut out = Line::plain(indent);
            out.append(line);
            out
        }
    });
    indented.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(head: &[&str], rows: &[&[&str]]) -> Table {
        let cells = |row: &[&str]| row.iter().map(|text| vec![Line::plain(text)]).collect::<Vec<_>>();
        let rows = rows.iter().map(|row| cells(row)).collect();
        Table { aligns: vec![Align::Left, Align::Right], head: cells(head), rows }
    }

    fn shown(table: &Table, width: usize) -> String {
        table.lines(&Look::plain(width)).iter().map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn columns_stand_under_their_heads() {
        let table = table(&["city", "°C"], &[&["Oslo", "-3"], &["東京", "21"], &["x"]]);
        assert_eq!(shown(&table, 40), "city │ °C\n─────┼───\nOslo │ -3\n東京 │ 21\nx    │\n");
        let ascii = Look { unicode: false, ..Look::plain(40) };
        assert_eq!(table.lines(&ascii)[1].text(), "-----+---");
    }

    #[test]
    fn cells_wrap_and_rows_are_told_apart() {
        let table = table(&["a", "b"], &[&["one two three four", "1"], &["five", "2"]]);
        let rule = "─────────────────┼──\n";
        let rows = [
            "a                │ b\n",
            "one two three    │ 1\nfour             │\n",
            "five             │ 2\n",
        ];
        assert_eq!(shown(&table, 20), rows.join(rule));
    }

    #[test]
    fn without_room_each_value_has_its_line() {
        let table = table(&["name", "value"], &[&["key", "some words here"], &["b", "2"]]);
        assert_eq!(shown(&table, 14), "name: key\nvalue: some\n  words here\n\nname: b\nvalue: 2\n");
    }

    #[test]
    fn whoever_needs_little_leaves_the_rest() {
        assert_eq!(shared(&[2, 100, 100], 42), [2, 20, 20]);
        assert_eq!(shared(&[50, 10], 40), [30, 10]);
    }

    #[test]
    fn words_are_whole_where_all_have_room() {
        let row = ["Longyearbyen", "a b c d e f g h i j k l m n o p q r s t"];
        assert_eq!(
            shown(&table(&["place", "letters"], &[&row]), 30),
            "place        │         letters\n─────────────┼────────────────\nLongyearbyen │ a b c d e f g h\n             │ i j k l m n o p\n             │         q r s t\n"
        );
        let words = table(&["a", "b"], &[&["abcdefghijklmnop", "abcdefghijkl"]]);
        assert!(shown(&words, 30).contains("abcdefghijklmno │ abcdefghijkl\np               │\n"));
        assert_eq!(floors(vec![10, 28, 6, 5], 31), [10, 7, 6, 5]);
        assert_eq!(floors(vec![50, 50, 50], 31), [10, 10, 10]);
        assert_eq!(floors(vec![3, 4], 7), [3, 4]);
    }
}
