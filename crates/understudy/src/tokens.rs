//! Pieces of a text that are recognised by their form: quoted texts, brackets, URLs, paths, dates and times of day.
//!
//! `example.com` is an address and `main.rs` a file, decided by a short list of endings. An apostrophe opens a
//! quotation only at the beginning of a word.

use crate::words::{among, is, lower};

/// The form of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    File,
    Directory,
    Unknown,
}

/// Text between blanks without the punctuation around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let opened = piece.trim_start_matches(|c: char| c.is_whitespace() || "([{\"'«“‘`<".contains(c));
        let from = start + piece.len() - opened.len();
        let bare = opened.trim_end_matches(|c: char| c.is_whitespace() || ",;:!?)]}\"'»”’`>".contains(c));
        let bare = if bare.ends_with("..") || bare == "." { bare } else { bare.trim_end_matches('.') };
        if !bare.is_empty() {
            tokens.push(Token { text: bare, start: from, end: from + bare.len() });
        }
        start += piece.len();
    }
    tokens
}

/// Returns the quoted texts that are not empty: the inside, and the span with the quotes.
pub(crate) fn quoted(text: &str) -> Vec<(&str, usize, usize)> {
    let mut quotes = Vec::new();
    // A closing mark that is missing once is missing later too. Without this list many open quotes cost their square.
    let mut missing = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let close = closing_mark(text, at, c).filter(|close| !missing.contains(close));
        let end = close.and_then(|close| quotation(text, at, close));
        if let (Some(close), None) = (close, end) {
            missing.push(close);
        }
        at = match end.filter(|(inside, _)| !inside.is_empty()) {
            Some((inside, end)) => {
                quotes.push((inside, at, end));
                end
            }
            None => at + c.len_utf8(),
        };
    }
    quotes
}

/// Returns the quoted text at the very front, possibly empty, and where it ends.
pub(crate) fn quoted_front(text: &str) -> Option<(&str, usize)> {
    quotation(text, 0, closing_mark(text, 0, text.chars().next()?)?)
}

/// The mark that closes a quotation which `c` opens at this place.
fn closing_mark(text: &str, at: usize, c: char) -> Option<char> {
    let in_word = text[..at].ends_with(char::is_alphanumeric);
    match c {
        '"' | '`' => Some(c),
        '«' => Some('»'),
        '“' => Some('”'),
        '„' => Some('“'),
        '\'' if !in_word => Some('\''),
        '‘' if !in_word => Some('’'),
        _ => None,
    }
}

fn quotation(text: &str, at: usize, close: char) -> Option<(&str, usize)> {
    let from = at + text[at..].chars().next()?.len_utf8();
    let ends = |end: &usize| {
        let after = text[end + close.len_utf8()..].chars().next();
        close != '\'' || after.is_none_or(|c| !c.is_alphanumeric())
    };
    let end = text[from..].match_indices(close).map(|(end, _)| from + end).find(ends)?;
    Some((&text[from..end], end + close.len_utf8()))
}

/// Returns the spans of brackets of any kind, outermost only.
pub(crate) fn brackets(text: &str) -> Vec<(usize, usize)> {
    let mut brackets = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        if "([{".contains(c) {
            from = if depth == 0 { at } else { from };
            depth += 1;
        } else if ")]}".contains(c) && depth > 0 {
            depth -= 1;
            if depth == 0 {
                brackets.push((from, at + 1));
            }
        }
    }
    brackets
}

/// Returns for each byte whether it is inside quotes or brackets.
pub(crate) fn shielded(text: &str) -> Vec<bool> {
    let mut inside = vec![false; text.len()];
    let quoted = quoted(text).into_iter().map(|(_, start, end)| (start, end));
    for (start, end) in quoted.chain(brackets(text)) {
        inside[start + 1..end - 1].fill(true);
    }
    inside
}

const DOMAINS: &str = "com org net dev edu gov ru рф info app uk de";

/// Returns a URL unchanged, or one made from a bare domain.
pub(crate) fn url(token: &str) -> Option<String> {
    if let Some((scheme, rest)) = token.split_once("://") {
        let good = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
        return (good && !rest.is_empty()).then(|| token.to_owned());
    }
    let host = token.split(['/', '?', '#']).next()?;
    let (name, domain) = host.rsplit_once('.')?;
    let good = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let known = among(&lower(domain), DOMAINS) && name.chars().all(good);
    (known && name.chars().any(char::is_alphabetic)).then(|| format!("https://{token}"))
}

/// Returns whether a token is an e-mail address, a date, a time of day, the beginning of SQL or a number in words. These
/// fill no argument, and a tool is less likely to be meant where one of them is left over.
pub(crate) fn is_unread(token: &str) -> bool {
    let low = lower(token);
    let email = low.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    let shape: String = low.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let date = shape.starts_with("0000-00-00");
    let clock = among(shape.trim_end_matches(['a', 'p', 'm']), "0:00 00:00 00:00:00");
    let half = among(&shape, "0am 0pm 00am 00pm");
    email || date || clock || half || among(token, "SELECT INSERT UPDATE DELETE") || is(&low, "numbers")
}

const FAMILIAR: &str = "Makefile Dockerfile LICENSE README CHANGELOG CONTRIBUTING Justfile";

/// Returns what a token looks like if it looks like a path.
pub(crate) fn path_shape(token: &str) -> Option<Shape> {
    let good = |c: char| c.is_alphanumeric() || "._-/\\~+@:".contains(c);
    if !token.chars().all(good) || token.contains("://") || token.starts_with('@') {
        return None;
    }
    let last = token.rsplit(['/', '\\']).next().unwrap_or(token);
    let letters = token.chars().any(char::is_alphabetic);
    if among(token, ". .. ~ / ./ ../") || (last.is_empty() && letters) {
        return Some(Shape::Directory);
    }
    if among(token, FAMILIAR) || has_extension(last) {
        return Some(Shape::File);
    }
    let rooted = ["/", "./", "../", "~/"].iter().any(|start| token.starts_with(start));
    let slashes = token.contains('/') && letters && token.is_ascii();
    let pair = among(&lower(token), "and/or he/she w/o n/a a/b i/o");
    (rooted || (slashes && !pair)).then_some(Shape::Unknown)
}

fn has_extension(name: &str) -> bool {
    let Some((base, extension)) = name.rsplit_once('.') else { return false };
    let short = (1..=8).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let abbreviation = among(&lower(name), "e.g i.e a.m p.m u.s");
    let hidden = base.is_empty() && extension.len() > 2;
    short
        && !abbreviation
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && (hidden || base.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_pair_and_apostrophes_do_not() {
        let inside = |text: &'static str| quoted(text).into_iter().map(|quote| quote.0).collect::<Vec<_>>();
        assert_eq!(inside("say 'a b' and \"c\""), ["a b", "c"]);
        assert_eq!(inside("what's in John's file"), Vec::<&str>::new());
        assert_eq!(inside("'don't stop'"), ["don't stop"]);
        assert_eq!(inside("«раз» и “two”"), ["раз", "two"]);
        assert_eq!(inside("an \"open one"), Vec::<&str>::new());
    }

    #[test]
    fn paths_have_shapes() {
        for (token, shape) in [
            ("a.txt", Some(Shape::File)),
            (".env", Some(Shape::File)),
            ("src/lib.rs", Some(Shape::File)),
            ("src/", Some(Shape::Directory)),
            ("..", Some(Shape::Directory)),
            ("/etc/hosts", Some(Shape::Unknown)),
            ("src/bin", Some(Shape::Unknown)),
            ("README", Some(Shape::File)),
            ("e.g", None),
            ("and/or", None),
            ("1/2", None),
            ("15.5", None),
            ("word", None),
            ("заметки.txt", Some(Shape::File)),
        ] {
            assert_eq!(path_shape(token), shape, "{token}");
        }
    }

    #[test]
    fn addresses_dates_and_times_have_forms() {
        assert_eq!(url("example.com/a").as_deref(), Some("https://example.com/a"));
        assert_eq!(url("main.rs"), None);
        for token in ["a.b@c.org", "2026-02-28", "2026-02-28T10:00Z", "15:30", "9:05pm", "3pm"] {
            assert!(is_unread(token), "{token}");
        }
        for token in ["@c", "a@c", "1:2", "2026-1-1", "30", "pm"] {
            assert!(!is_unread(token), "{token}");
        }
    }
}
