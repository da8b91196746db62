//! `[[tests]]`: one call of a tool and its expected result. Running them needs no model. `resolve` checks whether the
//! arguments match the tool and whether the schema is valid.

mod expectation;

use std::time::Duration;

use converse_canister::Outcome;
use serde_json::{Map, Value};

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::Origin;
use crate::source::{Span, Spanned};
use crate::table::Table;

pub use expectation::{ExpectationDescriptor, compiled};
pub(crate) use expectation::{OUTCOMES, is_pointer};

/// One call and its expected result.
#[derive(Debug, Clone, PartialEq)]
pub struct TestPlan {
    pub name: Option<String>,
    pub arguments: Map<String, Value>,
    pub expect: Expectation,
    /// Position in a file.
    pub origin: Origin,
}

/// The expected result; all conditions must hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// `success` by default.
    pub outcome: Outcome,
    /// The whole text of the result, without white space at both ends.
    pub text: Option<String>,
    /// Texts that the result contains.
    pub contains: Vec<String>,
    /// A regular expression that matches somewhere in the text.
    pub matches: Option<String>,
    /// JSON pointers into the structured result (or the text as JSON), and the values there.
    pub json: Vec<(String, Value)>,
    /// A JSON Schema of the structured result (or the text as JSON).
    pub schema: Option<Value>,
    /// Limit on the duration.
    pub within: Option<Duration>,
}

impl Expectation {
    /// Returns whether the text matches `matches`, or true without one.
    ///
    /// # Errors
    ///
    /// One line that says why `matches` is invalid; never for an expectation from a descriptor.
    pub fn is_matched(&self, text: &str) -> Result<bool, String> {
        let pattern = self.matches.as_deref().map(expectation::compiled).transpose()?;
        Ok(pattern.is_none_or(|pattern| pattern.is_match(text)))
    }
}

impl Default for Expectation {
    fn default() -> Self {
        Self {
            outcome: Outcome::Success,
            text: None,
            contains: Vec::new(),
            matches: None,
            json: Vec::new(),
            schema: None,
            within: None,
        }
    }
}

/// Limit on the tests of one tool.
pub(crate) const MAX_TESTS: usize = 100;
/// Limit on the bytes of a test's name.
pub(crate) const MAX_NAME: usize = 200;

/// One `[[tests]]` table.
#[derive(Debug, Clone, PartialEq)]
pub struct TestDescriptor {
    pub span: Span,
    pub name: Option<Spanned<String>>,
    /// Empty if absent. `None` if invalid, which is reported.
    pub arguments: Option<Spanned<Map<String, Value>>>,
    pub expect: ExpectationDescriptor,
}

/// Reads the tests of one tool, up to the limit.
pub(crate) fn tests(table: &Table<'_, '_>) -> Vec<TestDescriptor> {
    let mut tables = table.tables_or_one("tests");
    if let Some(beyond) = tables.get(MAX_TESTS) {
        table.problems.push(too_many(beyond.span));
        tables.truncate(MAX_TESTS);
    }
    tables.into_iter().map(TestDescriptor::read).collect()
}

pub(crate) fn too_many(beyond: Span) -> Diagnostic {
    let message = format!("more than {MAX_TESTS} tests for one tool");
    Diagnostic::error(Code::TooMany, beyond, message).hint("remove tests that check the same behaviour")
}

impl TestDescriptor {
    fn read(table: Table<'_, '_>) -> Self {
        let span = table.span;
        let descriptor = Self {
            span,
            name: name(&table),
            arguments: arguments(&table),
            expect: table.table("expect").map(ExpectationDescriptor::read).unwrap_or_default(),
        };
        table.finish();
        descriptor
    }
}

fn name(table: &Table<'_, '_>) -> Option<Spanned<String>> {
    let name = table.string("name")?;
    if name.value.trim().is_empty() || name.value.len() > MAX_NAME {
        let message = format!("the name of a test must have 1 to {MAX_NAME} bytes");
        table.problems.bad_value(name.span, message, "for example: `name = \"finds the file\"`");
        return None;
    }
    Some(name)
}

fn arguments(table: &Table<'_, '_>) -> Option<Spanned<Map<String, Value>>> {
    if !table.has("arguments") {
        table.accept_keys(&["arguments"]);
        // They may be in a line with a syntax error.
        let lost = table.problems.has_syntax_errors();
        return (!lost).then(|| Spanned { value: Map::new(), span: table.span });
    }
    let (table, _) = table.json_table("arguments")?;
    match table.value {
        Value::Object(value) => Some(Spanned { value, span: table.span }),
        _ => None,
    }
}
