//! Parses the text of one file to TOML with positions, and collects the problems of the file.
//!
//! The parser recovers from errors, so one run reports all of them. Consequences of a syntax error are not reported:
//! other problems on the same line, keys below a damaged table header, a schema around the line, and missing keys.

use std::cell::{Cell, RefCell};

use toml::de::{DeTable, DeValue};

use crate::Code;
use crate::diagnostic::{Diagnostic, bounded};
use crate::source::{SourceId, SourceMap, Span};
use crate::table::Table;
use converse_text::escape::escape;

/// Limit on the listed problems of one file.
const MAX_PROBLEMS: usize = 100;

/// Limit on the processed errors of the parser.
const MAX_ERRORS: usize = 1_000;

/// The problems of one file. The readers of all its tables share it, hence the cells.
#[derive(Debug)]
pub struct Problems {
    source: SourceId,
    list: RefCell<Vec<Diagnostic>>,
    more: Cell<usize>,
    /// Byte ranges of lines with syntax errors.
    bad_lines: RefCell<Vec<(usize, usize)>>,
}

impl Problems {
    /// Returns an empty list for one file.
    pub fn of(source: SourceId) -> Self {
        Self { source, list: RefCell::default(), more: Cell::new(0), bad_lines: RefCell::default() }
    }

    /// Reports a problem, unless it is a consequence of a syntax error.
    pub fn push(&self, diagnostic: Diagnostic) {
        if let crate::Location::Span(span) = diagnostic.place
            && self.bad_lines.borrow().iter().any(|(start, end)| (*start..=*end).contains(&span.start))
        {
            return;
        }
        self.list_or_count(diagnostic);
    }

    fn list_or_count(&self, diagnostic: Diagnostic) {
        let mut list = self.list.borrow_mut();
        if list.len() < MAX_PROBLEMS { list.push(diagnostic) } else { self.more.set(self.more.get() + 1) }
    }

    /// Reports an error.
    pub fn error(&self, code: Code, span: Span, message: impl Into<String>) {
        self.push(Diagnostic::error(code, span, message));
    }

    /// Reports a value with what to write instead.
    pub fn bad_value(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Diagnostic::bad_value(span, message, hint));
    }

    pub(crate) fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span { source: self.source, start: range.start, end: range.end.max(range.start) }
    }

    /// Returns whether hints are not worth computing any more.
    pub(crate) fn is_full(&self) -> bool {
        self.list.borrow().len() >= MAX_PROBLEMS
    }

    pub(crate) fn count(&self) -> usize {
        self.list.borrow().len() + self.more.get()
    }

    /// Returns whether the text has syntax errors, so that a missing key may be lost rather than absent.
    pub(crate) fn has_syntax_errors(&self) -> bool {
        !self.bad_lines.borrow().is_empty()
    }

    /// Returns whether a line with a syntax error is between these bytes.
    pub(crate) fn overlaps_error(&self, first: usize, last: usize) -> bool {
        self.bad_lines.borrow().iter().any(|(start, end)| *start <= last && first <= *end)
    }

    /// Returns the problems in the order of their locations.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut list = self.list.into_inner();
        list.sort_by_key(|diagnostic| match diagnostic.place {
            crate::Location::Span(span) => span.start,
            crate::Location::File(_) => 0,
        });
        if self.more.get() > 0 {
            let message = format!("{} more problems in this file", self.more.get());
            let place = crate::Location::File(self.source);
            list.push(Diagnostic::error(Code::MoreProblems, place, message));
        }
        list
    }
}

/// A parsed file.
#[derive(Debug)]
pub struct Document<'t> {
    pub(crate) table: DeTable<'t>,
}

impl<'t> Document<'t> {
    /// Parses a text, and reports its syntax errors.
    pub fn parse(sources: &'t SourceMap, id: SourceId, problems: &Problems) -> Self {
        let text = sources.text(id);
        let (table, errors) = DeTable::parse_recoverable(text);
        // Each error costs a search for its line, so their number is limited.
        problems.more.set(errors.len().saturating_sub(MAX_ERRORS));
        for error in errors.into_iter().take(MAX_ERRORS) {
            let span = problems.span(error.span().unwrap_or(0..0));
            let code = if error.message() == "duplicate key" { Code::DuplicateKey } else { Code::Syntax };
            let message = bounded(&escape(error.message()), 200);
            let (line, start) = sources.line_of(span);
            if code == Code::Syntax {
                let mut bad = problems.bad_lines.borrow_mut();
                // Further errors on a line are mostly consequences of the first.
                if bad.iter().any(|(known, _)| *known == start) {
                    continue;
                }
                let mut end = start + line.len();
                // Keys below a damaged table header would be read as keys of the previous table.
                if line.trim_start().starts_with('[') {
                    end = text
                        .get(end..)
                        .and_then(|rest| rest.find("\n["))
                        .map_or(text.len(), |next| end + next);
                }
                bad.push((start, end));
            }
            problems.list_or_count(Diagnostic::error(code, span, message));
        }
        Self { table: table.into_inner() }
    }

    /// Returns a reader of the whole file, which messages call `name`.
    pub fn root<'r>(&'r self, name: &str, problems: &'r Problems) -> Table<'r, 't> {
        Table::new(&self.table, problems.span(0..0), name, problems)
    }
}

impl Drop for Document<'_> {
    /// Drops the table without recursion: dotted keys nest thousands of levels deep in a few kilobytes.
    fn drop(&mut self) {
        let mut waiting: Vec<DeValue<'_>> = vec![DeValue::Table(std::mem::take(&mut self.table))];
        while let Some(value) = waiting.pop() {
            match value {
                DeValue::Table(table) => {
                    waiting.extend(table.into_iter().map(|(_, value)| value.into_inner()));
                }
                DeValue::Array(array) => waiting.extend(array.into_iter().map(toml::Spanned::into_inner)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scope;

    fn problems(text: &str) -> Vec<(Code, usize, usize)> {
        let mut sources = SourceMap::new();
        let id = sources.add("x.toml", Scope::User, text);
        let problems = Problems::of(id);
        Document::parse(&sources, id, &problems);
        let list = problems.into_diagnostics();
        let findings = list.iter().map(|diagnostic| diagnostic.finding(&sources));
        findings.map(|f| (f.code, f.line.unwrap_or(0), f.column.unwrap_or(0))).collect()
    }

    #[test]
    fn several_mistakes_are_found_in_one_pass() {
        let found = problems("a = \nb = 1\nb = 2\nc = \"x\nd = 1 2\n[e\n[f]\n[f]\n");
        let lines: Vec<_> = found.iter().map(|(_, line, _)| *line).collect();
        assert_eq!(lines, [1, 3, 4, 5, 6, 8], "{found:?}");
        assert_eq!(found[1].0, Code::DuplicateKey);
    }

    #[test]
    fn a_file_full_of_mistakes_is_listed_in_part() {
        for text in ["= 1\n".repeat(50_000), "a.b = 1\n".repeat(30_000)] {
            let found = problems(&text);
            assert_eq!(found.len(), MAX_PROBLEMS + 1);
            assert_eq!(found[MAX_PROBLEMS].0, Code::MoreProblems);
        }
    }

    #[test]
    fn deep_nesting_needs_no_stack() {
        let key = vec!["a"; 79].join(".");
        let mut text = format!("[{key}]\n");
        for _ in 0..78 {
            text.push_str(&format!("{key} = {{ "));
        }
        text.push_str("x = 1");
        text.push_str(&" }".repeat(78));
        let thread = std::thread::Builder::new().stack_size(512 * 1024);
        thread.spawn(move || problems(&text)).unwrap().join().unwrap();
    }
}
