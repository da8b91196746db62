//! Builds HTTP request values from a base URL, a path and a JSON body.
//!
//! A base URL with credentials or a query is refused without being quoted: the URL is part of a turn's `Maker` and would
//! end up in journals. Keys are sent separately (see [`Endpoint::auth`]).

use std::borrow::Cow;

use bytes::Bytes;
use converse_canister::{Declaration, PreparedTools};
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Request, Uri};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value, to_value};
use serde_json::{Map, Value};

use crate::kept_messages::is_plain;
use crate::{Dialect, Endpoint, Prompt, TranslateError, patch};

/// Builds a POST of a JSON object, with the endpoint's patches applied. A stream asks for no compression, since a
/// compressed stream arrives in bursts.
pub(crate) fn post(
    endpoint: &Endpoint,
    base: &str,
    path: &str,
    body: Map<String, Value>,
    stream: bool,
) -> Result<Request<Bytes>, TranslateError> {
    post_with_texts(endpoint, (base, path), body, &[], stream)
}

/// The same with JSON texts in the place of the values of some keys.
pub(crate) fn post_with_texts(
    endpoint: &Endpoint,
    (base, path): (&str, &str),
    mut body: Map<String, Value>,
    texts: &[(&str, &[u8])],
    stream: bool,
) -> Result<Request<Bytes>, TranslateError> {
    let uri = uri(base, &versioned(endpoint, path)?)?;
    let model = body.get("model").and_then(Value::as_str).or_else(|| model_in(path));
    let model = model.unwrap_or_default().to_owned();
    patch::apply(&endpoint.patches, &model, &mut body);
    let mut request = Request::new(Bytes::from(written(&body, texts).map_err(unwritten)?));
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
    add_headers(headers, &endpoint.headers)?;
    Ok(request)
}

/// Writes an object, with texts in the place of the values of some keys.
fn written(fields: &Map<String, Value>, texts: &[(&str, &[u8])]) -> serde_json::Result<Vec<u8>> {
    let mut written = Vec::with_capacity(texts.iter().map(|(_, text)| text.len()).sum::<usize>() + 256);
    written.push(b'{');
    for (key, value) in fields {
        if written.len() > 1 {
            written.push(b',');
        }
        serde_json::to_writer(&mut written, key)?;
        written.push(b':');
        match texts.iter().find(|(place, _)| place == key) {
            Some((_, text)) => written.extend_from_slice(text),
            None => serde_json::to_writer(&mut written, value)?,
        }
    }
    written.push(b'}');
    Ok(written)
}

pub(crate) fn unwritten(error: serde_json::Error) -> TranslateError {
    TranslateError::Control(error.to_string())
}

/// The value of `tools`, or a text in its place.
type Tools<'p> = (Value, Option<Cow<'p, RawValue>>);

/// Returns the tools of a prompt, as a text if they are prepared for several requests. Patches and own keys of the user may
/// change the tools of this request, so they need the value.
///
/// # Errors
/// Those of `prepare`.
pub(crate) fn tools<'d, 'p, T: Serialize>(
    prompt: &Prompt<'d>,
    endpoint: &Endpoint,
    prepared: Option<&'p PreparedTools>,
    prepare: fn(&'d Declaration) -> Result<T, TranslateError>,
) -> Result<Tools<'p>, TranslateError> {
    let Some(prepared) = prepared.filter(|_| is_plain(prompt, endpoint, "tools")) else {
        return Ok((Value::Array(tool_values(prompt.tools, prepare)?), None));
    };
    let write = || {
        let tools: Vec<T> = prompt.tools.iter().map(prepare).collect::<Result<_, _>>()?;
        to_raw_value(&tools).map_err(unwritten)
    };
    Ok((Value::Null, Some(prepared.get(endpoint.dialect.label(), write)?)))
}

/// Returns tools as JSON values, for the requests that change them.
///
/// # Errors
/// Those of `prepare`.
pub(crate) fn tool_values<'d, T: Serialize>(
    tools: &'d [Declaration],
    prepare: fn(&'d Declaration) -> Result<T, TranslateError>,
) -> Result<Vec<Value>, TranslateError> {
    tools.iter().map(|tool| to_value(prepare(tool)?).map_err(unwritten)).collect()
}

/// Builds a POST of bytes of this media type, which no patch changes.
pub(crate) fn post_bytes(
    endpoint: &Endpoint,
    base: &str,
    path: &str,
    kind: &str,
    body: Bytes,
) -> Result<Request<Bytes>, TranslateError> {
    let mut request = get(endpoint, base, path)?;
    *request.method_mut() = Method::POST;
    *request.body_mut() = body;
    let kind = HeaderValue::from_str(kind)
        .map_err(|_| TranslateError::Control(format!("`{kind}` cannot be sent as a media type")))?;
    request.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(request)
}

/// Builds a GET of JSON.
pub(crate) fn get(endpoint: &Endpoint, base: &str, path: &str) -> Result<Request<Bytes>, TranslateError> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri(base, path)?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    add_headers(request.headers_mut(), &endpoint.headers)?;
    Ok(request)
}

/// Adds the endpoint's headers; those that the request already has, and `authorization`, are not replaced.
fn add_headers(headers: &mut HeaderMap, own: &[(String, String)]) -> Result<(), TranslateError> {
    for (name, value) in own {
        let bad = || TranslateError::Control(format!("`{name}` cannot be sent as a header"));
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let value = HeaderValue::from_str(value).map_err(|_| bad())?;
        if !headers.contains_key(&name) && name != AUTHORIZATION {
            headers.insert(name, value);
        }
    }
    Ok(())
}

/// Azure's older API, and only that, wants its version in the query; Anthropic's goes into a header.
/// <https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle> (a copy read 2026-11-22)
fn versioned<'p>(endpoint: &Endpoint, path: &'p str) -> Result<Cow<'p, str>, TranslateError> {
    let openai = matches!(endpoint.dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses);
    match endpoint.version.as_deref().filter(|_| openai) {
        Some(version)
            if version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) =>
        {
            Ok(format!("{path}?api-version={version}").into())
        }
        Some(_) => Err(TranslateError::Control("the provider's `version` is not a valid version".to_owned())),
        None => Ok(path.into()),
    }
}

/// Gemini names the model in the path only.
fn model_in(path: &str) -> Option<&str> {
    let (_, model) = path.split_once("/models/")?;
    model.split(':').next()
}

fn uri(base: &str, path: &str) -> Result<Uri, TranslateError> {
    // What precedes an `@` may be a password, even if it is not in the place of one.
    let wrong = |url: &str, reason: &str| {
        let url = if url.contains('@') { "…" } else { url };
        TranslateError::BaseUrl { url: url.to_owned(), reason: reason.to_owned() }
    };
    let base = base.trim().trim_end_matches('/');
    let (_, rest) = base.split_once("://").unwrap_or(("", base));
    if rest.split(['/', '?', '#']).next().is_some_and(|host| host.contains('@')) {
        return Err(wrong("…", "it cannot contain credentials"));
    }
    if base.contains(['?', '#']) {
        return Err(wrong("…", "it cannot have a query or fragment"));
    }
    let parsed: Uri = base.parse().map_err(|_| wrong(base, "it is not a URL"))?;
    if !matches!(parsed.scheme_str(), Some("http" | "https")) || parsed.host().is_none_or(str::is_empty) {
        return Err(wrong(base, "it must begin with http:// or https:// and name a host"));
    }
    format!("{base}{path}").parse().map_err(|_| wrong(base, "it is not a URL"))
}

#[cfg(test)]
mod tests {
    use converse_canister::{Canister, NoBlobs, ToolName, User};
    use serde_json::json;

    use super::*;
    use crate::{Controls, Facts, processor};

    #[test]
    fn a_path_is_put_behind_any_base() {
        for (base, url) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/x"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/x"),
            (" http://[::1]:8080 ", "http://[::1]:8080/x"),
            ("https://gateway.ai/v1/@account/default", "https://gateway.ai/v1/@account/default/x"),
        ] {
            assert_eq!(uri(base, "/x").unwrap().to_string(), url);
        }
    }

    fn endpoint(dialect: Dialect) -> Endpoint {
        let provider = converse_canister::ProviderName::new("p").unwrap();
        Endpoint::new(provider, dialect, String::new(), crate::AuthScheme::Bearer, crate::Quirks::OPENAI)
    }

    #[test]
    fn the_endpoint_adds_its_version_its_headers_and_its_patches() {
        let set = |at: &str| crate::Change::Set { at: at.to_owned(), value: true.into() };
        let own = Endpoint {
            version: Some("2024-10-21".to_owned()),
            headers: [("x-title", "t"), ("Content-Type", "text/plain"), ("authorization", "Bearer x")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            patches: vec![
                crate::Patch { models: Some("m*".to_owned()), change: set("/a") },
                crate::Patch { models: Some("n*".to_owned()), change: set("/b") },
            ],
            ..endpoint(Dialect::OpenAiChat)
        };
        let body = || serde_json::json!({ "model": "m1" }).as_object().unwrap().clone();
        let request =
            post(&own, "https://r/openai/deployments/d", "/chat/completions", body(), true).unwrap();
        assert_eq!(
            request.uri().to_string(),
            "https://r/openai/deployments/d/chat/completions?api-version=2024-10-21"
        );
        assert_eq!(&request.body()[..], br#"{"model":"m1","a":true}"#);
        assert_eq!(request.headers()["x-title"], "t");
        assert_eq!(request.headers()["content-type"], "application/json");
        assert!(!request.headers().contains_key("authorization"));

        let gemini = Endpoint { dialect: Dialect::Gemini, ..own.clone() };
        let request =
            post(&gemini, "https://g", "/v1beta/models/n1:streamGenerateContent?alt=sse", Map::new(), true);
        let request = request.unwrap();
        assert_eq!(request.uri().query(), Some("alt=sse"));
        assert_eq!(&request.body()[..], br#"{"b":true}"#);

        let bad = Endpoint { version: Some("1&x=y".to_owned()), ..own };
        assert!(post(&bad, "https://r", "/x", body(), false).is_err());
    }

    #[test]
    fn prepared_tools_are_kept_and_a_changed_schema_is_prepared_anew() {
        let tool = |kind: &str| {
            let arguments = json!({ "type": "object", "properties": { "a": { "type": kind } } }).into();
            [Declaration { name: ToolName::cleaned("t"), description: "<\"é\">".to_owned(), arguments }]
        };
        let (old, new, view) = (tool("array"), tool("number"), [Canister::User(User::text("hello"))]);
        for dialect in Dialect::ALL {
            let plain = Endpoint { base_url: "https://r".to_owned(), ..endpoint(dialect) };
            let set = crate::Change::Set { at: "/tools/0/x".to_owned(), value: true.into() };
            let patch = crate::Patch { models: None, change: set };
            let patched = Endpoint { patches: vec![patch], ..plain.clone() };
            let own = Controls {
                extra: [("tools".to_owned(), json!([]))].into_iter().collect(),
                ..Controls::default()
            };
            let sent =
                |tools: &[Declaration], endpoint: &Endpoint, controls: &Controls, prepared: Option<_>| {
                    let (facts, model) = (Facts::default(), "m");
                    let prompt =
                        Prompt { model, view: &view, tools, controls, facts: &facts, blobs: &NoBlobs };
                    let request = match prepared {
                        Some(tools) => {
                            let prepared = crate::Prepared { tools: Some(tools), messages: None };
                            processor(dialect).nativize_prepared(&prompt, endpoint, prepared)
                        }
                        None => processor(dialect).nativize(&prompt, endpoint),
                    };
                    String::from_utf8(request.unwrap().body().to_vec()).unwrap()
                };
            let (free, prepared) = (Controls::default(), PreparedTools::default());
            for _ in 0..2 {
                assert_eq!(sent(&old, &plain, &free, Some(&prepared)), sent(&old, &plain, &free, None));
            }
            assert_eq!(sent(&new, &plain, &free, Some(&prepared)), sent(&old, &plain, &free, None), "kept");
            let anew = PreparedTools::default();
            assert_eq!(sent(&new, &plain, &free, Some(&anew)), sent(&new, &plain, &free, None));
            for (endpoint, controls) in [(&patched, &free), (&plain, &own)] {
                let changed = sent(&old, endpoint, controls, Some(&prepared));
                assert_eq!(changed, sent(&old, endpoint, controls, None));
                assert_ne!(changed, sent(&old, &plain, &free, None));
            }
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
