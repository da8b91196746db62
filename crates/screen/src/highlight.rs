//! Code in colours: a small lexer over tables of languages, line by line, so that what is open at the end of a line
//! (a comment, a string) is known at the next. It need not be right about everything; it must never change a character.

mod languages;
mod lexer;
mod markup;

use crate::line::Line;
use crate::tone::Tone;
use languages::{Kind, Language};

/// One block of code, as its lines come.
#[derive(Debug, Clone)]
pub(crate) struct Highlighter {
    language: Option<&'static Language>,
    open: Open,
}

/// What a line has left open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Open {
    #[default]
    Nothing,
    /// The how manieth kind of block comment, and how deep it is nested.
    Comment(usize, usize),
    /// The how manieth kind of string.
    String(usize),
    /// Within `<…>`.
    Tag,
}

impl Highlighter {
    /// `name`: the info string of a fence.
    pub(crate) fn new(name: &str) -> Self {
        Self { language: Language::named(name), open: Open::Nothing }
    }

    pub(crate) fn line(&mut self, text: &str) -> Line {
        let mut line = Line::new();
        self.pieces(text).into_iter().for_each(|(tone, part)| line.push(tone, part));
        line
    }

    /// The same text in pieces, some of which may be of one tone with those before.
    pub(crate) fn pieces<'a>(&mut self, text: &'a str) -> Vec<(Tone, &'a str)> {
        let Some(language) = self.language else { return vec![(Tone::Plain, text)] };
        match language.kind {
            Kind::Diff => vec![(diff(text), text)],
            Kind::Markup => markup::pieces(text, &mut self.open),
            Kind::Code => lexer::pieces(text, language, &mut self.open),
        }
    }
}

/// Returns the name of the language in the info string of a fence.
pub(crate) fn named(info: &str) -> &str {
    info.split([' ', '\t', ',', '{']).next().unwrap_or_default()
}

fn diff(text: &str) -> Tone {
    match text.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Tone::Strong,
        [b'+', ..] => Tone::Added,
        [b'-', ..] => Tone::Removed,
        [b'@', b'@', ..] => Tone::Keyword,
        [b'd', b'i', b'f', b'f', b' ', ..] | [b'i', b'n', b'd', b'e', b'x', b' ', ..] => Tone::Dim,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests;
