//! [`Task`]: the state of a task that a server began instead of answering a call. No I/O; time is passed in.
//!
//! Only modern servers begin tasks, and only for `tools/call`.
//! <https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md> (checked 2026-11)

use std::collections::HashSet;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ClientCapabilities, ErrorCode, JsonObject, TASKS_EXTENSION_ID};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::rounds::{Question, questions};
use crate::sanitize;

/// Time between two polls, if the server does not suggest one; and the bounds of what it may suggest.
const INTERVAL: Duration = Duration::from_secs(1);
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(60);
const MAX_ID: usize = 1024;
const MAX_MESSAGE: usize = 1024;
/// Questions of one task.
const MAX_ANSWERED: usize = 64;

/// Adds the tasks extension to the capabilities of a client.
pub(crate) fn declare(capabilities: &mut ClientCapabilities) {
    let extensions = capabilities.extensions.get_or_insert_default();
    extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
}

/// A task of a server.
#[derive(Debug)]
pub(crate) struct Task {
    id: String,
    interval: Duration,
    due: Instant,
    message: Option<String>,
    /// Number of different status messages so far.
    changes: u32,
    /// Keys of the questions that were given out.
    asked: HashSet<String>,
}

/// What a server says about a task.
#[derive(Debug, PartialEq)]
pub(crate) enum Status {
    /// The task runs.
    Working,
    /// The task needs answers to these questions. Questions that were asked before are left out.
    NeedsInput(Vec<Question>),
    /// The result of the call as text.
    Completed(String),
    /// The error of the call.
    Failed(ErrorData),
    /// The server gave the task up, with its reason.
    Cancelled(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    result_type: Option<Value>,
    task_id: Option<Value>,
    status: Option<Value>,
    status_message: Option<Value>,
    poll_interval_ms: Option<Value>,
    input_requests: Option<Value>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Value>,
}

impl Task {
    /// Reads the answer to a call. `Ok(None)` if the answer is not a task.
    ///
    /// # Errors
    ///
    /// Why the task cannot be followed.
    pub(crate) fn begun(answer: &str, now: Instant) -> Result<Option<Self>, String> {
        // Results may be large, so only those that contain the type are parsed.
        if !answer.contains("\"task\"") {
            return Ok(None);
        }
        let Ok(wire) = serde_json::from_str::<Wire<'_>>(answer) else { return Ok(None) };
        if wire.result_type.as_ref().and_then(Value::as_str) != Some("task") {
            return Ok(None);
        }
        let id = wire.task_id.as_ref().and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.ok_or("its `taskId` is missing")?;
        if id.len() > MAX_ID {
            return Err("its `taskId` is too long".to_owned());
        }
        let mut task = Self {
            id: id.to_owned(),
            interval: INTERVAL,
            due: now,
            message: None,
            changes: 0,
            asked: HashSet::new(),
        };
        task.schedule(&wire, now);
        // What it asks or answered already is only in the answer to a poll.
        if wire.status.as_ref().and_then(Value::as_str).is_some_and(|status| status != "working") {
            task.due = now;
        }
        Ok(Some(task))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns when to poll next.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Polls later: the last poll was not answered.
    pub(crate) fn postpone(&mut self, now: Instant) {
        self.due = now + self.interval;
    }

    /// Reads the answer to a poll.
    ///
    /// # Errors
    ///
    /// Why the task cannot be followed any more.
    pub(crate) fn observe(&mut self, answer: &str, now: Instant) -> Result<Status, String> {
        let wire: Wire<'_> = serde_json::from_str(answer).map_err(|_| "its status could not be read")?;
        self.schedule(&wire, now);
        match wire.status.as_ref().and_then(Value::as_str) {
            Some("working") => Ok(Status::Working),
            Some("input_required") => {
                let mut questions = questions(wire.input_requests)?;
                questions.retain(|question| self.asked.insert(question.key.clone()));
                if self.asked.len() > MAX_ANSWERED {
                    return Err(format!("it asked for input more than {MAX_ANSWERED} times"));
                }
                Ok(Status::NeedsInput(questions))
            }
            Some("completed") => match wire.result {
                Some(result) => Ok(Status::Completed(result.get().to_owned())),
                None => Err("it is completed, but its `result` is missing".to_owned()),
            },
            Some("failed") => {
                let error = wire.error.and_then(|error| serde_json::from_value(error).ok());
                Ok(Status::Failed(error.unwrap_or_else(|| {
                    let message = self.message.clone().unwrap_or_else(|| "the task failed".to_owned());
                    ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None)
                })))
            }
            Some("cancelled") => Ok(Status::Cancelled(self.message.clone().unwrap_or_default())),
            Some(other) => Err(format!("its status `{}` is not known", sanitize::clean(other, 40))),
            None => Err("its `status` is missing".to_owned()),
        }
    }

    /// Returns the status message and its number, if it is new.
    pub(crate) fn news(&self, before: u32) -> Option<(u32, &str)> {
        (self.changes > before).then_some((self.changes, self.message.as_deref().unwrap_or_default()))
    }

    fn schedule(&mut self, wire: &Wire<'_>, now: Instant) {
        if let Some(suggested) = wire.poll_interval_ms.as_ref().and_then(Value::as_f64) {
            let most = MAX_INTERVAL.as_millis() as f64;
            let suggested = Duration::from_millis(suggested.clamp(0.0, most) as u64);
            self.interval = suggested.max(MIN_INTERVAL);
        }
        self.due = now + self.interval;
        let message = wire.status_message.as_ref().and_then(Value::as_str);
        let message = message.map(|message| sanitize::clean(message, MAX_MESSAGE));
        if let Some(message) = message.filter(|message| self.message.as_ref() != Some(message)) {
            self.message = Some(message);
            self.changes += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn begun(task: &Value) -> Result<Option<Task>, String> {
        Task::begun(&task.to_string(), Instant::now())
    }

    fn task() -> Task {
        begun(&json!({ "resultType": "task", "taskId": "t", "status": "working" })).unwrap().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_result_of_type_task_with_an_id_is_a_task() {
        for (answer, wanted) in [
            (json!({ "resultType": "task", "taskId": "a", "status": "working", "ttlMs": null }), Ok(true)),
            (json!({ "content": [{ "type": "text", "text": "\"task\"" }] }), Ok(false)),
            (json!({ "resultType": "complete", "kind": "task", "taskId": "a" }), Ok(false)),
            (json!({ "resultType": "task" }), Err("its `taskId` is missing")),
            (json!({ "resultType": "task", "taskId": 1 }), Err("its `taskId` is missing")),
            (json!({ "resultType": "task", "taskId": "" }), Err("its `taskId` is missing")),
            (json!({ "resultType": "task", "taskId": "x".repeat(1025) }), Err("its `taskId` is too long")),
        ] {
            let got = begun(&answer).map(|task| task.is_some());
            assert_eq!(got, wanted.map_err(str::to_owned), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_server_says_within_bounds_when_it_is_polled() {
        let now = Instant::now();
        for (interval, wait) in [
            (Value::Null, 1000),
            (json!("5"), 1000),
            (json!(5), 100),
            (json!(-5), 100),
            (json!(2500), 2500),
            (json!(2500.7), 2500),
            (json!(1e300), 60_000),
        ] {
            let answer = json!({ "resultType": "task", "taskId": "a", "pollIntervalMs": interval });
            let mut task = Task::begun(&answer.to_string(), now).unwrap().unwrap();
            let wanted = now + Duration::from_millis(wait);
            assert_eq!(task.due(), wanted, "{interval}");
            let later = now + Duration::from_secs(9);
            task.observe(r#"{"status":"working"}"#, later).unwrap();
            assert_eq!(task.due(), later + Duration::from_millis(wait), "{interval} stays");
        }
        let asks = json!({ "resultType": "task", "taskId": "a", "status": "completed", "pollIntervalMs": 9 });
        assert_eq!(Task::begun(&asks.to_string(), now).unwrap().unwrap().due(), now, "it is over already");
    }

    #[tokio::test(start_paused = true)]
    async fn each_status_is_read() {
        let now = Instant::now();
        let error = ErrorData::new(ErrorCode(-7), "no", None);
        let failed = ErrorData::new(ErrorCode::INTERNAL_ERROR, "so\\x1b", None);
        for (answer, wanted) in [
            (r#"{"status":"working"}"#, Ok(Status::Working)),
            (
                r#"{"status":"completed","result":{"a": 1.50}}"#,
                Ok(Status::Completed(r#"{"a": 1.50}"#.into())),
            ),
            (r#"{"status":"completed"}"#, Err("it is completed, but its `result` is missing")),
            (r#"{"status":"failed","error":{"code":-7,"message":"no"}}"#, Ok(Status::Failed(error))),
            (r#"{"status":"failed","statusMessage":"so\u001b"}"#, Ok(Status::Failed(failed))),
            (r#"{"status":"cancelled","statusMessage":"full"}"#, Ok(Status::Cancelled("full".into()))),
            (r#"{"status":"paused"}"#, Err("its status `paused` is not known")),
            (r#"{"status":1}"#, Err("its `status` is missing")),
            ("[]", Err("its status could not be read")),
            ("7", Err("its status could not be read")),
            (r#"{"status":"input_required","inputRequests":[]}"#, Err("`inputRequests` is not an object")),
        ] {
            assert_eq!(task().observe(answer, now), wanted.map_err(str::to_owned), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_asked_once_and_there_are_not_too_many() {
        let now = Instant::now();
        let asks = |keys: &[String]| {
            let questions: serde_json::Map<_, _> =
                keys.iter().map(|key| (key.clone(), json!({ "method": "roots/list" }))).collect();
            json!({ "status": "input_required", "inputRequests": questions }).to_string()
        };
        let mut task = task();
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let keys = |status: Result<Status, String>| match status {
            Ok(Status::NeedsInput(questions)) => {
                questions.into_iter().map(|question| question.key).collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(keys(task.observe(&asks(std::slice::from_ref(&a)), now)), ["a"]);
        assert_eq!(keys(task.observe(&asks(&[a.clone(), b.clone()]), now)), ["b"]);
        assert_eq!(keys(task.observe(&asks(&[a, b]), now)), Vec::<String>::new());
        let asked = (0..62).map(|n| task.observe(&asks(&[n.to_string()]), now)).filter(Result::is_ok).count();
        assert_eq!(asked, 62);
        assert!(task.observe(&asks(&["one more".to_owned()]), now).unwrap_err().contains("more than 64"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_message_is_news_once() {
        let mut task = task();
        assert_eq!(task.news(0), None);
        let says = |text: &str| json!({ "status": "working", "statusMessage": text }).to_string();
        task.observe(&says("half\u{7}"), Instant::now()).unwrap();
        assert_eq!(task.news(0), Some((1, "half\\x07")));
        task.observe(&says("half\u{7}"), Instant::now()).unwrap();
        assert_eq!(task.news(1), None);
        task.observe(&says(&"x".repeat(9000)), Instant::now()).unwrap();
        assert!(task.news(1).is_some_and(|(number, message)| number == 2 && message.len() < 1100));
    }
}
