//! [`Tasks`]: calls that their clients poll, because the servers behind the gateway began tasks for them. No I/O; time is
//! passed in.
//!
//! Ids have 128 random bits and belong to the principal that called. Tasks, what waits of their results, and how long that
//! waits are bounded.
//! <https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md> (checked 2026-11)

mod running;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, ErrorCode, InputRequest, InputRequests, InputResponses,
    Task, TaskPayload, TaskStatus,
};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use running::{RunningTask, can_follow};

use crate::principal::Principal;

/// Tasks of one principal and of all, with those whose results wait.
const MAX_EACH: usize = 64;
const MAX_ALL: usize = 1024;
/// Bytes of waiting results of one principal and of all.
const MAX_BYTES_EACH: usize = 32 * 1024 * 1024;
const MAX_BYTES_ALL: usize = 256 * 1024 * 1024;
/// How long a result waits.
const KEEP: Duration = Duration::from_secs(300);
/// The interval at which clients are asked to poll.
const POLL: Duration = Duration::from_secs(1);

/// The tasks of all clients.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<BTreeMap<String, Entry>>);

/// A point in time, for durations and for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Instant,
    stamp: Timestamp,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), stamp: Timestamp::now() }
    }
}

#[derive(Debug)]
struct Entry {
    principal: Principal,
    created: Moment,
    updated: Moment,
    message: Option<String>,
    cancel: CancellationToken,
    /// Number of questions so far.
    asked: u64,
    questions: BTreeMap<String, Question>,
    end: Option<End>,
    /// Whether the client has got the end.
    fetched: bool,
}

#[derive(Debug)]
struct Question {
    request: InputRequest,
    answer: oneshot::Sender<Value>,
}

#[derive(Debug)]
enum End {
    /// The result as JSON text.
    Completed(Arc<str>),
    Failed(ErrorData),
    Cancelled,
}

/// What a poll finds.
#[derive(Debug)]
pub(crate) struct Polled {
    task: Task,
    payload: Payload,
    /// Whether the client has got the end before.
    pub(crate) is_repeated: bool,
}

#[derive(Debug)]
enum Payload {
    Known(TaskPayload),
    /// The result as JSON text. It is not parsed while the tasks of all clients are locked.
    Result(Arc<str>),
}

impl Polled {
    /// Returns the answer to the poll. Parses the result.
    pub(crate) fn into_task(self) -> DetailedTask {
        let payload = match self.payload {
            Payload::Known(payload) => payload,
            Payload::Result(text) => {
                TaskPayload::Completed { result: serde_json::from_str(&text).unwrap_or_default() }
            }
        };
        DetailedTask::new(self.task, payload)
    }
}

impl Tasks {
    /// Begins a task. `None` if there is no room for it: the client then waits for the result of its call.
    pub(crate) fn begin(
        &self,
        id: String,
        principal: &Principal,
        cancel: CancellationToken,
        now: Moment,
    ) -> Option<()> {
        let mut tasks = self.0.lock();
        tasks.retain(|_, entry| entry.is_kept(now));
        let own = tasks.iter().filter(|(_, entry)| entry.principal == *principal);
        if own.clone().count() >= MAX_EACH {
            let oldest = own.filter(|(_, entry)| entry.fetched).min_by_key(|(_, entry)| entry.updated.at);
            let oldest = oldest.map(|(id, _)| id.clone())?;
            tasks.remove(&oldest);
        }
        if tasks.len() >= MAX_ALL {
            return None;
        }
        let entry = Entry {
            principal: principal.clone(),
            created: now,
            updated: now,
            message: None,
            cancel,
            asked: 0,
            questions: BTreeMap::new(),
            end: None,
            fetched: false,
        };
        tasks.insert(id, entry);
        Some(())
    }

    /// Returns a task that has just begun as the answer to its call.
    pub(crate) fn created(&self, id: &str) -> Option<CreateTaskResult> {
        let tasks = self.0.lock();
        Some(CreateTaskResult::new(tasks.get(id)?.task(id)))
    }

    /// Returns the state of a task of this principal.
    pub(crate) fn state(&self, id: &str, principal: &Principal, now: Moment) -> Option<Polled> {
        self.with(id, principal, now, |entry| {
            let is_repeated = std::mem::replace(&mut entry.fetched, entry.end.is_some());
            Polled { task: entry.task(id), payload: entry.payload(), is_repeated }
        })
    }

    /// Answers open questions of a task. Answers to others are ignored.
    pub(crate) fn answer(
        &self,
        id: &str,
        principal: &Principal,
        answers: InputResponses,
        now: Moment,
    ) -> Option<()> {
        self.with(id, principal, now, |entry| {
            for (key, answer) in answers {
                if let Some(question) = entry.questions.remove(&key) {
                    entry.updated = now;
                    // The server may have taken its question back.
                    let _ = question.answer.send(answer);
                }
            }
        })
    }

    fn is_any_running(&self) -> bool {
        self.0.lock().values().any(|entry| entry.end.is_none())
    }

    /// Asks a task to end.
    pub(crate) fn cancel(&self, id: &str, principal: &Principal, now: Moment) -> Option<()> {
        self.with(id, principal, now, |entry| entry.cancel.cancel())
    }

    /// Sets the status message of a running task.
    fn tell(&self, id: &str, message: String, now: Moment) {
        if let Some(entry) = self.0.lock().get_mut(id) {
            (entry.message, entry.updated) = (Some(message), now);
        }
    }

    /// Puts a question to the client. Returns its key and the answer.
    fn ask(
        &self,
        id: &str,
        request: InputRequest,
        now: Moment,
    ) -> Option<(String, oneshot::Receiver<Value>)> {
        let mut tasks = self.0.lock();
        let entry = tasks.get_mut(id)?;
        let (answer, answered) = oneshot::channel();
        entry.asked += 1;
        let key = format!("q{}", entry.asked);
        entry.questions.insert(key.clone(), Question { request, answer });
        entry.updated = now;
        Some((key, answered))
    }

    fn withdraw(&self, id: &str, key: &str) {
        if let Some(entry) = self.0.lock().get_mut(id) {
            entry.questions.remove(key);
        }
    }

    /// The call of a task has ended.
    fn end(&self, id: &str, answer: &Result<CallToolResponse, ErrorData>, now: Moment) {
        let mut tasks = self.0.lock();
        tasks.retain(|_, entry| entry.is_kept(now));
        let Some(Entry { principal, cancel, .. }) = tasks.get(id) else { return };
        let is_cancelled = cancel.is_cancelled();
        let end = match answer {
            Ok(CallToolResponse::Complete(result)) if is_cancelled && result.is_error == Some(true) => {
                End::Cancelled
            }
            Ok(CallToolResponse::Complete(result)) => match completed(result) {
                Some(text) if has_room(&tasks, principal, text.len()) => End::Completed(text),
                Some(_) => failed("the result is larger than what can wait for its client"),
                None => failed("the result could not be written"),
            },
            Err(_) if is_cancelled => End::Cancelled,
            Err(error) => End::Failed(error.clone()),
            Ok(_) => failed("the server asks for input in a way that a task cannot"),
        };
        if let Some(entry) = tasks.get_mut(id) {
            if let End::Failed(error) = &end {
                entry.message = Some(error.message.to_string());
            }
            (entry.end, entry.updated) = (Some(end), now);
            entry.questions.clear();
        }
    }

    /// Forgets a task whose client got the result of the call instead.
    fn forget(&self, id: &str) {
        self.0.lock().remove(id);
    }

    fn with<T>(
        &self,
        id: &str,
        principal: &Principal,
        now: Moment,
        act: impl FnOnce(&mut Entry) -> T,
    ) -> Option<T> {
        let mut tasks = self.0.lock();
        let entry = tasks.get_mut(id)?;
        (entry.principal == *principal && entry.is_kept(now)).then(|| act(entry))
    }
}

fn completed(result: &impl Serialize) -> Option<Arc<str>> {
    serde_json::to_string(result).ok().map(Into::into)
}

fn failed(why: &'static str) -> End {
    End::Failed(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None))
}

/// Returns whether a result of so many bytes may wait.
fn has_room(tasks: &BTreeMap<String, Entry>, principal: &Principal, bytes: usize) -> bool {
    let waiting = |own: bool| -> usize {
        let counted = tasks.values().filter(|entry| !own || entry.principal == *principal);
        counted.map(Entry::bytes).sum()
    };
    waiting(true) + bytes <= MAX_BYTES_EACH && waiting(false) + bytes <= MAX_BYTES_ALL
}

impl Entry {
    fn is_kept(&self, now: Moment) -> bool {
        self.end.is_none() || now.at < self.updated.at + KEEP
    }

    fn bytes(&self) -> usize {
        match &self.end {
            Some(End::Completed(text)) => text.len(),
            _ => 0,
        }
    }

    fn task(&self, id: &str) -> Task {
        let stamp = |moment: Moment| moment.stamp.to_string();
        let mut task = Task::new(id, TaskStatus::Working, stamp(self.created), stamp(self.updated));
        task.status_message.clone_from(&self.message);
        task.poll_interval_ms = Some(POLL.as_millis() as u64);
        // A running task lasts until the time-out of its call, which pauses while its client is asked.
        let kept = self.updated.at + KEEP - self.created.at;
        task.ttl_ms = self.end.is_some().then_some(kept.as_millis() as u64);
        task
    }

    fn payload(&self) -> Payload {
        Payload::Known(match &self.end {
            Some(End::Completed(text)) => return Payload::Result(Arc::clone(text)),
            Some(End::Failed(error)) => {
                let error = serde_json::to_value(error).unwrap_or_default();
                TaskPayload::Failed { error: error.as_object().cloned().unwrap_or_default() }
            }
            Some(End::Cancelled) => TaskPayload::Cancelled,
            None if self.questions.is_empty() => TaskPayload::Working,
            None => {
                let open = self.questions.iter();
                let input_requests: InputRequests =
                    open.map(|(key, question)| (key.clone(), question.request.clone())).collect();
                TaskPayload::InputRequired { input_requests }
            }
        })
    }
}

/// Reads a request of a server as one that a result can contain.
fn input_request(method: &str, params: &Value) -> Option<InputRequest> {
    let mut request = json!({ "method": method });
    if !params.is_null() {
        request["params"] = params.clone();
    }
    serde_json::from_value(request).ok()
}

#[cfg(test)]
mod tests;
