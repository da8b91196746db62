//! What others have made, laid out for the view: words of the user, tables.

use crate::screen::{Line, Tone, wrapped};

use super::TerminalView;
use super::view_state::Kind;
use crate::render::table;
use converse_host::wording::counted;

/// Rows of the user's words that are shown again.
const MOST: usize = 20;
const SIGN: &str = "❯ ";
const INDENT: &str = "  ";

impl TerminalView {
    /// Words that the user did not type just now and that are asked, below a prompt like the one they could stand at.
    pub fn echo(&self, words: &str) {
        if self.style.quiet {
            return;
        }
        let mut state = self.lock();
        let frame = self.frame();
        let text = self.style.spelt(&frame.clean(words.trim_matches('\n')));
        let room = frame.look.width.saturating_sub(INDENT.len()).max(1);
        let rows: Vec<Line> =
            text.split('\n').flat_map(|line| wrapped(&Line::toned(Tone::Dim, line), room)).collect();
        let more = rows.len().saturating_sub(MOST);
        let sign = self.style.spelt(SIGN);
        let lead = std::iter::once(sign.as_str()).chain(std::iter::repeat(INDENT));
        let mut lines: Vec<Line> = lead
            .zip(rows.into_iter().take(MOST))
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
        state.view_state.commit(Kind::Note, lines, &frame);
        let _ = self.show(&mut state);
    }

    /// No wider than what stands here may be.
    pub fn table(&self, rows: &[Vec<String>]) -> String {
        let spelt = |cell: &String| self.style.spelt(cell);
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(spelt).collect()).collect();
        table::within(&rows, self.look().width)
    }
}
