//! A table with a bar behind each row, as wide as the terminal: names are shortened, then the least important columns
//! are left out; the remaining width is for the bars.

use crate::render::output::painted;
use converse_text::shorten::within_columns;
use converse_text::width;

/// Between columns.
const GAP: usize = 2;
const SHORTEST_NAME: usize = 14;
const LONGEST_NAME: usize = 36;
const SHORTEST_BAR: usize = 6;
const LONGEST_BAR: usize = 32;

pub(super) struct Chart {
    /// Over the names.
    pub(super) what: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) total: Option<Row>,
}

pub(super) struct Column {
    pub(super) head: &'static str,
    /// Those with the greatest number are left out first; 0 never.
    pub(super) spare: u8,
}

pub(super) struct Row {
    pub(super) name: String,
    /// One for each column.
    pub(super) cells: Vec<String>,
    /// How long its bar is, among the others.
    pub(super) weight: u64,
}

/// How it is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub(super) columns: usize,
    pub(super) unicode: bool,
    pub(super) colour: bool,
}

impl Chart {
    /// Lines no wider than `look.columns`, each with its newline.
    pub(super) fn lines(&self, look: Look) -> String {
        let all = || self.rows.iter().chain(&self.total);
        let widest = |cells: &mut dyn Iterator<Item = usize>| cells.max().unwrap_or(0);
        let names =
            widest(&mut all().map(|row| width(&row.name)).chain([width(self.what)])).min(LONGEST_NAME);
        let wide = |place: usize, column: &Column| {
            let cells = all().filter_map(|row| row.cells.get(place)).map(|cell| width(cell));
            widest(&mut cells.chain([width(column.head)]))
        };
        let is_told =
            |place: usize| all().any(|row| row.cells.get(place).is_some_and(|cell| !cell.is_empty()));
        let mut shown: Vec<(usize, usize)> =
            self.columns.iter().enumerate().map(|(at, c)| (at, wide(at, c))).collect();
        shown.retain(|(place, _)| is_told(*place));
        let taken = |shown: &[(usize, usize)]| shown.iter().map(|(_, wide)| wide + GAP).sum::<usize>();
        let fits = |name: usize, shown: &[(usize, usize)]| name + taken(shown) <= look.columns;
        while !fits(names.min(SHORTEST_NAME), &shown) {
            let spare =
                |(place, _): &(usize, usize)| self.columns.get(*place).map_or(0, |column| column.spare);
            let Some(least) = shown.iter().enumerate().max_by_key(|(_, column)| spare(column)) else { break };
            if spare(least.1) == 0 {
                break;
            }
            shown.remove(least.0);
        }
        // A bar is worth a little of a long name.
        let room = look.columns.saturating_sub(taken(&shown));
        let name = names.min(room.saturating_sub(GAP + SHORTEST_BAR).max(SHORTEST_NAME)).min(room);
        let bar =
            Some(room.saturating_sub(name + GAP)).filter(|bar| *bar >= SHORTEST_BAR && self.rows.len() > 1);
        let drawing = Drawing { look, name, shown, bar: bar.map_or(0, |bar| bar.min(LONGEST_BAR)) };
        drawing.of(self)
    }
}

struct Drawing {
    look: Look,
    name: usize,
    /// Places of columns and their widths.
    shown: Vec<(usize, usize)>,
    bar: usize,
}

impl Drawing {
    fn of(&self, chart: &Chart) -> String {
        let heads: Vec<String> = chart.columns.iter().map(|column| column.head.to_owned()).collect();
        let mut text = self.painted("1", &self.line(chart.what, &heads)) + "\n";
        let most = chart.rows.iter().map(|row| row.weight).max().unwrap_or(0);
        for row in &chart.rows {
            let bar = bar(row.weight, most, self.bar, self.look.unicode);
            let line = self.line(&row.name, &row.cells);
            let gap = " ".repeat(if bar.is_empty() { 0 } else { GAP });
            text.push_str(format!("{line}{gap}{}", self.painted("36", &bar)).trim_end());
            text.push('\n');
        }
        if let Some(total) = chart.total.as_ref().filter(|_| chart.rows.len() > 1) {
            text.push_str(&(self.painted("1", self.line(&total.name, &total.cells).trim_end()) + "\n"));
        }
        text
    }

    fn line(&self, name: &str, cells: &[String]) -> String {
        let name = cut(name, self.name, self.look.unicode);
        let mut line = name.clone() + &" ".repeat(self.name.saturating_sub(width(&name)));
        for (place, wide) in &self.shown {
            let cell = cells.get(*place).map_or("", String::as_str);
            line.push_str(&" ".repeat(GAP + wide.saturating_sub(width(cell))));
            line.push_str(cell);
        }
        line
    }

    fn painted(&self, code: &str, text: &str) -> String {
        painted(self.look.colour && !text.is_empty(), code, text)
    }
}

/// The end is what tells names apart less often.
fn cut(name: &str, most: usize, unicode: bool) -> String {
    within_columns(name, most, if unicode { "…" } else { "~" }).into_owned()
}

/// A bar in eighths of a column. Every value above zero is visible.
fn bar(weight: u64, most: u64, columns: usize, unicode: bool) -> String {
    if weight == 0 || most == 0 || columns == 0 {
        return String::new();
    }
    let share = weight as f64 / most as f64 * columns as f64;
    if !unicode {
        return "#".repeat((share.round() as usize).clamp(1, columns));
    }
    let eighths = ((share * 8.0).round() as usize).clamp(1, columns * 8);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(eighths % 8).unwrap_or(&"");
    "█".repeat(eighths / 8) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(names: &[&str]) -> Chart {
        let column = |head, spare| Column { head, spare };
        let row = |name: &str, weight: u64| Row {
            name: name.to_owned(),
            cells: vec![weight.to_string(), "$0.0123".to_owned(), String::new()],
            weight,
        };
        let rows = names.iter().zip(1..).map(|(name, n)| row(name, n * 10)).collect();
        let columns = vec![column("tokens", 0), column("cost", 3), column("never", 1)];
        Chart { what: "model", columns, rows, total: Some(row("total", 99)) }
    }

    #[test]
    fn lines_fit_whatever_is_in_them() {
        let names =
            ["m", "a-model-with-a-rather-long-name-of-its-own", "日本語のモデル日本語のモデル", "e\u{301}"];
        for columns in 20..=130 {
            for unicode in [true, false] {
                let text = chart(&names).lines(Look { columns, unicode, colour: false });
                for line in text.lines() {
                    assert!(width(line) <= columns, "{columns}: {line:?}");
                }
                assert!(!text.contains("never"), "a column without a value is none");
                assert_eq!(text.lines().count(), 6);
            }
        }
    }

    #[test]
    fn what_matters_least_goes_first() {
        let at = |columns| chart(&["one", "two"]).lines(Look { columns, unicode: false, colour: false });
        assert_eq!(
            at(40),
            "model  tokens     cost\none        10  $0.0123  ########\ntwo        20  $0.0123  ################\n\
             total      99  $0.0123\n"
        );
        assert_eq!(at(20), "model  tokens\none        10\ntwo        20\ntotal      99\n");
    }

    #[test]
    fn bars_are_drawn_to_the_eighth() {
        for (weight, columns, unicode, text) in [
            (0, 4, true, ""),
            (1, 4, true, "▏"),
            (16, 4, true, "▋"),
            (50, 4, true, "██"),
            (97, 4, true, "███▉"),
            (100, 4, true, "████"),
            (1, 4, false, "#"),
            (50, 4, false, "##"),
        ] {
            assert_eq!(bar(weight, 100, columns, unicode), text, "{weight}");
        }
    }
}
