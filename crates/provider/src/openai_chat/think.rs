//! `<think>…</think>` at the very start of a reply's content: reasoning that the server's template did not take out.
//!
//! Only at the very start, blanks aside: further on it is what the model wishes to say. The tags may be cut anywhere
//! between two chunks, so as much is held back as could still become one.

use crate::Delta;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// Maximum bytes of blanks before the first tag; with more the content is text. Pending bytes are scanned with each chunk.
const MAX_BLANKS: usize = 64;

/// A stretch of content.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Segment {
    Text(String),
    Reasoning(String),
}

impl Segment {
    /// Adds it to what there is of its kind, and shows it.
    pub(crate) fn append_to(self, text: &mut String, reasoning: &mut String, out: &mut Vec<Delta>) {
        match self {
            Self::Text(more) => {
                text.push_str(&more);
                out.push(Delta::Text(more));
            }
            Self::Reasoning(more) => {
                reasoning.push_str(&more);
                out.push(Delta::Reasoning(more));
            }
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum State {
    #[default]
    Start,
    Inside,
    /// Right after the closing tag: blanks are layout.
    After,
    Text,
}

/// Splits content as it comes.
#[derive(Debug, Default)]
pub(crate) struct ThinkSplitter {
    place: State,
    pending: String,
}

impl ThinkSplitter {
    /// Takes the next piece of content.
    pub(crate) fn feed(&mut self, text: &str, mut out: impl FnMut(Segment)) {
        if self.place == State::Text {
            out(Segment::Text(text.to_owned()));
            return;
        }
        self.pending.push_str(text);
        self.advance(&mut out);
    }

    /// Ends the content and returns the pending bytes.
    pub(crate) fn finish(&mut self, mut out: impl FnMut(Segment)) {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            return;
        }
        match self.place {
            State::Inside => out(Segment::Reasoning(pending)),
            State::Start | State::Text => out(Segment::Text(pending)),
            State::After => {}
        }
    }

    fn advance(&mut self, out: &mut impl FnMut(Segment)) {
        if self.place == State::Start {
            let start = self.pending.trim_start();
            if let Some(rest) = start.strip_prefix(OPEN) {
                self.pending = rest.to_owned();
                self.place = State::Inside;
            } else if OPEN.starts_with(start) && self.pending.len() <= MAX_BLANKS {
                return;
            } else {
                self.place = State::Text;
            }
        }
        if self.place == State::Inside {
            if let Some((thought, rest)) = self.pending.split_once(CLOSE) {
                let (thought, rest) = (thought.to_owned(), rest.to_owned());
                emit(Segment::Reasoning(thought), out);
                self.pending = rest;
                self.place = State::After;
            } else {
                let keep = half_tag(&self.pending);
                let rest = self.pending.split_off(self.pending.len() - keep);
                emit(Segment::Reasoning(std::mem::replace(&mut self.pending, rest)), out);
                return;
            }
        }
        if self.place == State::After {
            self.pending = self.pending.trim_start().to_owned();
            if self.pending.is_empty() {
                return;
            }
            self.place = State::Text;
        }
        emit(Segment::Text(std::mem::take(&mut self.pending)), out);
    }
}

fn emit(segment: Segment, out: &mut impl FnMut(Segment)) {
    let (Segment::Text(text) | Segment::Reasoning(text)) = &segment;
    if !text.is_empty() {
        out(segment);
    }
}

/// Returns the number of bytes at the end that may be the start of the closing tag.
fn half_tag(text: &str) -> usize {
    (1..CLOSE.len())
        .rev()
        .find(|length| CLOSE.get(..*length).is_some_and(|half| text.ends_with(half)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&str]) -> (String, String) {
        let (mut text, mut thought) = (String::new(), String::new());
        let mut splitter = ThinkSplitter::default();
        let mut out = |segment| match segment {
            Segment::Text(more) => text.push_str(&more),
            Segment::Reasoning(more) => thought.push_str(&more),
        };
        for chunk in chunks {
            splitter.feed(chunk, &mut out);
        }
        splitter.finish(&mut out);
        (thought, text)
    }

    #[test]
    fn reasoning_is_taken_from_the_start_only() {
        for (content, thought, text) in [
            ("<think>hm</think>\n\nyes", "hm", "yes"),
            ("\n <think>\nhm\n</think> yes </think>", "\nhm\n", "yes </think>"),
            ("yes <think>no</think>", "", "yes <think>no</think>"),
            ("<thin", "", "<thin"),
            ("<thinking>", "", "<thinking>"),
            ("<think>never </thin", "never </thin", ""),
            ("<think></think>", "", ""),
            ("  yes", "", "  yes"),
            ("\n", "", "\n"),
        ] {
            let expected = (thought.to_owned(), text.to_owned());
            assert_eq!(split(&[content]), expected, "{content}");
            let letters: Vec<String> = content.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(&letters), expected, "{content} by letter");
        }
    }
}
