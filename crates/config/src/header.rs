//! The names of headers that a descriptor may declare, in `[http]` as in `[connection]`.
//!
//! Those that frame a message or belong to one hop are set by whoever sends it: `Host` would even choose the server, and
//! a wrong length would smuggle a second request into the first.

use std::collections::BTreeSet;

use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::escape::quoted;
use crate::source::Spanned;
use crate::table::Table;

/// <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1> (checked 2026-11)
const RESERVED: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What streamable HTTP says itself in each request; the client refuses any other word on it.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11)
const OF_MCP: [&str; 5] = ["accept", "last-event-id", "mcp-method", "mcp-name", "mcp-session-id"];

/// Is this a header that nobody may declare, since it is set when a request is sent? Capitals make no difference.
pub fn is_reserved_header(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

/// What is wrong with the name of a header of `[http]`.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Some("the name of a header has letters, digits and `-`, and no placeholders");
    }
    is_reserved_header(name).then_some("this header is set when the request is sent")
}

/// The same for a server of MCP.
pub(crate) fn fault_for_server(name: &str) -> Option<&'static str> {
    let of_mcp = OF_MCP.iter().any(|reserved| reserved.eq_ignore_ascii_case(name));
    fault(name).or(of_mcp.then_some("this header is set when the request is sent"))
}

/// Names that differ in their capitals only, and values of more than one line; `holds` looks for such a character.
pub(crate) fn check<T>(
    table: &Table<'_, '_>,
    headers: &[(String, Spanned<T>)],
    holds: impl Fn(&T, fn(char) -> bool) -> bool,
) {
    let mut names = BTreeSet::new();
    for (name, value) in headers {
        let fault = if holds(&value.value, char::is_control) {
            "holds a line end or another control character"
        } else if !names.insert(name.to_ascii_lowercase()) {
            "is given twice; capitals make no difference in the names of headers"
        } else {
            continue;
        };
        let message = format!("the header {} {fault}", quoted(name));
        table.problems.push(Diagnostic::error(Code::BadValue, value.span, message).discreet());
    }
}
