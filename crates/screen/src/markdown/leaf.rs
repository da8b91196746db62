//! Blocks that hold text and no other blocks.

use super::starts::{Until, is_delimiters};
use crate::highlight::{Highlighter, named};
use crate::wrap::broken;
use crate::{Line, Look, Tone};

/// What is open, and what of it is not written yet.
#[derive(Debug, Clone, Default)]
pub(super) enum Leaf {
    #[default]
    None,
    Paragraph(Paragraph),
    Fence {
        mark: char,
        length: usize,
        indent: usize,
        code: Code,
    },
    /// Code that is only indented; blank lines are held until it is known that they are within.
    Indented {
        blanks: Vec<String>,
        code: Code,
    },
    Html {
        until: Until,
        code: Code,
    },
}

/// Lines that become a paragraph, a heading below which a line is drawn, or a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Paragraph {
    pub(super) source: String,
    /// The head and the delimiters, once they are known to be such.
    pub(super) head: Option<String>,
    last: String,
}

/// Bytes after which one is ended and goes on as another.
const LONGEST: usize = 32 * 1024;
const LONGEST_TABLE: usize = 256 * 1024;

impl Paragraph {
    pub(super) fn push(&mut self, line: &str) {
        if self.head.is_none() && self.last.contains('|') && is_delimiters(line.trim()) {
            self.head = Some(format!("{}\n{line}\n", self.last));
        }
        self.source.push_str(line);
        self.source.push('\n');
        if self.head.is_none() {
            self.last = line.to_owned();
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.source.len() > if self.head.is_some() { LONGEST_TABLE } else { LONGEST }
    }

    /// What goes on when this one is full: a table with its head again.
    pub(super) fn next(&self) -> Self {
        Self { source: self.head.clone().unwrap_or_default(), head: self.head.clone(), last: String::new() }
    }

    /// Closes open marks, which the following text will close.
    pub(super) fn mend(&mut self) {
        let text = self.source.trim_end().trim_end_matches(['*', '_', '~']);
        let (mut strong, mut code) = (false, false);
        for (index, part) in text.split('`').enumerate() {
            code = index % 2 == 1;
            strong ^= !code && part.matches("**").count() % 2 == 1;
        }
        let ends = [(code, "`"), (strong, "**")];
        let ends = ends.into_iter().filter_map(|(open, mark)| open.then_some(mark));
        self.source = ends.fold(text.to_owned(), |text, mark| text + mark);
    }
}

const INDENT: &str = "  ";

/// A block of code, as far as it has come.
#[derive(Debug, Clone)]
pub(super) struct Code {
    label: String,
    highlighter: Highlighter,
    /// Something of it is written.
    pub(super) begun: bool,
}

impl Code {
    /// `info`: the text after the opening fence.
    pub(super) fn new(info: &str) -> Self {
        let label = named(info);
        Self { label: label.to_owned(), highlighter: Highlighter::new(label), begun: false }
    }

    pub(super) fn html() -> Self {
        Self { label: String::new(), highlighter: Highlighter::new("html"), begun: false }
    }

    /// A line of it, below the label if it is the first. `is_broken`: in rows of the width, marked.
    pub(super) fn line(&mut self, text: &str, look: &Look, is_broken: bool) -> Vec<Line> {
        let mut lines = if self.begun { Vec::new() } else { self.label(look) };
        let indent = Line::plain(if look.width > 2 * INDENT.len() { INDENT } else { "" });
        let mark = Line::toned(Tone::Dim, look.either("↪ ", "\\ "));
        let width = if is_broken { look.width.saturating_sub(indent.width()).max(1) } else { usize::MAX };
        for line in broken(&self.highlighter.line(text), width, &mark) {
            let mut whole = indent.clone();
            whole.append(line);
            lines.push(whole);
        }
        lines
    }

    /// The label above the code, if its language is given.
    pub(super) fn label(&self, look: &Look) -> Vec<Line> {
        let label = Line::toned(Tone::Dim, &format!("{INDENT}{}", self.label));
        if self.label.is_empty() { Vec::new() } else { vec![label.clipped(look.width)] }
    }
}
