//! What a screen shows, cell by cell, without what is empty at its ends.

use vt100::{Color, Screen};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Of the sixteen; `None`: the terminal's own.
    pub(super) ink: Option<u8>,
    pub(super) paper: Option<u8>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) inverse: bool,
}

#[cfg(test)]
pub(super) const PLAIN: Style = Style {
    ink: None,
    paper: None,
    bold: false,
    dim: false,
    italic: false,
    underlined: false,
    inverse: false,
};

/// One character as it is shown; wide ones take two columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glyph {
    pub(super) text: String,
    pub(super) columns: usize,
    pub(super) style: Style,
}

pub(super) type Row = Vec<Glyph>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) columns: usize,
    pub(super) rows: Vec<Row>,
    /// Row and column, if it is to be seen.
    pub(super) cursor: Option<(usize, usize)>,
}

impl Picture {
    pub(super) fn of(screen: &Screen) -> Self {
        let (rows, columns) = screen.size();
        let row = |row| (0..columns).filter_map(|column| glyph(screen, row, column)).collect();
        let mut rows: Vec<Row> = (0..rows).map(row).collect();
        rows.iter_mut().for_each(trim);
        let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        let (row, column) = screen.cursor_position();
        let cursor = (usize::from(row), usize::from(column));
        rows.truncate(used);
        Self { columns: usize::from(columns), rows, cursor: Some(cursor).filter(|_| !screen.hide_cursor()) }
    }
}

fn glyph(screen: &Screen, row: u16, column: u16) -> Option<Glyph> {
    let cell = screen.cell(row, column)?;
    if cell.is_wide_continuation() {
        return None;
    }
    let text = if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
    let style = Style {
        ink: index(cell.fgcolor()),
        paper: index(cell.bgcolor()),
        bold: cell.bold(),
        dim: cell.dim(),
        italic: cell.italic(),
        underlined: cell.underline(),
        inverse: cell.inverse(),
    };
    Some(Glyph { text, columns: if cell.is_wide() { 2 } else { 1 }, style })
}

/// The program uses the sixteen colours that every terminal has, and that its user has chosen.
fn index(color: Color) -> Option<u8> {
    match color {
        Color::Idx(index) => Some(index.min(15)),
        _ => None,
    }
}

fn trim(row: &mut Row) {
    let is_empty = |glyph: &Glyph| glyph.text == " " && glyph.style.paper.is_none() && !glyph.style.inverse;
    while row.last().is_some_and(is_empty) {
        row.pop();
    }
}
