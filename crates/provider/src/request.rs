//! A request value from a base URL, a path and a JSON body.
//!
//! A base URL that carries credentials or a query is refused without being repeated: it would end up in journals (the
//! URL is part of a turn's `Maker`), and keys have their own way.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use serde_json::{Map, Value};

use crate::TranslateError;

/// A POST of a JSON object. A stream asks for no compression: a compressed one arrives in lumps.
pub(crate) fn post(
    base: &str,
    path: &str,
    body: &Map<String, Value>,
    stream: bool,
) -> Result<Request<Bytes>, TranslateError> {
    let uri = uri(base, path)?;
    let body = serde_json::to_vec(body).map_err(|error| TranslateError::Control(error.to_string()))?;
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if stream {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    } else {
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    }
    Ok(request)
}

fn uri(base: &str, path: &str) -> Result<Uri, TranslateError> {
    let wrong =
        |url: &str, reason: &str| TranslateError::BaseUrl { url: url.to_owned(), reason: reason.to_owned() };
    let base = base.trim().trim_end_matches('/');
    if base.contains('@') {
        return Err(wrong("…", "credentials do not belong in it"));
    }
    if base.contains(['?', '#']) {
        return Err(wrong("…", "a query or a fragment does not belong in it"));
    }
    let parsed: Uri = base.parse().map_err(|_| wrong(base, "it is not a URL"))?;
    if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none_or(str::is_empty) {
        return Err(wrong(base, "it must begin with http:// or https:// and name a host"));
    }
    format!("{base}{path}").parse().map_err(|_| wrong(base, "it is not a URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_behind_any_base() {
        for (base, url) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/x"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/x"),
            (" http://[::1]:8080 ", "http://[::1]:8080/x"),
        ] {
            assert_eq!(uri(base, "/x").unwrap().to_string(), url);
        }
    }

    #[test]
    fn a_bad_base_is_refused_and_secrets_in_it_are_not_repeated() {
        for base in
            ["", "api.example.com", "ftp://a", "http://", "https://u:hush@a/v1", "https://a/?key=hush"]
        {
            let error = uri(base, "/x").unwrap_err().to_string();
            assert!(error.contains("base URL") && !error.contains("hush"), "{error}");
        }
    }
}
