//! Names of headers in `[http]` and `[connection]`.
//!
//! Headers that frame a message or belong to one hop are set when a request is sent: `Host` would choose the server, and
//! a wrong length would smuggle in a second request.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, quoted};
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

/// Headers of streamable HTTP itself; the client rejects other values.
/// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports> (checked 2026-11)
const OF_MCP: [&str; 5] = ["accept", "last-event-id", "mcp-method", "mcp-name", "mcp-session-id"];

/// Returns whether a header is set when a request is sent, so that descriptors cannot declare it. Ignores case.
pub fn is_reserved_header(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

pub(crate) const SET_LATER: &str = "this header is set when the request is sent";

/// Returns what to do about a header name that has a fault.
pub(crate) fn hint(name: &str) -> String {
    let token: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    match !token.is_empty() && token != name {
        true => format!("write {}", quoted(&token)),
        false => "remove this line".to_owned(),
    }
}

/// Returns what is wrong with the name of a header in `[http]`.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || !name.chars().all(token) {
        return Some("a header name has only letters, digits and `-`, without placeholders");
    }
    is_reserved_header(name).then_some(SET_LATER)
}

/// Returns what is wrong with the name of a header for an MCP server.
pub(crate) fn fault_for_server(name: &str) -> Option<&'static str> {
    let of_mcp = OF_MCP.iter().any(|reserved| reserved.eq_ignore_ascii_case(name));
    fault(name).or(of_mcp.then_some(SET_LATER))
}

/// Reports names that differ only in case, and values with control characters; `holds` searches a value.
pub(crate) fn check<T>(
    table: &Table<'_, '_>,
    headers: &[(String, Spanned<T>)],
    holds: impl Fn(&T, fn(char) -> bool) -> bool,
) {
    let mut names = BTreeSet::new();
    for (name, value) in headers {
        let (fault, hint) = if holds(&value.value, char::is_control) {
            ("contains a line end or another control character", "write the value on one line, without `\\n`")
        } else if !names.insert(name.to_ascii_lowercase()) {
            ("is given twice; header names ignore case", "remove one of the two lines")
        } else {
            continue;
        };
        let message = format!("the header {} {fault}", quoted(name));
        table.problems.push(Diagnostic::bad_value(value.span, message, hint).without_excerpt());
    }
}
