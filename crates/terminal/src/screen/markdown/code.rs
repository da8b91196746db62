//! Code as it is: a label, then its lines, broken only where they are full.

use crate::screen::highlight::{Highlighter, named};
use crate::screen::wrap::broken;
use crate::screen::{Line, Look, Tone};

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
    /// `info`: what stands behind the fence.
    pub(super) fn new(info: &str) -> Self {
        let label = named(info);
        Self { label: label.to_owned(), highlighter: Highlighter::new(label), begun: false }
    }

    pub(super) fn html() -> Self {
        Self { label: String::new(), highlighter: Highlighter::new("html"), begun: false }
    }

    /// A line of it, below the label if it is the first.
    pub(super) fn line(&mut self, text: &str, look: &Look) -> Vec<Line> {
        let mut lines = if self.begun { Vec::new() } else { self.label(look) };
        let indent = Line::plain(if look.width > 2 * INDENT.len() { INDENT } else { "" });
        let mark = Line::toned(Tone::Dim, look.either("↪ ", "\\ "));
        let text = self.highlighter.line(text);
        for line in broken(&text, look.width.saturating_sub(indent.width()).max(1), &mark) {
            let mut whole = indent.clone();
            whole.append(line);
            lines.push(whole);
        }
        lines
    }

    /// What stands above the code, if it is said what it is.
    pub(super) fn label(&self, look: &Look) -> Vec<Line> {
        let label = Line::toned(Tone::Dim, &format!("{INDENT}{}", self.label));
        if self.label.is_empty() { Vec::new() } else { vec![label.clipped(look.width)] }
    }
}
