//! Access of browsers: a token in the address once, and then a cookie.
//!
//! The cookie is `HttpOnly` and `SameSite=Strict`. Its name has the port, because browsers share cookies among all ports of
//! a host.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use super::hosts;
use super::replies::{Reply, reply};

/// Seconds that a browser keeps the cookie.
const KEPT: u32 = 30 * 24 * 3600;

/// Returns the token in the address of the first page: `/?token=TOKEN`.
pub(super) fn offered_token(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| parts.uri.path() == "/" && parts.method == Method::GET)?;
    signed_in(query.as_bytes())
}

/// Takes the token out of the address and into a cookie.
pub(super) fn let_in(parts: &Parts, token: &str) -> Reply {
    let mut reply = reply(StatusCode::SEE_OTHER, "text/plain; charset=utf-8", "");
    let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={KEPT}", name(parts));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        reply.headers_mut().insert(SET_COOKIE, cookie);
    }
    reply.headers_mut().insert(LOCATION, HeaderValue::from_static("/"));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}

/// Returns the token of the cookie. Two cookies are refused, because another reader may use the other one.
pub(super) fn cookie(parts: &Parts) -> Option<String> {
    let name = name(parts);
    let lines = parts.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
    let first = values.next()?;
    values.next().is_none().then_some(first)
}

/// Returns whether a page of this server did not make the request. One that changes something must say which page made
/// it. An origin that is not allowed at all is refused before; an allowed one is that of another page, which has a token
/// of its own, or of this server behind a proxy.
/// <https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header> (checked 2026-11)
pub(super) fn is_forged(parts: &Parts) -> bool {
    let has_origin = parts.headers.contains_key(ORIGIN);
    let must_have = !matches!(parts.method, Method::GET | Method::HEAD);
    let is_own = || match fetch_site(parts) {
        Some(site) => site == "same-origin",
        None => hosts::is_of_host(&parts.headers),
    };
    (must_have || has_origin) && !(has_origin && is_own())
}

/// Returns whether another page sent the browser here.
pub(super) fn is_from_elsewhere(parts: &Parts) -> bool {
    fetch_site(parts).is_some_and(|site| !matches!(site, "none" | "same-origin"))
}

/// Returns what the browser says about the page that made the request; browsers say it at HTTPS and loopback addresses.
fn fetch_site(parts: &Parts) -> Option<&str> {
    parts.headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or_default())
}

/// Returns whether another page could send the body without asking first: a form can, and a script that leaves the type
/// out. <https://fetch.spec.whatwg.org/#cors-safelisted-request-header> (checked 2026-11)
pub(super) fn is_simple_body(parts: &Parts) -> bool {
    let kind = parts.headers.get(CONTENT_TYPE).map_or("", |kind| kind.to_str().unwrap_or_default());
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let simple = ["", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];
    // A file may be a text.
    parts.method == Method::POST && parts.uri.path() != "/api/uploads" && simple.contains(&kind.as_str())
}

/// Returns whether the request is the form of the door.
pub(super) fn is_sign_in(parts: &Parts) -> bool {
    parts.method == Method::POST && parts.uri.path() == "/"
}

/// Returns the token of the form.
pub(super) fn signed_in(form: &[u8]) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(form);
    pairs.find(|(name, _)| name == "token").map(|(_, token)| token.trim().to_owned())
}

fn name(parts: &Parts) -> String {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    match host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some((_, port)) => format!("converse-{port}"),
        None => "converse".to_owned(),
    }
}
