//! The batch APIs: the requests are these, and what providers send is read as this.

use std::path::{Path, PathBuf};
use std::{fs, str};

use converse_provider::{
    BatchApi, BatchEnd, BatchError, BatchOutcome, BatchPart, BatchResult, BatchState, BatchStatus, Controls,
    Endpoint, TranslateError, row,
};
use serde_json::{Value, json};

use crate::cases::expect;

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/batches");
    let mut folders: Vec<PathBuf> = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

struct Case {
    folder: PathBuf,
    setup: Value,
    endpoint: Endpoint,
}

impl Case {
    fn all() -> Vec<Self> {
        let read = |folder: PathBuf| {
            let setup: Value =
                serde_json::from_str(&fs::read_to_string(folder.join("batch.json")).unwrap()).unwrap();
            let endpoint = row(setup["provider"].as_str().unwrap()).unwrap().endpoint(None);
            Self { folder, setup, endpoint }
        };
        folders().into_iter().map(read).collect()
    }

    fn given(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.folder.join(name)).ok()
    }

    fn text(&self, key: &str) -> &str {
        self.setup[key].as_str().unwrap_or_default()
    }
}

fn shown(request: Result<http::Request<bytes::Bytes>, TranslateError>) -> Value {
    let request = match request {
        Ok(request) => request,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().into()));
    let body = str::from_utf8(request.body()).unwrap();
    let mut shown = json!({ "method": request.method().as_str(), "uri": request.uri().to_string() });
    shown["headers"] = Value::Object(headers.collect());
    match serde_json::from_str::<Value>(body) {
        _ if body.is_empty() => {}
        Ok(json) => shown["body"] = json,
        Err(_) => shown["body"] = body.split_inclusive('\n').collect(),
    }
    shown
}

#[test]
fn requests_come_out_as_written() {
    let mut count = 0;
    for case in Case::all().iter().filter(|case| case.setup.get("parts").is_some()) {
        let controls = Controls::default();
        let api = BatchApi::of(&case.endpoint, case.text("model"), &controls).unwrap();
        let parts: Vec<(String, String)> = case.setup["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|part| (part["id"].as_str().unwrap().to_owned(), part["body"].to_string()))
            .collect();
        let parts: Vec<BatchPart<'_>> =
            parts.iter().map(|(id, body)| BatchPart { id, body: body.as_bytes() }).collect();
        let (file, batch) = (case.text("file"), case.text("batch"));
        let mut requests = json!({
            "create": shown(api.create(case.text("mark"), api.has_upload().then_some(file), &parts)),
            "status": shown(api.status(batch)),
            "cancel": shown(api.cancel(batch)),
            "results": shown(api.results(if api.has_upload() { file } else { batch })),
            "list": shown(api.list(None)),
            "next": shown(api.list(Some(batch))),
        });
        if api.has_upload() {
            requests["upload"] = shown(api.upload(&parts));
        }
        expect(&case.folder.join("requests.json"), &requests);
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

fn status(status: &BatchStatus) -> Value {
    let state = match &status.state {
        BatchState::Running => json!("running"),
        BatchState::Canceling => json!("canceling"),
        BatchState::Ended(BatchEnd::Completed) => json!("completed"),
        BatchState::Ended(BatchEnd::Expired) => json!("expired"),
        BatchState::Ended(BatchEnd::Canceled) => json!("canceled"),
        BatchState::Ended(BatchEnd::Failed(why)) => json!({ "failed": why }),
    };
    let BatchStatus { id, counts, mark, created, files, .. } = status;
    let mut shown = json!({ "id": id, "state": state, "counts": counts, "mark": mark, "created": created, "files": files });
    if status.is_without_results {
        shown["is_without_results"] = json!(true);
    }
    shown
}

fn outcome(result: &BatchResult) -> Value {
    let outcome = match &result.outcome {
        BatchOutcome::Expired => json!("expired"),
        BatchOutcome::Canceled => json!("canceled"),
        BatchOutcome::Response { status, body, request_id } => {
            let body: Value = serde_json::from_slice(body).unwrap();
            json!({ "status": status, "body": body, "request_id": request_id })
        }
    };
    json!({ "id": result.id, "outcome": outcome })
}

fn read<T>(read: Result<T, BatchError>, shown: impl Fn(&T) -> Value) -> Value {
    match &read {
        Ok(read) => shown(read),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

#[test]
fn what_providers_send_is_read_as_written() {
    let mut count = 0;
    for case in Case::all() {
        let controls = Controls::default();
        let api = BatchApi::of(&case.endpoint, case.text("model"), &controls).unwrap();
        let came = if let Some(body) = case.given("status.json") {
            read(api.read_status(&body), status)
        } else if let Some(body) = case.given("list.json") {
            read(
                api.read_list(&body),
                |page| json!({ "batches": page.batches.iter().map(status).collect::<Value>(), "next": page.next }),
            )
        } else if let Some(body) = case.given("results.jsonl") {
            let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.map(|line| read(api.read_result(line), outcome)).collect()
        } else {
            continue;
        };
        expect(&case.folder.join("read.json"), &came);
        count += 1;
    }
    assert!(count >= 36, "{count}");
}

/// A line that a lost connection has cut is not a result.
#[test]
fn a_part_of_a_line_is_not_a_result() {
    for case in Case::all() {
        let controls = Controls::default();
        let api = BatchApi::of(&case.endpoint, case.text("model"), &controls).unwrap();
        let Some(body) = case.given("results.jsonl") else { continue };
        for line in body.split(|byte| *byte == b'\n') {
            for end in 0..line.len() {
                assert!(api.read_result(&line[..end]).is_err(), "{}", String::from_utf8_lossy(&line[..end]));
            }
        }
    }
}

/// What a provider calls an id becomes a part of a path only if it is one.
#[test]
fn an_id_cannot_lead_elsewhere() {
    let controls = Controls::default();
    for provider in ["anthropic", "openai-chat", "gemini"] {
        let endpoint = row(provider).unwrap().endpoint(None);
        let api = BatchApi::of(&endpoint, "m", &controls).unwrap();
        for id in ["", "a/b", "..", "a?b=c", "a#b", "a b", "é", &"a".repeat(300)] {
            assert!(api.status(id).is_err() && api.cancel(id).is_err() && api.results(id).is_err(), "{id}");
            let list = api.list(Some(id));
            if provider == "gemini" {
                // Its cursors are not ids.
                let query = list.unwrap().uri().query().unwrap().to_owned();
                let token = query.strip_prefix("pageSize=100&pageToken=").unwrap();
                assert!(!token.contains(['/', '?', '&', '=', '#', ' ', 'é']), "{token}");
            } else {
                assert!(list.is_err(), "{id}");
            }
        }
    }
    let endpoint = row("gemini").unwrap().endpoint(None);
    let api = BatchApi::of(&endpoint, "m", &controls).unwrap();
    assert!(api.list(Some(&"a".repeat(5000))).is_err());
    let ollama = row("ollama-native").unwrap().endpoint(None);
    assert!(BatchApi::of(&ollama, "m", &controls).is_none());
}
