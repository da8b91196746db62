//! `GET /models` of OpenAI and compatible servers. OpenAI returns a name and perhaps a day of shutdown (SDK 3.52.0);
//! the rest is what others add, each under names of their own:
//!
//! | who | window | reply | more |
//! | --- | --- | --- | --- |
//! | OpenRouter <https://openrouter.ai/docs/models> | `context_length` | `top_provider.max_completion_tokens` | `pricing` for one token, `architecture`, `supported_parameters` |
//! | Groq <https://console.groq.com/docs/api-reference#models> | `context_window` | `max_completion_tokens` | |
//! | Mistral (SDK) | `max_context_length` | | `capabilities`, `deprecation` |
//! | vLLM | `max_model_len` | | |
//! | Together | `context_length` | | the list has nothing around it |
//!
//! (All read 2026-11.) OpenRouter's list may go on: `links.next` is the path of the next page.

use serde::Deserialize;
use serde_json::Value;

use super::{ListError, ListedModel, Page, day, each, parsed};
use crate::catalog::decimal;
use crate::{AcceptedMedia, Endpoint, Facts, Price};

#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    Named {
        data: Vec<Value>,
        #[serde(default)]
        links: Option<Links>,
    },
    Bare(Vec<Value>),
}

#[derive(Deserialize)]
struct Links {
    next: Option<String>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    context_length: Option<u64>,
    context_window: Option<u64>,
    max_context_length: Option<u64>,
    max_model_len: Option<u64>,
    max_completion_tokens: Option<u64>,
    top_provider: Option<TopProvider>,
    // Of other shapes elsewhere, so read leniently.
    pricing: Option<Value>,
    architecture: Option<Value>,
    capabilities: Option<Value>,
    supported_parameters: Option<Vec<String>>,
    shutdown_date: Option<String>,
    expiration_date: Option<String>,
    deprecation: Option<String>,
}

#[derive(Deserialize)]
struct TopProvider {
    max_completion_tokens: Option<u64>,
}

/// `next` is a path of the server; of it only the query is taken, so that no list can lead elsewhere.
pub(super) fn path(endpoint: &Endpoint, next: Option<&str>) -> String {
    let query = next.and_then(|next| next.split_once('?')).map(|(_, query)| query);
    match (query, endpoint.version.as_deref()) {
        (Some(query), _) => format!("/models?{query}"),
        (None, Some(version)) => format!("/models?api-version={}", super::escaped(version)),
        (None, None) => "/models".to_owned(),
    }
}

pub(super) fn read(body: &[u8]) -> Result<Page, ListError> {
    let (data, next) = match parsed(body)? {
        List::Named { data, links } => (data, links.and_then(|links| links.next)),
        List::Bare(data) => (data, None),
    };
    let next = next.filter(|next| next.contains('?') && next.len() <= 1024);
    Ok(Page { models: each(data).map(model).collect(), next })
}

fn model(model: Model) -> ListedModel {
    let window = model.context_length.or(model.context_window).or(model.max_context_length);
    let top = model.top_provider.and_then(|top| top.max_completion_tokens);
    let (takes, can) = (takes(model.architecture.as_ref()), model.capabilities);
    let capable = |key: &str| can.as_ref().and_then(|can| can.get(key)?.as_bool());
    let parameter = |name: &str| Some(model.supported_parameters.as_ref()?.iter().any(|known| known == name));
    let ends = model.shutdown_date.or(model.expiration_date).or(model.deprecation);
    ListedModel {
        facts: Facts {
            window: window.or(model.max_model_len),
            max_output: top.or(model.max_completion_tokens),
            takes: AcceptedMedia { images: takes.images.or(capable("vision")), ..takes },
            tools: parameter("tools").or(capable("function_calling")),
            sampling: parameter("temperature"),
            structured: parameter("structured_outputs"),
            price: model.pricing.as_ref().and_then(price),
            ..Facts::default()
        },
        ends: ends.as_deref().and_then(day),
        name: model.id,
    }
}

fn takes(architecture: Option<&Value>) -> AcceptedMedia {
    let inputs = architecture.and_then(|architecture| architecture.get("input_modalities")?.as_array());
    let says = |name: &str| Some(inputs?.iter().any(|input| input == name));
    AcceptedMedia { images: says("image"), documents: says("file"), audio: says("audio") }
}

/// OpenRouter's prices: dollars for one token, as decimal texts. `-1` means "depends" and is read as unknown.
fn price(pricing: &Value) -> Option<Price> {
    let rate = |key: &str| decimal(pricing.get(key)?.as_str()?, 12);
    Some(Price {
        input: rate("prompt")?,
        output: rate("completion")?,
        cache_read: rate("input_cache_read"),
        cache_write: rate("input_cache_write"),
        above: None,
    })
}
