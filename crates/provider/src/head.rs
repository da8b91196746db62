//! Facts of a response's head: status, kind of body, request id, retry advice.

use http::header::{CONTENT_TYPE, HeaderMap};
use http::response::Parts;

use crate::RetryAdvice;
use crate::retry_after::advice;

/// The headers in which providers name a request, the vendors' own first.
/// Anthropic `request-id` (SDK 2.11.0), OpenAI `x-request-id` (SDK 3.52.0), OpenRouter `X-Generation-Id`, Azure
/// `apim-request-id`.
const REQUEST_IDS: [&str; 4] = ["request-id", "x-request-id", "x-generation-id", "apim-request-id"];

/// Returns the provider's id of the request, which its support asks for. At most 200 characters.
pub fn request_id(head: &Parts) -> Option<String> {
    let id = REQUEST_IDS.iter().find_map(|name| text(&head.headers, name))?;
    Some(id.chars().take(200).collect())
}

/// The facts of a head that a decoder needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) event_stream: bool,
    /// One JSON object a line (Ollama's own stream).
    pub(crate) lines: bool,
    pub(crate) request_id: Option<String>,
    pub(crate) retry: RetryAdvice,
}

impl Head {
    pub(crate) fn of(parts: &Parts) -> Self {
        let kind = text(&parts.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = kind.trim_start().to_ascii_lowercase();
        Self {
            status: parts.status.as_u16(),
            event_stream: kind.starts_with("text/event-stream"),
            lines: ["application/x-ndjson", "application/ndjson", "application/jsonl"]
                .iter()
                .any(|lines| kind.starts_with(lines)),
            request_id: request_id(parts),
            retry: advice(&parts.headers),
        }
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Returns a header's text, trimmed; `None` if it is blank or not text.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim).filter(|value| !value.is_empty())
}
