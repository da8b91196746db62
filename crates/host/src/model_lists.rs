//! The model lists of providers, cached in `models/<provider>.jsonl` of the user's cache directory.
//!
//! The first line has the server and the time, each other line a model. So a run that needs one model parses one line
//! of JSON instead of four hundred.

mod offered;

use std::time::Duration;

use converse_canister::ProviderName;
use converse_engine::{Wire as _, WireError};
use converse_provider::{
    AcceptedMedia, Endpoint, Facts, ListError, ListedModel, LongPromptPrice, Price, Thinking, list_request,
    read_list,
};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::cache::Cache;
use crate::credentials::Credentials;
use crate::http::HttpWire;
use crate::world::World;

pub use offered::{Freshness, OfferedModel, offered_models, provider_list, understudy};

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
        read(lines.lines().find(same)?)
    }

    /// Returns the whole list if it is not older than `age`.
    pub fn get(&self, endpoint: &Endpoint, now: Timestamp, age: Duration) -> Option<ModelList> {
        let (at, lines) = self.lines(endpoint, now, age)?;
        let head: Value = serde_json::from_str(lines.lines().next()?).ok()?;
        let whole = head.get("whole").and_then(Value::as_bool)?;
        Some(ModelList { models: lines.lines().filter_map(read).collect(), whole, at })
    }

    pub fn put(&self, endpoint: &Endpoint, list: &ModelList) {
        let head = json!({ "base_url": endpoint.base_url, "at": list.at.to_string(), "whole": list.whole });
        let mut text = head.to_string();
        for model in &list.models {
            text.push('\n');
            text.push_str(&written(model).to_string());
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

fn written(model: &ListedModel) -> Value {
    let mut line = Map::new();
    line.insert("name".to_owned(), Value::from(model.name.as_str()));
    if let Some(ends) = &model.ends {
        line.insert("ends".to_owned(), Value::from(ends.as_str()));
    }
    if let Value::Object(facts) = as_json(&model.facts) {
        line.extend(facts.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(line)
}

/// Formats facts: an unknown fact is `null`; prices are millionths of a dollar per million tokens.
pub fn as_json(facts: &Facts) -> Value {
    let thinking = facts.thinking.map(|thinking| match thinking {
        Thinking::None => "none",
        Thinking::Budget => "budget",
        Thinking::Effort => "effort",
    });
    json!({
        "window": facts.window,
        "max_output": facts.max_output,
        "images": facts.takes.images,
        "documents": facts.takes.documents,
        "audio": facts.takes.audio,
        "tools": facts.tools,
        "sampling": facts.sampling,
        "structured": facts.structured,
        "thinking": thinking,
        "price": facts.price.map(|price| json!({
            "input": price.input,
            "output": price.output,
            "cache_read": price.cache_read,
            "cache_write": price.cache_write,
            "above": price.above.map(|above| json!({
                "tokens": above.tokens,
                "input": above.input,
                "output": above.output,
                "cache_read": above.cache_read,
                "cache_write": above.cache_write,
            })),
        })),
    })
}

fn read(line: &str) -> Option<ListedModel> {
    let line: Value = serde_json::from_str(line).ok()?;
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64);
    let says = |key: &str| line.get(key).and_then(Value::as_bool);
    let price = line.get("price").and_then(|price| {
        let above = price.get("above").and_then(|above| {
            Some(LongPromptPrice {
                tokens: number(above, "tokens")?,
                input: number(above, "input")?,
                output: number(above, "output")?,
                cache_read: number(above, "cache_read"),
                cache_write: number(above, "cache_write"),
            })
        });
        Some(Price {
            input: number(price, "input")?,
            output: number(price, "output")?,
            cache_read: number(price, "cache_read"),
            cache_write: number(price, "cache_write"),
            above,
        })
    });
    Some(ListedModel {
        name: line.get("name")?.as_str()?.to_owned(),
        ends: line.get("ends").and_then(Value::as_str).map(str::to_owned),
        facts: Facts {
            window: number(&line, "window"),
            wanted_window: None,
            max_output: number(&line, "max_output"),
            takes: AcceptedMedia {
                images: says("images"),
                documents: says("documents"),
                audio: says("audio"),
            },
            tools: says("tools"),
            sampling: says("sampling"),
            structured: says("structured"),
            thinking: line.get("thinking").and_then(Value::as_str).and_then(|word| match word {
                "none" => Some(Thinking::None),
                "budget" => Some(Thinking::Budget),
                "effort" => Some(Thinking::Effort),
                _ => None,
            }),
            needs_responses: false,
            price,
        },
    })
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

/// Requests all models, or the first page of them, within `patience`.
pub async fn ask(
    endpoint: &Endpoint,
    credentials: Credentials,
    pages: usize,
    patience: Duration,
) -> Result<Offered, Unlisted> {
    let asked = tokio::time::timeout(patience, asked(endpoint, credentials, pages.min(MAX_PAGES), patience));
    asked.await.unwrap_or(Err(Unlisted::Late))
}

/// The maximum number of pages.
pub const ALL: usize = MAX_PAGES;

async fn asked(
    endpoint: &Endpoint,
    credentials: Credentials,
    pages: usize,
    patience: Duration,
) -> Result<Offered, Unlisted> {
    let wire = HttpWire::new(credentials, patience);
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
    use converse_provider::row;

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
