//! `expect` of a test as written.

use std::time::Duration;

use converse_canister::Outcome;
use regex::{Regex, RegexBuilder};
use serde_json::Value;

use crate::Code;
use crate::diagnostic::{Diagnostic, bounded, quoted};
use crate::invoker::ArgumentsDescriptor;
use crate::json::Conversion;
use crate::policy::MAX_TIMEOUT;
use crate::source::Spanned;
use crate::table::Table;
use converse_text::escape::escape;

/// Limit on the bytes of one compiled pattern.
const PATTERN_SIZE: usize = 1024 * 1024;

/// Possible outcomes of a call. Other values of [`Outcome`] concern whole runs.
pub(crate) const OUTCOMES: [(&str, Outcome); 6] = [
    ("success", Outcome::Success),
    ("invalid", Outcome::Invalid),
    ("refused", Outcome::Refused),
    ("timeout", Outcome::Timeout),
    ("unreachable", Outcome::Unreachable),
    ("failed", Outcome::Failed),
];

/// The keys of `expect`; see [`Expectation`](super::Expectation) for their meaning.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpectationDescriptor {
    pub outcome: Option<Spanned<Outcome>>,
    /// The key is present but invalid.
    pub(crate) invalid_outcome: bool,
    pub text: Option<Spanned<String>>,
    pub contains: Vec<Spanned<String>>,
    pub matches: Option<Spanned<String>>,
    pub json: Vec<(String, Value)>,
    pub schema: Option<ArgumentsDescriptor>,
    pub within: Option<Spanned<Duration>>,
}

impl ExpectationDescriptor {
    pub(crate) fn read(table: Table<'_, '_>) -> Self {
        let outcome = table.choice("outcome", &OUTCOMES);
        let descriptor = Self {
            invalid_outcome: outcome.is_none()
                && (table.has("outcome") || table.problems.has_syntax_errors()),
            outcome,
            text: table.string("text"),
            contains: contains(&table),
            matches: matches(&table),
            json: json(&table),
            schema: ArgumentsDescriptor::read(&table, "schema"),
            within: table.duration("within", MAX_TIMEOUT),
        };
        table.finish();
        descriptor
    }
}

fn contains(table: &Table<'_, '_>) -> Vec<Spanned<String>> {
    let mut parts = table.string_or_strings("contains");
    parts.retain(|part| {
        if part.value.is_empty() {
            let message = "`contains` cannot be an empty text, which is part of every text";
            table.problems.bad_value(part.span, message, "for an empty result, write `text = \"\"`");
        }
        !part.value.is_empty()
    });
    parts
}

fn matches(table: &Table<'_, '_>) -> Option<Spanned<String>> {
    let pattern = table.string("matches")?;
    match compiled(&pattern.value) {
        Ok(_) => Some(pattern),
        Err(reason) => {
            let message = format!("{} is not a regular expression: {reason}", quoted(&pattern.value));
            let diagnostic = Diagnostic::error(Code::BadPattern, pattern.span, message);
            table.problems.push(
                diagnostic.hint("to match a special character literally, write `\\\\` before it in quotes, or `\\` between `'`"),
            );
            None
        }
    }
}

/// Compiles a regular expression of a file, within limits.
///
/// # Errors
///
/// One line that says why it is invalid.
pub fn compiled(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern).size_limit(PATTERN_SIZE).build().map_err(|error| reason(&error))
}

/// Returns the last line of the message; the lines before it show the pattern.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    bounded(&escape(last.strip_prefix("error: ").unwrap_or(last)), 200)
}

fn json(table: &Table<'_, '_>) -> Vec<(String, Value)> {
    let Some(table) = table.table("json") else { return Vec::new() };
    let mut values = Vec::new();
    for (pointer, value) in table.named() {
        if value.span().is_empty() {
            continue;
        }
        if !is_pointer(&pointer.value) {
            let message = format!("{} is not a JSON pointer", quoted(&pointer.value));
            let hint = "write a pointer that begins with `/`, or an empty one for the whole result: `{ \"/items/0/name\" = \"x\" }`";
            table.problems.bad_value(pointer.span, message, hint);
            continue;
        }
        let span = table.problems.span(value.span());
        let converted = Conversion::default().convert(value.get_ref(), span, table.problems);
        values.extend(converted.map(|value| (pointer.value, value)));
    }
    values
}

/// <https://www.rfc-editor.org/rfc/rfc6901#section-3>, checked 2026-11.
pub(crate) fn is_pointer(text: &str) -> bool {
    let is_escaped = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && is_escaped
}
