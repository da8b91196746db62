//! The layout of thoughts of a model.
//!
//! On a terminal every line has a gutter and is wrapped between words, so that thoughts are never taken for the answer.
//! Elsewhere the lines stay as they are. Text comes in pieces of any size, and a word is written when it is whole: only
//! then can a secret be found in it.

use converse_text::width;

const GUTTER: &str = "│ ";
/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;
const NARROWEST: usize = 20;
/// A longer word is written in parts.
const LONGEST_WORD: usize = 4096;

/// The state of the layout.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    /// Width of the terminal; `None` elsewhere.
    width: Option<usize>,
    column: usize,
    word: String,
    /// Spaces that come before the next word, unless the line ends with them.
    spaces: usize,
    mid_line: bool,
}

impl Thoughts {
    /// `width` is the width of the terminal, if there is one.
    pub(super) fn new(width: Option<usize>) -> Self {
        Self { width: width.map(|width| width.clamp(NARROWEST, WIDEST)), ..Self::default() }
    }

    /// Takes text and returns what can be written by now; `clean` redacts a word.
    pub(super) fn push(&mut self, text: &str, clean: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => {
                    self.end_word(&clean, &mut out);
                    self.new_line(&mut out);
                }
                ' ' | '\t' if self.width.is_some() => {
                    self.end_word(&clean, &mut out);
                    self.spaces += 1;
                }
                ' ' | '\t' => {
                    self.end_word(&clean, &mut out);
                    out.push(c);
                    self.mid_line = true;
                }
                c => self.word.push(c),
            }
            if self.word.len() > LONGEST_WORD {
                self.end_word(&clean, &mut out);
            }
        }
        out
    }

    /// Returns the rest and ends its line.
    pub(super) fn end(&mut self, clean: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        self.end_word(&clean, &mut out);
        if self.mid_line {
            out.push('\n');
        }
        (self.mid_line, self.column, self.spaces) = (false, 0, 0);
        out
    }

    fn new_line(&mut self, out: &mut String) {
        if !self.mid_line && self.width.is_some() {
            out.push_str(GUTTER.trim_end());
        }
        out.push('\n');
        (self.mid_line, self.column, self.spaces) = (false, 0, 0);
    }

    fn end_word(&mut self, clean: impl Fn(&str) -> String, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let word = clean(&std::mem::take(&mut self.word));
        let Some(most) = self.width else {
            out.push_str(&word);
            self.mid_line = true;
            return;
        };
        let inner = most - GUTTER.chars().count();
        let columns = width(&word);
        if self.column > 0 && self.column + self.spaces + columns > inner {
            out.push('\n');
            (self.mid_line, self.column, self.spaces) = (false, 0, 0);
        }
        self.begin(out);
        let spaces = std::mem::take(&mut self.spaces).min(inner / 2);
        out.push_str(&" ".repeat(spaces));
        self.column += spaces;
        for c in word.chars() {
            if self.column + width_of(c) > inner {
                out.push('\n');
                (self.mid_line, self.column) = (false, 0);
                self.begin(out);
            }
            out.push(c);
            self.column += width_of(c);
        }
    }

    fn begin(&mut self, out: &mut String) {
        if !self.mid_line {
            out.push_str(GUTTER);
            self.mid_line = true;
        }
    }
}

fn width_of(c: char) -> usize {
    width(c.encode_utf8(&mut [0; 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(width: Option<usize>, pieces: &[&str]) -> String {
        let mut thoughts = Thoughts::new(width);
        let clean = |word: &str| word.replace("sk-secret", "***");
        let mut out: String = pieces.iter().map(|piece| thoughts.push(piece, clean)).collect();
        out.push_str(&thoughts.end(clean));
        out
    }

    #[test]
    fn a_terminal_has_a_gutter_and_whole_words() {
        for (pieces, shown) in [
            (&["Let me think."][..], "│ Let me think.\n"),
            (&["Le", "t me", " think.\n"], "│ Let me think.\n"),
            (&["one two three four five six"], "│ one two three four\n│ five six\n"),
            (&["a\n\nb"], "│ a\n│\n│ b\n"),
            (&["- a\n  - b"], "│ - a\n│   - b\n"),
            (&["abcdefghijklmnopqrstuvwxyz"], "│ abcdefghijklmnopqr\n│ stuvwxyz\n"),
            (&["あいうえおかきくけこ"], "│ あいうえおかきくけ\n│ こ\n"),
            (&["key sk-", "secret!"], "│ key ***!\n"),
            (&[""], ""),
        ] {
            assert_eq!(laid_out(Some(20), pieces), shown, "{pieces:?}");
        }
    }

    #[test]
    fn elsewhere_they_are_as_they_are() {
        let long = "word ".repeat(50);
        for (pieces, shown) in [
            (&["Let", " me\n\n  think"][..], "Let me\n\n  think\n"),
            (&["done.\n"], "done.\n"),
            (&["key sk-", "secret"], "key ***\n"),
            (&[long.as_str()], &format!("{long}\n")),
        ] {
            assert_eq!(laid_out(None, pieces), shown, "{pieces:?}");
        }
    }

    #[test]
    fn a_word_without_end_is_written_all_the_same() {
        let mut thoughts = Thoughts::new(None);
        assert!(thoughts.push(&"x".repeat(LONGEST_WORD + 1), str::to_owned).len() > LONGEST_WORD);
    }
}
