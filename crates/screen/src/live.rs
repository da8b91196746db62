//! The last lines of a terminal, redrawn in place. Final lines go above them into the scrollback.
//!
//! Between two paints the cursor is at the beginning of the region, hidden. So it does not matter how many rows the
//! region has after a resize, when some terminals wrap lines again and some cut them: all of it is below the cursor.
//! For the same reason output of other programs does no harm: it stays, and the region continues below it.

use crate::{Line, Look};

const SYNCHRONISED: &str = "\x1b[?2026h";
const SHOWN_AT_ONCE: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Lines of the region never wrap, even where a terminal takes a character for wider than it was counted.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// Of a terminal, in cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// The content of the region.
#[derive(Debug, Default)]
pub struct Live {
    /// Painted, a line each.
    shown: Vec<String>,
    size: Size,
}

impl Live {
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes that put `above` into the scrollback and the region below it, for one write; nothing if all is as it
    /// was. Of a region that is higher than the screen less two lines the end is shown.
    pub fn paint(&mut self, above: &[Line], region: &[Line], look: &Look, size: Size) -> String {
        let lines = fitting(region, look, size);
        let resized = size != self.size;
        if above.is_empty() && !resized && lines == self.shown {
            return String::new();
        }
        let body = if above.is_empty() && !resized && !self.shown.is_empty() {
            self.changes(&lines)
        } else if above.is_empty() && lines.is_empty() && self.shown.is_empty() {
            self.size = size;
            return String::new();
        } else {
            whole(above, &lines, look, size)
        };
        let cursor = if lines.is_empty() { SHOW_CURSOR } else { "" };
        (self.shown, self.size) = (lines, size);
        format!("{SYNCHRONISED}{HIDE_CURSOR}{body}{cursor}{SHOWN_AT_ONCE}")
    }

    /// Removes the region: the cursor is at its beginning and visible, and others can use the terminal.
    pub fn leave(&mut self) -> String {
        if self.shown.is_empty() {
            return String::new();
        }
        self.shown.clear();
        format!("\r{CLEAR_BELOW}{SHOW_CURSOR}")
    }

    /// Only the lines that differ.
    fn changes(&self, lines: &[String]) -> String {
        let (mut out, mut row) = (NO_WRAP.to_owned(), 0);
        for (index, line) in lines.iter().enumerate() {
            match self.shown.get(index) {
                Some(old) if old == line => continue,
                Some(_) => {
                    down(&mut out, index - row);
                    out.push('\r');
                }
                None => {
                    down(&mut out, index - 1 - row);
                    out.push_str("\r\n");
                }
            }
            row = index;
            out.push_str(line);
            out.push_str(CLEAR_LINE);
        }
        if lines.len() < self.shown.len() {
            down(&mut out, lines.len() - row);
            row = lines.len();
            out.push('\r');
            out.push_str(CLEAR_BELOW);
        }
        back(&mut out, row);
        out.push_str(WRAP);
        out
    }
}

/// As far as they go on the screen, painted. The last column stays free: what is written into it wraps on some terminals.
fn fitting(region: &[Line], look: &Look, size: Size) -> Vec<String> {
    let room = size.rows.saturating_sub(2).max(1);
    let lines = region.iter().skip(region.len().saturating_sub(room));
    lines.map(|line| line.clipped(size.columns.saturating_sub(1).max(1)).painted(look)).collect()
}

fn whole(above: &[Line], lines: &[String], look: &Look, size: Size) -> String {
    let mut out = "\r".to_owned();
    // Lines that wrap cannot clear what each of their rows leaves over.
    if above.iter().any(|line| line.width() > size.columns) {
        out.push_str(CLEAR_BELOW);
    }
    for line in above {
        out.push_str(&line.painted(look));
        // In the last column it would take the last character.
        if line.width() < size.columns {
            out.push_str(CLEAR_LINE);
        }
        out.push_str("\r\n");
    }
    out.push_str(NO_WRAP);
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push_str("\r\n");
        }
        out.push_str(line);
        out.push_str(CLEAR_LINE);
    }
    out.push_str(CLEAR_BELOW);
    back(&mut out, lines.len().saturating_sub(1));
    out.push_str(WRAP);
    out
}

fn down(out: &mut String, rows: usize) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}B"));
    }
}

/// To the beginning of the region.
fn back(out: &mut String, rows: usize) {
    if rows > 0 {
        out.push_str(&format!("\x1b[{rows}A"));
    }
    out.push('\r');
}

#[cfg(test)]
mod tests;
