//! Access of browsers: a token in the address once, and then a cookie.
//!
//! The cookie is `HttpOnly` and `SameSite=Strict`. Its name has the port, because browsers share cookies among all ports of
//! a host.

use http::header::{CACHE_CONTROL, COOKIE, HOST, LOCATION, ORIGIN, SET_COOKIE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use super::replies::{Reply, reply};

/// Seconds that a browser keeps the cookie.
const KEPT: u32 = 30 * 24 * 3600;

/// Returns the token in the address of the first page: `/?token=TOKEN`.
pub(super) fn offered_token(parts: &Parts) -> Option<String> {
    let query = parts.uri.query().filter(|_| parts.uri.path() == "/" && parts.method == Method::GET)?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == "token").map(|(_, token)| token.trim().to_owned())
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

/// Returns whether a request that changes something does not say that it comes from a page of this server. A foreign
/// origin is refused before.
pub(super) fn is_forged(parts: &Parts) -> bool {
    !matches!(parts.method, Method::GET | Method::HEAD) && !parts.headers.contains_key(ORIGIN)
}

fn name(parts: &Parts) -> String {
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    match host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit())) {
        Some((_, port)) => format!("converse-{port}"),
        None => "converse".to_owned(),
    }
}
