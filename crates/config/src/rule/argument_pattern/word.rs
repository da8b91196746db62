//! One word of a pattern: literal, or with a `*`; and the characters that a `*` never matches.

use converse_text::invisible::is_treacherous;
use serde_json::Value;

use crate::diagnostic::quoted;
use crate::rule::predicate::Test;
use crate::rule::reading::{BaseDirs, Kind, readings};
use crate::rule::{MatchMode, ValueGlob};

/// Characters that a shell interprets or reads as the end of a command.
const ACTING: [char; 9] = [';', '|', '&', '$', '`', '<', '>', '(', ')'];
/// Characters that could begin a quotation which continues into the literal part.
const QUOTES: [char; 3] = ['\'', '"', '\\'];

pub(super) fn acts(text: &str) -> bool {
    text.contains(ACTING)
}

/// Returns whether a character is invisible or looks like a blank.
pub(super) fn is_hidden(c: char) -> bool {
    is_treacherous(c)
        || (c.is_whitespace() && c != ' ')
        || matches!(c, '\u{34f}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns whether a character looks like a shell character, dot or slash, and may be converted to one.
fn is_lookalike(c: char) -> bool {
    matches!(c,
        '\u{37e}' | '\u{1fef}' // canonically `;` and a backquote
        | '\u{2024}'..='\u{2026}' | '\u{2044}' | '\u{2215}' | '\u{29f8}' | '\u{2236}' // dots, slashes, a colon
        | '\u{2039}' | '\u{203a}' | '\u{2216}' | '\u{29f5}' | '\u{2223}' | '\u{a789}'
        | '\u{fe10}'..='\u{fe19}' | '\u{fe30}'..='\u{fe6f}' // forms for vertical text, small forms
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}'
        | '\u{3002}' | '\u{ffe0}'..='\u{ffee}')
}

/// Returns whether a `*` within a word may match this text. In a URL, `&` separates parameters.
fn passes(text: &str, address: bool) -> bool {
    let stops = |c: char| {
        (ACTING.contains(&c) && !(address && c == '&'))
            || QUOTES.contains(&c)
            || c == ' '
            || is_hidden(c)
            || is_lookalike(c)
    };
    !text.contains(stops)
}

/// Returns whether a further word may be this text. Nothing follows these words, so they may be quoted.
pub(super) fn passes_further(text: &str) -> bool {
    let stops = |c: char| ACTING.contains(&c) || is_hidden(c) || is_lookalike(c);
    !text.is_empty() && !text.contains(stops)
}

#[derive(Debug, Clone)]
pub(super) enum Word {
    Literal(String),
    Wild {
        /// Globs over the text as written, and over its path or URL.
        tests: Vec<Test>,
        shape: Shape,
        /// The word begins with `*`, which must not become an option.
        open: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A word, or a path within the workspace.
    Plain,
    /// A path that begins at the root, at the home directory or above the workspace.
    FromRoot,
    Address,
}

impl Word {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if !text.contains('*') {
            return Ok(Self::Literal(text.to_owned()));
        }
        let shape = if text.contains("://") {
            of_one_host(text)?;
            Shape::Address
        } else if text.starts_with(['/', '~']) || text.starts_with("../") {
            Shape::FromRoot
        } else {
            Shape::Plain
        };
        if !passes(text, shape == Shape::Address) {
            return Err(format!(
                "{} combines `*` with a quote, a backslash or a character that a shell interprets",
                quoted(text)
            ));
        }
        if text.split('/').any(|part| part.contains("**") && part != "**") {
            return Err("`**` must be alone between slashes, as in `src/**`".to_owned());
        }
        let glob =
            |path| ValueGlob::new(&only_stars(text), path).map_err(|why| format!("invalid glob: {why}"));
        let tests = vec![Test::Glob(glob(false)?), Test::Path(glob(true)?)];
        Ok(Self::Wild { tests, shape, open: text.starts_with('*') })
    }

    /// Returns the shape of a word with a `*`.
    pub(super) fn shape(&self) -> Option<Shape> {
        match self {
            Self::Literal(_) => None,
            Self::Wild { shape, .. } => Some(*shape),
        }
    }

    pub(super) fn fits(&self, text: &str, base: BaseDirs<'_>) -> bool {
        let (tests, shape, open) = match self {
            Self::Literal(wanted) => return text == wanted,
            Self::Wild { tests, shape, open } => (tests, *shape, *open),
        };
        if text.is_empty() || (open && text.starts_with('-')) {
            return false;
        }
        let is_address = shape == Shape::Address;
        let all = readings(text, base);
        let sound = !all.cut
            && passes(text, is_address)
            && all.list.iter().all(|reading| {
                // A text that is a path in one reading and a URL in another matches neither.
                passes(&reading.text, is_address) && (is_address || reading.kind != Kind::Address)
            });
        let value = Value::from(text);
        sound && tests.iter().all(|test| test.fits(&value, MatchMode::Every, base))
    }
}

/// Checks that scheme and host are written out and end with a slash: `https://example.com*` matches other hosts too.
fn of_one_host(text: &str) -> Result<(), String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let host = rest.split_once('/').map(|(host, _)| host);
    let plain = |text: &str| !text.is_empty() && !text.contains(['*', '@', '?', '#', '%']);
    let named = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    match host {
        Some(host) if plain(scheme) && named && plain(host) => Ok(()),
        _ => {
            Err("the host of a URL must be written out, followed by a slash, as in `https://example.com/**`"
                .to_owned())
        }
    }
}

/// Returns a glob in which only `*` is special.
fn only_stars(text: &str) -> String {
    text.split('*').map(globset::escape).collect::<Vec<_>>().join("*")
}
