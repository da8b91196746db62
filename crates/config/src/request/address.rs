//! May this text be the URL of a request? Arguments never choose the scheme or the host.
//!
//! An argument may stand only behind the first `/`, `?` or `#` after the host. A variable may be the host or hold scheme
//! and host, since it is the user's word; what it holds is not known here, so whoever sends the request has to look
//! again once it is filled in.

use crate::Code;
use crate::template::{Template, TemplatePiece};

/// Stand for what is filled in later; neither is taken in a URL.
const VARIABLE: char = '\u{1}';
const ARGUMENT: char = '\u{2}';

pub(super) fn fault(url: &Template) -> Option<(Code, &'static str)> {
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
    if host.is_empty() {
        return bad("the URL names no host");
    }
    if host.contains('@') {
        return bad("the URL holds a user name; put it into an `Authorization` header");
    }
    None
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
        None => return Err("a URL must begin with `http://`, `https://` or a variable"),
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
        ] {
            let found = fault(&Template::parse(url).unwrap()).map(|(code, _)| code);
            assert_eq!(found, expected, "{url}");
        }
    }
}
