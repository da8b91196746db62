//! A reader of one TOML table: read the known keys, then `finish` reports the others.
//!
//! Getters report problems with their location and return `None`, so the caller continues. The code that reads a table is
//! also the list of its keys, and one run finds all mistakes.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use converse_text::escape::escape;
use converse_text::shorten::within_bytes;
use converse_text::suggest::nearest;
use serde_json::Value;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use crate::diagnostic::{Diagnostic, quoted};
use crate::document::Problems;
use crate::json::Conversion;
use crate::program::is_plain_line;
use crate::source::{Span, Spanned};
use crate::{Code, units};

/// Limit on the bytes of a description.
pub(crate) const MAX_DESCRIPTION: usize = 4 * 1024;

/// Keys of other programs, and the key to suggest.
const SYNONYMS: [(&str, &str); 4] =
    [("env", "environment"), ("args", "argv"), ("args", "command"), ("arguments", "argv")];

/// Values of other programs, and the value to suggest.
const VALUE_SYNONYMS: [(&str, &str); 4] =
    [("sse", "http"), ("streamable-http", "http"), ("streamableHttp", "http"), ("streamable_http", "http")];

type Entry<'t, 's> = (&'t toml::Spanned<DeString<'s>>, &'t toml::Spanned<DeValue<'s>>);

/// A reader of one table of a file.
pub struct Table<'t, 's> {
    entries: &'t DeTable<'s>,
    /// Position of the table: the key in its header.
    pub span: Span,
    /// The name in messages: `[defaults]`.
    name: String,
    pub problems: &'t Problems,
    asked: RefCell<Vec<&'static str>>,
}

impl std::fmt::Debug for Table<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'t, 's> Table<'t, 's> {
    pub(crate) fn new(
        entries: &'t DeTable<'s>,
        span: Span,
        name: impl Into<String>,
        problems: &'t Problems,
    ) -> Self {
        Self { entries, span, name: name.into(), problems, asked: RefCell::default() }
    }

    /// Returns whether the key is present.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn get(&self, key: &'static str) -> Option<Entry<'t, 's>> {
        self.asked.borrow_mut().push(key);
        // A value without text was made up by the parser after an error, which is already reported.
        self.entries.get_key_value(key).filter(|(_, value)| !value.span().is_empty())
    }

    /// Returns the position of a key, if it is present.
    pub(crate) fn key_span(&self, key: &str) -> Option<Span> {
        self.entries.get_key_value(key).map(|(key, _)| self.problems.span(key.span()))
    }

    /// Reads the value of a key. `wanted` describes the expected type for the message.
    fn read<T>(
        &self,
        key: &'static str,
        wanted: &str,
        read: impl FnOnce(&'t DeValue<'s>) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let (_, value) = self.get(key)?;
        let span = self.problems.span(value.span());
        match read(value.get_ref()) {
            Some(value) => Some(Spanned { value, span }),
            None => {
                self.wrong_type(key, wanted, value.get_ref(), span);
                None
            }
        }
    }

    pub(crate) fn wrong_type(&self, key: &str, wanted: &str, found: &DeValue<'_>, span: Span) {
        self.problems.error(Code::WrongType, span, wrong_type_message(key, wanted, found));
    }

    /// Reports a missing key.
    pub fn missing(&self, key: &str) {
        self.missing_or(key, Code::MissingKey.hint());
    }

    pub(crate) fn missing_or(&self, key: &str, hint: &str) {
        if !self.problems.has_syntax_errors() {
            let message = format!("`{key}` is missing in {}", self.name);
            self.problems.push(Diagnostic::error(Code::MissingKey, self.span, message).hint(hint));
        }
    }

    /// Reads a list of any values.
    pub(crate) fn list(&self, key: &'static str, wanted: &str) -> Option<Spanned<&'t DeArray<'s>>> {
        self.read(key, wanted, DeValue::as_array)
    }

    /// Reads a string.
    pub fn string(&self, key: &'static str) -> Option<Spanned<String>> {
        self.read(key, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// Reads a string, and reports if it is missing.
    pub fn required_string(&self, key: &'static str) -> Option<Spanned<String>> {
        if !self.has(key) {
            self.missing(key);
        }
        self.string(key)
    }

    /// Reads `description`, which is sent to a model with every request.
    pub(crate) fn description(&self) -> Option<Spanned<String>> {
        let description = self.string("description")?;
        if description.value.len() > MAX_DESCRIPTION {
            let message = format!("the description has more than {MAX_DESCRIPTION} bytes");
            let diagnostic = Diagnostic::error(Code::TooLarge, description.span, message);
            self.problems.push(diagnostic.hint("describe the purpose in one or two sentences"));
        }
        Some(description)
    }

    /// Reads `description`, and warns if it is missing, because models choose tools by their descriptions.
    pub(crate) fn described(&self, what: &str) -> Option<Spanned<String>> {
        let description = self.description();
        let empty =
            description.as_ref().map_or(!self.has("description"), |text| text.value.trim().is_empty());
        if empty && !self.problems.has_syntax_errors() {
            let message = format!("the {what} has no `description`; models choose tools by it");
            self.problems.push(Diagnostic::warning(Code::MissingDescription, self.span, message));
        }
        description
    }

    pub(crate) fn boolean(&self, key: &'static str) -> Option<Spanned<bool>> {
        self.read(key, "true or false", DeValue::as_bool)
    }

    pub(crate) fn integer(&self, key: &'static str, range: RangeInclusive<i64>) -> Option<Spanned<i64>> {
        let number = self.read(key, "an integer", |value| value.as_integer())?;
        let value = i64::from_str_radix(number.value.as_str(), number.value.radix()).ok();
        match value.filter(|value| range.contains(value)) {
            Some(value) => Some(Spanned { value, span: number.span }),
            None => {
                let message = format!("`{key}` must be from {} to {}", range.start(), range.end());
                let lowest = value.is_none_or(|value| value < *range.start());
                self.out_of_range(
                    key,
                    number.span,
                    message,
                    if lowest { range.start() } else { range.end() },
                );
                None
            }
        }
    }

    /// Reads a whole number in a range.
    pub fn count(&self, key: &'static str, range: RangeInclusive<u32>) -> Option<Spanned<u32>> {
        let number = self.integer(key, i64::from(*range.start())..=i64::from(*range.end()))?;
        u32::try_from(number.value).ok().map(|value| Spanned { value, span: number.span })
    }

    /// Reads a number in a range.
    pub fn float(&self, key: &'static str, range: RangeInclusive<f64>) -> Option<Spanned<f64>> {
        let number = self.read(key, "a number", units::plain)?;
        if range.contains(&number.value) {
            return Some(number);
        }
        let message = format!("`{key}` must be from {} to {}", range.start(), range.end());
        let lowest = number.value < *range.start();
        self.out_of_range(key, number.span, message, if lowest { range.start() } else { range.end() });
        None
    }

    /// Reports a number outside its range, with the nearest one in it.
    fn out_of_range(&self, key: &str, span: Span, message: String, nearest: impl std::fmt::Display) {
        let hint = format!("for example: `{key} = {nearest}`");
        self.problems.push(Diagnostic::error(Code::OutOfRange, span, message).hint(hint));
    }

    /// Reads a duration: seconds as a number, or text such as `30s`; more than zero, at most `most`.
    pub fn duration(&self, key: &'static str, most: Duration) -> Option<Spanned<Duration>> {
        let wanted = "a duration such as `30`, `\"30s\"` or `\"5m\"`";
        let read = self.read(key, wanted, units::duration)?;
        let fits = |duration: &Duration| !duration.is_zero() && *duration <= most;
        self.measured(key, read, wanted, fits, || {
            (format!("more than 0 and at most {} seconds", most.as_secs()), most.as_secs())
        })
    }

    pub(crate) fn milliseconds(
        &self,
        key: &'static str,
        range: RangeInclusive<i64>,
    ) -> Option<Spanned<Duration>> {
        let number = self.integer(key, range)?;
        let value = Duration::from_millis(u64::try_from(number.value).ok()?);
        Some(Spanned { value, span: number.span })
    }

    /// Reads a size: bytes as a number, or text such as `64 KiB`; from 1 to `most` bytes.
    pub(crate) fn size(&self, key: &'static str, most: usize) -> Option<Spanned<usize>> {
        let wanted = "a size such as `65536` or `\"64 KiB\"`";
        let read = self.read(key, wanted, units::size)?;
        let fits = |size: &usize| (1..=most).contains(size);
        self.measured(key, read, wanted, fits, || (format!("from 1 to {most} bytes"), most as u64))
    }

    fn measured<T>(
        &self,
        key: &str,
        read: Spanned<Result<T, ()>>,
        wanted: &str,
        fits: impl FnOnce(&T) -> bool,
        range: impl FnOnce() -> (String, u64),
    ) -> Option<Spanned<T>> {
        match read.value {
            Ok(value) if fits(&value) => Some(Spanned { value, span: read.span }),
            Ok(_) => {
                let (range, most) = range();
                self.out_of_range(key, read.span, format!("`{key}` must be {range}"), most);
                None
            }
            Err(()) => {
                let found =
                    self.entries.get(key).and_then(|value| value.get_ref().as_str()).unwrap_or_default();
                let found = within_bytes(found, 80).replace('`', "'");
                let message = format!("`{key}`: expected {wanted}, found `\"{}\"`", escape(&found));
                // `wanted` ends with an example.
                let example = wanted.rsplit('`').nth(1).unwrap_or_default();
                self.problems.bad_value(read.span, message, format!("for example: `{key} = {example}`"));
                None
            }
        }
    }

    /// Reads one of several words.
    pub(crate) fn choice<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Option<Spanned<T>> {
        self.chosen(key, self.string(key)?, words)
    }

    /// Reads a table whose values are each one of several words.
    pub(crate) fn choices<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Vec<(Spanned<String>, T)> {
        let Some(inner) = self.table(key) else { return Vec::new() };
        let mut choices = Vec::new();
        for (name, value) in inner.named() {
            let span = self.problems.span(value.span());
            let Some(text) = value.get_ref().as_str() else {
                self.wrong_type(&name.value, "a string", value.get_ref(), span);
                continue;
            };
            let text = Spanned { value: text.to_owned(), span };
            choices.extend(inner.chosen(&name.value, text, words).map(|chosen| (name, chosen.value)));
        }
        choices
    }

    fn chosen<T: Copy>(
        &self,
        key: &str,
        text: Spanned<String>,
        words: &[(&'static str, T)],
    ) -> Option<Spanned<T>> {
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.value) {
            return Some(Spanned { value: *value, span: text.span });
        }
        let key = escape(&within_bytes(key, 80));
        let all: Vec<_> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
        let message =
            format!("{} is not a value of `{key}`: expected one of {}", quoted(&text.value), all.join(", "));
        let synonym = VALUE_SYNONYMS.iter().find(|(other, _)| other.eq_ignore_ascii_case(&text.value));
        let meant =
            synonym.map(|(_, meant)| *meant).filter(|meant| words.iter().any(|(word, _)| word == meant));
        let near = meant.or_else(|| nearest(&text.value, words.iter().map(|(word, _)| *word)));
        let hint = match (near, words.first()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, first) => {
                let first = first.map(|(word, _)| *word).unwrap_or_default();
                format!("for example: `{key} = \"{first}\"`")
            }
        };
        self.problems.bad_value(text.span, message, hint);
        None
    }

    /// Reads a list of strings.
    pub fn strings(&self, key: &'static str) -> Option<Spanned<Vec<Spanned<String>>>> {
        let array = self.read(key, "a list of strings", DeValue::as_array)?;
        let mut strings = Vec::new();
        for item in array.value.iter() {
            let span = self.problems.span(item.span());
            match item.get_ref().as_str() {
                Some(text) => strings.push(Spanned { value: text.to_owned(), span }),
                None => self.wrong_type(key, "a list of strings", item.get_ref(), span),
            }
        }
        Some(Spanned { value: strings, span: array.span })
    }

    /// Reads the words of a command line. A text with all words is an error, whose hint is the list of the words.
    pub(crate) fn command_line(&self, key: &'static str) -> Option<Spanned<Vec<Spanned<String>>>> {
        let text = self.entries.get(key).and_then(|value| value.get_ref().as_str());
        let Some(text) = text.filter(|text| is_plain_line(text)) else { return self.strings(key) };
        let words: Vec<_> = text.split_whitespace().map(|word| format!("\"{word}\"")).collect();
        let (_, value) = self.get(key)?;
        let message = format!("`{key}`: expected a list of strings, found a string");
        let diagnostic = Diagnostic::error(Code::WrongType, self.problems.span(value.span()), message);
        self.problems.push(diagnostic.hint(format!("write `{key} = [{}]`", words.join(", "))));
        None
    }

    /// Reads a text, or a list of texts.
    pub fn string_or_strings(&self, key: &'static str) -> Vec<Spanned<String>> {
        let is_list = self.entries.get(key).is_some_and(|value| value.get_ref().as_array().is_some());
        if is_list {
            return self.strings(key).map(|strings| strings.value).unwrap_or_default();
        }
        self.read(key, "a string or a list of strings", |value| value.as_str().map(str::to_owned))
            .into_iter()
            .collect()
    }

    /// Reads `[key]`.
    pub fn table(&self, key: &'static str) -> Option<Table<'t, 's>> {
        let (name, value) = self.get(key)?;
        let entries = self.entries_of(key, value)?;
        Some(Table::new(entries, self.problems.span(name.span()), self.name_of(key), self.problems))
    }

    /// Returns the name of a table in this one for messages: `[invokers.command]`.
    fn name_of(&self, key: &str) -> String {
        match self.name.starts_with('[') {
            true => format!("[{}.{key}]", self.name.trim_matches(['[', ']'])),
            false => format!("[{key}]"),
        }
    }

    /// Returns the entries of a value that must be a table. The first table of a list, which is an error, is read too, so
    /// that the wrong type does not hide the problems in it.
    fn entries_of(&self, key: &str, value: &'t toml::Spanned<DeValue<'s>>) -> Option<&'t DeTable<'s>> {
        if let Some(entries) = value.get_ref().as_table() {
            return Some(entries);
        }
        let first =
            value.get_ref().as_array().and_then(|list| list.iter().find_map(|one| one.get_ref().as_table()));
        let span = self.problems.span(value.span());
        let message = wrong_type_message(key, "a table", value.get_ref());
        let diagnostic = Diagnostic::error(Code::WrongType, span, message);
        self.problems.push(match first {
            Some(_) => diagnostic.hint(format!("write `{}`", self.name_of(key))),
            None => diagnostic,
        });
        first
    }

    /// Like `tables`, but also reads `[key]`, which is an error, so that the wrong type does not hide the problems in it.
    pub fn tables_or_one(&self, key: &'static str) -> Vec<Table<'t, 's>> {
        if let Some((name, value)) = self.get(key)
            && let Some(entries) = value.get_ref().as_table()
        {
            let message = wrong_type_message(key, "a list of tables", value.get_ref());
            let diagnostic = Diagnostic::error(Code::WrongType, self.problems.span(value.span()), message);
            self.problems.push(diagnostic.hint(format!("write `[{}]`", self.name_of(key))));
            let span = self.problems.span(name.span());
            return vec![Table::new(entries, span, format!("[[{key}]]"), self.problems)];
        }
        self.tables(key)
    }

    /// Reads each element of `[[key]]`.
    pub(crate) fn tables(&self, key: &'static str) -> Vec<Table<'t, 's>> {
        let Some(array) = self.read(key, "a list of tables", DeValue::as_array) else { return Vec::new() };
        let mut tables = Vec::new();
        for item in array.value.iter() {
            let span = self.problems.span(item.span());
            match item.get_ref().as_table() {
                Some(entries) => tables.push(Table::new(entries, span, format!("[[{key}]]"), self.problems)),
                None => self.wrong_type(key, "a list of tables", item.get_ref(), span),
            }
        }
        tables
    }

    /// Reads a table as JSON, with the positions of its parts.
    pub(crate) fn json_table(&self, key: &'static str) -> Option<(Spanned<Value>, Conversion)> {
        let (name, value) = self.get(key)?;
        let span = self.problems.span(name.span());
        self.entries_of(key, value)?;
        let table = match value.get_ref().as_array() {
            Some(list) => list.iter().map(toml::Spanned::get_ref).find(|one| one.is_table())?,
            None => value.get_ref(),
        };
        let mut conversion = Conversion::default();
        let value = conversion.convert(table, span, self.problems)?;
        Some((Spanned { value, span }, conversion))
    }

    /// Reads any value as JSON.
    pub fn json(&self, key: &'static str) -> Option<Spanned<Value>> {
        let (_, value) = self.get(key)?;
        let span = self.problems.span(value.span());
        let converted = Conversion::default().convert(value.get_ref(), span, self.problems)?;
        Some(Spanned { value: converted, span })
    }

    /// Returns all entries, for tables whose keys are names.
    pub(crate) fn named(&self) -> impl Iterator<Item = (Spanned<String>, &'t toml::Spanned<DeValue<'s>>)> {
        self.entries.iter().map(|(key, value)| {
            let span = self.problems.span(key.span());
            (Spanned { value: key.get_ref().to_string(), span }, value)
        })
    }

    /// Returns the table entries whose key was not read by another getter: `[tools.NAME]`.
    pub(crate) fn named_tables(&self) -> Vec<(Spanned<String>, Table<'t, 's>)> {
        let mut tables = Vec::new();
        for (name, value) in self.named() {
            if self.asked.borrow().contains(&name.value.as_str()) {
                continue;
            }
            if let Some(entries) = value.get_ref().as_table() {
                tables.push((name.clone(), self.named_table(&name, entries)));
            }
        }
        tables
    }

    /// Reads the table that a free key has.
    pub(crate) fn named_table(&self, name: &Spanned<String>, entries: &'t DeTable<'s>) -> Self {
        let outer = self.name.trim_matches(['[', ']']);
        let shown = format!("[{outer}.{}]", quoted(&name.value).trim_matches('`'));
        Table::new(entries, name.span, shown, self.problems)
    }

    /// Accepts these keys without reading them.
    pub(crate) fn accept_keys(&self, keys: &[&'static str]) {
        self.asked.borrow_mut().extend(keys);
    }

    /// Reports the keys that were not read.
    pub fn finish(self) {
        self.finish_except(|_| false);
    }

    /// Like `finish`, for tables that also contain names chosen by the user.
    pub(crate) fn finish_except(self, known: impl Fn(&DeValue<'_>) -> bool) {
        let asked = self.asked.borrow();
        #[cfg(test)]
        known::note(&self.name, &asked);
        for (key, value) in self.entries {
            let name = key.get_ref();
            if asked.contains(&name.as_ref()) || known(value.get_ref()) {
                continue;
            }
            let message = format!("{} is not a key of {}", quoted(name), self.name);
            let diagnostic = Diagnostic::error(Code::UnknownKey, self.problems.span(key.span()), message);
            let full = self.problems.is_full();
            let known = asked.iter().copied();
            let synonym = SYNONYMS.iter().find(|(other, key)| *other == name.as_ref() && asked.contains(key));
            self.problems.push(match synonym {
                Some((_, key @ "command")) => diagnostic.hint(format!("move its content to `{key}`")),
                Some((_, key)) => diagnostic.hint(format!("did you mean `{key}`?")),
                None if full => diagnostic,
                None => suggested(diagnostic, name, known),
            });
        }
    }
}

/// Adds "did you mean" if a similar name exists.
pub(crate) fn suggested<'n>(
    diagnostic: Diagnostic,
    found: &str,
    names: impl Iterator<Item = &'n str>,
) -> Diagnostic {
    match nearest(found, names) {
        Some(name) => diagnostic.hint(format!("did you mean `{name}`?")),
        None => diagnostic,
    }
}

fn wrong_type_message(key: &str, wanted: &str, found: &DeValue<'_>) -> String {
    format!("{}: expected {wanted}, found {}", quoted(key), kind(found))
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Records which keys were read from which tables, for the test of the published schema.
#[cfg(test)]
pub(crate) mod known {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    /// Keys by the name of the table in messages.
    pub(crate) type Known = BTreeMap<String, BTreeSet<&'static str>>;

    thread_local! {
        static KNOWN: RefCell<Known> = RefCell::default();
    }

    pub(super) fn note(table: &str, asked: &[&'static str]) {
        KNOWN.with_borrow_mut(|known| known.entry(table.to_owned()).or_default().extend(asked));
    }

    pub(crate) fn take() -> Known {
        KNOWN.take()
    }
}
