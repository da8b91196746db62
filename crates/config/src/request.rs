//! `[http]`, as written: an HTTP request as a tool, with places for the arguments of an invocation.
//!
//! What the table alone can tell is checked here: that no argument chooses the host, that a header stays one line, that
//! the method may have a body. Whether the placeholders name arguments is left to `resolve`.

mod address;
mod body;

use std::collections::BTreeSet;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::source::{Span, Spanned};
use crate::table::Table;
use crate::template::Template;
use crate::templates::Named;

pub use body::BodyDescriptor;

const METHODS: [(&str, &str); 6] = [
    ("GET", "GET"),
    ("POST", "POST"),
    ("PUT", "PUT"),
    ("PATCH", "PATCH"),
    ("DELETE", "DELETE"),
    ("HEAD", "HEAD"),
];

/// Headers that belong to the connection and not to whoever writes a request: the first would even choose the host.
/// <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1> (checked 2026-11)
const NOT_OURS: [&str; 8] =
    ["host", "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

#[derive(Debug, Clone, PartialEq)]
pub struct RequestDescriptor {
    pub span: Span,
    pub method: Option<Spanned<&'static str>>,
    pub url: Option<Spanned<Template>>,
    pub query: Vec<(String, Spanned<Template>)>,
    pub headers: Vec<(String, Spanned<Template>)>,
    pub body: Option<BodyDescriptor>,
}

impl RequestDescriptor {
    pub(crate) fn read(table: Table<'_, '_>) -> Self {
        let descriptor = Self {
            span: table.span,
            method: table.choice("method", &METHODS),
            url: url(&table),
            query: table.templates("query", |name| name.is_empty().then_some("it has no name")),
            headers: headers(&table),
            body: BodyDescriptor::read(&table),
        };
        descriptor.check_body(&table);
        table.finish();
        descriptor
    }

    /// Everything with places for arguments.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Spanned<Template>> {
        let named = self.query.iter().chain(&self.headers).map(|(_, template)| template);
        self.url.iter().chain(named).chain(self.body.iter().flat_map(|body| &body.templates))
    }

    fn check_body(&self, table: &Table<'_, '_>) {
        // Of a method that could not be read nothing is known.
        let method = match &self.method {
            Some(method) => method.value,
            None if table.has("method") => return,
            None => "GET",
        };
        if let (true, Some(place)) = (matches!(method, "GET" | "HEAD"), table.key_span("body")) {
            let message = format!("a {method} request has no body");
            let diagnostic = Diagnostic::error(Code::BadValue, place, message);
            table.problems.push(diagnostic.hint("say `method = \"POST\"`, or put it into `query`"));
        }
    }
}

fn url(table: &Table<'_, '_>) -> Option<Spanned<Template>> {
    if !table.has("url") {
        table.missing("url");
    }
    let url = table.template("url")?;
    if let Some((code, fault)) = address::fault(&url.value) {
        // An address may hold a key.
        table.problems.push(Diagnostic::error(code, url.span, fault).discreet());
    }
    Some(url)
}

fn headers(table: &Table<'_, '_>) -> Named {
    let headers = table.templates("headers", fault_of_header);
    let mut names = BTreeSet::new();
    for (name, value) in &headers {
        let fault = if value.value.literals().any(|text| text.contains(breaks_a_line)) {
            "holds a line end or another control character"
        } else if !names.insert(name.to_ascii_lowercase()) {
            "is given twice; capitals make no difference in the names of headers"
        } else {
            continue;
        };
        let message = format!("the header {} {fault}", quoted(name));
        table.problems.push(Diagnostic::error(Code::BadValue, value.span, message).discreet());
    }
    headers
}

pub(crate) fn breaks_a_line(c: char) -> bool {
    c.is_ascii_control() && c != '\t'
}

fn fault_of_header(name: &str) -> Option<&'static str> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Some("the name of a header has letters, digits and `-`, and no placeholders");
    }
    let ours = !NOT_OURS.contains(&name.to_ascii_lowercase().as_str());
    (!ours).then_some("this header is set by the connection")
}
