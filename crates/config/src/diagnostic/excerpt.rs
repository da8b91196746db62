//! The source line of a diagnostic, escaped and without secrets.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use converse_text::escape::escape;
use converse_text::secrets::{
    is_harmless, is_secret, is_secret_name, known_secret, shows_itself, telling_flag, words,
};
use converse_text::shorten::{within_bytes, within_chars};
use converse_text::suggest::nearest;

use crate::source::{SourceMap, Span};

/// Characters of a source line shown after the location starts.
pub(super) const SHOWN: usize = 120;
/// Characters of a source line shown before the location.
const SHOWN_BEFORE: usize = 60;
/// Bytes before the location in which values are judged: the characters shown, and the name of the first value.
const MAX_BEFORE: usize = 8 * SHOWN_BEFORE;
/// Bytes of a value that are judged.
const MAX_JUDGED: usize = 1024;
/// Digits of the shortest number that may be a secret.
const MIN_DIGITS: usize = 6;
/// Words that name a secret, as they may be misspelt.
const SECRET_WORDS: &str =
    "apikey authorization bearer credential credentials key passphrase password secret token";

/// A part of a source line, escaped for a terminal.
pub(super) struct Excerpt {
    line: String,
    /// Columns before the carets, and number of carets.
    before: usize,
    marked: usize,
}

impl Excerpt {
    pub(super) fn draw(&self, picture: &mut String, number: &str) {
        let margin = " ".repeat(number.len());
        let (blanks, carets) = (" ".repeat(self.before), "^".repeat(self.marked));
        let _ = writeln!(picture, "{margin} |\n{number} | {}\n{margin} | {blanks}{carets}", self.line);
    }

    /// `unknown_key`: the mark is a key that is not known, so its value may be anything, and is shown only if it is
    /// short and harmless.
    pub(super) fn of(sources: &SourceMap, span: Span, unknown_key: bool) -> Self {
        let (line, start) = sources.line_of(span);
        let cut = |at: usize| line.floor_char_boundary(at.saturating_sub(start).min(line.len()));
        let (from, to) = (cut(span.start), cut(span.end));
        let line = &without_secrets(line, from.saturating_sub(MAX_BEFORE)..to.saturating_add(SHOWN));
        let (before, rest) = line.split_at_checked(from).unwrap_or((line, ""));
        let (marked, after) = rest.split_at_checked(to.saturating_sub(from)).unwrap_or((rest, ""));
        let after = if unknown_key && !is_harmless_rest(after) { " …" } else { after };
        let skipped = before.chars().count().saturating_sub(SHOWN_BEFORE);
        let mut before: String = before.chars().skip(skipped).collect();
        if skipped > 0 {
            before.insert(0, '…');
        }
        let before = spaces_for_tabs(&before);
        let marked = spaces_for_tabs(&within_chars(marked, SHOWN));
        let line = format!("{before}{marked}{}", spaces_for_tabs(&within_bytes(after, SHOWN)));
        Self { line, before: before.chars().count(), marked: marked.chars().count().max(1) }
    }
}

/// Returns whether the text after an unknown key has no string and no long number.
fn is_harmless_rest(after: &str) -> bool {
    let mut digits = 0;
    let is_long = |c: char| {
        digits = if c.is_ascii_digit() { digits + 1 } else { 0 };
        digits >= MIN_DIGITS
    };
    !after.contains(['"', '\'']) && !after.contains(is_long)
}

/// Returns a source line with `*` for each byte of a value that may be a secret, so that positions stay the same. Only the
/// values in the window are judged, because a line may be as long as a file.
fn without_secrets(line: &str, window: Range<usize>) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(line);
    let mut name = "";
    let shown = |token: &Token| token.range.end >= window.start.saturating_sub(MAX_BEFORE);
    for Token { range, is_key } in tokens(line, window.end).into_iter().filter(shown) {
        let text = line.get(range.clone()).unwrap_or_default();
        let judged = text.get(..text.floor_char_boundary(MAX_JUDGED)).unwrap_or_default();
        let option = judged.split_once('=').filter(|(option, _)| option.starts_with('-'));
        let is_secret = match is_key {
            true => known_secret(judged).is_some(),
            false => {
                is_secret_of(name, judged)
                    || option.is_some_and(|(option, value)| is_secret_of(option, value))
                    || shows_itself(judged)
            }
        };
        if is_secret {
            let stars = "*".repeat(text.len());
            masked.to_mut().replace_range(range, &stars);
        }
        // `"--token", "…"` in a list.
        name = if is_key { judged } else { telling_flag(judged).unwrap_or(name) };
    }
    masked
}

/// Returns whether the name says that the value is a secret, also if the name is misspelt.
fn is_secret_of(name: &str, value: &str) -> bool {
    if is_secret_name(name) {
        return is_secret(name, value);
    }
    let is_small = value.len() < MIN_DIGITS && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_near = |word: &String| nearest(word, SECRET_WORDS.split(' ')).is_some();
    !is_harmless(value) && !is_small && words(name, false).iter().any(is_near)
}

/// A string without its quotes, a bare word, or a comment.
struct Token {
    range: Range<usize>,
    /// An `=` follows.
    is_key: bool,
}

/// Splits a line of TOML into its keys and values, as far as they begin before `end`. A string without an end takes the rest of the line.
fn tokens(line: &str, end: usize) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(letter) = line.get(at..).filter(|_| at <= end).and_then(|rest| rest.chars().next()) {
        let rest = line.get(at..).unwrap_or_default();
        let (start, length, step) = match letter {
            '"' | '\'' => {
                let quotes = rest.len() - rest.trim_start_matches(letter).len();
                let open = if quotes >= 3 { 3 } else { 1 };
                let inside = rest.get(open..).unwrap_or_default();
                let length = end_of_string(inside, letter, open);
                (open, length, open + length + open)
            }
            '#' => (1, rest.len() - 1, rest.len()),
            '=' => {
                tokens.last_mut().into_iter().for_each(|token| token.is_key = true);
                (0, 0, 1)
            }
            _ if is_between(letter) => (0, 0, letter.len_utf8()),
            _ => {
                let length = rest.find(|c| is_between(c) || "=#\"'".contains(c)).unwrap_or(rest.len());
                (0, length, length)
            }
        };
        if length > 0 {
            tokens.push(Token { range: at + start..at + start + length, is_key: false });
        }
        at += step;
    }
    tokens
}

/// Returns the length of the text before the closing quotes, or of the whole text without them.
fn end_of_string(inside: &str, quote: char, quotes: usize) -> usize {
    let close = quote.to_string().repeat(quotes);
    let mut from = 0;
    while let Some(found) = inside.get(from..).and_then(|rest| rest.find(&close)) {
        let at = from + found;
        let before = inside.get(..at).unwrap_or_default();
        let escapes = before.len() - before.trim_end_matches('\\').len();
        if quote == '\'' || escapes.is_multiple_of(2) {
            return at;
        }
        from = at + 1;
    }
    inside.len()
}

fn is_between(c: char) -> bool {
    c.is_whitespace() || ",[]{}".contains(c)
}

/// Escapes text, with a blank for each tab.
fn spaces_for_tabs(text: &str) -> String {
    escape(&text.replace('\t', " "))
}
