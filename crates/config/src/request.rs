//! `[http]` as written: an HTTP request as a tool, with placeholders for the arguments of a call.
//!
//! This module checks that no argument chooses the host, that a header is one line, and that the method allows a body.
//! `resolve` checks that placeholders are names of arguments.

mod body;

use crate::source::{Span, Spanned};
use crate::style::Style;
use crate::table::Table;
use crate::template::Template;
use crate::{address, header};

pub use body::BodyDescriptor;

pub(crate) const METHODS: [(&str, &str); 6] = [
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
];

pub(crate) const STYLES: [(&str, Style); 5] = [
    style(Style::Comma),
    style(Style::Space),
    style(Style::Pipe),
    style(Style::Repeat),
    style(Style::Brackets),
];

const fn style(style: Style) -> (&'static str, Style) {
    (style.as_str(), style)
}

#[derive(Debug, Clone, PartialEq)]
pub struct RequestDescriptor {
    pub span: Span,
    pub method: Option<Spanned<&'static str>>,
    pub url: Option<Spanned<Template>>,
    pub query: Vec<(String, Spanned<Template>)>,
    pub headers: Vec<(String, Spanned<Template>)>,
    /// By the names of arguments.
    pub styles: Vec<(Spanned<String>, Style)>,
    pub body: Option<BodyDescriptor>,
    /// A JSON pointer.
    pub result: Option<Spanned<String>>,
}

impl RequestDescriptor {
    pub(crate) fn read(table: Table<'_, '_>) -> Self {
        let headers = table.templates("headers", header::fault);
        header::check(&table, &headers, |value, is| value.literals().any(|text| text.contains(is)));
        let descriptor = Self {
            span: table.span,
            method: table.choice("method", &METHODS),
            url: url(&table),
            query: table.templates("query", |name| name.is_empty().then_some("the name is empty")),
            headers,
            styles: table.choices("styles", &STYLES),
            body: BodyDescriptor::read(&table),
            result: table.pointer("result"),
        };
        descriptor.check_body(&table);
        table.finish();
        descriptor
    }

    /// Returns all texts with placeholders.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Spanned<Template>> {
        let named = self.query.iter().chain(&self.headers).map(|(_, template)| template);
        self.url.iter().chain(named).chain(self.body.iter().flat_map(|body| &body.templates))
    }

    fn check_body(&self, table: &Table<'_, '_>) {
        // An invalid method is already reported.
        let method = match &self.method {
            Some(method) => method.value,
            None if table.has("method") => return,
            None => "GET",
        };
        let body = body::KEYS.iter().find_map(|key| table.key_span(key));
        if let (true, Some(place)) = (matches!(method, "GET" | "HEAD"), body) {
            let message = format!("a {method} request cannot have a body");
            let hint = "write `method = \"POST\"`, or use `query`";
            table.problems.bad_value(place, message, hint);
        }
    }
}

fn url(table: &Table<'_, '_>) -> Option<Spanned<Template>> {
    if !table.has("url") {
        table.missing("url");
    }
    let url = table.template("url")?;
    if let Some(fault) = address::fault(&url.value) {
        table.problems.push(fault.diagnostic(url.span));
    }
    Some(url)
}
