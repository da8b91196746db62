//! Pieces of a text that are recognised by their form alone: quoted texts, URLs, addresses, dates, times, paths.
//!
//! Surprising: `example.com` is an address of the web and `main.rs` a file, decided by a short list of endings; and an
//! apostrophe opens a quotation only at the beginning of a word.

use crate::evidence::Shape;
use crate::words::lower;

/// Text between blanks, punctuation around it taken off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        let opened = piece.trim_start_matches(|c: char| c.is_whitespace() || "([{\"'«“‘`<".contains(c));
        let from = start + piece.len() - opened.len();
        let bare = opened.trim_end_matches(|c: char| c.is_whitespace() || ",;:!?)]}\"'»”’`>".contains(c));
        let bare = if bare.ends_with("..") || bare == "." { bare } else { bare.trim_end_matches('.') };
        if !bare.is_empty() {
            found.push(Token { text: bare, start: from, end: from + bare.len() });
        }
        start += piece.len();
    }
    found
}

/// Quoted texts: what is inside, and the span with the quotes.
pub(crate) fn quoted(text: &str) -> Vec<(&str, usize, usize)> {
    let mut found = Vec::new();
    // What has no closing mark once has none later: without this, many open quotes would cost their square.
    let mut missing = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let close = closing_of(text, at, c).filter(|close| !missing.contains(close));
        let end = close.and_then(|close| quoted_at(text, at, close));
        if let (Some(close), None) = (close, end) {
            missing.push(close);
        }
        at = match end {
            Some((inside, end)) if !inside.is_empty() => {
                found.push((inside, at, end));
                end
            }
            _ => at + c.len_utf8(),
        };
    }
    found
}

/// A quoted text at the very front, possibly empty, and where it ends.
pub(crate) fn quoted_front(text: &str) -> Option<(&str, usize)> {
    quoted_at(text, 0, closing_of(text, 0, text.chars().next()?)?)
}

/// The mark that would close a quotation that `c` opens here.
fn closing_of(text: &str, at: usize, c: char) -> Option<char> {
    let word_before = text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    match c {
        '"' => Some('"'),
        '`' => Some('`'),
        '«' => Some('»'),
        '“' => Some('”'),
        '„' => Some('“'),
        '\'' if !word_before => Some('\''),
        '‘' if !word_before => Some('’'),
        _ => None,
    }
}

fn quoted_at(text: &str, at: usize, close: char) -> Option<(&str, usize)> {
    let after = at + text.get(at..)?.chars().next()?.len_utf8();
    let end = closing(text, after, close)?;
    Some((text.get(after..end)?, end + close.len_utf8()))
}

fn closing(text: &str, from: usize, close: char) -> Option<usize> {
    let rest = text.get(from..)?;
    let ends = |at: usize| {
        let after = rest.get(at + close.len_utf8()..).and_then(|tail| tail.chars().next());
        close != '\'' || after.is_none_or(|c| !c.is_alphanumeric())
    };
    rest.match_indices(close).map(|(at, _)| at).find(|&at| ends(at)).map(|at| from + at)
}

/// Spans between round or square brackets, outermost only.
pub(crate) fn brackets(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => {
                from = if depth == 0 { at } else { from };
                depth += 1;
            }
            ')' | ']' | '}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    found.push((from, at + 1));
                }
            }
            _ => {}
        }
    }
    found
}

const DOMAINS: [&str; 16] =
    ["com", "org", "net", "dev", "edu", "gov", "ru", "рф", "info", "app", "uk", "de", "fr", "jp", "eu", "su"];

/// A URL as it stands, or made from a bare domain.
pub(crate) fn url(token: &str) -> Option<String> {
    if let Some((scheme, rest)) = token.split_once("://") {
        let good = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
        return (good && !rest.is_empty()).then(|| token.to_owned());
    }
    let host = token.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, domain) = host.rsplit_once('.')?;
    let good = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    let known = DOMAINS.contains(&lower(domain).as_str()) && !name.is_empty() && name.chars().all(good);
    (known && name.chars().any(char::is_alphabetic)).then(|| format!("https://{token}"))
}

pub(crate) fn is_email(token: &str) -> bool {
    let Some((name, host)) = token.split_once('@') else { return false };
    let good =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "._+-".contains(c));
    good(name) && good(host) && host.contains('.') && !host.starts_with('.')
}

/// `2026-11-20` or `2026-11-20T15:30:00Z`.
pub(crate) fn is_date(token: &str) -> bool {
    let (day, time) = token.split_once('T').map_or((token, None), |(day, time)| (day, Some(time)));
    let parts: Vec<&str> = day.split('-').collect();
    let digits = |part: &str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let number = |part: &str| part.parse::<u8>().unwrap_or(0);
    let date = match parts.as_slice() {
        [year, month, day] => {
            digits(year, 4)
                && digits(month, 2)
                && digits(day, 2)
                && (1..=12).contains(&number(month))
                && (1..=31).contains(&number(day))
        }
        _ => false,
    };
    date && time
        .is_none_or(|time| time.len() >= 5 && time.chars().all(|c| c.is_ascii_digit() || ":.+-Z".contains(c)))
}

/// Times of day as `HH:MM` with their spans: `15:30`, `9:05 pm`, `3pm`.
pub(crate) fn clocks(text: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for token in tokens(text) {
        let low = token.text.to_ascii_lowercase();
        let after = text.get(token.end..).unwrap_or_default();
        let next = tokens(after.get(..after.len().min(4)).unwrap_or_default())
            .first()
            .map(|next| (next.text.to_ascii_lowercase(), next.end));
        let (digits, half, end) = match low
            .strip_suffix("pm")
            .map(|rest| (rest, "pm"))
            .or_else(|| low.strip_suffix("am").map(|rest| (rest, "am")))
        {
            Some((digits, half)) => (digits.to_owned(), Some(half), token.end),
            None => match next {
                Some((word, length)) if word == "pm" => (low, Some("pm"), token.end + length),
                Some((word, length)) if word == "am" => (low, Some("am"), token.end + length),
                _ => (low, None, token.end),
            },
        };
        if let Some(value) = clock(&digits, half) {
            found.push((value, token.start, end));
        }
    }
    found
}

fn clock(digits: &str, half: Option<&str>) -> Option<String> {
    let (hour, minute) = match digits.split_once(':') {
        Some((hour, minute)) if minute.len() == 2 => (hour, minute),
        None if half.is_some() => (digits, "00"),
        _ => return None,
    };
    let (mut hour, minute): (u8, u8) = (hour.parse().ok()?, minute.parse().ok()?);
    match half {
        Some("pm") if hour < 12 => hour += 12,
        Some("am") if hour == 12 => hour = 0,
        _ => {}
    }
    (hour < 24 && minute < 60).then(|| format!("{hour:02}:{minute:02}"))
}

const FAMILIAR: [&str; 7] =
    ["Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "CONTRIBUTING", "Justfile"];

/// Whether a token looks like a path, and of what.
pub(crate) fn path_shape(token: &str) -> Option<Shape> {
    let good = |c: char| c.is_alphanumeric() || "._-/\\~+@:".contains(c);
    if !token.chars().all(good) || token.contains("://") || token.starts_with('@') {
        return None;
    }
    if token == "." || token == ".." || token == "~" {
        return Some(Shape::Directory);
    }
    if FAMILIAR.contains(&token) {
        return Some(Shape::File);
    }
    let last = token.rsplit(['/', '\\']).next().unwrap_or(token);
    let rooted =
        ["/", "./", "../", "~/"].iter().any(|start| token.starts_with(start) && token.len() > start.len());
    if last.is_empty() && token.len() > 1 && token.chars().any(char::is_alphabetic)
        || token == "../"
        || token == "./"
        || token == "/"
    {
        return Some(Shape::Directory);
    }
    if has_extension(last) {
        return Some(Shape::File);
    }
    let slashes = token.contains('/') && token.chars().any(char::is_alphabetic) && token.is_ascii();
    let pair = matches!(lower(token).as_str(), "and/or" | "he/she" | "w/o" | "n/a" | "a/b" | "i/o");
    if rooted || (slashes && !pair) {
        return Some(Shape::Unknown);
    }
    None
}

fn has_extension(name: &str) -> bool {
    let Some((base, extension)) = name.rsplit_once('.') else { return false };
    let short = (1..=8).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_alphanumeric());
    let abbreviation = matches!(lower(name).as_str(), "e.g" | "i.e" | "a.m" | "p.m" | "u.s" | "a.k.a");
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
        let inside = |text: &'static str| quoted(text).into_iter().map(|found| found.0).collect::<Vec<_>>();
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
    fn addresses_and_dates_are_checked() {
        assert_eq!(url("example.com/a").as_deref(), Some("https://example.com/a"));
        assert_eq!(url("main.rs"), None);
        assert!(is_email("a.b@c.org") && !is_email("@c.org") && !is_email("a@c"));
        assert!(
            is_date("2026-02-28")
                && is_date("2026-02-28T10:00Z")
                && !is_date("2026-13-01")
                && !is_date("2026-1-1")
        );
    }

    #[test]
    fn times_of_day_are_brought_to_one_form() {
        for (text, value) in [
            ("15:30", "15:30"),
            ("9:05 pm", "21:05"),
            ("at 3pm", "15:00"),
            ("12am", "00:00"),
            ("7:00", "07:00"),
        ] {
            assert_eq!(clocks(text).first().map(|found| found.0.as_str()), Some(value), "{text}");
        }
        for text in ["25:00", "1:2", "30", "10:75"] {
            assert!(clocks(text).is_empty(), "{text}");
        }
    }
}
