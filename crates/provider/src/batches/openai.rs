//! OpenAI's Batch API, for Chat Completions and Responses. <https://platform.openai.com/docs/guides/batch>,
//! <https://platform.openai.com/docs/api-reference/batch> and `/files` (2026-11).
//!
//! | request | |
//! | --- | --- |
//! | `POST /files` | form data: `purpose` = `batch`, `file`: JSON lines of `custom_id`, `method`, `url`, `body` |
//! | `POST /batches` | `input_file_id`, `endpoint`, `completion_window` (`24h` alone), `metadata` |
//! | `GET /batches/{id}` | `status`, `request_counts`, `output_file_id`, `error_file_id`, `errors` |
//! | `GET /files/{id}/content` | JSON lines: `custom_id`, `response` (`status_code`, `request_id`, `body`) or `error` |
//! | `POST /batches/{id}/cancel` | `cancelling` for up to 10 minutes |
//! | `GET /batches?limit&after` | `data`, `has_more`, `last_id` |
//!
//! The error of a request that was not run has the code `batch_expired` or `batch_cancelled`. A batch that is `failed` was
//! refused as a whole: `errors.data` says why.

use bytes::Bytes;
use http::Request;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{
    BatchEnd, BatchError, BatchLimits, BatchOutcome, BatchPart, BatchResult, BatchState, BatchStatus, parsed,
    wrong,
};
use crate::request;
use crate::{Dialect, Endpoint, TranslateError};

/// "A single batch may include up to 50,000 requests, and a batch input file can be up to 200 MB in size."
pub(super) const LIMITS: BatchLimits = BatchLimits { parts: 50_000, bytes: 200_000_000 };

/// The key of the mark in `metadata`, whose values may have 512 characters.
const MARK: &str = "converse";
/// Each line of the file is a JSON object, so none begins with it.
const BOUNDARY: &str = "converse-batch-input";
/// Reasons of a refusal that are shown.
const MOST_REASONS: usize = 5;

pub(super) fn get(endpoint: &Endpoint, path: &str) -> Result<Request<Bytes>, TranslateError> {
    request::get(endpoint, endpoint.base_url.as_str(), path)
}

pub(super) fn post(endpoint: &Endpoint, path: &str, body: Bytes) -> Result<Request<Bytes>, TranslateError> {
    request::post_bytes(endpoint, endpoint.base_url.as_str(), path, "application/json", body)
}

/// The path of each part, which has `/v1` whatever the base URL is.
fn target(endpoint: &Endpoint) -> &'static str {
    match endpoint.dialect {
        Dialect::OpenAiResponses => "/v1/responses",
        _ => "/v1/chat/completions",
    }
}

pub(super) fn upload(endpoint: &Endpoint, parts: &[BatchPart<'_>]) -> Result<Request<Bytes>, TranslateError> {
    let target = target(endpoint);
    let length: usize = parts.iter().map(|part| part.body.len() + part.id.len() + 96).sum();
    let mut form = Vec::with_capacity(length + 512);
    let head = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"batch.jsonl\"\r\nContent-Type: application/jsonl\r\n\r\n"
    );
    form.extend_from_slice(head.as_bytes());
    for part in parts {
        let head =
            format!("{{\"custom_id\":\"{}\",\"method\":\"POST\",\"url\":\"{target}\",\"body\":", part.id);
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(part.body);
        form.extend_from_slice(b"}\n");
    }
    form.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    request::post_bytes(endpoint, endpoint.base_url.as_str(), "/files", &kind, form.into())
}

pub(super) fn uploaded(body: &[u8]) -> Result<String, BatchError> {
    #[derive(Deserialize)]
    struct File {
        id: String,
    }
    Ok(parsed::<File>("an uploaded file", body)?.id)
}

pub(super) fn create(endpoint: &Endpoint, mark: &str, file: &str) -> Result<Request<Bytes>, TranslateError> {
    let body = json!({
        "input_file_id": file,
        "endpoint": target(endpoint),
        "completion_window": "24h",
        "metadata": { MARK: mark },
    });
    post(endpoint, "/batches", body.to_string().into())
}

#[derive(Deserialize)]
pub(super) struct Batch {
    id: String,
    status: String,
    request_counts: Option<Counts>,
    output_file_id: Option<String>,
    error_file_id: Option<String>,
    errors: Option<Errors>,
    metadata: Option<std::collections::BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Counts {
    total: u64,
    completed: u64,
    failed: u64,
}

#[derive(Deserialize)]
struct Errors {
    #[serde(default)]
    data: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    code: Option<String>,
    message: Option<String>,
    line: Option<u64>,
}

impl Fault {
    fn text(&self) -> String {
        let place = self.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let message = self.message.as_deref().or(self.code.as_deref()).unwrap_or("no reason");
        format!("{place}{message}")
    }
}

pub(super) fn status(batch: Batch) -> Result<BatchStatus, BatchError> {
    let state = match batch.status.as_str() {
        "cancelling" => BatchState::Canceling,
        "completed" => BatchState::Ended(BatchEnd::Completed),
        "expired" => BatchState::Ended(BatchEnd::Expired),
        "cancelled" => BatchState::Ended(BatchEnd::Canceled),
        "failed" => {
            let faults = batch.errors.map(|errors| errors.data).unwrap_or_default();
            let reasons: Vec<String> = faults.iter().take(MOST_REASONS).map(Fault::text).collect();
            let reasons = if reasons.is_empty() { "no reason".to_owned() } else { reasons.join("; ") };
            BatchState::Ended(BatchEnd::Failed(reasons))
        }
        // `validating`, `in_progress`, `finalizing`; a status that is not known yet is not the end.
        _ => BatchState::Running,
    };
    let counts = batch.request_counts.filter(|counts| counts.total > 0);
    let files = [batch.output_file_id, batch.error_file_id].into_iter().flatten();
    Ok(BatchStatus {
        id: batch.id,
        files: if matches!(state, BatchState::Ended(_)) { files.collect() } else { Vec::new() },
        state,
        counts: counts.map(|counts| (counts.completed + counts.failed, counts.total)),
        created: None,
        mark: batch.metadata.and_then(|mut metadata| metadata.remove(MARK)),
        is_without_results: false,
    })
}

#[derive(Deserialize)]
struct Line<'a> {
    custom_id: String,
    #[serde(borrow)]
    response: Option<Response<'a>>,
    error: Option<LineError>,
}

#[derive(Deserialize)]
struct Response<'a> {
    status_code: u16,
    request_id: Option<String>,
    #[serde(borrow)]
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct LineError {
    code: Option<String>,
    message: Option<String>,
}

pub(super) fn result(line: &[u8]) -> Result<BatchResult, BatchError> {
    const EXPECTED: &str = "a result of a batch";
    let Line { custom_id, response, error } =
        serde_json::from_slice(line).map_err(|error| wrong(EXPECTED, &error))?;
    let outcome = match (response, error) {
        (Some(Response { status_code, request_id, body }), _) => {
            let body = Bytes::copy_from_slice(body.get().as_bytes());
            BatchOutcome::Response { status: status_code, body, request_id }
        }
        (None, Some(error)) => match error.code.as_deref() {
            Some("batch_expired") => BatchOutcome::Expired,
            Some("batch_cancelled") => BatchOutcome::Canceled,
            code => {
                let error = json!({ "error": { "code": code, "message": error.message } });
                BatchOutcome::Response { status: 500, body: error.to_string().into(), request_id: None }
            }
        },
        (None, None) => {
            let why = "neither a `response` nor an `error`".to_owned();
            return Err(BatchError { expected: EXPECTED, why });
        }
    };
    Ok(BatchResult { id: custom_id, outcome })
}
