//! Wraps lines between words, and within words only if necessary.

use converse_text::clusters;

use crate::line::{Line, Span};
use crate::tone::Style;

/// Lines no wider than `width`, broken between words and between wide characters. Spaces at a break go.
pub fn wrapped(line: &Line, width: usize) -> Vec<Line> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let mut wrap = Wrap { width: width.max(1), ..Wrap::default() };
    for Span { text, style } in line.spans() {
        for (cluster, columns) in clusters(text, wrap.width) {
            match (cluster, columns) {
                (" ", _) => wrap.space(style),
                (wide, 2..) => {
                    wrap.end_word();
                    wrap.word.push((wide, columns, style));
                    wrap.end_word();
                }
                (narrow, _) => wrap.word.push((narrow, columns, style)),
            }
        }
    }
    wrap.end_word();
    wrap.lines.push(wrap.line);
    wrap.lines
}

/// So many columns of wide letters stay together where there is room: one below the other they are hard to read.
const WIDE_TOGETHER: usize = 6;

/// The columns below which [`wrapped`] breaks a word, or leaves wide letters alone.
pub(crate) fn narrowest(line: &Line) -> usize {
    let (mut narrowest, mut word, mut wide) = (0, 0, 0);
    for Span { text, .. } in line.spans() {
        for (cluster, columns) in clusters(text, usize::MAX) {
            (word, wide) = match (cluster, columns) {
                (" ", _) => (0, 0),
                (_, 2..) => (0, wide + columns),
                _ => (word + columns, 0),
            };
            narrowest = narrowest.max(word).max(wide.min(WIDE_TOGETHER));
        }
    }
    narrowest
}

/// Breaks a line into lines of at most `width`. No text is lost, and `mark` comes before each continuation.
pub fn broken(line: &Line, width: usize, mark: &Line) -> Vec<Line> {
    if line.width() <= width {
        return vec![line.clone()];
    }
    let marked = mark.width() + 2 <= width;
    let room = if marked { width - mark.width() } else { width };
    let (mut lines, mut current, mut column) = (Vec::new(), Line::new(), 0);
    for Span { text, style } in line.spans() {
        for (cluster, columns) in clusters(text, room) {
            if column > 0 && column + columns > width {
                let next = if marked { mark.clone() } else { Line::new() };
                column = next.width();
                lines.push(std::mem::replace(&mut current, next));
            }
            current.push(style.clone(), cluster);
            column += columns;
        }
    }
    lines.push(current);
    lines
}

#[derive(Default)]
struct Wrap<'a> {
    width: usize,
    lines: Vec<Line>,
    line: Line,
    column: usize,
    spaces: Vec<&'a Style>,
    /// What is never torn apart, in pieces.
    word: Vec<(&'a str, usize, &'a Style)>,
}

impl<'a> Wrap<'a> {
    fn space(&mut self, style: &'a Style) {
        self.end_word();
        self.spaces.push(style);
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let columns: usize = word.iter().map(|(_, columns, _)| columns).sum();
        let spaces = std::mem::take(&mut self.spaces);
        if self.column + spaces.len() + columns > self.width && self.column > 0 {
            self.new_line();
        } else if self.column + spaces.len() < self.width {
            self.column += spaces.len();
            spaces.iter().for_each(|style| self.line.push((*style).clone(), " "));
        }
        for (cluster, columns, style) in word {
            if self.column > 0 && self.column + columns > self.width {
                self.new_line();
            }
            self.line.push(style.clone(), cluster);
            self.column += columns;
        }
    }

    fn new_line(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
        self.column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tone;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        for (text, width, shown) in [
            ("one two three", 8, &["one two", "three"][..]),
            ("one  two", 20, &["one  two"]),
            ("one two", 3, &["one", "two"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("a bcdefgh", 4, &["a", "bcde", "fgh"]),
            ("日本語 x", 4, &["日本", "語 x"]),
            ("a日本", 2, &["a", "日", "本"]),
            ("", 3, &[""]),
            ("   ", 2, &[""]),
        ] {
            assert_eq!(texts(&wrapped(&Line::plain(text), width)), shown, "{text:?}");
        }
    }

    #[test]
    fn no_word_is_broken_where_the_longest_has_room() {
        for (text, columns) in [
            ("one three two", 5),
            ("a 日b", 2),
            ("", 0),
            ("a  日", 2),
            ("日bcd", 3),
            ("日本語です", 6),
            ("日本 語", 4),
        ] {
            assert_eq!(narrowest(&Line::plain(text)), columns, "{text:?}");
        }
        let line = Line::plain("see ").with(Tone::Strong, "bo").with(Tone::Plain, "ld!");
        assert_eq!(narrowest(&line), 5);
    }

    #[test]
    fn a_word_of_several_styles_is_one_word() {
        let line = Line::plain("see ").with(Tone::Strong, "bo").with(Tone::Plain, "ld!");
        let lines = wrapped(&line, 7);
        assert_eq!(texts(&lines), ["see", "bold!"]);
        assert_eq!(lines[1], Line::toned(Tone::Strong, "bo").with(Tone::Plain, "ld!"));
    }

    #[test]
    fn broken_lines_lose_nothing() {
        let mark = Line::toned(Tone::Dim, "↪ ");
        let lines = broken(&Line::plain("ab  cdefgh"), 5, &mark);
        assert_eq!(texts(&lines), ["ab  c", "↪ def", "↪ gh"]);
        assert_eq!(texts(&broken(&Line::plain("abc"), 2, &mark)), ["ab", "c"]);
    }
}
