//! What each service is asked: pure functions. Checked 2026-11, where the vendor's own page could not be had against
//! programs of others that use it:
//!
//! * Tavily: <https://docs.tavily.com/documentation/api-reference/endpoint/search>, `max_results` and `time_range` as its
//!   clients send them
//! * SerpApi: <https://serpapi.com/organic-results> for the answer, <https://serpapi.com/search-api>; `tbs` is Google's own
//! * Brave: <https://github.com/brave/brave-search-skills> (address, header, `count`, `freshness`); `result_filter` and
//!   `text_decorations` as its reference names them, not seen again
//! * SearXNG: <https://docs.searxng.org/dev/search_api.html>, which lists day, month and year; `week` is newer

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request};
use serde_json::json;

use super::choice::{Backend, Chosen};
use crate::request::encode;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const BRAVE_KEY: HeaderName = HeaderName::from_static("x-subscription-token");

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) words: String,
    pub(super) count: usize,
    pub(super) freshness: Option<Freshness>,
}

/// How old a page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    Day,
    Week,
    Month,
    Year,
}

impl Freshness {
    pub(super) fn named(word: &str) -> Option<Self> {
        [Self::Day, Self::Week, Self::Month, Self::Year]
            .into_iter()
            .find(|freshness| freshness.word() == word)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    fn letter(self) -> &'static str {
        &self.word()[..1]
    }
}

/// The error is what is wrong with the settings.
pub(super) fn request(chosen: &Chosen, query: &Query) -> Result<Request<Bytes>, String> {
    let Chosen { backend, base, key } = chosen;
    let (path, fields) = match backend {
        Backend::Tavily => ("search", Vec::new()),
        Backend::SerpApi => ("search.json", serpapi(key, query)),
        Backend::Brave => ("res/v1/web/search", brave(query)),
        Backend::SearXng => ("search", searxng(query)),
    };
    let fields = fields.iter().map(|(name, value)| format!("{name}={}", encode(value)));
    let fields = fields.collect::<Vec<_>>().join("&");
    let mark = if fields.is_empty() { "" } else { "?" };
    let uri = format!("{base}/{path}{mark}{fields}");
    let mut request = Request::new(Bytes::new());
    // It would show the key.
    *request.uri_mut() =
        uri.parse().map_err(|_| format!("the address of {} cannot be used", backend.name()))?;
    request.headers_mut().insert(ACCEPT, JSON);
    match backend {
        Backend::Tavily => {
            *request.method_mut() = Method::POST;
            *request.body_mut() = tavily(query);
            request.headers_mut().insert(CONTENT_TYPE, JSON);
            request.headers_mut().insert(AUTHORIZATION, secret(chosen, &format!("Bearer {key}"))?);
        }
        Backend::Brave => {
            request.headers_mut().insert(BRAVE_KEY, secret(chosen, key)?);
        }
        Backend::SerpApi | Backend::SearXng => {}
    }
    Ok(request)
}

fn tavily(query: &Query) -> Bytes {
    let mut body = json!({ "query": query.words, "max_results": query.count });
    if let Some(freshness) = query.freshness {
        body["time_range"] = freshness.word().into();
    }
    Bytes::from(body.to_string())
}

fn serpapi(key: &str, query: &Query) -> Vec<(&'static str, String)> {
    let mut fields =
        vec![("engine", "google".to_owned()), ("q", query.words.clone()), ("num", query.count.to_string())];
    fields.extend(query.freshness.map(|freshness| ("tbs", format!("qdr:{}", freshness.letter()))));
    fields.push(("api_key", key.to_owned()));
    fields
}

fn brave(query: &Query) -> Vec<(&'static str, String)> {
    let mut fields = vec![
        ("q", query.words.clone()),
        ("count", query.count.to_string()),
        ("result_filter", "web".to_owned()),
        // No marks around the words that were found.
        ("text_decorations", "false".to_owned()),
    ];
    fields.extend(query.freshness.map(|freshness| ("freshness", format!("p{}", freshness.letter()))));
    fields
}

fn searxng(query: &Query) -> Vec<(&'static str, String)> {
    let mut fields = vec![("q", query.words.clone()), ("format", "json".to_owned())];
    fields.extend(query.freshness.map(|freshness| ("time_range", freshness.word().to_owned())));
    fields
}

fn secret(chosen: &Chosen, value: &str) -> Result<HeaderValue, String> {
    let unusable =
        || format!("{} contains characters that are not allowed in a header", chosen.backend.variable());
    let mut value = HeaderValue::from_str(value).map_err(|_| unusable())?;
    value.set_sensitive(true);
    Ok(value)
}
