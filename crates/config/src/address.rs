//! May this text be the URL of a request, or of a server? Arguments never choose the scheme or the host.
//!
//! An argument may stand only behind the first `/`, `?` or `#` after the host. A variable may be the host or hold scheme
//! and host, since it is the user's word; what it holds is not known here, so whoever sends the request has to look
//! again once it is filled in. What is written down is read here as it will be then.

use http::Uri;
use http::uri::Authority;

use crate::Code;
use crate::plan::SecretRef;
use crate::template::{Template, TemplatePiece};

/// Stand for what is filled in later; neither is taken in a URL.
const VARIABLE: char = '\u{1}';
const ARGUMENT: char = '\u{2}';

const NO_SCHEME: &str = "a URL must begin with `http://`, `https://` or a variable";
const NO_HOST: &str = "the URL has no host";

/// Of a request.
pub(crate) fn fault(url: &Template) -> Option<(Code, &'static str)> {
    let bad = |fault| Some((Code::BadValue, fault));
    if url.literals().any(|text| text.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\')) {
        return bad("a URL holds no blanks, control characters or `\\`; write `%20` for a blank");
    }
    let shape = shape(url);
    if shape.contains('#') {
        return bad("a URL that is requested has no `#`: a fragment is never sent");
    }
    let host = match host(&shape) {
        Ok(host) => host,
        Err(fault) => return bad(fault),
    };
    if host.contains(ARGUMENT) {
        return Some((Code::ArgumentInHost, "an argument would choose the scheme or the host of the URL"));
    }
    if host.contains('@') {
        return bad("the URL holds a user name; put it into an `Authorization` header");
    }
    fault_of_host(host).map(|fault| (Code::BadValue, fault))
}

/// Of a server. A user name may stand before its host.
pub(crate) fn fault_for_server(url: &SecretRef) -> Option<&'static str> {
    let shape = shape(&Template::from(url));
    let host = match host(&shape) {
        Ok(host) => host.rsplit('@').next().unwrap_or_default(),
        Err(fault) => return Some(fault),
    };
    let unreadable = || {
        let known = !shape.contains(VARIABLE) && !matches!(url, SecretRef::Environment(_));
        (known && shape.parse::<Uri>().is_err())
            .then_some("the URL holds what no URL can hold, such as a blank")
    };
    fault_of_host(host).or_else(unreadable)
}

/// Of a provider. Paths are put behind it, and it is written into journals and onto screens: no secret may be in it.
/// `None` if requests can go there; the fault does not repeat it.
pub fn base_url_fault(url: &str) -> Option<&'static str> {
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return Some("a base URL begins with `http://` or `https://`");
    };
    if url.contains('@') {
        return Some("a base URL holds no user name and no password; `key_env` names the variable of a key");
    }
    if url.contains(['?', '#']) {
        return Some(
            "a base URL holds no query and no fragment; keys are named by `key_env`, a version of an API by `version`",
        );
    }
    let unreadable =
        || url.parse::<Uri>().is_err().then_some("a base URL holds no blanks and no other odd characters");
    fault_of_host(rest.split('/').next().unwrap_or_default()).or_else(unreadable)
}

/// A host and perhaps a port, as far as they are written down.
fn fault_of_host(host: &str) -> Option<&'static str> {
    let (name, port) = match host.rfind([':', ']']) {
        Some(at) if host[at..].starts_with(':') => (&host[..at], Some(&host[at + 1..])),
        _ => (host, None),
    };
    if name.is_empty() {
        return Some(NO_HOST);
    }
    // A variable may hold anything that fits there.
    let bare = name.contains(':') && !name.starts_with('[');
    if bare || name.replace(VARIABLE, "v").parse::<Authority>().is_err() {
        return Some(
            "the host of the URL has characters that no host has; a name in another script is written as `xn--…`",
        );
    }
    let sound = |port: &str| {
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        port.contains(VARIABLE) || (digits && port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    (!port.is_none_or(sound)).then_some("the port of the URL must be a number from 1 to 65535")
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

/// Everything up to the path; with variables in it, perhaps with the scheme.
fn host(shape: &str) -> Result<&str, &'static str> {
    let rest = match shape.strip_prefix("http://").or_else(|| shape.strip_prefix("https://")) {
        Some(rest) => rest,
        // `${SCHEME}://` and `${SCHEME_AND_COLON}//`: what follows is the host, not the path.
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
    fn arguments_stand_behind_the_host() {
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
            let found = fault(&Template::parse(url).unwrap()).map(|(code, _)| code);
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn what_no_request_can_use_is_no_base_url() {
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
            assert!(!fault.is_some_and(|fault| fault.contains("hush")));
        }
    }

    #[test]
    fn what_no_server_can_have_is_no_address_of_one() {
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
