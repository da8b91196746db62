//! The URL of a request. Pure.
//!
//! An argument can never change where a request goes. In the path every value is percent-encoded down to the unreserved
//! characters (RFC 3986, section 2.3; checked 2026-11) and may not make a segment that is empty, `.` or `..`. In the query
//! a value stays one value, unless the style of its argument makes several fields of it; these fields cannot have the name
//! of a field that the request declares ([`fields`]). Whatever the template is, the origin must be the one it has with no
//! arguments at all.

use converse_config::{RequestPlan, Template, TemplatePiece};
use http::Uri;
use serde_json::Map;

use super::fields::{self, Limit};
use crate::InvokeError;
use crate::template_input::TemplateInput;

/// Maximum length: servers and proxies refuse longer URLs.
const LIMIT: Limit = Limit { what: "URL", bytes: 16 * 1024 };

/// Returns the URL without a fragment, which is never sent.
pub(super) fn url(plan: &RequestPlan, given: TemplateInput<'_>) -> Result<Uri, InvokeError> {
    let filled = given.quoted(&plan.url, |value| encode(&value))?;
    let filled = filled.ok_or_else(|| missing(&plan.url, given))?;
    let mut text = without_fragment(&filled).to_owned();
    check_segments(&plan.url, &text, given)?;
    let query = fields::encoded(&plan.query, plan, given, &LIMIT)?;
    if !query.is_empty() {
        if !text.contains('?') {
            text.push('?');
        } else if !text.ends_with(['?', '&']) {
            text.push('&');
        }
        text.push_str(&query);
    }
    LIMIT.check(text.len())?;
    let uri = parsed(&text)?;
    let nothing = TemplateInput { arguments: &Map::new(), ..given };
    if origin(&uri) != origin(&skeleton(&plan.url, nothing)?) {
        return Err(InvokeError::Failed("an argument would change the server; nothing was sent".to_owned()));
    }
    Ok(uri)
}

fn missing(template: &Template, given: TemplateInput<'_>) -> InvokeError {
    let absent = |name: &&str| given.arguments.get(*name).is_none_or(serde_json::Value::is_null);
    let name = template.arguments().find(absent).unwrap_or_default();
    InvokeError::Invalid(format!("`{name}` is part of the URL and is not given"))
}

/// Percent-encodes everything but the unreserved characters.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

pub(super) fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(before, _)| before)
}

/// Returns the part after the host and before the query.
fn path(url: &str) -> &str {
    let url = url.split_once('?').map_or(url, |(before, _)| before);
    let after_scheme = url.split_once("://").map_or(url, |(_, after)| after);
    after_scheme.split_once('/').map_or("", |(_, path)| path)
}

/// Clients and servers take dots away, some after reading `%2F` as a slash, and some take empty segments away: what is
/// left would be another resource.
fn check_segments(template: &Template, url: &str, given: TemplateInput<'_>) -> Result<(), InvokeError> {
    let read = path(url).to_ascii_uppercase().replace("%2E", ".").replace("%2F", "/").replace("%5C", "/");
    if let Some(dots) = read.split('/').find(|segment| matches!(*segment, "." | "..")) {
        return Err(InvokeError::Invalid(format!("the path of the URL would contain the segment `{dots}`")));
    }
    // A segment that is empty now and would not be if each value held something is made of nothing.
    let mark = |value: String| if value.is_empty() { "-".to_owned() } else { encode(&value) };
    let marked = given.quoted(template, mark)?.unwrap_or_default();
    let mut pairs = path(url).split('/').zip(path(without_fragment(&marked)).split('/'));
    if pairs.any(|(now, full)| now.is_empty() && !full.is_empty()) {
        let name = given.culprit(template, str::is_empty).unwrap_or_default();
        return Err(InvokeError::Invalid(format!("`{name}` is a part of the URL's path and is empty")));
    }
    Ok(())
}

/// Returns the URL without arguments.
fn skeleton(template: &Template, nothing: TemplateInput<'_>) -> Result<Uri, InvokeError> {
    let constant = |piece: &&TemplatePiece| !matches!(piece, TemplatePiece::Argument(_));
    let pieces = template.pieces.iter().filter(constant).cloned().collect();
    let text = nothing.text(&Template { pieces })?.unwrap_or_default();
    parsed(without_fragment(&text))
}

fn parsed(text: &str) -> Result<Uri, InvokeError> {
    let failed = |reason: &str| InvokeError::Failed(format!("the URL of the descriptor {reason}"));
    // The text of a descriptor may hold what a URL cannot; what is encoded already stays.
    let mut ascii = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(character) {
            ascii.push(character);
        } else {
            ascii.push_str(&encode(character.encode_utf8(&mut [0; 4])));
        }
    }
    let uri: Uri = ascii.parse().map_err(|_| failed("cannot be read"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(failed("does not begin with http:// or https://"));
    }
    match uri.authority() {
        None => Err(failed("names no server")),
        Some(authority) if authority.host().is_empty() => Err(failed("names no server")),
        // It would show up in messages.
        Some(authority) if authority.as_str().contains('@') => {
            Err(failed("contains a user name; use an `Authorization` header instead"))
        }
        Some(_) => Ok(uri),
    }
}

fn origin(uri: &Uri) -> (Option<&str>, Option<&str>) {
    (uri.scheme_str(), uri.authority().map(http::uri::Authority::as_str))
}
