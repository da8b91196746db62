//! `GET /v1/models` of Anthropic: `after_id` names the last model of the page before.
//! <https://platform.claude.com/docs/en/api/models/list>; the SDK 2.11.0's types (2026-11).

use bytes::Bytes;
use http::header::HeaderValue;
use serde::Deserialize;
use serde_json::Value;

use super::{ListError, ListedModel, Page, Support, day, each, escaped, parsed, supported};
use crate::request::get;
use crate::{AcceptedMedia, Endpoint, Facts, Thinking, TranslateError};

const VERSION: &str = "2023-06-01";

pub(super) fn request(
    endpoint: &Endpoint,
    base: &str,
    next: Option<&str>,
) -> Result<http::Request<Bytes>, TranslateError> {
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let after = next.map(|id| format!("&after_id={}", escaped(id))).unwrap_or_default();
    let mut request = get(endpoint, base, &format!("/v1/models?limit=1000{after}"))?;
    let version = endpoint.version.as_deref().unwrap_or(VERSION);
    let version = HeaderValue::from_str(version);
    let version = version
        .map_err(|_| TranslateError::Control("the provider's `version` is not a valid version".to_owned()))?;
    request.headers_mut().insert("anthropic-version", version);
    Ok(request)
}

#[derive(Deserialize)]
struct List {
    data: Vec<Value>,
    #[serde(default)]
    has_more: bool,
    last_id: Option<String>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    max_input_tokens: Option<u64>,
    max_tokens: Option<u64>,
    retires_at: Option<String>,
    capabilities: Option<Capabilities>,
}

#[derive(Default, Deserialize)]
struct Capabilities {
    image_input: Option<Support>,
    pdf_input: Option<Support>,
    structured_outputs: Option<Support>,
    thinking: Option<Thoughts>,
}

#[derive(Deserialize)]
struct Thoughts {
    supported: bool,
    types: Option<Kinds>,
}

#[derive(Default, Deserialize)]
struct Kinds {
    adaptive: Option<Support>,
    enabled: Option<Support>,
}

pub(super) fn read(body: &[u8]) -> Result<Page, ListError> {
    let list: List = parsed(body)?;
    let next = list.last_id.filter(|_| list.has_more);
    Ok(Page { models: each(list.data).map(model).collect(), next })
}

fn model(model: Model) -> ListedModel {
    let can = model.capabilities.unwrap_or_default();
    ListedModel {
        facts: Facts {
            window: model.max_input_tokens,
            max_output: model.max_tokens,
            takes: AcceptedMedia {
                images: supported(can.image_input.as_ref()),
                documents: supported(can.pdf_input.as_ref()),
                audio: None,
            },
            structured: supported(can.structured_outputs.as_ref()),
            thinking: can.thinking.and_then(thinking),
            ..Facts::default()
        },
        ends: model.retires_at.as_deref().and_then(day),
        name: model.id,
    }
}

fn thinking(thoughts: Thoughts) -> Option<Thinking> {
    if !thoughts.supported {
        return Some(Thinking::None);
    }
    let kinds = thoughts.types.unwrap_or_default();
    match (supported(kinds.adaptive.as_ref()), supported(kinds.enabled.as_ref())) {
        (Some(true), _) => Some(Thinking::Effort),
        (_, Some(true)) => Some(Thinking::Budget),
        _ => None,
    }
}
