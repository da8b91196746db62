//! A provider with a batch API on loopback. It holds every request against what the vendor accepts.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::body::Dialect;
use crate::check;
use crate::env::TestEnv;
use crate::http::{Answer, Request, serve};
use crate::provider::KEY;

/// What becomes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is answered with its own question.
    Says,
    /// Refused, with a 400.
    Errors,
    Expires,
    /// There is no line for it.
    Nothing,
}

pub(super) struct Batch {
    pub(super) id: String,
    mark: Option<String>,
    /// Id and body of each part.
    pub(super) parts: Vec<(String, Value)>,
    looks: usize,
    is_cancelled: bool,
}

impl Batch {
    /// It has ended, whatever the provider waits for.
    pub(super) fn looked_at(&mut self) {
        self.looks = usize::MAX / 2;
    }
}

#[derive(Default)]
pub(super) struct State {
    pub(super) batches: Vec<Batch>,
    files: BTreeMap<String, Vec<(String, Value)>>,
    /// Answers to the next requests whose method and path begin so, in this order. A batch is created all the same if
    /// the second value says so.
    pub(super) faults: VecDeque<(&'static str, bool, Answer)>,
    pub(super) requests: Vec<String>,
    pub(super) breaches: Vec<String>,
    /// The next files of answers end after this many lines, with the whole length announced or not.
    pub(super) cuts: VecDeque<(f64, bool)>,
    /// Looks at a batch before it has ended.
    pub(super) patience: usize,
    /// The next lists show no batch.
    pub(super) unlisted: usize,
    pub(super) list: Listing,
    /// Results are not there any more.
    pub(super) is_without_results: bool,
    /// What comes after the last result.
    pub(super) tail: String,
    /// Batches end in this state, without results. For Gemini.
    pub(super) end: Option<&'static str>,
}

/// What lists of batches are like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Listing {
    #[default]
    Whole,
    /// With an entry that cannot be read.
    Odd,
    /// There is more, and nothing says where.
    Cut,
    /// Each page has another one after it.
    Endless,
}

pub(super) struct Vendor {
    dialect: Dialect,
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Vendor {
    pub(super) fn new(dialect: Dialect, fate: impl Fn(&str) -> Fate + Send + Sync + 'static) -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        let port = serve(move |request| answer(dialect, &mut shared.lock().unwrap(), &request, &fate));
        Self { dialect, port, state }
    }

    pub(super) fn all() -> impl Iterator<Item = Self> {
        [Dialect::Anthropic, Dialect::Chat, Dialect::Responses, Dialect::Gemini].into_iter().map(Self::usual)
    }

    pub(super) fn gemini() -> Self {
        Self::usual(Dialect::Gemini)
    }

    fn usual(dialect: Dialect) -> Self {
        Self::new(dialect, |question| match question {
            "errors" => Fate::Errors,
            "expires" => Fate::Expires,
            "nothing" => Fate::Nothing,
            _ => Fate::Says,
        })
    }

    /// Whether a part can expire alone, and what was answered before a cancellation is given out.
    pub(super) fn ends_in_parts(&self) -> bool {
        self.dialect != Dialect::Gemini
    }

    pub(super) fn model(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "anthropic/stub",
            Dialect::Responses => "openai-responses/stub",
            Dialect::Gemini => "gemini/stub",
            _ => "openai-chat/stub",
        }
    }

    /// A home in which the price of the model is known.
    pub(super) fn env(&self) -> TestEnv {
        let env = TestEnv::new();
        let settings = format!(
            "[timeouts]\nretry_first = 1\nretry_cap = 5\n[models.\"{}\"]\nprice = {{ input = 100.0, output = 100.0 }}\n",
            self.model()
        );
        env.write("home/.config/converse/config.toml", &settings);
        let base = format!("http://127.0.0.1:{}", self.port);
        match self.dialect {
            Dialect::Anthropic => env.var("ANTHROPIC_BASE_URL", base).var("ANTHROPIC_API_KEY", KEY),
            Dialect::Gemini => env.var("GEMINI_BASE_URL", base).var("GEMINI_API_KEY", KEY),
            _ => env.var("OPENAI_BASE_URL", base + "/v1").var("OPENAI_API_KEY", KEY),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Answers the next request that begins so with this.
    pub(super) fn fault(&self, request: &'static str, answer: Answer) {
        self.state().faults.push_back((request, false, answer));
    }

    /// The request with which a batch is created.
    pub(super) fn creation(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "POST /v1/messages/batches",
            _ => "POST /v1/batches",
        }
    }

    /// The request for results.
    pub(super) fn download(&self) -> &'static str {
        match self.dialect {
            Dialect::Anthropic => "GET /v1/messages/batches/batch_0/results",
            _ => "GET /v1/files/out-batch_0/content",
        }
    }

    #[track_caller]
    pub(super) fn is_content(&self) {
        let state = self.state();
        assert!(state.breaches.is_empty(), "{}", state.breaches.join("\n"));
        assert!(state.faults.is_empty(), "{} faults were not met", state.faults.len());
    }
}

fn answer(dialect: Dialect, state: &mut State, request: &Request, fate: &dyn Fn(&str) -> Fate) -> Answer {
    let path = if dialect == Dialect::Gemini { gemini_path(request) } else { request.path.clone() };
    let named = format!("{} {path}", request.method);
    state.requests.push(named.clone());
    let key = match dialect {
        Dialect::Anthropic => ("x-api-key", KEY.to_owned()),
        Dialect::Gemini => ("x-goog-api-key", KEY.to_owned()),
        _ => ("authorization", format!("Bearer {KEY}")),
    };
    if request.header(key.0) != Some(&key.1) {
        return error(401, "authentication_error", "invalid key");
    }
    if dialect == Dialect::Anthropic && request.header("anthropic-version").is_none() {
        state.breaches.push("no version".to_owned());
    }
    let fault = state.faults.iter().position(|(begin, ..)| named.starts_with(begin));
    let fault = fault.and_then(|at| state.faults.remove(at));
    let instead = match fault {
        Some((_, false, answer)) => return answer,
        fault => fault.map(|(_, _, answer)| answer),
    };
    let path: Vec<&str> = path.split('?').next().unwrap().trim_start_matches("/v1/").split('/').collect();
    let path = path.strip_prefix(&["messages"]).unwrap_or(&path);
    let answered = match (request.method.as_str(), path) {
        ("POST", ["files"]) => upload(dialect, state, request),
        ("POST", ["batches"]) => create(dialect, state, request),
        ("GET", ["batches"]) => {
            let batches = state.batches.iter().rev().filter(|_| state.unlisted == 0);
            let mut data: Vec<Value> =
                batches.map(|batch| shown(dialect, batch, state.patience, state.end)).collect();
            state.unlisted = state.unlisted.saturating_sub(1);
            if state.list == Listing::Odd {
                data.push(json!({ "id": 7 }));
            }
            let is_endless = state.list == Listing::Endless;
            let last = is_endless.then_some("batch_x");
            let has_more = is_endless || state.list == Listing::Cut;
            if dialect == Dialect::Gemini {
                let unreachable = if state.list == Listing::Cut { json!(["there"]) } else { json!([]) };
                let next = last.map(|last| format!("{last}/+=="));
                let list = json!({ "operations": data, "nextPageToken": next, "unreachable": unreachable });
                return instead.unwrap_or(ok(&list));
            }
            ok(&json!({ "data": data, "has_more": has_more, "first_id": null, "last_id": last }))
        }
        ("GET", ["batches", id]) => {
            let (patience, end) = (state.patience, state.end);
            match state.batches.iter_mut().find(|batch| batch.id == *id) {
                Some(batch) => {
                    batch.looks += 1;
                    ok(&shown(dialect, batch, patience, end))
                }
                None => error(404, "not_found_error", "no such batch"),
            }
        }
        ("POST", ["batches", id, "cancel"]) => {
            let patience = state.patience;
            let batch = state.batches.iter_mut().find(|batch| batch.id == *id).unwrap();
            batch.is_cancelled = true;
            let is_gemini = dialect == Dialect::Gemini;
            ok(&if is_gemini { json!({}) } else { shown(dialect, batch, patience, None) })
        }
        ("GET", ["batches", _, "results"] | ["files", _, "content"]) if state.is_without_results => {
            error(404, "not_found_error", "no such file")
        }
        ("GET", ["batches", id, "results"]) => cut(state, results(dialect, state, id, true, fate)),
        ("GET", ["files", file, "content"]) => {
            let (kind, id) = file.split_once('-').unwrap();
            let answer = results(dialect, state, id, kind == "out", fate);
            if kind == "out" { cut(state, answer) } else { answer }
        }
        _ => {
            state.breaches.push(format!("a request to {named}"));
            error(404, "not_found_error", "no such path")
        }
    };
    instead.unwrap_or(answered)
}

/// The address that the same request has at the others.
fn gemini_path(request: &Request) -> String {
    let path = request.path.as_str();
    let plain = |rest: &str| !rest.contains(['/', ':']);
    if request.method == "POST" {
        let cancelled = path
            .strip_prefix("/v1beta/batches/")
            .and_then(|rest| rest.strip_suffix(":cancel"))
            .filter(|id| plain(id));
        return match (path, cancelled) {
            ("/upload/v1beta/files", _) => "/v1/files".to_owned(),
            ("/v1beta/models/stub:batchGenerateContent", _) => "/v1/batches".to_owned(),
            (_, Some(id)) => format!("/v1/batches/{id}/cancel"),
            _ => path.to_owned(),
        };
    }
    let file = path
        .strip_prefix("/download/v1beta/files/")
        .and_then(|rest| rest.strip_suffix(":download?alt=media"));
    match (file.filter(|file| plain(file)), path.strip_prefix("/v1beta/batches")) {
        (Some(file), _) => format!("/v1/files/{file}/content"),
        (None, Some(rest)) => format!("/v1/batches{rest}"),
        (None, None) => path.to_owned(),
    }
}

fn cut(state: &mut State, mut answer: Answer) -> Answer {
    let Some((lines, is_announced)) = state.cuts.pop_front() else { return answer };
    let line = answer.body.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let end = (lines * line as f64) as usize;
    if is_announced {
        answer.cut_at = Some(end);
    } else {
        answer.body.truncate(end);
        // Without a length.
        answer.piece = 100_000;
    }
    answer
}

fn ok(body: &Value) -> Answer {
    Answer::new(200, "application/json", body.to_string())
}

pub(super) fn error(status: u16, kind: &str, message: &str) -> Answer {
    let body = json!({ "type": "error", "error": { "type": kind, "message": message } });
    Answer::new(status, "application/json", body.to_string())
}

/// Checks the parts as the vendor would check each alone.
fn check_parts(dialect: Dialect, state: &mut State, request: &Request, parts: &[(String, Value)]) {
    let mut seen = BTreeSet::new();
    for (id, body) in parts {
        let is_id = (1..=64).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        if !is_id || !seen.insert(id) {
            state.breaches.push(format!("custom_id {id}"));
        }
        if body.get("stream").is_some() || body.get("tools").is_some() {
            state.breaches.push(format!("a stream or tools in {body}"));
        }
        let mut alone = request.clone();
        alone.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        alone.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        alone.body = body.to_string().into_bytes();
        state.breaches.extend(check::breach(dialect, true, &alone));
    }
    if parts.is_empty() {
        state.breaches.push("an empty batch".to_owned());
    }
}

fn upload(dialect: Dialect, state: &mut State, request: &Request) -> Answer {
    let kind = request.header("content-type").unwrap_or_default();
    let is_gemini = dialect == Dialect::Gemini;
    let form = if is_gemini { "multipart/related; boundary=" } else { "multipart/form-data; boundary=" };
    let Some(boundary) = kind.strip_prefix(form) else {
        state.breaches.push(format!("content-type {kind}"));
        return error(400, "invalid_request_error", "not a form");
    };
    let body = String::from_utf8(request.body.clone()).unwrap();
    let sections: Vec<&str> = body.split(&format!("--{boundary}")).collect();
    let [_, purpose, file, end] = sections[..] else { panic!("{} sections", sections.len()) };
    let wanted = match is_gemini {
        true => "\"mimeType\":\"application/jsonl\"}}\r\n",
        false => "name=\"purpose\"\r\n\r\nbatch\r\n",
    };
    if !purpose.ends_with(wanted) || !end.starts_with("--") {
        state.breaches.push(format!("purpose {purpose}"));
    }
    if is_gemini && request.header("x-goog-upload-protocol") != Some("multipart") {
        state.breaches.push("no protocol of the upload".to_owned());
    }
    let (_, lines) = file.split_once("\r\n\r\n").unwrap();
    let target = if dialect == Dialect::Responses { "/v1/responses" } else { "/v1/chat/completions" };
    let part = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if is_gemini {
            return (line["key"].as_str().unwrap().to_owned(), line["request"].take());
        }
        assert_eq!((&line["method"], &line["url"]), (&json!("POST"), &json!(target)));
        (line["custom_id"].as_str().unwrap().to_owned(), line["body"].take())
    };
    let parts: Vec<_> = lines.lines().filter(|line| !line.is_empty()).map(part).collect();
    check_parts(dialect, state, request, &parts);
    let id = format!("file-{}", state.files.len());
    state.files.insert(id.clone(), parts);
    if is_gemini {
        return ok(
            &json!({ "file": { "name": format!("files/{id}"), "state": "ACTIVE", "sizeBytes": "1" } }),
        );
    }
    ok(&json!({ "id": id, "object": "file", "purpose": "batch" }))
}

fn create(dialect: Dialect, state: &mut State, request: &Request) -> Answer {
    let mut body: Value = serde_json::from_slice(&request.body).unwrap();
    let (parts, mark) = if dialect == Dialect::Anthropic {
        let part = |part: &mut Value| (part["custom_id"].as_str().unwrap().to_owned(), part["params"].take());
        let parts: Vec<_> = body["requests"].as_array_mut().unwrap().iter_mut().map(part).collect();
        check_parts(dialect, state, request, &parts);
        (parts, None)
    } else if dialect == Dialect::Gemini {
        let batch = &body["batch"];
        let file = batch["inputConfig"]["fileName"].as_str().unwrap_or_default();
        let Some(parts) = file.strip_prefix("files/").and_then(|file| state.files.get(file)) else {
            return error(400, "INVALID_ARGUMENT", "no file");
        };
        (parts.clone(), batch["displayName"].as_str().map(str::to_owned))
    } else {
        let file = body["input_file_id"].as_str().unwrap_or_default();
        let Some(parts) = state.files.get(file) else {
            return error(400, "invalid_request_error", "no file");
        };
        if body["completion_window"] != "24h" {
            state.breaches.push("completion_window".to_owned());
        }
        (parts.clone(), body["metadata"]["converse"].as_str().map(str::to_owned))
    };
    let id = format!("batch_{}", state.batches.len());
    let batch = Batch { id, mark, parts, looks: 0, is_cancelled: false };
    let answer = ok(&shown(dialect, &batch, 1, None));
    state.batches.push(batch);
    answer
}

/// A batch of Gemini is a long-running operation, whose numbers are texts.
fn shown_by_gemini(batch: &Batch, has_ended: bool, end: Option<&str>) -> Value {
    let all = batch.parts.len();
    let pending = if has_ended { 0 } else { all };
    let stats = json!({ "requestCount": all.to_string(), "successfulRequestCount": (all - pending).to_string(),
        "pendingRequestCount": pending.to_string() });
    let end = if batch.is_cancelled { Some("CANCELLED") } else { end };
    let state = if has_ended { end.unwrap_or("SUCCEEDED") } else { "RUNNING" };
    let state = format!("BATCH_STATE_{state}");
    let metadata = json!({ "@type": "type.googleapis.com/GenerateContentBatch", "model": "models/stub",
        "displayName": batch.mark, "state": state, "batchStats": stats, "createTime": "2020-01-01T00:00:00.5Z" });
    let mut shown = json!({ "name": format!("batches/{}", batch.id), "metadata": metadata });
    if has_ended {
        shown["done"] = json!(true);
        match end {
            Some(end) => shown["error"] = json!({ "code": 13, "message": format!("the batch is {end}") }),
            None => shown["response"] = json!({ "responsesFile": format!("files/out-{}", batch.id) }),
        }
    }
    shown
}

fn shown(dialect: Dialect, batch: &Batch, patience: usize, end: Option<&str>) -> Value {
    let has_ended = batch.is_cancelled || batch.looks > patience;
    let all = batch.parts.len();
    if dialect == Dialect::Gemini {
        return shown_by_gemini(batch, has_ended, end);
    }
    if dialect == Dialect::Anthropic {
        let ended = if has_ended { all } else { 0 };
        return json!({
            "id": batch.id, "type": "message_batch", "processing_status": if has_ended { "ended" } else { "in_progress" },
            "request_counts": { "processing": all - ended, "succeeded": ended, "errored": 0, "canceled": 0, "expired": 0 },
            "created_at": "2999-01-01T00:00:00Z", "results_url": "http://elsewhere.invalid/",
        });
    }
    let status = match (has_ended, batch.is_cancelled) {
        (false, _) => "in_progress",
        (true, false) => "completed",
        (true, true) => "cancelled",
    };
    json!({
        "id": batch.id, "object": "batch", "status": status, "errors": null, "metadata": { "converse": batch.mark },
        "request_counts": { "total": all, "completed": if has_ended { all } else { 0 }, "failed": 0 },
        "output_file_id": has_ended.then(|| format!("out-{}", batch.id)),
        "error_file_id": has_ended.then(|| format!("err-{}", batch.id)),
    })
}

/// The last part first. After a cancellation only the last one was answered.
fn results(
    dialect: Dialect,
    state: &State,
    id: &str,
    wants_answers: bool,
    fate: &dyn Fn(&str) -> Fate,
) -> Answer {
    let batch = state.batches.iter().find(|batch| batch.id == id).unwrap();
    let mut lines = String::new();
    for (number, (id, body)) in batch.parts.iter().enumerate().rev() {
        let question = question(body);
        let cancelled = batch.is_cancelled && number + 1 < batch.parts.len();
        let fate = fate(&question);
        if fate == Fate::Nothing && !cancelled {
            continue;
        }
        let line = if dialect == Dialect::Anthropic {
            let result = match fate {
                _ if cancelled => json!({ "type": "canceled" }),
                Fate::Expires => json!({ "type": "expired" }),
                Fate::Errors => {
                    let error = json!({ "type": "invalid_request_error", "message": "bad part" });
                    json!({ "type": "errored", "error": { "type": "error", "error": error } })
                }
                _ => json!({ "type": "succeeded", "message": reply(dialect, &question) }),
            };
            json!({ "custom_id": id, "result": result })
        } else if dialect == Dialect::Gemini {
            match fate {
                Fate::Errors => json!({ "key": id, "error": { "code": 3, "message": "bad part" } }),
                Fate::Expires => json!({ "key": id, "error": { "code": 8, "message": "quota" } }),
                _ => json!({ "response": reply(dialect, &question), "key": id }),
            }
        } else {
            let response = |status: u16, body: Value| json!({ "status_code": status, "request_id": "req_1", "body": body });
            let (response, error) = match fate {
                _ if cancelled => (Value::Null, json!({ "code": "batch_cancelled", "message": "cancelled" })),
                Fate::Expires => (Value::Null, json!({ "code": "batch_expired", "message": "late" })),
                Fate::Errors => (response(400, json!({ "error": { "message": "bad part" } })), Value::Null),
                _ => (response(200, reply(dialect, &question)), Value::Null),
            };
            let is_answer = fate == Fate::Says && !cancelled;
            if is_answer != wants_answers {
                continue;
            }
            json!({ "id": "batch_req", "custom_id": id, "response": response, "error": error })
        };
        lines.push_str(&format!("{line}\n"));
    }
    Answer::new(200, "application/octet-stream", lines + &state.tail)
}

/// The last words of the user.
fn question(body: &Value) -> String {
    let messages = ["messages", "input", "contents"].iter().find_map(|key| body[*key].as_array()).unwrap();
    let message = messages.last().unwrap();
    let content = message.get("content").unwrap_or(&message["parts"]);
    let last = content.as_array().and_then(|blocks| blocks.last());
    let text = content.as_str().or(last.and_then(|block| block["text"].as_str()));
    text.unwrap_or_else(|| panic!("{body}")).to_owned()
}

fn reply(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Anthropic => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "stop_reason": "end_turn",
            "stop_sequence": null, "content": [{ "type": "text", "text": text }],
            "usage": { "input_tokens": 10, "output_tokens": 5 },
        }),
        Dialect::Responses => json!({
            "id": "resp_1", "object": "response", "created_at": 1, "model": "stub", "status": "completed", "error": null,
            "output": [{ "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }] }],
            "usage": { "input_tokens": 10, "output_tokens": 5, "total_tokens": 15 },
        }),
        Dialect::Gemini => json!({
            "candidates": [{ "content": { "role": "model", "parts": [{ "text": text }] }, "finishReason": "STOP", "index": 0 }],
            "modelVersion": "stub", "responseId": "response-1",
            "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
        }),
        _ => json!({
            "id": "c", "object": "chat.completion", "created": 1, "model": "stub",
            "choices": [{ "index": 0, "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
        }),
    }
}
