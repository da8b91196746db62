//! Comments, strings, numbers and words of languages that have them.

use super::Open;
use super::languages::{Keys, Language, Quote};
use crate::tone::Tone;

pub(super) fn pieces<'a>(text: &'a str, language: &'a Language, open: &mut Open) -> Vec<(Tone, &'a str)> {
    let mut lexer = Lexer { text, at: 0, language, pieces: Vec::new() };
    lexer.resume(open);
    while let Some(c) = lexer.rest().chars().next() {
        lexer.token(c, open);
    }
    lexer.pieces
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    language: &'a Language,
    pieces: Vec<(Tone, &'a str)>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn before(&self) -> Option<char> {
        self.text.get(..self.at)?.chars().next_back()
    }

    fn take(&mut self, bytes: usize, tone: Tone) {
        let part = self.rest().get(..bytes).unwrap_or(self.rest());
        self.pieces.push((tone, part));
        self.at += part.len();
    }

    /// What the line before has left open.
    fn resume(&mut self, open: &mut Open) {
        match std::mem::take(open) {
            Open::Comment(index, depth) => self.comment(index, depth, 0, open),
            Open::String(index) => {
                let quote = self.language.quotes.get(index);
                if let Some(quote) = quote {
                    self.string(index, quote, 0, open);
                }
            }
            Open::Nothing | Open::Tag => {}
        }
    }

    fn token(&mut self, c: char, open: &mut Open) {
        let (rest, language) = (self.rest(), self.language);
        let starts = |mark: &str| rest.starts_with(mark);
        if let Some((index, (mark, _))) =
            language.blocks.iter().enumerate().find(|(_, (mark, _))| starts(mark))
        {
            return self.comment(index, 1, mark.len(), open);
        }
        let apart = self.before().is_none_or(char::is_whitespace);
        if language.comments.iter().any(|mark| starts(mark) && (*mark != "#" || apart)) {
            return self.take(rest.len(), Tone::Comment);
        }
        if let Some((index, quote)) = language.quotes.iter().enumerate().find(|(_, quote)| self.opens(quote))
        {
            return self.string(index, quote, quote.open.len(), open);
        }
        match c {
            '0'..='9' => self.take(number(rest), Tone::Number),
            c if is_word(c) || (c == '@' && language.at_words) => self.word(),
            c => {
                let tone = self.section(c);
                self.take(c.len_utf8(), tone);
            }
        }
    }

    /// `[section]` of a file of settings.
    fn section(&mut self, c: char) -> Tone {
        let whole = self.language.keys == Keys::Equals
            && c == '['
            && self.text.get(..self.at).is_some_and(|before| before.trim().is_empty());
        if whole {
            let end = self.rest().rfind(']').unwrap_or(0);
            self.take(end, Tone::Keyword);
            return Tone::Keyword;
        }
        Tone::Plain
    }

    fn opens(&self, quote: &Quote) -> bool {
        let rest = self.rest();
        if !rest.starts_with(quote.open)
            || (quote.open.starts_with(is_word) && self.before().is_some_and(is_word))
        {
            return false;
        }
        // A lifetime or a digit group is not a character literal.
        let mut inner = rest.chars().skip(1);
        let (first, second) = (inner.next(), inner.next());
        !quote.single || first == Some('\\') || second == Some('\'')
    }

    fn comment(&mut self, index: usize, mut depth: usize, skip: usize, open: &mut Open) {
        let Some((begin, end)) = self.language.blocks.get(index) else { return };
        let (rest, mut at) = (self.rest(), skip);
        while depth > 0 {
            let left = rest.get(at..).unwrap_or_default();
            let Some(stop) = left.find(end) else {
                *open = Open::Comment(index, depth);
                return self.take(rest.len(), Tone::Comment);
            };
            match left.find(begin).filter(|start| self.language.nests && *start < stop) {
                Some(start) => (depth, at) = (depth + 1, at + start + begin.len()),
                None => (depth, at) = (depth - 1, at + stop + end.len()),
            }
        }
        self.take(at, Tone::Comment);
    }

    fn string(&mut self, index: usize, quote: &Quote, skip: usize, open: &mut Open) {
        let (rest, mut at) = (self.rest(), skip);
        loop {
            let left = rest.get(at..).unwrap_or_default();
            let Some(c) = left.chars().next() else {
                if quote.lines {
                    *open = Open::String(index);
                }
                return self.take(rest.len(), Tone::String);
            };
            if left.starts_with(quote.close) {
                at += quote.close.len();
                break;
            }
            at += c.len_utf8();
            if c == '\\' && quote.escapes {
                at += left.chars().nth(1).map_or(0, char::len_utf8);
            }
        }
        let behind = rest.get(at..).unwrap_or_default().trim_start();
        let key = self.language.keys == Keys::Colon && behind.starts_with(':');
        self.take(at, if key { Tone::Type } else { Tone::String });
    }

    fn word(&mut self) {
        let rest = self.rest();
        let dashes = self.language.keys != Keys::None;
        let is_part = |c: char| is_word(c) || c == '@' || (dashes && matches!(c, '-' | '.'));
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or(rest);
        let behind = rest.get(end..).unwrap_or_default().trim_start();
        let tone = self.tone(word, behind);
        self.take(end.max(1), tone);
    }

    fn tone(&self, word: &str, behind: &str) -> Tone {
        let language = self.language;
        let is_key = match language.keys {
            Keys::Colon => behind.starts_with(':'),
            Keys::Equals => behind.starts_with('='),
            Keys::None => false,
        };
        let folded = if language.folds { word.to_ascii_lowercase() } else { String::new() };
        let known = if language.folds { folded.as_str() } else { word };
        let listed = |words: &str| words.split(' ').any(|one| one == known);
        let named = language.capitals && word.chars().next().is_some_and(char::is_uppercase);
        if is_key {
            Tone::Type
        } else if listed(language.keywords) || (language.at_words && word.starts_with('@')) {
            Tone::Keyword
        } else if listed(language.types) || named {
            Tone::Type
        } else {
            Tone::Plain
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Bytes of it; `1..2` are two of them.
fn number(text: &str) -> usize {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let after = || text.get(at + 1..).and_then(|rest| rest.chars().next());
        let part = match c {
            '.' => before != '.' && after().is_some_and(|c| c.is_ascii_digit()),
            '-' | '+' => matches!(before, 'e' | 'E') && after().is_some_and(|c| c.is_ascii_digit()),
            c => is_word(c),
        };
        if !part {
            return at;
        }
        before = c;
    }
    text.len()
}
