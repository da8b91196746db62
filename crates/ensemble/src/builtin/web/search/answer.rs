//! What each service answers: pure functions. The pages are those of [`query`](super::query); errors of SerpApi:
//! <https://serpapi.com/search-errors>, of SearXNG without JSON: <https://docs.searxng.org/dev/search_api.html> (both
//! checked 2026-11).

use serde_json::{Map, Value, json};
use url::Url;

use super::choice::{Backend, Chosen};
use crate::Answer;
use crate::builtin::arguments::shown;
use crate::builtin::web::page::page_text;
use crate::fetch::Fetched;
use crate::request::status;

/// Characters; services promise less.
const MAX_TITLE: usize = 300;
const MAX_SNIPPET: usize = 2000;
const MAX_URL: usize = 2048;

/// One page that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: String,
    pub(super) snippet: String,
}

pub(super) fn listed(chosen: &Chosen, hits: Vec<Hit>) -> Answer {
    let hits: Vec<Value> = hits
        .into_iter()
        .map(|Hit { title, url, snippet }| json!({ "title": title, "url": url, "snippet": snippet }))
        .collect();
    Answer::structured(json!({ "source": chosen.backend.name(), "results": hits }))
}

/// The error is for the model, and through it for the user.
pub(super) fn hits(chosen: &Chosen, fetched: &Fetched, count: usize) -> Result<Vec<Hit>, String> {
    let name = chosen.backend.name();
    let value: Option<Value> = serde_json::from_slice(&fetched.body).ok();
    if !(200..=299).contains(&fetched.status) {
        return Err(failure(chosen, fetched, value.as_ref()));
    }
    let Some(Value::Object(answer)) = value else {
        let kind = fetched.content_type.as_deref().unwrap_or("no type");
        let cut = if fetched.truncated { ", too long," } else { "" };
        return Err(format!("the answer of {name} is not JSON{cut} ({})", shown(kind)));
    };
    let entries = entries(chosen.backend, &answer)?;
    let hits = entries.iter().filter_map(|entry| hit(chosen.backend, entry));
    Ok(hits.take(count).collect())
}

fn entries(backend: Backend, answer: &Map<String, Value>) -> Result<&[Value], String> {
    let (list, may_be_missing) = match backend {
        Backend::Tavily | Backend::SearXng => (answer.get("results"), false),
        // Left out when nothing was found.
        Backend::Brave => (answer.get("web").and_then(|web| web.get("results")), true),
        Backend::SerpApi => (answer.get("organic_results"), is_empty_search(answer)),
    };
    match list {
        Some(Value::Array(entries)) => Ok(entries),
        None if may_be_missing => Ok(&[]),
        _ => {
            let said = complaint(answer).map_or_else(String::new, |text| format!(": {}", shown(text)));
            Err(format!("{} answered without results{said}", backend.name()))
        }
    }
}

/// It calls nothing found a success, and an error as well.
fn is_empty_search(answer: &Map<String, Value>) -> bool {
    let state =
        |key: &str, inner: &str| answer.get(key).and_then(|value| value.get(inner)).and_then(Value::as_str);
    state("search_metadata", "status") == Some("Success")
        || state("search_information", "organic_results_state") == Some("Fully empty")
}

fn hit(backend: Backend, entry: &Value) -> Option<Hit> {
    let (url, snippet) = match backend {
        Backend::Tavily | Backend::SearXng => ("url", "content"),
        Backend::SerpApi => ("link", "snippet"),
        Backend::Brave => ("url", "description"),
    };
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let address = Url::parse(text(url)).ok()?;
    if !matches!(address.scheme(), "http" | "https") || address.as_str().len() > MAX_URL {
        return None;
    }
    // Only one of them writes HTML.
    let plain =
        |text: &str| if backend == Backend::Brave { without_tags(text, &address) } else { text.to_owned() };
    let title = line(&plain(text("title")), MAX_TITLE);
    let snippet = line(&plain(text(snippet)), MAX_SNIPPET);
    Some(Hit { title, url: address.into(), snippet })
}

fn without_tags(text: &str, base: &Url) -> String {
    page_text(text, base, MAX_SNIPPET * 4).0
}

fn line(text: &str, most: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|character| !character.is_control()).take(most).collect()
}

fn failure(chosen: &Chosen, fetched: &Fetched, value: Option<&Value>) -> String {
    let Chosen { backend, .. } = chosen;
    let (name, variable) = (backend.name(), backend.variable());
    let status = status(fetched);
    let hint = match (fetched.status, backend) {
        (300..=399, _) => "; redirects are not followed".to_owned(),
        (403, Backend::SearXng) => {
            "; the instance must list `json` under `search.formats` of its settings".to_owned()
        }
        (401 | 403, _) => format!("; is {variable} right?"),
        (429, _) => "; too many searches, or none left: try again later".to_owned(),
        _ => String::new(),
    };
    let said = value.and_then(Value::as_object).and_then(complaint);
    let said = said.map_or_else(String::new, |text| format!(": {}", shown(text)));
    format!("{name} refused: {status}{said}{hint}")
}

/// Their own word for what went wrong, wherever they put it.
fn complaint(answer: &Map<String, Value>) -> Option<&str> {
    ["error", "detail", "message"].into_iter().find_map(|key| match answer.get(key)? {
        Value::String(text) => Some(text.as_str()),
        Value::Object(inner) => {
            ["error", "detail", "message"].into_iter().find_map(|key| inner.get(key)?.as_str())
        }
        _ => None,
    })
}
