//! Markdown as styled lines, while it is still being written.
//!
//! Text comes in pieces of any size. This module splits it into blocks, line by line as CommonMark defines, to know
//! which lines cannot change any more. They are returned at once, so long lists and code blocks appear while they grow.
//! pulldown-cmark parses a paragraph, a heading or a table when the block is complete. The result does not depend on
//! how the text was split.

mod blocks;
mod containers;
mod flow;
mod leaf;
mod starts;

use crate::{Line, Look};
use blocks::Blocks;
pub(crate) use flow::is_break;

/// Bytes of one line; a longer one is cut there.
const LONGEST_LINE: usize = 16 * 1024;

/// Markdown that comes in pieces.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Of the line that has not ended yet.
    partial: String,
    blocks: Blocks,
}

/// Where lines go, and how they are to look.
pub(crate) struct Out<'a> {
    pub(crate) look: &'a Look,
    pub(crate) lines: Vec<Line>,
    /// They are drawn again, in rows that are cut to the width.
    pub(crate) is_open: bool,
    /// What holds each of them, outermost first.
    #[cfg(test)]
    pub(crate) held: Vec<String>,
}

impl<'a> Out<'a> {
    fn new(look: &'a Look) -> Self {
        Self {
            look,
            lines: Vec::new(),
            is_open: false,
            #[cfg(test)]
            held: Vec::new(),
        }
    }
}

impl Stream {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes more text; gives the lines that are final by now. The work is in proportion to the text. Lines of code can be wider
    /// than the look: where the terminal wraps them, they are copied as they were.
    pub fn push(&mut self, text: &str, look: &Look) -> Vec<Line> {
        let mut out = Out::new(look);
        for piece in text.split_inclusive('\n') {
            self.partial.push_str(piece);
            self.cut(&mut out);
            if self.partial.ends_with('\n') {
                let line = std::mem::take(&mut self.partial);
                self.blocks.line(line.trim_end_matches('\n'), &mut out);
            }
        }
        out.lines
    }

    /// The unfinished block as it looks now. Marks that are not closed yet are taken to be, and those that may still
    /// become anything are not shown.
    pub fn open(&self, look: &Look) -> Vec<Line> {
        let (mut out, mut blocks) = (Out { is_open: true, ..Out::new(look) }, self.blocks.clone());
        if !blocks.is_undecided(&self.partial) {
            blocks.line(&self.partial, &mut out);
        }
        blocks.mend();
        blocks.end(&mut out);
        out.lines
    }

    /// The rest; the stream is as new then.
    pub fn end(&mut self, look: &Look) -> Vec<Line> {
        let mut out = Out::new(look);
        let (partial, mut blocks) = (std::mem::take(&mut self.partial), std::mem::take(&mut self.blocks));
        if !partial.is_empty() {
            blocks.line(&partial, &mut out);
        }
        blocks.end(&mut out);
        out.lines
    }

    fn cut(&mut self, out: &mut Out<'_>) {
        while self.partial.trim_end_matches('\n').len() > LONGEST_LINE {
            let at = self.partial.floor_char_boundary(LONGEST_LINE);
            let rest = self.partial.split_off(at);
            let line = std::mem::replace(&mut self.partial, rest);
            self.blocks.line(&line, out);
        }
    }
}

/// All of a text at once.
pub fn markdown(text: &str, look: &Look) -> Vec<Line> {
    let mut stream = Stream::new();
    let mut lines = stream.push(text, look);
    lines.extend(stream.end(look));
    lines
}

#[cfg(test)]
mod tests;
