//! Finds the tag that closes a block.
//!
//! Arguments may hold the very tag (a model that writes about this form, or a file with it), so one within a JSON
//! string is none. But a string that the model forgot to close must not swallow the rest of the reply: if what such a
//! reading would take for the block is no JSON, or if no tag comes outside a string, the first tag is meant.

use serde::de::IgnoredAny;

use super::CLOSE;

/// The progress of reading a block. Reading continues where it stopped, wherever the text is cut.
#[derive(Debug, Default)]
pub(super) struct Closing {
    at: usize,
    in_string: bool,
    escaped: bool,
    /// The first tag within a string.
    first: Option<usize>,
}

impl Closing {
    /// The offset of the closing tag, as soon as it is known. With `literal` every tag counts, also inside strings.
    pub(super) fn find(&mut self, text: &str, literal: bool) -> Option<usize> {
        while let Some(rest) = text.as_bytes().get(self.at..).filter(|rest| !rest.is_empty()) {
            let tag = CLOSE.as_bytes();
            if rest.starts_with(tag) {
                if literal || !self.in_string {
                    return Some(self.decide(text));
                }
                self.first.get_or_insert(self.at);
            } else if tag.starts_with(rest) {
                return None;
            }
            self.read(rest.first().copied().unwrap_or_default());
            self.at += 1;
        }
        None
    }

    /// The first tag of all, when no more text comes.
    pub(super) fn first(&self) -> Option<usize> {
        self.first
    }

    fn decide(&self, text: &str) -> usize {
        let is_json = |block: &str| serde_json::from_str::<IgnoredAny>(block.trim()).is_ok();
        match self.first {
            Some(first) if !text.get(..self.at).is_some_and(is_json) => first,
            _ => self.at,
        }
    }

    fn read(&mut self, byte: u8) {
        if std::mem::take(&mut self.escaped) {
            return;
        }
        match byte {
            b'"' => self.in_string = !self.in_string,
            b'\\' => self.escaped = self.in_string,
            _ => {}
        }
    }
}
