//! Tags, their attributes, comments.

use super::Open;
use crate::tone::Tone;

pub(super) fn pieces<'a>(text: &'a str, open: &mut Open) -> Vec<(Tone, &'a str)> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (bytes, tone) = match *open {
            Open::Comment(..) => comment(rest, open),
            Open::Tag => in_tag(rest, open),
            Open::Nothing | Open::String(_) => outside(rest, open),
        };
        let (part, left) = rest.split_at_checked(bytes.max(1)).unwrap_or((rest, ""));
        pieces.push((tone, part));
        rest = left;
    }
    pieces
}

fn comment(rest: &str, open: &mut Open) -> (usize, Tone) {
    let end = rest.find("-->").map(|at| at + 3);
    if end.is_some() {
        *open = Open::Nothing;
    }
    (end.unwrap_or(rest.len()), Tone::Comment)
}

fn outside(rest: &str, open: &mut Open) -> (usize, Tone) {
    if rest.starts_with("<!--") {
        *open = Open::Comment(0, 1);
        return (4, Tone::Comment);
    }
    let tag = |at: usize| rest.get(at + 1..).and_then(|behind| behind.chars().next()).filter(|c| is_tag(*c));
    match rest.find('<') {
        Some(0) if tag(0).is_some() => {
            *open = Open::Tag;
            let name = rest.char_indices().skip(2).find(|(_, c)| !is_name(*c)).map(|(at, _)| at);
            (name.unwrap_or(rest.len()), Tone::Keyword)
        }
        Some(0) => (1, Tone::Plain),
        Some(at) => (at, Tone::Plain),
        None => (rest.len(), Tone::Plain),
    }
}

fn in_tag(rest: &str, open: &mut Open) -> (usize, Tone) {
    let Some(first) = rest.chars().next() else { return (0, Tone::Plain) };
    match first {
        '>' => {
            *open = Open::Nothing;
            (1, Tone::Keyword)
        }
        '/' | '?' => (1, Tone::Keyword),
        '"' | '\'' => {
            (rest.get(1..).and_then(|inner| inner.find(first)).map_or(rest.len(), |at| at + 2), Tone::String)
        }
        c if is_name(c) => (rest.find(|c| !is_name(c)).unwrap_or(rest.len()), Tone::Type),
        c => (c.len_utf8(), Tone::Plain),
    }
}

fn is_tag(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')
}
