//! One line of a screen: styled pieces of text. It cannot contain control sequences: they are shown as by
//! [`safe`](fn@converse_text::safe).

use std::borrow::Cow;

use converse_text::{clusters, is_unsafe, safe_line, width};

use crate::Look;
use crate::tone::{Style, Tone};

/// Tabs end at columns that this divides.
const TAB: usize = 4;

/// Text without line ends, tabs and control characters, in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<Span>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Line {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn plain(text: &str) -> Self {
        Self::toned(Tone::Plain, text)
    }

    pub fn toned(tone: Tone, text: &str) -> Self {
        Self::new().with(tone, text)
    }

    /// This line and, behind it, some more.
    #[must_use]
    pub fn with(mut self, style: impl Into<Style>, text: &str) -> Self {
        self.push(style, text);
        self
    }

    pub fn push(&mut self, style: impl Into<Style>, text: &str) {
        if text.is_empty() {
            return;
        }
        let (style, text) = (style.into(), self.clean(text));
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(Span { text: text.into_owned(), style }),
        }
    }

    pub fn append(&mut self, other: Line) {
        for span in other.spans {
            self.push(span.style, &span.text);
        }
    }

    /// In columns.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The words alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// For a terminal, without a line end. Whatever is switched on is switched off again.
    pub fn painted(&self, look: &Look) -> String {
        let mut out = String::new();
        for span in &self.spans {
            let codes = if look.colour { span.style.codes(look.light) } else { String::new() };
            let link = span.style.link.as_deref().filter(|_| look.links);
            if let Some(link) = link {
                out.push_str(&format!("\x1b]8;;{link}\x1b\\"));
            }
            if codes.is_empty() {
                out.push_str(&span.text);
            } else {
                out.push_str(&format!("\x1b[{codes}m{}\x1b[0m", span.text));
            }
            if link.is_some() {
                out.push_str("\x1b]8;;\x1b\\");
            }
        }
        out
    }

    /// The beginning of it with `…`, if it is wider.
    #[must_use]
    pub fn clipped(&self, most: usize) -> Line {
        if self.width() <= most {
            return self.clone();
        }
        let (mut line, mut left) = (Line::new(), most.saturating_sub(1));
        for span in &self.spans {
            let end = fitting(&span.text, &mut left);
            let part = span.text.get(..end).unwrap_or_default();
            line.push(span.style.clone(), part);
            if end < span.text.len() {
                if most > 0 {
                    line.push(span.style.clone(), "…");
                }
                break;
            }
        }
        line
    }

    /// Without spaces at its end.
    #[must_use]
    pub(crate) fn trimmed(mut self) -> Line {
        while let Some(last) = self.spans.last_mut() {
            let end = last.text.trim_end_matches(' ').len();
            last.text.truncate(end);
            if end > 0 {
                break;
            }
            self.spans.pop();
        }
        self
    }

    pub(crate) fn restyled(&self, change: impl Fn(&mut Style)) -> Line {
        let mut line = self.clone();
        line.spans.iter_mut().for_each(|span| change(&mut span.style));
        line
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.spans
    }

    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if text.contains('\t') { Cow::Owned(self.untabbed(text)) } else { Cow::Borrowed(text) };
        if text.chars().any(|c| c == '\n' || is_unsafe(c)) {
            return Cow::Owned(safe_line(&text, usize::MAX));
        }
        text
    }

    fn untabbed(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + TAB);
        let mut column = self.width();
        for (index, part) in text.split('\t').enumerate() {
            if index > 0 {
                let blanks = TAB - column % TAB;
                out.push_str(&" ".repeat(blanks));
                column += blanks;
            }
            out.push_str(part);
            column += width(part);
        }
        out
    }
}

/// Bytes of the beginning that fit into the columns that are left.
fn fitting(text: &str, left: &mut usize) -> usize {
    let mut end = 0;
    for (cluster, columns) in clusters(text, usize::MAX) {
        if columns > *left {
            *left = 0;
            return end;
        }
        *left -= columns;
        end += cluster.len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOUR: Look = Look { width: 80, colour: true, light: false, links: true, unicode: true };

    #[test]
    fn styles_end_where_they_are_said_to() {
        let line = Line::plain("a ").with(Tone::Strong, "b").with(Tone::Error, "c");
        assert_eq!(line.painted(&COLOUR), "a \x1b[1mb\x1b[0m\x1b[91mc\x1b[0m");
        assert_eq!(line.painted(&Look::plain(80)), "a bc");
        let light = Look { light: true, ..COLOUR };
        assert_eq!(line.painted(&light), "a \x1b[1mb\x1b[0m\x1b[31mc\x1b[0m");
        let both = Style { strong: true, struck: true, ..Style::from(Tone::Code) };
        assert_eq!(Line::new().with(both, "x").painted(&COLOUR), "\x1b[36;1;9mx\x1b[0m");
    }

    #[test]
    fn nothing_in_a_line_acts() {
        for (text, shown) in
            [("a\x1b[2Jb", "a\\x1b[2Jb"), ("a\nb", "a\\nb"), ("a\tb", "a   b"), ("\u{202e}x", "\\u{202e}x")]
        {
            assert_eq!(Line::plain(text).text(), shown);
        }
        assert_eq!(Line::plain("ab").with(Tone::Code, "\tc").text(), "ab  c");
    }

    #[test]
    fn a_clipped_line_is_no_wider() {
        let line = Line::plain("日本").with(Tone::Strong, "語x");
        for (most, shown) in
            [(7, "日本語x"), (6, "日本…"), (5, "日本…"), (4, "日…"), (2, "…"), (1, "…"), (0, "")]
        {
            assert_eq!(line.clipped(most).text(), shown, "{most}");
            assert!(line.clipped(most).width() <= most, "{most}");
        }
    }
}
