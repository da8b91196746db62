//! One invoker as written: in a file of its own (`[invoker]`, `[arguments]`), or inline in `[[invokers]]`.

use serde_json::Value;

use crate::diagnostic::{Checked, Severity};
use crate::document::{Document, Problems};
use crate::json::Conversion;
use crate::policy::PolicyDescriptor;
use crate::source::{SourceId, SourceMap, Span, Spanned};
use crate::table::Table;

#[derive(Debug, Clone, PartialEq)]
pub struct InvokerDescriptor {
    /// Where `[invoker]`, or the `[[invokers]]` it stands in, is.
    pub span: Span,
    pub name: Option<Spanned<String>>,
    pub description: Option<Spanned<String>>,
    pub builtin: Option<Spanned<String>>,
    pub policy: PolicyDescriptor,
    pub arguments: Option<ArgumentsDescriptor>,
}

/// `[arguments]`: a JSON Schema written as TOML.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentsDescriptor {
    pub schema: Spanned<Value>,
    places: Conversion,
}

impl ArgumentsDescriptor {
    /// Where the part of the schema at a JSON pointer stands, or the nearest known around it.
    pub fn place(&self, pointer: &str) -> Span {
        self.places.place(pointer).unwrap_or(self.schema.span)
    }
}

/// Reads a file that declares one invoker.
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
        // Known here too, so that a slip of the pen in it is found.
        table.string("source");
        table.finish();
        descriptor
    }

    /// `head` holds the keys of `[invoker]`, `body` the tables beside it.
    fn read(head: Option<&Table<'_, '_>>, body: &Table<'_, '_>) -> Self {
        let foreign = body.has("command") || body.has("http");
        for key in ["command", "http"] {
            body.unsupported(key, Severity::Error, "only invokers with `builtin` can be run");
        }
        body.unsupported("tests", Severity::Warning, "they are not run");
        if let Some(head) = head
            && !head.has("builtin")
            && !foreign
        {
            head.missing("builtin");
        }
        let name = head.and_then(|table| table.required_string("name"));
        let description = head.and_then(|table| table.described("invoker"));
        Self {
            span: head.map_or(body.span, |table| table.span),
            name,
            description,
            builtin: head.and_then(|table| table.string("builtin")),
            policy: head.map(PolicyDescriptor::read).unwrap_or_default(),
            arguments: body
                .json_table("arguments")
                .map(|(schema, places)| ArgumentsDescriptor { schema, places }),
        }
    }
}
