//! Anthropic's Message Batches. <https://platform.claude.com/docs/en/build-with-claude/batch-processing>,
//! <https://platform.claude.com/docs/en/api/messages/batches/create> and its neighbours (2026-11).
//!
//! | request | |
//! | --- | --- |
//! | `POST /v1/messages/batches` | `requests`: `custom_id`, `params` (the body of a message) |
//! | `GET /v1/messages/batches/{id}` | `processing_status`: `in_progress`, `canceling`, `ended`; `request_counts` |
//! | `GET /v1/messages/batches/{id}/results` | JSON lines: `custom_id`, `result.type`: `succeeded`, `errored`, `canceled`, `expired` |
//! | `POST /v1/messages/batches/{id}/cancel` | |
//! | `GET /v1/messages/batches?limit&after_id` | `data`, `has_more`, `last_id`, the newest first |
//!
//! `results_url` of a batch is the address above. A batch expires after 24 hours; what is left then is `expired`. Neither
//! errored, nor cancelled, nor expired requests are charged. A batch has no field for a mark of the caller.

use bytes::Bytes;
use http::Request;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    BatchApi, BatchEnd, BatchError, BatchLimits, BatchOutcome, BatchPart, BatchResult, BatchState,
    BatchStatus, wrong,
};
use crate::TranslateError;
use crate::anthropic::versioned;
use crate::request;

/// "A Message Batch is limited to either 100,000 Message requests or 256 MB in size, whichever is reached first."
pub(super) const LIMITS: BatchLimits = BatchLimits { parts: 100_000, bytes: 256_000_000 };

pub(super) fn get(api: &BatchApi<'_>, path: &str) -> Result<Request<Bytes>, TranslateError> {
    versioned(request::get(api.endpoint, base(api), path)?, api.endpoint, api.controls)
}

pub(super) fn post(api: &BatchApi<'_>, path: &str, body: Bytes) -> Result<Request<Bytes>, TranslateError> {
    let request = request::post_bytes(api.endpoint, base(api), path, "application/json", body)?;
    versioned(request, api.endpoint, api.controls)
}

fn base<'e>(api: &BatchApi<'e>) -> &'e str {
    let base = api.endpoint.base_url.trim().trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base)
}

pub(super) fn create(api: &BatchApi<'_>, parts: &[BatchPart<'_>]) -> Result<Request<Bytes>, TranslateError> {
    let length: usize = parts.iter().map(|part| part.body.len() + part.id.len() + 32).sum();
    let mut body = Vec::with_capacity(length + 16);
    body.extend_from_slice(b"{\"requests\":[");
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(format!("{{\"custom_id\":\"{}\",\"params\":", part.id).as_bytes());
        body.extend_from_slice(part.body);
        body.push(b'}');
    }
    body.extend_from_slice(b"]}");
    post(api, "/v1/messages/batches", body.into())
}

#[derive(Deserialize)]
pub(super) struct Batch {
    id: String,
    processing_status: String,
    request_counts: Option<Counts>,
    created_at: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

pub(super) fn status(batch: Batch) -> Result<BatchStatus, BatchError> {
    let counts = batch.request_counts.map(|counts| {
        let ended = counts.succeeded + counts.errored + counts.canceled + counts.expired;
        (ended, ended + counts.processing)
    });
    let state = match batch.processing_status.as_str() {
        "canceling" => BatchState::Canceling,
        // Each request has its line, which says what became of it.
        "ended" => BatchState::Ended(BatchEnd::Completed),
        // A status that is not known yet is not the end.
        _ => BatchState::Running,
    };
    let files = match state {
        BatchState::Ended(_) => vec![batch.id.clone()],
        BatchState::Running | BatchState::Canceling => Vec::new(),
    };
    Ok(BatchStatus {
        id: batch.id,
        state,
        counts,
        mark: None,
        created: batch.created_at,
        files,
        is_without_results: false,
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow)]
    result: Outcome<'a>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// `{"type": "error", "error": {"type": "…", "message": "…"}, "request_id": "…"}`
#[derive(Deserialize)]
struct ErrorResponse {
    error: ErrorKind,
    request_id: Option<String>,
}

#[derive(Deserialize)]
struct ErrorKind {
    #[serde(rename = "type")]
    kind: String,
}

pub(super) fn result(line: &[u8]) -> Result<BatchResult, BatchError> {
    const EXPECTED: &str = "a result of a batch";
    let Line { custom_id, result } = serde_json::from_slice(line).map_err(|error| wrong(EXPECTED, &error))?;
    let missing = |why: &str| BatchError { expected: EXPECTED, why: why.to_owned() };
    let outcome = match result.kind.as_str() {
        "succeeded" => {
            let message = result.message.ok_or_else(|| missing("no `message`"))?;
            let body = Bytes::copy_from_slice(message.get().as_bytes());
            BatchOutcome::Response { status: 200, body, request_id: None }
        }
        "errored" => {
            let error = result.error.ok_or_else(|| missing("no `error`"))?;
            let read: Option<ErrorResponse> = serde_json::from_str(error.get()).ok();
            let status = read.as_ref().map_or(500, |read| status_of(&read.error.kind));
            let body = Bytes::copy_from_slice(error.get().as_bytes());
            BatchOutcome::Response { status, body, request_id: read.and_then(|read| read.request_id) }
        }
        "expired" => BatchOutcome::Expired,
        "canceled" => BatchOutcome::Canceled,
        kind => return Err(missing(&format!("`{}` is not a known kind of result", kind.escape_debug()))),
    };
    Ok(BatchResult { id: custom_id, outcome })
}

/// The HTTP status of an error, which a result does not have.
/// <https://platform.claude.com/docs/en/api/errors> (2026-11)
fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
