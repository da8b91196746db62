//! Text of the user and tables, laid out for the view.

use converse_screen::{Line, Tone, wrapped};

use super::TerminalView;
use super::frame::Frame;
use super::style::Detail;
use super::view_state::Kind;
use crate::render::table;
use converse_text::wording::counted;

/// Rows of the user's text that are echoed.
pub(super) const MOST: usize = 20;
const INDENT: &str = "  ";

impl TerminalView {
    /// Shows text that is asked and was not typed just now, behind a prompt.
    pub fn echo(&self, words: &str) {
        self.echo_up_to(MOST, words);
    }

    /// The same, with at most this many rows.
    pub fn echo_up_to(&self, most: usize, words: &str) {
        if self.style().detail == Detail::Nothing {
            return;
        }
        let mut state = self.lock();
        let frame = self.frame();
        state.main.commit(Kind::Note, echoed(words, most, &frame), &frame);
        let _ = self.show(&mut state);
    }

    /// Lays out a table within the width of the view.
    pub fn table(&self, rows: &[Vec<String>]) -> String {
        self.table_rows(rows).concat()
    }

    /// As [`table`](Self::table), each row by itself: a narrow one takes several lines.
    pub fn table_rows(&self, rows: &[Vec<String>]) -> Vec<String> {
        let spelt = |cell: &String| self.style().spelt(cell);
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(spelt).collect()).collect();
        table::within(&rows, self.look().width)
    }
}

/// The user's words behind a prompt, in at most so many rows.
pub(super) fn echoed(words: &str, most: usize, frame: &Frame<'_>) -> Vec<Line> {
    let text = frame.style.spelt(&frame.clean(words.trim_matches('\n')));
    let room = frame.look.width.saturating_sub(INDENT.len()).max(1);
    let rows: Vec<Line> =
        text.split('\n').flat_map(|line| wrapped(&Line::toned(Tone::Dim, line), room)).collect();
    let more = rows.len().saturating_sub(most);
    let lead = std::iter::once(frame.signs().prompt).chain(std::iter::repeat(INDENT));
    let mut lines: Vec<Line> = lead
        .zip(rows.into_iter().take(most))
        .map(|(lead, row)| {
            let mut line = Line::toned(Tone::Dim, lead);
            line.append(row);
            line
        })
        .collect();
    if more > 0 {
        let more = format!("{INDENT}{} {}", frame.signs().more, counted(more, "more line"));
        lines.push(Line::toned(Tone::Dim, &more));
    }
    lines
}
