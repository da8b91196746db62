//! Conditions on one argument.

use std::cmp::Ordering;

use converse_canister::canonical;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::MatchMode;
use super::argument_path::ArgumentPath;
use super::argument_pattern::ArgumentPattern;
use super::glob::ValueGlob;
use super::reading::{BaseDirs, Kind, Reading, Readings, below_home, readings};
use crate::diagnostic::quoted;

/// Limit on the bytes of one compiled expression.
const MAX_REGEX: usize = 1024 * 1024;

/// All conditions on one argument.
#[derive(Debug, Clone)]
pub(crate) struct Predicate {
    pub(crate) at: ArgumentPath,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// A glob over the text.
    Glob(ValueGlob),
    /// A glob over the text as a path.
    Path(ValueGlob),
    Prefix(String),
    Regex(Expression),
    /// A single command of a shell. Only in rules that allow.
    Command(ArgumentPattern),
    /// Equal to any of these values, as JSON.
    OneOf(Vec<Value>),
    Min(Number),
    Max(Number),
}

/// A regular expression. It matches anywhere if any reading is enough; otherwise it must match the whole text.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    anywhere: Regex,
    whole: Regex,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let build = |text: &str, any: bool| {
            let built = RegexBuilder::new(text).size_limit(MAX_REGEX).dot_matches_new_line(any).build();
            // The message ends with the reason; before it, several lines show the position.
            built.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
        };
        Ok(Self { anywhere: build(text, true)?, whole: build(&format!("\\A(?:{text})\\z"), false)? })
    }

    fn is_match(&self, text: &str, mode: MatchMode) -> bool {
        match mode {
            MatchMode::Any => self.anywhere.is_match(text),
            MatchMode::Every => self.whole.is_match(text),
        }
    }
}

impl Predicate {
    /// Returns why the arguments do not match, or `None` if they do.
    pub(super) fn miss(
        &self,
        arguments: &Map<String, Value>,
        mode: MatchMode,
        base: BaseDirs<'_>,
    ) -> Option<String> {
        let found = self.at.find(arguments);
        let name = quoted(&self.at.shown);
        let fits = |value: &&Value| self.tests.iter().all(|test| test.fits(value, mode, base));
        let all = match mode {
            MatchMode::Any => found.blocked || found.values.iter().any(fits),
            MatchMode::Every => {
                let sure = !found.absent && !found.blocked && !found.values.is_empty();
                sure && found.values.iter().all(fits)
            }
        };
        if all {
            return None;
        }
        if found.values.is_empty() && found.absent {
            return Some(format!("{name} is not given"));
        }
        let failing = self.tests.iter().find(|test| !found.values.iter().any(|v| test.fits(v, mode, base)));
        let what = failing.or(self.tests.first()).map(Test::shown).unwrap_or_default();
        Some(format!("{name} does not match {what}"))
    }

    /// Returns why no value can match, if that is so.
    pub(super) fn contradiction(&self) -> Option<String> {
        let name = quoted(&self.at.shown);
        let bound = |pick: fn(&Test) -> Option<&Number>| self.tests.iter().find_map(pick);
        let least = bound(|test| if let Test::Min(number) = test { Some(number) } else { None });
        let most = bound(|test| if let Test::Max(number) = test { Some(number) } else { None });
        if let (Some(least), Some(most)) = (least, most)
            && compared(least, most) == Ordering::Greater
        {
            return Some(format!(
                "`min` {least} is greater than `max` {most} for {name}, so no number matches"
            ));
        }
        let empty = self.tests.iter().any(|test| matches!(test, Test::OneOf(values) if values.is_empty()));
        empty.then(|| format!("`one_of` of {name} is empty"))
    }
}

impl Test {
    /// Returns the texts as written.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Glob(glob) | Self::Path(glob) => vec![&glob.text],
            Self::Prefix(prefix) => vec![prefix],
            Self::Command(pattern) => vec![pattern.text()],
            Self::Regex(expression) => vec![expression.anywhere.as_str()],
            Self::OneOf(values) => values.iter().filter_map(Value::as_str).collect(),
            Self::Min(_) | Self::Max(_) => Vec::new(),
        }
    }

    pub(super) fn fits(&self, value: &Value, mode: MatchMode, base: BaseDirs<'_>) -> bool {
        if let Self::OneOf(wanted) = self
            && wanted.iter().any(|wanted| {
                // To allow a value is to allow exactly that value.
                canonical(wanted) == canonical(value) || mode == MatchMode::Any && alike(wanted, value, base)
            })
        {
            return true;
        }
        if let Value::Array(entries) = value {
            let fits = |entry: &Value| self.fits(entry, mode, base);
            return match mode {
                MatchMode::Any => entries.iter().any(fits),
                MatchMode::Every => !entries.is_empty() && entries.iter().all(fits),
            };
        }
        match self {
            Self::Min(least) => number(value, mode, |given| compared(given, least) != Ordering::Less),
            Self::Max(most) => number(value, mode, |given| compared(given, most) != Ordering::Greater),
            Self::OneOf(_) => false,
            Self::Command(pattern) => match value.as_str() {
                Some(text) if mode == MatchMode::Every => pattern.fits(text, base),
                _ => mode == MatchMode::Any,
            },
            Self::Glob(_) | Self::Path(_) | Self::Prefix(_) | Self::Regex(_) => match text(value) {
                Some(text) => self.fits_text(&text, mode, base),
                None => mode == MatchMode::Any,
            },
        }
    }

    fn fits_text(&self, text: &str, mode: MatchMode, base: BaseDirs<'_>) -> bool {
        // The raw spelling counts too if one match is enough.
        if mode == MatchMode::Any && !self.is_path() && self.fits_spelling(text, mode) {
            return true;
        }
        let Readings { list, cut } = readings(text, base);
        if cut {
            return mode == MatchMode::Any;
        }
        let mut readings = list.iter().filter(|reading| self.looks_at(reading, mode));
        match mode {
            MatchMode::Any => readings.any(|reading| self.fits_reading(reading, mode)),
            MatchMode::Every => readings.all(|reading| self.fits_reading(reading, mode)),
        }
    }

    fn is_path(&self) -> bool {
        matches!(self, Self::Path(_))
    }

    fn looks_at(&self, reading: &Reading, mode: MatchMode) -> bool {
        let of_addresses = !matches!(self, Self::Path(glob) if !glob.text.contains("://"));
        match reading.kind {
            Kind::Written => !self.is_path(),
            Kind::Path => true,
            Kind::Address => mode == MatchMode::Any || of_addresses,
            // To allow a URL does not allow a path, and to allow paths does not allow a path that looks like a URL.
            Kind::AddressAsPath => mode == MatchMode::Any || !of_addresses,
        }
    }

    fn fits_reading(&self, reading: &Reading, mode: MatchMode) -> bool {
        let elsewhere = match reading.kind {
            Kind::Address => true,
            _ => self.is_from_root() || mode == MatchMode::Any && self.is_of_directories(),
        };
        // A pattern such as `**` applies to the workspace and allows nothing outside.
        let outside = matches!(self, Self::Path(glob) if !glob.text.starts_with(".."))
            && (reading.text.starts_with('/') || reading.text == ".." || reading.text.starts_with("../"));
        let inside = mode == MatchMode::Any || !outside;
        (inside && self.fits_spelling(&reading.text, mode))
            || elsewhere && reading.others.iter().any(|other| self.fits_spelling(other, mode))
    }

    /// Returns whether the pattern begins at the root or at the home directory.
    fn is_from_root(&self) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.from_root,
            Self::Prefix(prefix) => prefix.starts_with('/') || below_home(prefix).is_some(),
            _ => false,
        }
    }

    /// Returns whether the pattern may apply to directories above the workspace. A pattern without a slash is about words
    /// and must not match the path of the working directory.
    fn is_of_directories(&self) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.text.contains('/'),
            Self::Prefix(prefix) => prefix.contains('/'),
            Self::Regex(expression) => expression.anywhere.as_str().contains('/'),
            Self::Command(_) | Self::OneOf(_) | Self::Min(_) | Self::Max(_) => false,
        }
    }

    fn fits_spelling(&self, text: &str, mode: MatchMode) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.is_match(text, mode),
            Self::Prefix(prefix) => {
                let directory = prefix.strip_suffix('/').filter(|_| mode == MatchMode::Any);
                let at_home = below_home(prefix).zip(text.strip_prefix('~'));
                text.starts_with(prefix.as_str())
                    || directory == Some(text)
                    || at_home.is_some_and(|(prefix, text)| text.starts_with(prefix))
            }
            Self::Regex(expression) => expression.is_match(text, mode),
            Self::Command(_) | Self::OneOf(_) | Self::Min(_) | Self::Max(_) => false,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Glob(glob) => quoted(&glob.text),
            Self::Path(glob) => format!("the path {}", quoted(&glob.text)),
            Self::Prefix(prefix) => format!("the prefix {}", quoted(prefix)),
            Self::Regex(expression) => format!("the regex {}", quoted(expression.anywhere.as_str())),
            Self::Command(pattern) => format!("the command {}", pattern.shown()),
            Self::OneOf(values) => match values.as_slice() {
                [one] => quoted(&one.to_string()),
                _ => format!("any of the {} values", values.len()),
            },
            Self::Min(number) => format!("the least, {number}"),
            Self::Max(number) => format!("the most, {number}"),
        }
    }
}

fn number(value: &Value, mode: MatchMode, fits: impl FnOnce(&Number) -> bool) -> bool {
    value.as_number().map_or(mode == MatchMode::Any, fits)
}

/// Returns a text, or the JSON form of a number or boolean.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(canonical(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns whether a tool could treat the two as equal: `"5"` or `"5.0"` and 5, `./x` and `x`, a list of one entry and the
/// entry. A value that is not a text counts as equal to a text, because its reading is unknown.
fn alike(wanted: &Value, value: &Value, base: BaseDirs<'_>) -> bool {
    match (wanted, value) {
        (Value::Array(wanted), Value::Array(values)) => {
            wanted.len() == values.len()
                && wanted.iter().zip(values).all(|(wanted, value)| alike(wanted, value, base))
        }
        (Value::Object(wanted), Value::Object(values)) => {
            let alike = |(name, wanted)| values.get(name).is_some_and(|value| alike(wanted, value, base));
            wanted.len() == values.len() && wanted.iter().all(alike)
        }
        (wanted, Value::Array(values)) => values.iter().any(|value| alike(wanted, value, base)),
        (Value::Array(wanted), value) => matches!(wanted.as_slice(), [one] if alike(one, value, base)),
        _ => alike_texts(wanted, value, base),
    }
}

fn alike_texts(wanted: &Value, value: &Value, base: BaseDirs<'_>) -> bool {
    let Some(wanted_text) = text(wanted) else { return false };
    let Some(given) = text(value) else { return true };
    let as_number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    if (wanted.is_number() || value.is_number())
        && let (Some(wanted), Some(given)) = (as_number(wanted_text.trim()), as_number(given.trim()))
    {
        return wanted == given;
    }
    let (wanted, given) = (readings(&wanted_text, base), readings(&given, base));
    let same = |a: &Reading, b: &Reading| {
        a.text == b.text || a.others.iter().any(|other| *other == b.text || b.others.contains(other))
    };
    given.cut || given.list.iter().any(|given| wanted.list.iter().any(|wanted| same(given, wanted)))
}

/// Compares numbers, exactly if both are integers.
fn compared(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}
