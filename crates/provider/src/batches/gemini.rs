//! Gemini's Batch API, over files. <https://ai.google.dev/gemini-api/docs/batch-api>, <https://ai.google.dev/api/batch-api>
//! and `/files` (2026-11); the names of fields are those of google-genai.
//!
//! | request | |
//! | --- | --- |
//! | `POST /upload/v1beta/files` | `multipart/related`: the name of the file, and JSON lines of `key`, `request` |
//! | `POST /v1beta/models/{model}:batchGenerateContent` | `batch`: `displayName`, `inputConfig.fileName` |
//! | `GET /v1beta/batches/{id}` | an operation: `metadata.state`, `metadata.batchStats`, `error`, `response.responsesFile` |
//! | `GET /download/v1beta/files/{id}:download?alt=media` | JSON lines: `key`, `response` or `error` |
//! | `POST /v1beta/batches/{id}:cancel` | the response is empty |
//! | `GET /v1beta/batches?pageSize&pageToken` | `operations`, `nextPageToken` |
//!
//! The documentation names states both `BATCH_STATE_…` and `JOB_STATE_…`. A batch expires after 48 hours, without results.
//! Requests could be in the batch itself, up to 20 MB; their answers would then be in each status. The upload in one request
//! is that of <https://github.com/google-gemini/generative-ai-js/blob/main/src/server/file-manager.ts>.

use bytes::Bytes;
use http::Request;
use http::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{
    BatchApi, BatchEnd, BatchError, BatchLimits, BatchOutcome, BatchPage, BatchPart, BatchResult, BatchState,
    BatchStatus, parsed, wrong,
};
use crate::gemini::model;
use crate::request;
use crate::{Endpoint, TranslateError};

/// "The maximum allowed input file size is 2GB." A number of requests is not documented.
pub(super) const LIMITS: BatchLimits = BatchLimits { parts: usize::MAX, bytes: 2_000_000_000 };

/// Each line of the file is a JSON object, so none begins with it.
const BOUNDARY: &str = "converse-batch-input";
/// Bytes of a cursor.
const LONGEST_TOKEN: usize = 4096;

/// Of `google.rpc.Code`: not an error of the request.
const CANCELLED: u64 = 1;

pub(super) fn get(endpoint: &Endpoint, path: &str) -> Result<Request<Bytes>, TranslateError> {
    let (base, version) = model::base_and_version(endpoint)?;
    request::get(endpoint, base, &format!("/{version}/{path}"))
}

pub(super) fn upload(endpoint: &Endpoint, parts: &[BatchPart<'_>]) -> Result<Request<Bytes>, TranslateError> {
    let (base, version) = model::base_and_version(endpoint)?;
    let length: usize = parts.iter().map(|part| part.body.len() + part.id.len() + 32).sum();
    let mut form = Vec::with_capacity(length + 512);
    let about = json!({ "file": { "displayName": "batch.jsonl", "mimeType": "application/jsonl" } });
    let head = format!(
        "--{BOUNDARY}\r\nContent-Type: application/json; charset=utf-8\r\n\r\n{about}\r\n--{BOUNDARY}\r\n\
         Content-Type: application/jsonl\r\n\r\n"
    );
    form.extend_from_slice(head.as_bytes());
    for part in parts {
        form.extend_from_slice(format!("{{\"key\":\"{}\",\"request\":", part.id).as_bytes());
        form.extend_from_slice(part.body);
        form.extend_from_slice(b"}\n");
    }
    form.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    let kind = format!("multipart/related; boundary={BOUNDARY}");
    let mut request =
        request::post_bytes(endpoint, base, &format!("/upload/{version}/files"), &kind, form.into())?;
    let protocol = HeaderName::from_static("x-goog-upload-protocol");
    request.headers_mut().insert(protocol, HeaderValue::from_static("multipart"));
    Ok(request)
}

pub(super) fn uploaded(body: &[u8]) -> Result<String, BatchError> {
    #[derive(Deserialize)]
    struct Uploaded {
        file: File,
    }
    #[derive(Deserialize)]
    struct File {
        name: String,
    }
    const EXPECTED: &str = "an uploaded file";
    named(EXPECTED, "files/", &parsed::<Uploaded>(EXPECTED, body)?.file.name)
}

pub(super) fn create(api: &BatchApi<'_>, mark: &str, file: &str) -> Result<Request<Bytes>, TranslateError> {
    let (base, version) = model::base_and_version(api.endpoint)?;
    let path = format!("/{version}/{}:batchGenerateContent", model::path(api.model)?);
    let batch = json!({ "displayName": mark, "inputConfig": { "fileName": format!("files/{file}") } });
    let body = json!({ "batch": batch }).to_string();
    request::post_bytes(api.endpoint, base, &path, "application/json", body.into())
}

pub(super) fn cancel(endpoint: &Endpoint, id: &str) -> Result<Request<Bytes>, TranslateError> {
    let (base, version) = model::base_and_version(endpoint)?;
    let path = format!("/{version}/batches/{id}:cancel");
    request::post_bytes(endpoint, base, &path, "application/json", Bytes::from_static(b"{}"))
}

pub(super) fn results(endpoint: &Endpoint, file: &str) -> Result<Request<Bytes>, TranslateError> {
    let (base, version) = model::base_and_version(endpoint)?;
    request::get(endpoint, base, &format!("/download/{version}/files/{file}:download?alt=media"))
}

pub(super) fn list(endpoint: &Endpoint, next: Option<&str>) -> Result<Request<Bytes>, TranslateError> {
    if next.is_some_and(|token| token.len() > LONGEST_TOKEN) {
        return Err(TranslateError::Control("the cursor of a list of batches is too long".to_owned()));
    }
    let next = next.map(|token| format!("&pageToken={}", model::encoded(token))).unwrap_or_default();
    get(endpoint, &format!("batches?pageSize=100{next}"))
}

#[derive(Deserialize)]
pub(super) struct Operation {
    name: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    done: bool,
    error: Option<Fault>,
    response: Option<Output>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    state: String,
    display_name: Option<String>,
    batch_stats: Option<Counts>,
    output: Option<Output>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    responses_file: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Counts {
    #[serde(deserialize_with = "int64")]
    request_count: u64,
    #[serde(deserialize_with = "int64")]
    successful_request_count: u64,
    #[serde(deserialize_with = "int64")]
    failed_request_count: u64,
}

/// An `int64` of protobuf in JSON: a text or a number.
fn int64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let read = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    read.ok_or_else(|| serde::de::Error::custom("a count is not a number"))
}

/// `google.rpc.Status`.
#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    code: u64,
    message: Option<String>,
}

pub(super) fn status(operation: Operation) -> Result<BatchStatus, BatchError> {
    let Operation { name, metadata, done, error, response } = operation;
    let id = named("a batch", "batches/", &name)?;
    let state = match metadata.state.rsplit_once("STATE_").map_or("", |(_, state)| state) {
        "SUCCEEDED" => BatchState::Ended(BatchEnd::Completed),
        "EXPIRED" => BatchState::Ended(BatchEnd::Expired),
        "CANCELLED" => BatchState::Ended(BatchEnd::Canceled),
        "FAILED" => failed(error),
        // An operation that is done has ended, whatever its state is called.
        _ if done => match error {
            Some(fault) if fault.code == CANCELLED => BatchState::Ended(BatchEnd::Canceled),
            Some(fault) => failed(Some(fault)),
            None => BatchState::Ended(BatchEnd::Completed),
        },
        // `PENDING`, `RUNNING`; a state that is not known yet is not the end.
        _ => BatchState::Running,
    };
    let counts = metadata.batch_stats.filter(|counts| counts.request_count > 0);
    let file = [response, metadata.output].into_iter().flatten().find_map(|output| output.responses_file);
    let file = file.filter(|_| matches!(state, BatchState::Ended(_)));
    let is_lost = match &state {
        BatchState::Ended(BatchEnd::Expired | BatchEnd::Failed(_)) => true,
        // An operation that is done does not change.
        BatchState::Ended(BatchEnd::Canceled) => done,
        _ => false,
    };
    Ok(BatchStatus {
        id,
        is_without_results: is_lost && file.is_none(),
        state,
        counts: counts
            .map(|all| (all.successful_request_count + all.failed_request_count, all.request_count)),
        mark: metadata.display_name,
        created: None,
        files: file.iter().map(|file| named("a batch", "files/", file)).collect::<Result<_, _>>()?,
    })
}

fn failed(error: Option<Fault>) -> BatchState {
    let reason = error.and_then(|fault| fault.message).unwrap_or_else(|| "no reason".to_owned());
    BatchState::Ended(BatchEnd::Failed(reason))
}

/// The last part of the name of a resource.
fn named(expected: &'static str, folder: &str, name: &str) -> Result<String, BatchError> {
    let why = || format!("`{}` is not a name in `{folder}`", name.escape_debug());
    let id = name.strip_prefix(folder).ok_or_else(|| BatchError { expected, why: why() })?;
    Ok(id.to_owned())
}

#[derive(Deserialize)]
struct Line<'a> {
    key: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    error: Option<Map<String, Value>>,
}

pub(super) fn result(line: &[u8]) -> Result<BatchResult, BatchError> {
    const EXPECTED: &str = "a result of a batch";
    let Line { key, response, error } =
        serde_json::from_slice(line).map_err(|error| wrong(EXPECTED, &error))?;
    let outcome = match (response, error) {
        (_, Some(error)) => refused(error),
        (Some(response), None) => {
            let body = Bytes::copy_from_slice(response.get().as_bytes());
            BatchOutcome::Response { status: 200, body, request_id: None }
        }
        (None, None) => {
            let why = "neither a `response` nor an `error`".to_owned();
            return Err(BatchError { expected: EXPECTED, why });
        }
    };
    Ok(BatchResult { id: key, outcome })
}

/// An error of one request, in the form that the request alone would have got.
fn refused(mut error: Map<String, Value>) -> BatchOutcome {
    let code = error.get("code").and_then(Value::as_u64).unwrap_or_default();
    if code == CANCELLED {
        return BatchOutcome::Canceled;
    }
    let status = status_of(code);
    error.insert("code".to_owned(), status.into());
    let body = json!({ "error": error }).to_string();
    BatchOutcome::Response { status, body: body.into(), request_id: None }
}

/// The HTTP status of a code of `google.rpc.Code`, or the code itself if it is a status.
/// <https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto> (2026-11)
fn status_of(code: u64) -> u16 {
    match code {
        3 | 9 | 11 => 400,
        4 => 504,
        5 => 404,
        6 | 10 => 409,
        7 => 403,
        8 => 429,
        12 => 501,
        14 => 503,
        16 => 401,
        400..600 => u16::try_from(code).unwrap_or(500),
        _ => 500,
    }
}

pub(super) fn page(body: &[u8]) -> Result<BatchPage, BatchError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct List<'a> {
        #[serde(borrow, default)]
        operations: Vec<&'a RawValue>,
        next_page_token: Option<String>,
        /// Places that did not answer.
        #[serde(default)]
        unreachable: Vec<String>,
    }
    let list: List<'_> = serde_json::from_slice(body).map_err(|error| wrong("a list of batches", &error))?;
    let read = |one: &&RawValue| status(serde_json::from_str(one.get()).ok()?).ok();
    let batches: Vec<BatchStatus> = list.operations.iter().filter_map(read).collect();
    let skipped = list.operations.len() - batches.len() + list.unreachable.len();
    Ok(BatchPage { batches, skipped, next: list.next_page_token.filter(|token| !token.is_empty()) })
}
