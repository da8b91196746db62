//! The panel's files: they are part of the program, and load nothing from elsewhere.

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use sha2::{Digest as _, Sha256};

use super::Front;
use crate::http_server::{Reply, reply};

/// The policy of all pages. Scripts and styles are files of this server; nothing is inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     connect-src 'self'; media-src 'self' blob:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Names and contents of the files.
const FILES: &[(&str, &[u8])] = &[
    ("api.js", include_bytes!("../panel/api.js")),
    ("approvals.js", include_bytes!("../panel/approvals.js")),
    ("card.js", include_bytes!("../panel/card.js")),
    ("commands.js", include_bytes!("../panel/commands.js")),
    ("compare.js", include_bytes!("../panel/compare.js")),
    ("composer.js", include_bytes!("../panel/composer.js")),
    ("content.js", include_bytes!("../panel/content.js")),
    ("conversation.js", include_bytes!("../panel/conversation.js")),
    ("decision.js", include_bytes!("../panel/decision.js")),
    ("dom.js", include_bytes!("../panel/dom.js")),
    ("en.js", include_bytes!("../panel/en.js")),
    ("figures.js", include_bytes!("../panel/figures.js")),
    ("form.js", include_bytes!("../panel/form.js")),
    ("icons.svg", include_bytes!("../panel/icons.svg")),
    ("index.html", include_bytes!("../panel/index.html")),
    ("keys.js", include_bytes!("../panel/keys.js")),
    ("main.js", include_bytes!("../panel/main.js")),
    ("menu.js", include_bytes!("../panel/menu.js")),
    ("options.js", include_bytes!("../panel/options.js")),
    ("panel.css", include_bytes!("../panel/panel.css")),
    ("pickers.js", include_bytes!("../panel/pickers.js")),
    ("router.js", include_bytes!("../panel/router.js")),
    ("ru.js", include_bytes!("../panel/ru.js")),
    ("sanitise.js", include_bytes!("../panel/sanitise.js")),
    ("sessions.js", include_bytes!("../panel/sessions.js")),
    ("shortcuts.js", include_bytes!("../panel/shortcuts.js")),
    ("state.js", include_bytes!("../panel/state.js")),
    ("strings.js", include_bytes!("../panel/strings.js")),
    ("thread.js", include_bytes!("../panel/thread.js")),
    ("title.js", include_bytes!("../panel/title.js")),
    ("tools.js", include_bytes!("../panel/tools.js")),
    ("views.css", include_bytes!("../panel/views.css")),
];

/// What somebody without access sees: where the token goes.
const DOOR: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
     content=\"width=device-width\"><title>converse</title><h1>converse</h1><form action=\"/\" method=\"post\">\
     <label>Token <input name=\"token\" type=\"password\" autocomplete=\"current-password\" autofocus></label> \
     <button>Open</button></form><p>The terminal where <code>converse</code> runs shows the token, unless you gave one with \
     <code>--token-file</code> or CONVERSE_SERVE_TOKEN.</p></html>\n";

impl Front {
    /// Returns a file of the panel; `None` if there is none of that name.
    pub(super) fn page(&self, parts: &Parts) -> Option<Reply> {
        let path = parts.uri.path();
        let name = if path == "/" { "index.html" } else { path.strip_prefix("/panel/")? };
        let (_, bytes) = FILES.iter().find(|(file, _)| *file == name)?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(reply(
                StatusCode::METHOD_NOT_ALLOWED,
                "text/plain; charset=utf-8",
                "method not allowed\n",
            ));
        }
        let tag = format!("\"{}\"", hex(&Sha256::digest(bytes)[..12]));
        let is_known =
            parts.headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut reply = match is_known {
            true => reply(StatusCode::NOT_MODIFIED, kind(name), ""),
            false => reply(StatusCode::OK, kind(name), *bytes),
        };
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            reply.headers_mut().insert(ETAG, tag);
        }
        reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Some(reply)
    }
}

/// Answers a browser without access.
pub(crate) fn door() -> Reply {
    let mut reply = reply(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", DOOR);
    // With `no-referrer`, a browser would send the form without its origin.
    reply.headers_mut().insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    guarded(reply)
}

/// Adds the headers that keep pages and answers from being used by other pages.
pub(super) fn guarded(mut reply: Reply) -> Reply {
    let headers = reply.headers_mut();
    if !headers.contains_key(CONTENT_SECURITY_POLICY) {
        headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(REFERRER_POLICY).or_insert(HeaderValue::from_static("no-referrer"));
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
    let resource = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resource, HeaderValue::from_static("same-origin"));
    reply
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_panel_is_served_and_nothing_else() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/panel");
        let files = std::fs::read_dir(folder).unwrap();
        let mut there: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        there.sort();
        let served: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert_eq!(served, there);
        assert!(served.iter().all(|name| kind(name) != "application/octet-stream"), "{served:?}");
    }
}
