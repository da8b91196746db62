//! Cuts a reply's text into words and blocks, as it comes.
//!
//! A block begins with its tag and a `{` where nothing is quoted ([`Quoting`]): prose that mentions the tag is prose. Only what could
//! still become a tag is held back, which no ordinary text ends with. Where a block ends: [`Closing`]. Blanks before the first word and around blocks
//! are layout.

use super::closing::Closing;
use super::quoting::Quoting;
use super::{CLOSE, OPEN, RESULT};

/// More blanks than this between a tag and its `{`, and it is text.
const MAX_BLANKS: usize = 64;

/// A stretch of a reply's text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Segment {
    Words(String),
    /// The text between the tags. `whole` if the closing tag arrived.
    Block {
        text: String,
        whole: bool,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum State {
    /// Nothing but blanks has come, or a block has just ended.
    #[default]
    Blank,
    Words,
    Block,
    /// A result was invented: the rest is dropped.
    Over,
}

#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: State,
    pending: String,
    /// Number of pending bytes that are known to be blank.
    scanned: usize,
    closing: Closing,
    /// A string was left open in this reply: from there on every closing tag is one. That keeps the work linear.
    literal: bool,
    blocks: usize,
    /// Has read all words that were handed out.
    quoting: Quoting,
}

enum Tag {
    Call {
        end: usize,
    },
    Result,
    /// It could still become one.
    Half,
    None,
}

impl Splitter {
    pub(super) fn feed(&mut self, text: &str, out: &mut impl FnMut(Segment)) {
        self.pending.push_str(text);
        while self.step(out) {}
    }

    /// Ends the text and returns the pending bytes.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(Segment)) {
        if let (State::Block, Some(first)) = (self.place, self.closing.first()) {
            self.close(first, out);
            while self.step(out) {}
        }
        let pending = std::mem::take(&mut self.pending);
        match self.place {
            State::Block => out(Segment::Block { text: pending, whole: false }),
            State::Words if !pending.is_empty() => out(Segment::Words(pending)),
            // Blanks after a block mean nothing; a reply that is nothing but blanks keeps them.
            State::Blank if !pending.is_empty() && (self.blocks == 0 || !pending.trim().is_empty()) => {
                out(Segment::Words(pending));
            }
            State::Blank | State::Words | State::Over => {}
        }
    }

    /// True if there is more to do.
    fn step(&mut self, out: &mut impl FnMut(Segment)) -> bool {
        match self.place {
            State::Over => {
                self.pending.clear();
                false
            }
            State::Block => self.block(out),
            State::Blank => self.blank(),
            State::Words => self.words(out),
        }
    }

    fn block(&mut self, out: &mut impl FnMut(Segment)) -> bool {
        let Some(end) = self.closing.find(&self.pending, self.literal) else { return false };
        self.close(end, out);
        true
    }

    /// Hands out the block that ends there.
    fn close(&mut self, end: usize, out: &mut impl FnMut(Segment)) {
        self.literal |= self.closing.first() == Some(end);
        self.closing = Closing::default();
        let mut text = std::mem::take(&mut self.pending);
        self.pending = text.split_off(end).split_off(CLOSE.len());
        self.blocks += 1;
        self.place = State::Blank;
        out(Segment::Block { text, whole: true });
    }

    /// Blanks wait for what follows them.
    fn blank(&mut self) -> bool {
        let from = floor(&self.pending, self.scanned);
        let rest = self.pending.get(from..).unwrap_or_default();
        let Some(at) = rest.find(|c: char| !c.is_whitespace()) else {
            self.scanned = self.pending.len();
            return false;
        };
        let start = from + at;
        match tag(self.pending.get(start..).unwrap_or_default()) {
            Tag::Half => {
                self.scanned = start;
                return false;
            }
            // After a block they are layout, before the first word they are the reply's own.
            Tag::None if self.blocks == 0 => {}
            Tag::None | Tag::Call { .. } | Tag::Result => {
                let words = self.pending.split_off(start);
                self.quoting.read(&std::mem::replace(&mut self.pending, words));
            }
        }
        self.scanned = 0;
        self.place = State::Words;
        true
    }

    fn words(&mut self, out: &mut impl FnMut(Segment)) -> bool {
        let (mut from, mut read) = (0, 0);
        while let Some(at) = self.pending.get(from..).and_then(|rest| rest.find('<')) {
            let at = from + at;
            self.quoting.read(self.pending.get(read..at).unwrap_or_default());
            read = at;
            let quoted = self.quoting.is_quoted();
            match tag(self.pending.get(at..).unwrap_or_default()) {
                Tag::Call { end } if !quoted => {
                    let block = self.pending.split_off(at + end);
                    self.pending.truncate(at);
                    self.emit_words(read, out);
                    (self.pending, self.place, self.scanned) = (block, State::Block, 0);
                    return true;
                }
                Tag::Result if !quoted && self.blocks > 0 => {
                    self.pending.truncate(at);
                    self.emit_words(read, out);
                    self.place = State::Over;
                    return false;
                }
                Tag::Half => {
                    let half = self.pending.split_off(at);
                    self.emit_words(read, out);
                    self.pending = half;
                    return false;
                }
                _ => from = at + 1,
            }
        }
        self.emit_words(read, out);
        false
    }

    /// Returns the pending bytes as words; their quotations are read up to `read`.
    fn emit_words(&mut self, read: usize, out: &mut impl FnMut(Segment)) {
        self.quoting.read(self.pending.get(read..).unwrap_or_default());
        if !self.pending.is_empty() {
            out(Segment::Words(std::mem::take(&mut self.pending)));
        }
    }
}

/// Returns the tag at the start of a text.
fn tag(text: &str) -> Tag {
    if let Some(rest) = text.strip_prefix(OPEN) {
        let inner = rest.trim_start();
        return match inner.chars().next() {
            Some('{') => Tag::Call { end: text.len() - inner.len() },
            None if rest.len() <= MAX_BLANKS => Tag::Half,
            _ => Tag::None,
        };
    }
    if text.starts_with(RESULT) {
        return Tag::Result;
    }
    if OPEN.starts_with(text) || RESULT.starts_with(text) { Tag::Half } else { Tag::None }
}

/// The nearest boundary of a character at or before.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
