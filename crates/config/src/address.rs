//! Checks of URLs in descriptors and settings.
//!
//! Arguments never choose the scheme or the host: an argument is allowed only after the first `/`, `?` or `#` that
//! follows the host. A variable may be the host, or contain scheme and host, because the user sets it. Its value is not
//! known here, so the sender checks the URL again after filling it in.

use http::Uri;
use http::uri::Authority;

use crate::plan::SecretRef;
use crate::source::Span;
use crate::template::{Template, TemplatePiece};
use crate::{Code, Diagnostic};

/// Stand-ins for values that are filled in later. Both characters are rejected in URLs.
const VARIABLE: char = '\u{1}';
const ARGUMENT: char = '\u{2}';

/// A fault of a URL. Nothing of the URL is repeated, because it may contain a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressFault {
    pub(crate) code: Code,
    pub message: &'static str,
    /// What to write instead.
    pub hint: &'static str,
}

impl AddressFault {
    const fn new(message: &'static str, hint: &'static str) -> Self {
        Self { code: Code::BadValue, message, hint }
    }

    /// Returns the fault as a finding, without the line of the URL.
    pub(crate) fn diagnostic(self, span: Span) -> Diagnostic {
        Diagnostic::error(self.code, span, self.message).hint(self.hint).without_excerpt()
    }
}

const NO_SCHEME: AddressFault = AddressFault::new(
    "a URL must begin with `http://`, `https://` or a variable",
    "for example: `url = \"https://api.example.com/v1\"`",
);
const NO_HOST: AddressFault =
    AddressFault::new("the URL has no host", "write the host after `//`: `https://api.example.com/v1`");
const BASE_URL: &str = "for example: `base_url = \"https://api.example.com/v1\"`";

/// Returns what is wrong with the URL of a request.
pub(crate) fn fault(url: &Template) -> Option<AddressFault> {
    if url.literals().any(|text| text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\')) {
        return Some(AddressFault::new(
            "a URL cannot contain blanks, control characters or `\\`; write `%20` for a blank",
            "for example: `url = \"https://api.example.com/my%20files\"`",
        ));
    }
    let shape = shape(url);
    if shape.contains('#') {
        return Some(AddressFault::new(
            "the URL contains `#`: a fragment is never sent",
            "remove `#` and everything after it; for a literal `#`, write `%23`",
        ));
    }
    let host = match host(&shape) {
        Ok(host) => host,
        Err(fault) => return Some(fault),
    };
    if host.contains(ARGUMENT) {
        return Some(AddressFault {
            code: Code::ArgumentInHost,
            message: "an argument would choose the scheme or the host of the URL",
            hint: Code::ArgumentInHost.hint(),
        });
    }
    if host.contains('@') {
        return Some(AddressFault::new(
            "the URL contains a user name; use an `Authorization` header instead",
            "remove everything before `@`, and write `headers = { Authorization = \"Bearer ${TOKEN}\" }`",
        ));
    }
    fault_of_host(host)
}

/// Returns what is wrong with the URL of a server. A user name before the host is allowed.
pub(crate) fn fault_for_server(url: &SecretRef) -> Option<AddressFault> {
    let shape = shape(&Template::from(url));
    let host = match host(&shape) {
        Ok(host) => host.rsplit('@').next().unwrap_or_default(),
        Err(fault) => return Some(fault),
    };
    let unreadable = || {
        let known = !shape.contains(VARIABLE) && !matches!(url, SecretRef::Environment(_));
        let fault = AddressFault::new(
            "the URL is not valid; it may contain a blank",
            "write `%20` for a blank: `url = \"https://mcp.example.com/my%20server\"`",
        );
        (known && shape.parse::<Uri>().is_err()).then_some(fault)
    };
    fault_of_host(host).or_else(unreadable)
}

/// Returns what is wrong with the base URL of a provider, or `None` if requests can be sent there.
///
/// Paths are appended to a base URL, and it appears in journals and on screens, so it cannot contain a secret. The
/// message does not repeat the URL.
pub fn base_url_fault(url: &str) -> Option<AddressFault> {
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return Some(AddressFault::new("a base URL must begin with `http://` or `https://`", BASE_URL));
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return Some(AddressFault::new(
            "a base URL cannot contain a user name or password; name the variable of a key in `key_env`",
            "remove everything before `@`, and write `key_env = \"EXAMPLE_API_KEY\"`",
        ));
    }
    if url.contains(['?', '#']) {
        return Some(AddressFault::new(
            "a base URL cannot contain a query or fragment; use `key_env` for keys and `version` for the version of an API",
            "remove `?` or `#` and everything after it; for a version, write `version = \"2024-10-21\"`",
        ));
    }
    let unreadable = || {
        let message = "the base URL contains a blank or another character that is not allowed in a URL";
        url.parse::<Uri>().is_err().then_some(AddressFault::new(message, BASE_URL))
    };
    fault_of_host(host).or_else(unreadable)
}

/// Returns what is wrong with a host and its optional port. Variables match anything.
fn fault_of_host(host: &str) -> Option<AddressFault> {
    let (name, port) = match host.rfind([':', ']']) {
        Some(at) if host[at..].starts_with(':') => (&host[..at], Some(&host[at + 1..])),
        _ => (host, None),
    };
    if name.is_empty() {
        return Some(NO_HOST);
    }
    let bare = name.contains(':') && !name.starts_with('[');
    if bare || name.replace(VARIABLE, "v").parse::<Authority>().is_err() {
        return Some(AddressFault::new(
            "the host of the URL contains characters that are not allowed; write an international name as `xn--…`",
            "write only a name or an address, and a port, before the path: `https://api.example.com:8443/v1`",
        ));
    }
    let is_valid = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        port.contains(VARIABLE) || (digits && port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    let fault = AddressFault::new(
        "the port of the URL must be a number from 1 to 65535",
        "for example: `https://api.example.com:8443/v1`",
    );
    (!port.is_none_or(is_valid)).then_some(fault)
}

fn shape(url: &Template) -> String {
    let mut shape = String::new();
    for piece in &url.pieces {
        match piece {
            TemplatePiece::Text(text) => shape.push_str(text),
            TemplatePiece::Variable { .. } => shape.push(VARIABLE),
            TemplatePiece::Argument(_) => shape.push(ARGUMENT),
        }
    }
    shape
}

/// Returns everything before the path: the host, or a variable that may contain the scheme too.
fn host(shape: &str) -> Result<&str, AddressFault> {
    let rest = match shape.strip_prefix("http://").or_else(|| shape.strip_prefix("https://")) {
        Some(rest) => rest,
        // `${SCHEME}://` and `${SCHEME_AND_COLON}//`: the host follows, not the path.
        None if shape.starts_with(VARIABLE) => match shape.split_once("//") {
            Some((before, after)) if !before.contains(['/', '?', ARGUMENT]) => after,
            _ => shape,
        },
        None if shape.starts_with(ARGUMENT) => shape,
        None => return Err(NO_SCHEME),
    };
    Ok(rest.split(['/', '?']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_allowed_after_the_host() {
        for (url, expected) in [
            ("https://a.example", None),
            ("https://a.example/{x}", None),
            ("https://a.example/v1/{x}/{y}.json?q={z}", None),
            ("https://a.example?q={x}", None),
            ("http://127.0.0.1:8080/{x}", None),
            ("https://${HOST}/{x}", None),
            ("https://${HOST}:80/{x}", None),
            ("${BASE}/{x}", None),
            ("${BASE:-http://a}/{x}", None),
            ("${BASE}?q={x}", None),
            ("${BASE}", None),
            ("env:BASE", None),
            ("${SCHEME}://a.example/{x}", None),
            ("https://{x}/", Some(Code::ArgumentInHost)),
            ("https://{x}", Some(Code::ArgumentInHost)),
            ("https://a.{x}/", Some(Code::ArgumentInHost)),
            ("https://a.example{x}/", Some(Code::ArgumentInHost)),
            ("https://a.example:{x}/", Some(Code::ArgumentInHost)),
            ("https://a@{x}/", Some(Code::ArgumentInHost)),
            ("https://${HOST}{x}/", Some(Code::ArgumentInHost)),
            ("{x}", Some(Code::ArgumentInHost)),
            ("{x}://a/", Some(Code::ArgumentInHost)),
            ("${BASE}{x}", Some(Code::ArgumentInHost)),
            ("${BASE}.{x}/", Some(Code::ArgumentInHost)),
            ("${SCHEME}://{x}/", Some(Code::ArgumentInHost)),
            ("${SCHEME}//{x}/", Some(Code::ArgumentInHost)),
            ("${A}${B}://{x}/", Some(Code::ArgumentInHost)),
            ("https://me:key@a/", Some(Code::BadValue)),
            ("https://a/@{x}", None),
            ("https:///{x}", Some(Code::BadValue)),
            ("https://", Some(Code::BadValue)),
            ("${SCHEME}:///{x}", Some(Code::BadValue)),
            ("ftp://a", Some(Code::BadValue)),
            ("a.example/{x}", Some(Code::BadValue)),
            ("", Some(Code::BadValue)),
            ("https://a\\{x}", Some(Code::BadValue)),
            ("https://a/b c", Some(Code::BadValue)),
            ("https://a/\n{x}", Some(Code::BadValue)),
            ("https://a/#{x}", Some(Code::BadValue)),
            (" https://a/", Some(Code::BadValue)),
            ("https://a.example:65535/{x}", None),
            ("https://[::1]/{x}", None),
            ("https://[::1]:80/{x}", None),
            ("https://${HOST}:${PORT}/", None),
            ("https://a:${PORT}/", None),
            ("https://${HOST}:65536/", Some(Code::BadValue)),
            ("https://a.example:99999/{x}", Some(Code::BadValue)),
            ("https://a:0", Some(Code::BadValue)),
            ("https://a:/{x}", Some(Code::BadValue)),
            ("https://a:+80/", Some(Code::BadValue)),
            ("https://:80/", Some(Code::BadValue)),
            ("https://a:b:80/", Some(Code::BadValue)),
            ("https://[::1/", Some(Code::BadValue)),
            ("https://a<b>/", Some(Code::BadValue)),
            ("https://b\u{fc}cher.example/", Some(Code::BadValue)),
            ("https://a%20b/", Some(Code::BadValue)),
        ] {
            let found = fault(&Template::parse(url).unwrap()).map(|fault| fault.code);
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn unusable_base_urls_are_rejected() {
        for (url, sound) in [
            ("https://a.example/v1", true),
            ("https://a.example/v1/", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080/v1", true),
            ("", false),
            ("a.example/v1", false),
            ("ftp://a.example", false),
            ("https://", false),
            ("https:///v1", false),
            ("https://me:hush@a.example/v1", false),
            ("https://hush@a.example", false),
            ("https://a.example/v1/@account/gateway", true),
            ("https://me:hu@sh@a.example/v1", false),
            ("https://a.example/v1?key=hush", false),
            ("https://a.example/v1#x", false),
            ("https://a.example:99999/v1", false),
            ("https://a.example:x/v1", false),
            ("https://a b/v1", false),
            ("https://a.example/v 1", false),
            ("https://a.example/v1\n", false),
        ] {
            let fault = base_url_fault(url);
            assert_eq!(fault.is_none(), sound, "{url} {fault:?}");
            assert!(
                !fault.is_some_and(|fault| fault.message.contains("hush") || fault.hint.contains("hush"))
            );
        }
    }

    #[test]
    fn unusable_server_urls_are_rejected() {
        for (url, sound) in [
            ("https://a.example/mcp", true),
            ("https://me:key@a.example:8080/mcp?k=v", true),
            ("http://[::1]:80", true),
            ("${BASE}/mcp", true),
            ("env:BASE", true),
            ("https://${HOST}:8080/a", true),
            ("https://a/${KEY}", true),
            ("ftp://a", false),
            ("a.example", false),
            ("https://", false),
            ("https:///mcp", false),
            ("https://:80/", false),
            ("https://me@/", false),
            ("https://a:70000/${KEY}", false),
            ("https://a b/", false),
            ("https://a/b c", false),
            ("https://a<b/${KEY}", false),
        ] {
            let found = fault_for_server(&SecretRef::parse(url).unwrap());
            assert_eq!(found.is_none(), sound, "{url} {found:?}");
        }
    }
}
