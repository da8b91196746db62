//! One invoker as written: in a file (`[invoker]`, `[arguments]`), or inline in `[[invokers]]`.

use std::sync::Arc;

use serde_json::Value;

use crate::Code;
use crate::command::CommandDescriptor;
use crate::diagnostic::{Checked, Diagnostic};
use crate::document::{Document, Problems};
use crate::json::Conversion;
use crate::policy::PolicyDescriptor;
use crate::request::RequestDescriptor;
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::Table;
use crate::template::Template;
use crate::tool_test::{self, TestDescriptor};

#[derive(Debug, Clone, PartialEq)]
pub struct InvokerDescriptor {
    /// Position of `[invoker]`, or of the `[[invokers]]` entry.
    pub span: Span,
    pub name: Option<Spanned<String>>,
    pub description: Option<Spanned<String>>,
    pub builtin: Option<Spanned<String>>,
    pub command: Option<CommandDescriptor>,
    /// `[http]`.
    pub request: Option<RequestDescriptor>,
    pub policy: PolicyDescriptor,
    pub arguments: Option<ArgumentsDescriptor>,
    pub tests: Vec<TestDescriptor>,
    /// A syntax error may have removed arguments, or templates, so what seems absent may not be.
    pub(crate) arguments_incomplete: bool,
    pub(crate) templates_incomplete: bool,
}

/// A JSON Schema written as TOML, as in `[arguments]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentsDescriptor {
    pub schema: Spanned<Arc<Value>>,
    pub(crate) places: Conversion,
}

impl ArgumentsDescriptor {
    pub(crate) fn read(table: &Table<'_, '_>, key: &'static str) -> Option<Self> {
        let read = table.json_table(key).map(|(Spanned { value, span }, places)| Self {
            schema: Spanned { value: Arc::new(value), span },
            places,
        });
        read.filter(|read| {
            !read.extent().is_some_and(|(first, last)| table.problems.overlaps_error(first, last))
        })
    }

    /// Returns the first and last start position of its parts.
    fn extent(&self) -> Option<(usize, usize)> {
        let starts = || self.places.places.values().map(|span| span.start);
        starts().min().zip(starts().max())
    }

    /// Returns the position of the part of the schema at a JSON pointer, or of the nearest known parent.
    pub fn place(&self, pointer: &str) -> Span {
        self.places.place(pointer).unwrap_or(self.schema.span)
    }
}

/// Parses a file that declares one invoker.
pub fn parse_invoker(sources: &SourceMap, id: SourceId) -> Checked<InvokerDescriptor> {
    let problems = Problems::of(id);
    let descriptor = {
        let document = Document::parse(sources, id, &problems);
        let file = Table::new(&document.table, problems.span(0..0), "an invoker file", &problems);
        if !file.has("invoker") {
            file.missing("[invoker]");
        }
        let head = file.table("invoker");
        let descriptor = InvokerDescriptor::read(head.as_ref(), &file);
        if let Some(head) = head {
            head.finish();
        }
        file.finish();
        descriptor
    };
    Checked { value: descriptor, diagnostics: problems.into_diagnostics() }
}

impl InvokerDescriptor {
    pub(crate) fn inline(table: Table<'_, '_>) -> Self {
        let descriptor = Self::read(Some(&table), &table);
        // Accepted here too, so that "did you mean" suggests it.
        table.string("source");
        table.finish();
        descriptor
    }

    /// `head` has the keys of `[invoker]`, `body` the tables next to it.
    fn read(head: Option<&Table<'_, '_>>, body: &Table<'_, '_>) -> Self {
        one_kind(head, body);
        let name = head.and_then(|table| table.required_string("name"));
        let description = head.and_then(|table| table.described("invoker"));
        let lost = body.problems.has_syntax_errors();
        let before = body.problems.count();
        let command = body.table("command").map(CommandDescriptor::read);
        let request = body.table("http").map(RequestDescriptor::read);
        let templates_incomplete = lost || body.problems.count() > before;
        let arguments = ArgumentsDescriptor::read(body, "arguments");
        Self {
            span: head.map_or(body.span, |table| table.span),
            name,
            description,
            builtin: head.and_then(|table| table.string("builtin")),
            policy: head.map(PolicyDescriptor::read).unwrap_or_default(),
            command,
            request,
            arguments_incomplete: lost || (arguments.is_none() && body.has("arguments")),
            templates_incomplete,
            arguments,
            tests: tool_test::tests(body),
        }
    }

    /// Returns all texts with placeholders.
    pub(crate) fn templates(&self) -> Vec<&Spanned<Template>> {
        let command = self.command.iter().flat_map(CommandDescriptor::templates);
        command.chain(self.request.iter().flat_map(RequestDescriptor::templates)).collect()
    }
}

/// Reports an invoker that is not exactly one of a built-in, a command and a request.
fn one_kind(head: Option<&Table<'_, '_>>, body: &Table<'_, '_>) {
    let builtin = head.and_then(|head| head.key_span("builtin"));
    let kinds =
        [("builtin", builtin), ("command", body.key_span("command")), ("http", body.key_span("http"))];
    let given: Vec<_> = kinds.iter().filter_map(|(key, span)| span.map(|span| (*key, span))).collect();
    match (given.as_slice(), head) {
        ([], Some(head)) => head.missing_or("builtin", "add `builtin`, a `[command]` or an `[http]`"),
        ([(first, related), .., (last, span)], _) => {
            let message = format!("an invoker cannot have both `{first}` and `{last}`");
            let diagnostic = Diagnostic::error(Code::MixedInvoker, *span, message);
            body.problems.push(diagnostic.related(*related, "the first"));
        }
        _ => {}
    }
}
