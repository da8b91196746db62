//! `POST /v1/responses` and the routes of stored responses: the objects.
//!
//! Source: `types/responses/response.py`, PyPI `openai` 3.54.0, November 2026. Extension: `usage.cost`.

use serde::Serialize;
use serde_json::{Map, Value};

use super::responses_item::{Item, Status};
use super::responses_output::{Output, Watch};
use super::usage::ResponsesUsage;
use super::{ApiError, FailureKind, Finish, Spent, TurnEvent};

/// What a response says about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseHead {
    /// `resp_…`; the ids of items are made of it.
    pub id: String,
    /// Unix time in seconds.
    pub created_at: u64,
    /// The model as the client named it.
    pub model: String,
    pub parameters: Parameters,
    /// The answer is JSON: text that the model wrote before its last reply is left out.
    pub last_reply_only: bool,
}

/// Parameters of the request that the response repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    pub(super) background: bool,
    pub(super) instructions: Option<String>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) max_tool_calls: Option<u32>,
    pub(super) parallel_tool_calls: bool,
    pub(super) previous_response_id: Option<String>,
    pub(super) reasoning: Value,
    pub(super) safety_identifier: Option<String>,
    pub(super) store: bool,
    pub(super) temperature: Option<f64>,
    pub(super) text: Value,
    pub(super) tool_choice: Value,
    pub(super) tools: Vec<Value>,
    pub(super) top_p: Option<f64>,
    pub(super) metadata: Map<String, Value>,
}

/// Status of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseStatus {
    Queued,
    InProgress,
    Completed,
    Incomplete,
    Failed,
    Cancelled,
}

/// A response, which grows by the events of its turn.
#[derive(Debug)]
pub struct ResponseState {
    head: ResponseHead,
    status: ResponseStatus,
    output: Output,
    spent: Spent,
    completed_at: Option<u64>,
    error: Option<Failed>,
    incomplete: Option<Incomplete>,
}

#[derive(Debug, Clone, Serialize)]
struct Failed {
    code: &'static str,
    message: String,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Incomplete {
    reason: &'static str,
}

impl ResponseState {
    /// A response whose turn runs, or waits to run if it is `queued`.
    pub fn new(head: ResponseHead, queued: bool) -> Self {
        let status = if queued { ResponseStatus::Queued } else { ResponseStatus::InProgress };
        let output = Output::new(&head.id, head.last_reply_only);
        let spent = Spent::default();
        Self { head, status, output, spent, completed_at: None, error: None, incomplete: None }
    }

    pub fn id(&self) -> &str {
        &self.head.id
    }

    pub fn status(&self) -> ResponseStatus {
        self.status
    }

    /// Returns whether the turn has ended.
    pub fn is_over(&self) -> bool {
        !matches!(self.status, ResponseStatus::Queued | ResponseStatus::InProgress)
    }

    /// Begins the turn of a queued response.
    pub fn begin(&mut self) {
        if self.status == ResponseStatus::Queued {
            self.status = ResponseStatus::InProgress;
        }
    }

    /// Adds an event. `now` is the Unix time in seconds. Events after the end are left out.
    pub fn push(&mut self, event: &TurnEvent, now: u64) {
        self.watched(event, now, &mut ());
    }

    /// Ends the response because it was cancelled.
    pub fn cancel(&mut self) {
        self.cancelled(&mut ());
    }

    /// Returns the body of the HTTP reply: the object `response`.
    pub fn body(&self) -> Vec<u8> {
        serde_json::to_vec(&self.object()).unwrap_or_default()
    }

    pub(super) fn watched(&mut self, event: &TurnEvent, now: u64, watch: &mut dyn Watch) {
        if self.is_over() {
            return;
        }
        self.begin();
        match event {
            TurnEvent::Usage { usage, cost } => {
                self.spent.add(*usage, *cost);
                self.output.push(event, watch);
            }
            TurnEvent::Done(finish) => self.done(*finish, now, watch),
            TurnEvent::Failed(error) => self.fail(error, watch),
            _ => self.output.push(event, watch),
        }
    }

    /// Returns whether text of this reply was reported to the watcher.
    pub(super) fn has_reported_text(&self) -> bool {
        self.output.has_reported_text()
    }

    fn done(&mut self, finish: Finish, now: u64, watch: &mut dyn Watch) {
        let reason = match finish {
            Finish::Stop | Finish::ToolCalls => None,
            Finish::Length => Some("max_output_tokens"),
            Finish::ContentFilter => Some("content_filter"),
        };
        self.output.end(if reason.is_none() { Status::Completed } else { Status::Incomplete }, watch);
        match reason {
            None => {
                self.status = ResponseStatus::Completed;
                self.completed_at = Some(now);
            }
            Some(reason) => {
                self.status = ResponseStatus::Incomplete;
                self.incomplete = Some(Incomplete { reason });
            }
        }
    }

    fn fail(&mut self, error: &ApiError, watch: &mut dyn Watch) {
        self.output.without_answer();
        self.output.end(Status::Incomplete, watch);
        // The library's type has a closed list of codes.
        let code = match error.status {
            429 => "rate_limit_exceeded",
            400..=499 => "invalid_prompt",
            _ => "server_error",
        };
        self.status = ResponseStatus::Failed;
        self.error = Some(Failed { code, message: error.message.clone() });
    }

    pub(super) fn cancelled(&mut self, watch: &mut dyn Watch) {
        if !self.is_over() {
            self.output.without_answer();
            self.output.end(Status::Incomplete, watch);
            self.status = ResponseStatus::Cancelled;
        }
    }

    /// The text that was sent is void.
    pub(super) fn void() -> TurnEvent {
        let message = "the model was asked again after a part of its answer was sent";
        TurnEvent::Failed(ApiError::failure(FailureKind::ProviderUnreachable, message))
    }

    pub(super) fn object(&self) -> Object<'_> {
        let Self { head, status, output, spent, completed_at, error, incomplete } = self;
        let given = &head.parameters;
        Object {
            id: &head.id,
            object: "response",
            created_at: head.created_at,
            status: *status,
            background: given.background,
            completed_at: *completed_at,
            error: error.as_ref(),
            incomplete_details: *incomplete,
            instructions: given.instructions.as_deref(),
            max_output_tokens: given.max_output_tokens,
            max_tool_calls: given.max_tool_calls,
            model: &head.model,
            output: output.items(),
            parallel_tool_calls: given.parallel_tool_calls,
            previous_response_id: given.previous_response_id.as_deref(),
            reasoning: &given.reasoning,
            safety_identifier: given.safety_identifier.as_deref(),
            store: given.store,
            temperature: given.temperature,
            text: &given.text,
            tool_choice: &given.tool_choice,
            tools: &given.tools,
            top_p: given.top_p,
            truncation: "disabled",
            usage: spent.responses().filter(|_| self.is_over()),
            metadata: &given.metadata,
        }
    }
}

#[derive(Serialize)]
pub(super) struct Object<'a> {
    id: &'a str,
    object: &'static str,
    created_at: u64,
    status: ResponseStatus,
    background: bool,
    completed_at: Option<u64>,
    error: Option<&'a Failed>,
    incomplete_details: Option<Incomplete>,
    instructions: Option<&'a str>,
    max_output_tokens: Option<u32>,
    max_tool_calls: Option<u32>,
    model: &'a str,
    output: &'a [Item],
    parallel_tool_calls: bool,
    previous_response_id: Option<&'a str>,
    reasoning: &'a Value,
    safety_identifier: Option<&'a str>,
    store: bool,
    temperature: Option<f64>,
    text: &'a Value,
    tool_choice: &'a Value,
    tools: &'a [Value],
    top_p: Option<f64>,
    truncation: &'static str,
    usage: Option<ResponsesUsage>,
    metadata: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Deleted<'a> {
    id: &'a str,
    object: &'static str,
    deleted: bool,
}

/// Returns the body of `DELETE /v1/responses/{id}`.
pub fn response_deleted(id: &str) -> Vec<u8> {
    serde_json::to_vec(&Deleted { id, object: "response", deleted: true }).unwrap_or_default()
}

#[derive(Serialize)]
struct ItemList<'a> {
    object: &'static str,
    data: &'a [&'a Value],
    first_id: Option<&'a str>,
    last_id: Option<&'a str>,
    has_more: bool,
}

/// Returns the body of `GET /v1/responses/{id}/input_items`. `items` are those of
/// [`ResponsesRequest::input_items`](super::ResponsesRequest::input_items).
///
/// # Errors
/// `after` is not the id of an item.
pub fn input_item_list(
    items: &[Value],
    after: Option<&str>,
    limit: usize,
    descending: bool,
) -> Result<Vec<u8>, ApiError> {
    let id = |item: &'_ Value| item.get("id").and_then(Value::as_str).map(str::to_owned);
    let mut ordered: Vec<&Value> = items.iter().collect();
    if descending {
        ordered.reverse();
    }
    let start = match after {
        None => 0,
        Some(after) => {
            let at = ordered.iter().position(|item| id(item).as_deref() == Some(after));
            1 + at.ok_or_else(|| ApiError::not_found("input item", after).with_param("after"))?
        }
    };
    let rest = ordered.get(start..).unwrap_or_default();
    let page = rest.get(..limit).unwrap_or(rest);
    let id_of = |item: Option<&&'_ Value>| item.and_then(|item| id(item));
    let (first, last) = (id_of(page.first()), id_of(page.last()));
    let (first_id, last_id) = (first.as_deref(), last.as_deref());
    let list = ItemList { object: "list", data: page, first_id, last_id, has_more: page.len() < rest.len() };
    Ok(serde_json::to_vec(&list).unwrap_or_default())
}

#[cfg(test)]
pub(super) mod tests;
