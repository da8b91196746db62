//! Thoughts of a model: one line that says for how long, or all of them beside a bar.

use std::time::Instant;

use converse_screen::{Line, Tone};

use super::frame::Frame;
use super::thoughts::Thoughts;
use super::words::{so_far, took};
use converse_text::wording::grouped;

/// Characters of a token of English text. The count is shown as an estimate.
const CHARACTERS_A_TOKEN: usize = 4;

/// The thoughts of one reply.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    began: Option<Instant>,
    /// They are shown, not folded.
    told: bool,
    characters: usize,
    laid_out: Thoughts,
    /// The line that is not full yet.
    open: String,
}

impl Thinking {
    /// Takes text; returns the lines that are full.
    pub(super) fn push(&mut self, text: &str, frame: &Frame<'_>) -> Vec<Line> {
        if self.began.is_none() {
            self.began = Some(frame.now);
            self.laid_out = Thoughts::new(frame.style.gutter.then_some(frame.look.width));
        }
        self.characters += text.chars().count();
        if !frame.reasoning {
            return Vec::new();
        }
        self.told = true;
        let laid_out = self.laid_out.push(text, |word| frame.clean(word));
        self.open.push_str(&laid_out);
        self.full_lines(frame)
    }

    /// Returns the rest, or the line that says how long it took.
    pub(super) fn end(&mut self, frame: &Frame<'_>) -> Vec<Line> {
        let Some(began) = self.began else { return Vec::new() };
        if self.told {
            let rest = self.laid_out.end(|word| frame.clean(word));
            self.open.push_str(&rest);
            let lines = self.full_lines(frame);
            *self = Self::default();
            return lines;
        }
        let tokens = grouped(self.characters.div_ceil(CHARACTERS_A_TOKEN) as u64);
        let time = took(frame.since(began));
        let sign = frame.signs().thought;
        *self = Self::default();
        vec![Line::toned(Tone::Dim, &format!("{sign} thought for {time} (~{tokens} tokens)"))]
    }

    /// The line that is not final.
    pub(super) fn open(&self, frame: &Frame<'_>) -> Option<Line> {
        let began = self.began?;
        if self.told {
            return Some(self.line(&self.open, frame)).filter(|_| !self.open.is_empty());
        }
        let (sign, more) = (frame.signs().thought, frame.signs().more);
        let text = format!("{sign} thinking{more} {}", so_far(frame.since(began)));
        Some(Line::toned(Tone::Dim, &text))
    }

    pub(super) fn is_told(&self) -> bool {
        self.told
    }

    fn full_lines(&mut self, frame: &Frame<'_>) -> Vec<Line> {
        let Some(end) = self.open.rfind('\n') else { return Vec::new() };
        let rest = self.open.split_off(end + 1);
        let full = std::mem::replace(&mut self.open, rest);
        full.lines().map(|line| self.line(line, frame)).collect()
    }

    fn line(&self, text: &str, frame: &Frame<'_>) -> Line {
        let bar = frame.signs().bar;
        Line::toned(Tone::Dim, &text.replacen('│', bar.encode_utf8(&mut [0; 4]), 1))
    }
}
