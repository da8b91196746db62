//! Classifies error bodies as refusals.
//!
//! The class decides about retries and exit codes, so it is read from codes first, from the status second, and from
//! words only where providers have no code for it (a prompt that is too long, spent credit). The message is the
//! provider's own, found wherever that provider keeps it, and never tag soup.
//!
//! Error forms: <https://openrouter.ai/docs/api/reference/errors-and-debugging> (a copy read 2026-11-21),
//! <https://platform.claude.com/docs/en/api/errors>, <https://platform.openai.com/docs/guides/error-codes>; what the
//! others send is from recorded traffic and from reports.

use serde_json::Value;

use crate::gemini;
use crate::head::Head;
use crate::html;
use crate::{Refusal, RefusalClass};

/// The longest message that is kept, in bytes.
const MAX_MESSAGE: usize = 2048;

/// Reads a body that came with an error status.
pub(crate) fn from_body(head: &Head, body: &[u8]) -> Refusal {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}').trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return from_json(head, &value);
    }
    let message = if text.is_empty() {
        format!("HTTP {} without a body", head.status)
    } else if html::is_page(text) {
        html::describe(text)
    } else {
        text.to_owned()
    };
    let class = classify(head.status, &[], &message);
    build(head, class, &message, None, None)
}

/// Reads an error in JSON, by status or within a 200. An array is taken by its first element (Gemini's endpoint wraps).
pub(crate) fn from_json(head: &Head, body: &Value) -> Refusal {
    let body = body.as_array().and_then(|list| list.first()).unwrap_or(body);
    let codes: Vec<String> = gemini::reasons(body).chain(codes(body)).collect();
    let status = effective_status(head, &codes);
    let message = message(body).unwrap_or_else(|| body.to_string());
    let class = match classify(status, &codes, &message) {
        RefusalClass::RateLimit if gemini::spent_for_today(body) => RefusalClass::Quota,
        class => class,
    };
    let request_id = body.get("request_id").and_then(Value::as_str).map(str::to_owned);
    // A word is more specific than a number that repeats the status.
    let code = codes.iter().find(|code| code.parse::<u16>().is_err()).or(codes.first()).cloned();
    let mut refusal = build(head, class, &message, code, request_id);
    // Gemini has no header for it.
    refusal.retry.after = refusal.retry.after.or_else(|| gemini::retry_delay(body));
    refusal
}

/// The codes for a model that is not there, or not for us. OpenAI, Groq, DeepSeek `model_not_found`; Mistral
/// `invalid_model`; Google's `NOT_FOUND` and Anthropic's `not_found_error` come with their 404.
const UNKNOWN_MODEL: &[&str] =
    &["model_not_found", "invalid_model", "model_not_available", "model_decommissioned"];

impl Refusal {
    /// Returns whether the model is unknown to the provider. A 404 may also mean a wrong base URL, for which another provider
    /// is tried as well.
    pub fn is_unknown_model(&self) -> bool {
        let named = self.code.as_deref().is_some_and(|code| UNKNOWN_MODEL.contains(&code));
        // OpenRouter has no code for it: "x is not a valid model ID" with a 400.
        self.status == 404 || named || self.message.contains("not a valid model ID")
    }
}

/// Builds the refusal for a success without a reply of this wire.
pub(crate) fn nonsense(head: &Head, body: &str) -> Refusal {
    let body = body.trim_start_matches('\u{feff}').trim();
    let message = if body.is_empty() {
        "the response has no body".to_owned()
    } else if html::is_page(body) {
        html::describe(body)
    } else {
        body.to_owned()
    };
    build(head, RefusalClass::Nonsense, &message, None, None)
}

/// Builds the refusal for a reply that ended with a failure reason only.
pub(crate) fn broken_off(head: &Head, reason: &str) -> Refusal {
    let message = format!("the provider ended the reply with `{reason}`");
    build(head, RefusalClass::Overload, &message, Some(reason.to_owned()), None)
}

fn build(
    head: &Head,
    class: RefusalClass,
    message: &str,
    code: Option<String>,
    request_id: Option<String>,
) -> Refusal {
    Refusal {
        class,
        status: head.status,
        message: message.get(..message.floor_char_boundary(MAX_MESSAGE)).unwrap_or_default().to_owned(),
        code: code.map(|code| code.chars().take(100).collect()),
        request_id: head.request_id.clone().or(request_id.map(|id| id.chars().take(200).collect())),
        retry: head.retry,
    }
}

/// Every code and type the body names, the most telling first.
fn codes(body: &Value) -> Vec<String> {
    ["/error/details/error_code", "/error/code", "/error/type", "/code", "/type", "/error/status"]
        .iter()
        .filter_map(|pointer| match body.pointer(pointer)? {
            Value::String(code) if !code.is_empty() && code != "error" => Some(code.clone()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        })
        .collect()
}

/// In a response with status 200, the number in the body replaces the status (OpenRouter, vLLM).
fn effective_status(head: &Head, codes: &[String]) -> u16 {
    if !head.is_success() {
        return head.status;
    }
    let number = codes.iter().find_map(|code| code.parse::<u16>().ok().filter(|n| (400..600).contains(n)));
    number.unwrap_or(head.status)
}

fn classify(status: u16, codes: &[String], message: &str) -> RefusalClass {
    let has = |wanted: &[&str]| codes.iter().any(|code| wanted.contains(&code.as_str()));
    let lower = message.to_ascii_lowercase();
    let says = |wanted: &[&str]| wanted.iter().any(|words| lower.contains(words));
    // Only where the request itself is to blame: a 429 may speak of tokens too, and means something else.
    let own_fault = matches!(status, 200..=299 | 400 | 413 | 422 | 500);
    let spent =
        ["insufficient_quota", "billing_error", "enforced_spend_limit_reached", "billing_hard_limit_reached"];
    if status == 402 || has(&spent) || (own_fault && says(&["credit balance is too low"])) {
        RefusalClass::Quota
    } else if own_fault && (has(CONTEXT_CODES) || says(CONTEXT_WORDS)) {
        RefusalClass::ContextTooLong
    } else if matches!(status, 401 | 403)
        || has(&["authentication_error", "permission_error", "invalid_api_key", "API_KEY_INVALID"])
        || (status == 400 && says(&["incorrect api key", "invalid api key", "api key not valid"]))
    {
        RefusalClass::Auth
    } else if status == 429 || (status < 300 && has(&["rate_limit_error", "rate_limit_exceeded"])) {
        RefusalClass::RateLimit
    } else if matches!(status, 408 | 409 | 500..)
        || (status < 300 && (has(OVERLOAD_CODES) || says(&["overloaded"])))
    {
        RefusalClass::Overload
    } else if (300..400).contains(&status) {
        RefusalClass::Nonsense
    } else {
        RefusalClass::BadRequest
    }
}

const CONTEXT_CODES: &[&str] =
    &["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"];

/// Phrases for a prompt that is too long, of providers without a code for it: Anthropic, OpenAI and vLLM, llama.cpp, Ollama, Groq,
/// xAI, Mistral, Gemini's endpoint, Amazon's.
const CONTEXT_WORDS: &[&str] = &[
    "prompt is too long",
    "maximum context length",
    "exceeds the available context size",
    "exceeds the context length",
    "reduce the length of the messages",
    "maximum prompt length",
    "too large for model with",
    "exceeds the maximum number of tokens",
    "input is too long",
    "context window",
];

const OVERLOAD_CODES: &[&str] = &[
    "overloaded_error",
    "api_error",
    "timeout_error",
    "server_error",
    "internal_server_error",
    "InternalServerError",
    "service_unavailable",
    "conflict_error",
    // OpenAI, within a stream.
    "server_is_overloaded",
    "slow_down",
];

/// Returns the provider's message, wherever the body has it.
fn message(body: &Value) -> Option<String> {
    let places = ["/error/message", "/error", "/message", "/detail", "/message/detail", "/errors", ""];
    let mut message = places.iter().find_map(|place| words(body.pointer(place)?))?;
    let error = body.get("error").unwrap_or(body);
    let more =
        |pointer: &str| error.pointer(pointer).and_then(Value::as_str).filter(|more| !more.trim().is_empty());
    if let Some(provider) = more("/metadata/provider_name") {
        message = format!("{provider}: {message}");
    }
    for (pointer, label) in
        [("/param", "parameter"), ("/metadata/raw", "its words"), ("/failed_generation", "the model wrote")]
    {
        if let Some(more) = more(pointer).filter(|more| !message.contains(*more)) {
            message = format!("{message} ({label}: {more})");
        }
    }
    Some(message)
}

/// A string, or a list of complaints as FastAPI's servers make them: `[{"loc": ["body", "x"], "msg": "…"}]`.
fn words(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return (!text.trim().is_empty()).then(|| text.to_owned());
    }
    let complaints: Vec<String> = value.as_array()?.iter().take(8).filter_map(complaint).collect();
    (!complaints.is_empty()).then(|| complaints.join("; "))
}

fn complaint(value: &Value) -> Option<String> {
    let message = value.get("msg").or_else(|| value.get("message"))?.as_str()?;
    let place: Vec<String> = value.get("loc").and_then(Value::as_array).map_or_else(Vec::new, |place| {
        place.iter().map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned)).collect()
    });
    Some(if place.is_empty() { message.to_owned() } else { format!("{}: {message}", place.join(".")) })
}

#[cfg(test)]
mod tests {
    use RefusalClass::{Auth, BadRequest, ContextTooLong, Nonsense, Overload, Quota, RateLimit};
    use serde_json::json;

    use super::*;
    use crate::RetryAdvice;

    fn head(status: u16) -> Head {
        Head { status, event_stream: false, lines: false, request_id: None, retry: RetryAdvice::default() }
    }

    fn of(status: u16, body: &Value) -> (RefusalClass, String) {
        let refusal = from_body(&head(status), body.to_string().as_bytes());
        assert_eq!(refusal.status, status);
        (refusal.class, refusal.message)
    }

    #[test]
    fn statuses_have_their_classes() {
        let body = json!({"error": {"message": "no"}});
        for (status, class) in [
            (400, BadRequest),
            (401, Auth),
            (402, Quota),
            (403, Auth),
            (404, BadRequest),
            (408, Overload),
            (409, Overload),
            (413, BadRequest),
            (418, BadRequest),
            (422, BadRequest),
            (429, RateLimit),
            (500, Overload),
            (503, Overload),
            (529, Overload),
            (302, Nonsense),
        ] {
            assert_eq!(of(status, &body), (class, "no".to_owned()), "{status}");
        }
    }

    #[test]
    fn codes_win_over_the_status() {
        for (status, error, class) in [
            (429, json!({"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}), Quota),
            (429, json!({"message": "m", "details": {"error_code": "enforced_spend_limit_reached"}}), Quota),
            (400, json!({"message": "Your credit balance is too low to go on", "type": "x"}), Quota),
            (429, json!({"message": "too many tokens in your context window"}), RateLimit),
            (413, json!({"message": "m", "code": "rate_limit_exceeded"}), BadRequest),
            (400, json!({"message": "m", "code": "context_length_exceeded"}), ContextTooLong),
            (400, json!({"message": "m", "type": "exceed_context_size_error", "code": 400}), ContextTooLong),
            (400, json!({"message": "prompt is too long: 9 tokens > 8 maximum"}), ContextTooLong),
            (400, json!({"message": "Incorrect API key provided"}), Auth),
            (200, json!({"message": "Overloaded", "type": "overloaded_error"}), Overload),
            (200, json!({"message": "m", "code": 502}), Overload),
            (200, json!({"message": "m", "code": "429"}), RateLimit),
            (200, json!({"message": "m", "type": "rate_limit_error"}), RateLimit),
            (200, json!({"message": "m", "type": "invalid_request_error"}), BadRequest),
            (200, json!({"message": "m", "code": 401}), Auth),
        ] {
            assert_eq!(of(status, &json!({"error": error})).0, class, "{status} {error}");
        }
    }

    #[test]
    fn the_message_is_found_wherever_it_is() {
        for (body, message) in [
            (json!([{"error": {"message": "wrapped"}}]), "wrapped"),
            (json!({"detail": "Unauthorized"}), "Unauthorized"),
            (json!({"error": "text"}), "text"),
            (json!({"message": "m"}), "m"),
            (
                json!({"detail": [{"loc": ["body", "tools", 0], "msg": "bad"}, {"msg": "x"}]}),
                "body.tools.0: bad; x",
            ),
            (json!({"object": "error", "message": {"detail": [{"loc": ["a"], "msg": "b"}]}}), "a: b"),
            (json!({"error": {"message": "m", "param": "p"}}), "m (parameter: p)"),
            (json!({"error": {"message": "no x", "param": "x"}}), "no x"),
            (
                json!({"error": {"message": "m", "metadata": {"provider_name": "P", "raw": "upstream"}}}),
                "P: m (its words: upstream)",
            ),
            (json!({"weird": 1}), "{\"weird\":1}"),
        ] {
            assert_eq!(of(400, &body).1, message);
        }
    }

    #[test]
    fn a_body_that_is_no_json_is_described() {
        let page = from_body(&head(502), b"<html><title>502 Bad Gateway</title>");
        assert_eq!((page.class, &*page.message), (Overload, "HTML page titled \"502 Bad Gateway\""));
        assert_eq!(from_body(&head(503), b" \n").message, "HTTP 503 without a body");
        let long = "é".repeat(3000);
        assert_eq!(from_body(&head(400), long.as_bytes()).message.len(), MAX_MESSAGE);
        assert_eq!(nonsense(&head(200), "").message, "the response has no body");
        assert_eq!(nonsense(&head(200), "hello").class, Nonsense);
    }

    #[test]
    fn the_request_id_is_the_heads_or_the_bodys() {
        let body = json!({"error": {"message": "m"}, "request_id": "req_body"});
        assert_eq!(from_json(&head(400), &body).request_id.as_deref(), Some("req_body"));
        let named = Head { request_id: Some("req_head".into()), ..head(400) };
        assert_eq!(from_json(&named, &body).request_id.as_deref(), Some("req_head"));
    }
}
