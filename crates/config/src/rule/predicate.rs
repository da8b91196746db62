//! One condition on one of the arguments.

use std::cmp::Ordering;

use converse_canister::canonical;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::Doubt;
use super::glob::ValueGlob;
use super::place::Place;
use super::reading::{Kind, Origins, Reading, Readings, below_home, readings};
use crate::escape::quoted;

/// Bytes of one compiled expression.
const MAX_REGEX: usize = 1024 * 1024;

/// Everything that is wanted of one argument.
#[derive(Debug, Clone)]
pub(crate) struct Predicate {
    pub(crate) at: Place,
    pub(crate) tests: Vec<Test>,
}

#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// The text.
    Glob(ValueGlob),
    /// The path that the text is.
    Path(ValueGlob),
    Prefix(String),
    Regex(Expression),
    /// Any of them, as JSON.
    OneOf(Vec<Value>),
    Min(Number),
    Max(Number),
}

/// A regular expression: found anywhere where doubt fits, else it must be the whole text.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    anywhere: Regex,
    whole: Regex,
}

impl Expression {
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let build = |text: &str, any: bool| {
            let built = RegexBuilder::new(text).size_limit(MAX_REGEX).dot_matches_new_line(any).build();
            // Its picture of the place has several lines.
            built.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())
        };
        Ok(Self { anywhere: build(text, true)?, whole: build(&format!("\\A(?:{text})\\z"), false)? })
    }

    fn is_match(&self, text: &str, doubt: Doubt) -> bool {
        match doubt {
            Doubt::Fits => self.anywhere.is_match(text),
            Doubt::Misses => self.whole.is_match(text),
        }
    }
}

impl Predicate {
    /// Why the arguments do not fit; nothing if they do.
    pub(super) fn miss(
        &self,
        arguments: &Map<String, Value>,
        doubt: Doubt,
        origins: Origins<'_>,
    ) -> Option<String> {
        let found = self.at.find(arguments);
        let name = quoted(&self.at.shown);
        let fits = |value: &&Value| self.tests.iter().all(|test| test.fits(value, doubt, origins));
        let all = match doubt {
            Doubt::Fits => found.blocked || found.values.iter().any(fits),
            Doubt::Misses => {
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
        let failing =
            self.tests.iter().find(|test| !found.values.iter().any(|v| test.fits(v, doubt, origins)));
        let what = failing.or(self.tests.first()).map(Test::shown).unwrap_or_default();
        Some(format!("{name} does not fit {what}"))
    }

    /// Can nothing at all fit?
    pub(super) fn contradiction(&self) -> Option<String> {
        let name = quoted(&self.at.shown);
        let bound = |pick: fn(&Test) -> Option<&Number>| self.tests.iter().find_map(pick);
        let least = bound(|test| if let Test::Min(number) = test { Some(number) } else { None });
        let most = bound(|test| if let Test::Max(number) = test { Some(number) } else { None });
        if let (Some(least), Some(most)) = (least, most)
            && compared(least, most) == Ordering::Greater
        {
            return Some(format!(
                "no number is both at least {least} and at most {most}, as {name} would have to be"
            ));
        }
        let empty = self.tests.iter().any(|test| matches!(test, Test::OneOf(values) if values.is_empty()));
        empty.then(|| format!("`one_of` of {name} is empty"))
    }
}

impl Test {
    pub(super) fn fits(&self, value: &Value, doubt: Doubt, origins: Origins<'_>) -> bool {
        if let Self::OneOf(wanted) = self
            && wanted.iter().any(|wanted| {
                // What is allowed for a value is allowed for just that value.
                canonical(wanted) == canonical(value) || doubt == Doubt::Fits && alike(wanted, value, origins)
            })
        {
            return true;
        }
        if let Value::Array(entries) = value {
            let fits = |entry: &Value| self.fits(entry, doubt, origins);
            return match doubt {
                Doubt::Fits => entries.iter().any(fits),
                Doubt::Misses => !entries.is_empty() && entries.iter().all(fits),
            };
        }
        match self {
            Self::Min(least) => number(value, doubt, |given| compared(given, least) != Ordering::Less),
            Self::Max(most) => number(value, doubt, |given| compared(given, most) != Ordering::Greater),
            Self::OneOf(_) => false,
            Self::Glob(_) | Self::Path(_) | Self::Prefix(_) | Self::Regex(_) => match text(value) {
                Some(text) => self.fits_text(&text, doubt, origins),
                None => doubt == Doubt::Fits,
            },
        }
    }

    fn fits_text(&self, text: &str, doubt: Doubt, origins: Origins<'_>) -> bool {
        // A raw spelling is worth another look where one fit is enough.
        if doubt == Doubt::Fits && !self.is_path() && self.fits_spelling(text, doubt) {
            return true;
        }
        let Readings { list, cut } = readings(text, origins);
        if cut {
            return doubt == Doubt::Fits;
        }
        let mut readings = list.iter().filter(|reading| self.looks_at(reading, doubt));
        match doubt {
            Doubt::Fits => readings.any(|reading| self.fits_reading(reading, doubt)),
            Doubt::Misses => readings.all(|reading| self.fits_reading(reading, doubt)),
        }
    }

    fn is_path(&self) -> bool {
        matches!(self, Self::Path(_))
    }

    fn looks_at(&self, reading: &Reading, doubt: Doubt) -> bool {
        let of_addresses = !matches!(self, Self::Path(glob) if !glob.text.contains("://"));
        match reading.kind {
            Kind::Written => !self.is_path(),
            Kind::Path => true,
            Kind::Address => doubt == Doubt::Fits || of_addresses,
            // To allow an address is not to allow a path; to allow paths is not to allow one that looks like an address.
            Kind::AddressAsPath => doubt == Doubt::Fits || !of_addresses,
        }
    }

    fn fits_reading(&self, reading: &Reading, doubt: Doubt) -> bool {
        let elsewhere = match reading.kind {
            Kind::Address => true,
            _ => self.is_from_root() || doubt == Doubt::Fits && self.is_of_directories(),
        };
        // A pattern such as `**` is about what is in the workspace, and allows nothing else.
        let outside = matches!(self, Self::Path(glob) if !glob.text.starts_with(".."))
            && (reading.text.starts_with('/') || reading.text == ".." || reading.text.starts_with("../"));
        let inside = doubt == Doubt::Fits || !outside;
        (inside && self.fits_spelling(&reading.text, doubt))
            || elsewhere && reading.others.iter().any(|other| self.fits_spelling(other, doubt))
    }

    /// It begins at the root or at the home.
    fn is_from_root(&self) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.from_root,
            Self::Prefix(prefix) => prefix.starts_with('/') || below_home(prefix).is_some(),
            _ => false,
        }
    }

    /// Could it be about the directories above the workspace too? A pattern without a slash is about words, and must not
    /// find them in the path of the directory that somebody happens to work in.
    fn is_of_directories(&self) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.text.contains('/'),
            Self::Prefix(prefix) => prefix.contains('/'),
            Self::Regex(expression) => expression.anywhere.as_str().contains('/'),
            Self::OneOf(_) | Self::Min(_) | Self::Max(_) => false,
        }
    }

    fn fits_spelling(&self, text: &str, doubt: Doubt) -> bool {
        match self {
            Self::Glob(glob) | Self::Path(glob) => glob.is_match(text, doubt),
            Self::Prefix(prefix) => {
                let directory = prefix.strip_suffix('/').filter(|_| doubt == Doubt::Fits);
                let at_home = below_home(prefix).zip(text.strip_prefix('~'));
                text.starts_with(prefix.as_str())
                    || directory == Some(text)
                    || at_home.is_some_and(|(prefix, text)| text.starts_with(prefix))
            }
            Self::Regex(expression) => expression.is_match(text, doubt),
            Self::OneOf(_) | Self::Min(_) | Self::Max(_) => false,
        }
    }

    pub(super) fn shown(&self) -> String {
        match self {
            Self::Glob(glob) => quoted(&glob.text),
            Self::Path(glob) => format!("the path {}", quoted(&glob.text)),
            Self::Prefix(prefix) => format!("the prefix {}", quoted(prefix)),
            Self::Regex(expression) => format!("the regex {}", quoted(expression.anywhere.as_str())),
            Self::OneOf(values) => match values.as_slice() {
                [one] => quoted(&one.to_string()),
                _ => format!("any of the {} values", values.len()),
            },
            Self::Min(number) => format!("the least, {number}"),
            Self::Max(number) => format!("the most, {number}"),
        }
    }
}

fn number(value: &Value, doubt: Doubt, fits: impl FnOnce(&Number) -> bool) -> bool {
    value.as_number().map_or(doubt == Doubt::Fits, fits)
}

/// A text, or how JSON writes a number or a boolean.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(canonical(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Could a tool take one for the other? `"5"` or `"5.0"` for 5, `./x` for `x`, a list of one for its entry; of what is no
/// text at all where a text is wanted nobody knows.
fn alike(wanted: &Value, value: &Value, origins: Origins<'_>) -> bool {
    match (wanted, value) {
        (Value::Array(wanted), Value::Array(values)) => {
            wanted.len() == values.len()
                && wanted.iter().zip(values).all(|(wanted, value)| alike(wanted, value, origins))
        }
        (Value::Object(wanted), Value::Object(values)) => {
            let alike = |(name, wanted)| values.get(name).is_some_and(|value| alike(wanted, value, origins));
            wanted.len() == values.len() && wanted.iter().all(alike)
        }
        (wanted, Value::Array(values)) => values.iter().any(|value| alike(wanted, value, origins)),
        (Value::Array(wanted), value) => matches!(wanted.as_slice(), [one] if alike(one, value, origins)),
        _ => alike_texts(wanted, value, origins),
    }
}

fn alike_texts(wanted: &Value, value: &Value, origins: Origins<'_>) -> bool {
    let Some(wanted_text) = text(wanted) else { return false };
    let Some(given) = text(value) else { return true };
    let as_number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    if (wanted.is_number() || value.is_number())
        && let (Some(wanted), Some(given)) = (as_number(wanted_text.trim()), as_number(given.trim()))
    {
        return wanted == given;
    }
    let (wanted, given) = (readings(&wanted_text, origins), readings(&given, origins));
    let same = |a: &Reading, b: &Reading| {
        a.text == b.text || a.others.iter().any(|other| *other == b.text || b.others.contains(other))
    };
    given.cut || given.list.iter().any(|given| wanted.list.iter().any(|wanted| same(given, wanted)))
}

/// Exact where both are integers.
fn compared(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}
