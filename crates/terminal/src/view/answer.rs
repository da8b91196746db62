//! The text of a reply: Markdown in blocks, or the text as it was written.

use converse_screen::{Line, Look, Stream};

use super::frame::Frame;
use super::words::Words;

/// The text of one reply.
#[derive(Default)]
pub(super) struct Answer {
    words: Words,
    stream: Stream,
    /// Some of the text is in the scrollback.
    pub(super) shown: bool,
    /// The unfinished block as it was laid out last, and for which look.
    open: Option<(Look, Vec<Line>)>,
    /// Line ends that wait for text after them: an answer does not end in blank lines.
    held: String,
}

impl Answer {
    /// Takes text; returns the lines that are final.
    pub(super) fn push(&mut self, text: &str, frame: &Frame<'_>) -> Vec<Line> {
        let text = self.words.push(text, |words| frame.redactor.clean(words));
        if text.is_empty() {
            return Vec::new();
        }
        self.open = None;
        let lines = self.stream.push(&text, &frame.look);
        self.shown |= !lines.is_empty();
        lines
    }

    pub(super) fn end(&mut self, frame: &Frame<'_>) -> Vec<Line> {
        let rest = self.words.end(|words| frame.redactor.clean(words));
        let mut lines = self.stream.push(&rest, &frame.look);
        lines.extend(self.stream.end(&frame.look));
        *self = Self::default();
        lines
    }

    pub(super) fn open(&mut self, look: &Look) -> &[Line] {
        if self.open.as_ref().is_none_or(|(laid_out, _)| laid_out != look) {
            self.open = Some((*look, self.stream.open(look)));
        }
        self.open.as_ref().map(|(_, lines)| lines.as_slice()).unwrap_or_default()
    }

    /// Takes text; returns what can be written as it is by now.
    pub(super) fn push_plain(&mut self, text: &str, frame: &Frame<'_>) -> String {
        let text = self.words.push(text, |words| frame.clean(words));
        self.written(text)
    }

    pub(super) fn end_plain(&mut self, frame: &Frame<'_>) -> String {
        let rest = self.words.end(|words| frame.clean(words));
        let written = self.written(rest);
        *self = Self::default();
        written
    }

    fn written(&mut self, text: String) -> String {
        let mut text = std::mem::take(&mut self.held) + &text;
        self.held = text.split_off(text.trim_end_matches(['\n', '\r']).len());
        if !self.shown {
            text = text.trim_start_matches(['\n', '\r']).to_owned();
        }
        self.shown |= !text.is_empty();
        text
    }
}
