//! An ensemble file as written: every value with its position.
//!
//! This module checks what the file alone shows: types, ranges, unknown keys. `resolve` checks the rest (built-ins,
//! other files, the environment, trust). `load` reads the files that `source` names.

use serde_json::Value;

use crate::Code;
use crate::connection::{ConnectionDescriptor, ToolsDescriptor};
use crate::diagnostic::{Checked, Diagnostic};
use crate::document::{Document, Problems};
use crate::invoker::InvokerDescriptor;
use crate::policy::PolicyDescriptor;
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::Table;
use crate::tool_test::{self, TestDescriptor};

/// Limit on the invokers of one ensemble.
pub(crate) const MAX_INVOKERS: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub struct EnsembleDescriptor {
    pub source: SourceId,
    /// Position of `[ensemble]`, or the start of the file.
    pub span: Span,
    pub name: Option<Spanned<String>>,
    pub description: Option<Spanned<String>>,
    pub enabled: Option<Spanned<bool>>,
    pub required: Option<Spanned<bool>>,
    pub lazy: Option<Spanned<bool>>,
    pub prefix: Option<Spanned<String>>,
    /// Position of `[connection]`, even if the table is invalid.
    pub has_connection: Option<Span>,
    pub connection: Option<ConnectionDescriptor>,
    pub configuration: Option<Spanned<Value>>,
    pub defaults: PolicyDescriptor,
    pub invokers: Vec<InvokerEntry>,
    pub tools: Option<ToolsDescriptor>,
    /// The file, or one of its invokers' files, has errors. It is still checked for further problems.
    pub broken: bool,
}

impl EnsembleDescriptor {
    /// Returns whether it may replace an ensemble of this name and prefix, or have a tool with the same name for models.
    pub(crate) fn meets(&self, name: &str) -> bool {
        [&self.name, &self.prefix].into_iter().flatten().any(|own| own.value == name)
    }
}

/// One `[[invokers]]` entry.
#[derive(Debug, Clone, PartialEq)]
pub struct InvokerEntry {
    pub span: Span,
    /// The file that declares the invoker, relative to the ensemble's file.
    pub source: Option<Spanned<String>>,
    /// Policy keys next to `source`, which override the file.
    pub overrides: PolicyDescriptor,
    /// Tests next to `source`, in addition to the file's tests.
    pub tests: Vec<TestDescriptor>,
    /// The invoker: inline, or filled in when its file is read.
    pub invoker: Option<InvokerDescriptor>,
}

pub fn parse_ensemble(sources: &SourceMap, id: SourceId) -> Checked<EnsembleDescriptor> {
    let problems = Problems::of(id);
    let mut descriptor = {
        let document = Document::parse(sources, id, &problems);
        let file = document.root("an ensemble file", &problems);
        let descriptor = read(&file, id);
        file.finish();
        descriptor
    };
    let diagnostics = problems.into_diagnostics();
    descriptor.broken = diagnostics.iter().any(Diagnostic::is_error);
    Checked { value: descriptor, diagnostics }
}

fn read(file: &Table<'_, '_>, source: SourceId) -> EnsembleDescriptor {
    if !file.has("ensemble") {
        file.missing("[ensemble]");
    }
    let ensemble = file.table("ensemble");
    let connection = file.table("connection");
    let defaults = file.table("defaults");
    let head = ensemble.as_ref();
    let has_connection = connection.as_ref().map(|table| table.span);
    let descriptor = EnsembleDescriptor {
        source,
        span: head.map_or(file.span, |table| table.span),
        name: head.and_then(|table| table.required_string("name")),
        // A server describes itself.
        description: head.and_then(|table| match has_connection {
            Some(_) => table.description(),
            None => table.described("ensemble"),
        }),
        enabled: head.and_then(|table| table.boolean("enabled")),
        required: head.and_then(|table| table.boolean("required")),
        lazy: head.and_then(|table| table.boolean("lazy")),
        prefix: head.and_then(|table| table.string("prefix")),
        has_connection,
        connection: connection.and_then(ConnectionDescriptor::read),
        configuration: file.json_table("configuration").map(|(value, _)| value),
        defaults: defaults.as_ref().map(PolicyDescriptor::read).unwrap_or_default(),
        invokers: entries(file),
        tools: file.table("tools").map(ToolsDescriptor::read),
        broken: false,
    };
    for table in [ensemble, defaults].into_iter().flatten() {
        table.finish();
    }
    descriptor
}

fn entries(file: &Table<'_, '_>) -> Vec<InvokerEntry> {
    let mut tables = file.tables_or_one("invokers");
    if let Some(first_too_many) = tables.get(MAX_INVOKERS) {
        let message = format!("more than {MAX_INVOKERS} invokers in one ensemble");
        file.problems.error(Code::TooMany, first_too_many.span, message);
        tables.truncate(MAX_INVOKERS);
    }
    tables.into_iter().map(entry).collect()
}

fn entry(table: Table<'_, '_>) -> InvokerEntry {
    let span = table.span;
    if !table.has("source") {
        let invoker = Some(InvokerDescriptor::inline(table));
        let overrides = PolicyDescriptor::default();
        return InvokerEntry { span, source: None, overrides, tests: Vec::new(), invoker };
    }
    let source = table.string("source").filter(|source| match source_fault(&source.value) {
        None => true,
        Some(fault) => {
            table.problems.error(Code::BadSource, source.span, fault);
            false
        }
    });
    let overrides = PolicyDescriptor::read(&table);
    let tests = tool_test::tests(&table);
    table.finish();
    InvokerEntry { span, source, overrides, tests, invoker: None }
}

/// Returns what is wrong with a `source`. It must stay below the ensemble's directory on every platform.
fn source_fault(source: &str) -> Option<&'static str> {
    if source.is_empty() || source.len() > 1024 || source.contains(['\\', ':', '\0']) {
        return Some("`source` must be a relative path with `/` as separator");
    }
    if source.starts_with('/') {
        return Some("`source` must be relative to this file, not absolute");
    }
    if source.split('/').any(|part| matches!(part, ".." | "." | "")) {
        return Some("`source` cannot contain `..`, `.` or an empty part");
    }
    None
}
