//! Model lists from a provider's own endpoint: builds the request for a page and reads it. Nothing is sent here.
//!
//! Servers report very different amounts: OpenRouter windows and prices, OpenAI a name. Missing facts stay unknown, and
//! unreadable entries are skipped.

mod anthropic;
mod compatible;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::request::get;
use crate::{Dialect, Endpoint, Facts, TranslateError};

/// Longest model name, in bytes. Longer names, and those with blanks or control characters, are skipped.
const MAX_NAME: usize = 256;

/// One model of a provider's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedModel {
    /// As requests name it. The first key in JSON.
    pub name: String,
    /// The day on which it is shut down (`2027-01-14`).
    pub ends: Option<String>,
    #[serde(flatten)]
    pub facts: Facts,
}

/// One page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub models: Vec<ListedModel>,
    /// Cursor for [`list_request`], if there is another page.
    pub next: Option<String>,
}

/// Why a body is not a model list.
#[derive(Debug, thiserror::Error)]
#[error("the response is not a list of models: {0}")]
pub struct ListError(String);

/// Builds the request for the first page, or for the page of the cursor `next`.
pub fn list_request(endpoint: &Endpoint, next: Option<&str>) -> Result<http::Request<Bytes>, TranslateError> {
    let base = endpoint.base_url.trim().trim_end_matches('/');
    match endpoint.dialect {
        Dialect::AnthropicMessages => anthropic::request(endpoint, base, next),
        Dialect::Gemini => {
            let token = next.map(|token| format!("&pageToken={}", escaped(token))).unwrap_or_default();
            get(endpoint, base, &format!("/v1beta/models?pageSize=1000{token}"))
        }
        Dialect::Ollama => get(endpoint, base, "/api/tags"),
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            get(endpoint, base, &compatible::path(endpoint, next))
        }
    }
}

/// Reads a page.
///
/// # Errors
/// If the body is not a list of models.
pub fn read_list(endpoint: &Endpoint, body: &[u8]) -> Result<Page, ListError> {
    let mut page = match endpoint.dialect {
        Dialect::AnthropicMessages => anthropic::read(body),
        Dialect::Gemini => read_gemini(body),
        Dialect::Ollama => read_ollama(body),
        Dialect::OpenAiChat | Dialect::OpenAiResponses => compatible::read(body),
    }?;
    page.models.retain(|model| is_name(&model.name));
    Ok(page)
}

/// Reads `GET /api/tags` of Ollama: the installed models.
/// <https://github.com/ollama/ollama/blob/main/docs/api.md#list-local-models> (2026-11).
fn read_ollama(body: &[u8]) -> Result<Page, ListError> {
    #[derive(Deserialize)]
    struct List {
        models: Vec<Value>,
    }
    #[derive(Deserialize)]
    struct Model {
        name: String,
    }
    let list: List = parsed(body)?;
    let models = each::<Model>(list.models);
    let models = models.map(|model| ListedModel { name: model.name, facts: Facts::default(), ends: None });
    Ok(Page { models: models.collect(), next: None })
}

/// Reads `GET /v1beta/models` of Gemini: `nextPageToken` is sent back as `pageToken`.
/// <https://ai.google.dev/api/models#method:-models.list> (2026-11).
fn read_gemini(body: &[u8]) -> Result<Page, ListError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List {
        models: Vec<Value>,
        next_page_token: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Model {
        name: String,
        input_token_limit: Option<u64>,
        output_token_limit: Option<u64>,
        #[serde(default)]
        supported_generation_methods: Vec<String>,
    }
    let list: List = parsed(body)?;
    let models = each::<Model>(list.models).filter(|model| {
        // Others embed, or make pictures.
        let methods = &model.supported_generation_methods;
        methods.is_empty() || methods.iter().any(|method| method == "generateContent")
    });
    let models = models.map(|model| ListedModel {
        name: model.name.strip_prefix("models/").unwrap_or(&model.name).to_owned(),
        facts: Facts {
            window: model.input_token_limit,
            max_output: model.output_token_limit,
            ..Facts::default()
        },
        ends: None,
    });
    Ok(Page { models: models.collect(), next: list.next_page_token.filter(|token| !token.is_empty()) })
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ListError> {
    serde_json::from_slice(body).map_err(|error| ListError(error.to_string()))
}

/// Returns the elements that can be read.
fn each<T: DeserializeOwned>(items: Vec<Value>) -> impl Iterator<Item = T> {
    items.into_iter().filter_map(|item| serde_json::from_value(item).ok())
}

/// `{"supported": true}`
#[derive(Debug, Deserialize)]
struct Support {
    supported: bool,
}

fn supported(support: Option<&Support>) -> Option<bool> {
    support.map(|support| support.supported)
}

/// Returns the day of a time in RFC 3339.
fn day(time: &str) -> Option<String> {
    time.get(..10).filter(|day| day.len() == 10 && day.is_ascii()).map(str::to_owned)
}

/// Percent-encodes a text for a query.
fn escaped(text: &str) -> String {
    let mut query = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            query.push(char::from(byte));
        } else {
            query.push_str(&format!("%{byte:02X}"));
        }
    }
    query
}

#[cfg(test)]
mod tests;
