//! Translates HTTP responses for the protocol library.

use std::collections::VecDeque;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use reqwest::Response;
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{StreamableHttpError, StreamableHttpPostResponse};
use serde_json::Value;

use super::client::{Inner, Kind, SentMessage, retry_after};
use super::error::{ClientError, HttpError};
use super::events::append;
use super::stream;
use crate::sanitize;

/// Bytes of a decompressed body, and of the body of an error response.
const MAX_BODY: usize = 16 * 1024 * 1024;
const MAX_REFUSAL: usize = 64 * 1024;
/// Bytes of a body quoted in a message.
const MAX_QUOTE: usize = 300;

pub(super) async fn interpret(
    client: &Arc<Inner>,
    sent: SentMessage,
    mut response: Response,
) -> Result<StreamableHttpPostResponse, HttpError> {
    match response.status().as_u16() {
        202 | 204 => without_body(sent, response.status().as_u16()),
        status @ (401 | 403) => Err(ClientError::Unauthorized(status).into()),
        404 if sent.in_session => Err(session_gone(sent, words_of(&mut response).await)),
        200..=299 => success(client, sent, response).await,
        _ => refused(client, sent, response).await,
    }
}

/// Handles a response without a body. In a session the answer may still arrive on the stream of the session.
fn without_body(sent: SentMessage, status: u16) -> Result<StreamableHttpPostResponse, HttpError> {
    let is_handshake = matches!(sent.kind, Kind::Initialize | Kind::Discover);
    if sent.id.is_some() && (is_handshake || !sent.in_session) {
        return Err(ClientError::Lost(format!(
            "the server accepted the request (HTTP {status}) but sent no answer"
        ))
        .into());
    }
    Ok(StreamableHttpPostResponse::Accepted)
}

/// Builds the error of a lost session. The library repeats the request, except for tool calls: their caller first
/// verifies that the tool is unchanged.
fn session_gone(sent: SentMessage, words: String) -> HttpError {
    if sent.kind == Kind::Call {
        ClientError::Gone(words).into()
    } else {
        StreamableHttpError::SessionExpired
    }
}

async fn success(
    client: &Arc<Inner>,
    sent: SentMessage,
    mut response: Response,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let session = response.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    // Notifications have no answer, so the body is ignored.
    let Some(own) = sent.id else { return Ok(StreamableHttpPostResponse::Accepted) };
    if is_events(&response) {
        let events = stream::read(Arc::clone(client), response, own);
        return Ok(StreamableHttpPostResponse::Sse(events, session));
    }
    if !is(&response, "application/json") {
        let kind = sanitize::clean(&kind(&response), 100);
        let kind = if kind.is_empty() { "no content type" } else { &kind };
        return Err(ClientError::Lost(format!(
            "the server answered with {kind} instead of JSON or an event stream"
        ))
        .into());
    }
    let Some(body) = body(&mut response, MAX_BODY).await? else {
        return Err(ClientError::Lost(format!(
            "the server answered with more than {} MiB",
            MAX_BODY / 1024 / 1024
        ))
        .into());
    };
    drop(response);
    let mut messages = VecDeque::new();
    client.decode(Some(own), &body, &mut messages);
    if !messages.iter().any(|message| stream::is_answer(message, own)) {
        let seen = String::from_utf8_lossy(body.get(..body.len().min(MAX_QUOTE)).unwrap_or_default());
        let seen = sanitize::clean(&seen, MAX_QUOTE);
        let seen = if seen.is_empty() { "nothing" } else { &seen };
        return Err(ClientError::Lost(format!("the server's answer could not be read: {seen}")).into());
    }
    drop(body);
    match messages.pop_front() {
        Some(message) if messages.is_empty() => Ok(StreamableHttpPostResponse::Json(message, session)),
        first => {
            let all = first.into_iter().chain(messages).collect();
            Ok(StreamableHttpPostResponse::Sse(stream::of(all), session))
        }
    }
}

async fn refused(
    client: &Arc<Inner>,
    sent: SentMessage,
    mut response: Response,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status().as_u16();
    if matches!(status, 429 | 502..=504) {
        return Err(ClientError::Busy { status, after: retry_after(&response) }.into());
    }
    let is_json = is(&response, "application/json") || is(&response, "application/problem+json");
    let is_html = is(&response, "text/html");
    let body = refusal(&mut response).await;
    let mut messages = VecDeque::new();
    let named = is_json && {
        // In a session only an error with the id of the request answers it: an error without an id concerns the session.
        let own = sent.id.filter(|_| !(sent.in_session && status == 400));
        client.decode(own, &body, &mut messages);
        sent.id.is_some_and(|own| messages.iter().any(|message| stream::is_answer(message, own)))
    };
    if named
        && let Some(message) = messages.into_iter().find(|one| stream::is_answer(one, sent.id.unwrap_or(-1)))
    {
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    let text = text_of(is_html, &body);
    if status == 400 && sent.in_session && sent.id.is_some() && is_about_the_session(&body) {
        return Err(session_gone(sent, text));
    }
    // Legacy servers refuse `server/discover` itself, which answers the question.
    if sent.kind == Kind::Discover && (400..500).contains(&status) {
        let error = ErrorData::invalid_request(format!("HTTP {status}: {text}"), None);
        let answer = ServerJsonRpcMessage::error(error, sent.id.map(RequestId::Number));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    Err(ClientError::Status { status, message: text }.into())
}

/// Returns whether the body is a JSON-RPC error without an id. Any other 400 may come from a tool that has run.
fn is_about_the_session(body: &[u8]) -> bool {
    let Ok(Value::Object(message)) = serde_json::from_slice(body) else { return false };
    let about_nobody = message.get("id").is_none_or(Value::is_null);
    about_nobody && message.contains_key("jsonrpc") && message.get("error").is_some_and(Value::is_object)
}

/// Returns the beginning of the body of an error response, for a message.
pub(super) async fn words_of(response: &mut Response) -> String {
    let is_html = is(response, "text/html");
    text_of(is_html, &refusal(response).await)
}

fn text_of(is_html: bool, body: &[u8]) -> String {
    if is_html { String::new() } else { sanitize::clean(&String::from_utf8_lossy(body), MAX_QUOTE) }
}

/// Returns the body of an error response; empty if it cannot be read, because the status still counts.
async fn refusal(response: &mut Response) -> Vec<u8> {
    body(response, MAX_REFUSAL).await.ok().flatten().unwrap_or_default()
}

/// Returns the body, or `None` if it has more than `most` bytes. `Content-Length` can only reject it earlier.
async fn body(response: &mut Response, most: usize) -> Result<Option<Vec<u8>>, ClientError> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > most {
            return Ok(None);
        }
        append(&mut body, &chunk, most);
    }
    Ok(Some(body))
}

pub(super) fn is_events(response: &Response) -> bool {
    is(response, "text/event-stream")
}

fn is(response: &Response, wanted: &str) -> bool {
    kind(response).get(..wanted.len()).is_some_and(|kind| kind.eq_ignore_ascii_case(wanted))
}

fn kind(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned()).unwrap_or_default()
}
