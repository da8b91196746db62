//! The model lists of providers, cached in `models/<provider>.jsonl` of the user's cache directory.
//!
//! The first line has the server and the time, each other line a model. So a run that needs one model parses one line
//! of JSON instead of four hundred.

mod offered;

use std::time::Duration;

use converse_canister::ProviderName;
use converse_engine::{Wire as _, WireError};
use converse_provider::{Endpoint, ListError, ListedModel, list_request, read_list};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cache::Cache;
use crate::http::HttpWire;
use crate::secrets::Credentials;
use crate::world::World;

pub use offered::{Freshness, OfferedModel, offered_models, provider_list, provider_list_within, understudy};

/// Of a kept list, and of one page of an answer.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
const MAX_PAGES: usize = 20;
const MAX_MODELS: usize = 5_000;
/// Maximum age for facts about a model; older prices and windows may be wrong.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Maximum age of a list for display.
pub const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// A list and its time.
#[derive(Debug)]
pub struct ModelList {
    pub models: Vec<ListedModel>,
    /// False if the provider has more models than were read.
    pub whole: bool,
    pub at: Timestamp,
}

/// The cached lists.
#[derive(Debug)]
pub struct ModelLists(Cache);

impl ModelLists {
    pub fn new(world: &World) -> Self {
        Self(Cache(world.cache_dir().map(|dir| dir.join("models"))))
    }

    /// Returns one model, if the list of this very server is cached and recent.
    pub fn find(&self, endpoint: &Endpoint, model: &str, now: Timestamp) -> Option<ListedModel> {
        let (_, lines) = self.lines(endpoint, now, MAX_AGE)?;
        let beginning = format!("{{\"name\":{}", Value::from(model));
        let same = |line: &&str| {
            line.strip_prefix(beginning.as_str()).is_some_and(|rest| rest.starts_with([',', '}']))
        };
        serde_json::from_str(lines.lines().find(same)?).ok()
    }

    /// Returns the whole list if it is not older than `age`.
    pub fn get(&self, endpoint: &Endpoint, now: Timestamp, age: Duration) -> Option<ModelList> {
        let (at, lines) = self.lines(endpoint, now, age)?;
        let head: Value = serde_json::from_str(lines.lines().next()?).ok()?;
        let whole = head.get("whole").and_then(Value::as_bool)?;
        let models = lines.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
        Some(ModelList { models, whole, at })
    }

    pub fn put(&self, endpoint: &Endpoint, list: &ModelList) {
        let head = json!({ "base_url": endpoint.base_url, "at": list.at.to_string(), "whole": list.whole });
        let mut text = head.to_string();
        for model in &list.models {
            text.push('\n');
            text.push_str(&line(model));
        }
        self.0.write(&file(&endpoint.provider), text.as_bytes());
    }

    fn lines(&self, endpoint: &Endpoint, now: Timestamp, age: Duration) -> Option<(Timestamp, String)> {
        let text = String::from_utf8(self.0.read(&file(&endpoint.provider), MAX_BYTES)?).ok()?;
        let (head, _) = text.split_once('\n').unwrap_or((&text, ""));
        let head: Value = serde_json::from_str(head).ok()?;
        let at: Timestamp = head.get("at")?.as_str()?.parse().ok()?;
        let passed = Duration::try_from(now.duration_since(at)).ok()?;
        let same = head.get("base_url")?.as_str()? == endpoint.base_url;
        (same && passed <= age).then_some((at, text))
    }
}

/// Provider names contain no characters with a meaning in paths.
fn file(provider: &ProviderName) -> String {
    format!("{provider}.jsonl")
}

/// Formats a model without its unknown facts.
fn line(model: &ListedModel) -> String {
    let mut line = json!(model);
    if let Some(members) = line.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    line.to_string()
}

/// Why there is no list.
#[derive(Debug)]
pub enum Unlisted {
    /// The server cannot be reached.
    Wire(WireError),
    /// No response in time.
    Late,
    /// A response with this status.
    Status(u16),
    /// A response that is not a list.
    Nonsense(String),
}

impl From<ListError> for Unlisted {
    fn from(error: ListError) -> Self {
        Self::Nonsense(error.to_string())
    }
}

/// A response of a server.
#[derive(Debug)]
pub struct Offered {
    pub models: Vec<ListedModel>,
    /// False if the response was longer than requested or than the limit.
    pub whole: bool,
}

/// Requests all models, or the first page of them, within `timeout`.
pub async fn ask(
    endpoint: &Endpoint,
    credentials: Credentials,
    pages: usize,
    timeout: Duration,
) -> Result<Offered, Unlisted> {
    let asked =
        tokio::time::timeout(timeout, request_pages(endpoint, credentials, pages.min(MAX_PAGES), timeout));
    asked.await.unwrap_or(Err(Unlisted::Late))
}

/// The maximum number of pages.
pub const ALL: usize = MAX_PAGES;

async fn request_pages(
    endpoint: &Endpoint,
    credentials: Credentials,
    pages: usize,
    timeout: Duration,
) -> Result<Offered, Unlisted> {
    let wire = HttpWire::new(credentials, timeout);
    let (mut models, mut next) = (Vec::new(), None::<String>);
    for _ in 0..pages {
        let body = page(&wire, endpoint, next.as_deref()).await?;
        let page = read_list(endpoint, &body)?;
        let (before, known) = (models.len(), next);
        models.extend(page.models);
        next = page.next;
        if models.len() > MAX_MODELS {
            models.truncate(MAX_MODELS);
            break;
        }
        // A server that returns the same page again, or nothing new, has no more.
        if next.is_none() || next == known || models.len() == before {
            return Ok(Offered { models, whole: true });
        }
    }
    Ok(Offered { models, whole: false })
}

async fn page(wire: &HttpWire, endpoint: &Endpoint, next: Option<&str>) -> Result<Vec<u8>, Unlisted> {
    let request = list_request(endpoint, next).map_err(|error| Unlisted::Nonsense(error.to_string()))?;
    let mut response = wire.send(request, &endpoint.auth).await.map_err(Unlisted::Wire)?;
    if !response.status().is_success() {
        return Err(Unlisted::Status(response.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(piece) = response.body_mut().next().await {
        body.extend_from_slice(&piece.map_err(Unlisted::Wire)?);
        if body.len() as u64 > MAX_BYTES {
            return Err(Unlisted::Nonsense("the list is too long".to_owned()));
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use converse_provider::{AcceptedMedia, Facts, LongPromptPrice, Price, Thinking, row};

    use super::*;

    #[test]
    fn a_kept_list_is_there_for_the_server_it_is_of_and_not_for_ever() {
        let dir = tempfile::tempdir().unwrap();
        let lists = ModelLists(Cache(Some(dir.path().to_path_buf())));
        let endpoint = row("openrouter").unwrap().endpoint(None);
        let at: Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        let above =
            LongPromptPrice { tokens: 9, input: 8, output: 7, cache_read: Some(6), cache_write: None };
        let facts = Facts {
            window: Some(1),
            wanted_window: None,
            max_output: Some(2),
            takes: AcceptedMedia { images: Some(true), documents: Some(false), audio: None },
            tools: Some(true),
            sampling: Some(false),
            structured: None,
            thinking: Some(Thinking::Effort),
            needs_responses: false,
            price: Some(Price {
                input: 3,
                output: 4,
                cache_read: None,
                cache_write: Some(5),
                above: Some(above),
            }),
        };
        let model = |name: &str, facts: Facts| ListedModel {
            name: name.into(),
            facts,
            ends: Some("2027-01-01".into()),
        };
        let models = vec![model("a/b:free", Facts::default()), model("a/b", facts)];
        lists.put(&endpoint, &ModelList { models: models.clone(), whole: true, at });

        let later = |seconds: u64| at + Duration::from_secs(seconds);
        assert_eq!(lists.get(&endpoint, later(60), A_DAY).unwrap().models, models);
        assert!(lists.get(&endpoint, later(60), A_DAY).unwrap().whole);
        assert!(lists.get(&endpoint, later(90_000), A_DAY).is_none(), "a day has passed");
        assert!(lists.get(&endpoint, at - Duration::from_secs(9), A_DAY).is_none(), "from the future");
        assert_eq!(lists.find(&endpoint, "a/b", later(90_000)).as_ref(), models.get(1));
        assert_eq!(lists.find(&endpoint, "a", later(60)), None, "the beginning of a name is none");
        assert_eq!(lists.find(&endpoint, "a/b", later(31 * 24 * 3600)), None);
        lists.put(&endpoint, &ModelList { models: models.clone(), whole: false, at });
        let cut = lists.get(&endpoint, later(60), A_DAY).unwrap();
        assert_eq!((cut.models, cut.whole), (models, false), "a part is kept as a part");
        let elsewhere = Endpoint { base_url: "https://elsewhere".into(), ..endpoint };
        assert_eq!(lists.find(&elsewhere, "a/b", later(60)), None, "of another server");
    }
}
