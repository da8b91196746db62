//! Follows a task to its end: polls, answers its questions, and cancels it when the call ends first.

use std::collections::BTreeMap;
use std::time::Duration;

use converse_ensemble::ToolProgress;
use futures_util::FutureExt as _;
use rmcp::RoleClient;
use rmcp::model::{
    CancelTaskParams, CancelTaskRequest, ClientRequest, ErrorCode, GetTaskParams, GetTaskRequest,
    UpdateTaskParams, UpdateTaskRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until, timeout};

use super::RequestError;
use crate::error::Failure;
use crate::in_flight::InFlightRequest;
use crate::link::Link;
use crate::task::{Status, Task};
use crate::{Era, http, sanitize};

/// Limit for cancelling a task.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);
/// Polls in a row that may fail. The server may be restarted meanwhile, or be busy.
const MAX_MISSED: u32 = 5;

impl Link {
    /// Returns the result of a call. If the server began a task instead, waits for the result of the task.
    pub(super) async fn followed(
        &self,
        request: &ClientRequest,
        answer: String,
        in_flight: &InFlightRequest,
    ) -> Result<String, RequestError> {
        if self.era == Era::Legacy || !matches!(request, ClientRequest::CallToolRequest(_)) {
            return Ok(answer);
        }
        let Some(mut task) = Task::begun(&answer, Instant::now()).map_err(RequestError::TaskLost)? else {
            return Ok(answer);
        };
        // The id stays here: it is for the client of the server only.
        in_flight.host.hand_on(json!({ "resultType": "task" }));
        let begun = in_flight.clock.now();
        let mut running = RunningTask { peer: &self.peer, id: Some(task.id().to_owned()) };
        let ended = self.poll_to_end(&mut task, in_flight).boxed().await;
        match ended {
            // Only a task that failed ends with an error of the server (see `lost`).
            Ok(_) | Err(RequestError::Failed(ServiceError::McpError(_))) => running.id = None,
            Err(_) => running.cancel().await,
        }
        ended.map_err(|error| match error {
            RequestError::TimedOut(_) if in_flight.clock.now() >= in_flight.deadline => {
                RequestError::TimedOut(in_flight.deadline - begun)
            }
            error => error,
        })
    }

    async fn poll_to_end(
        &self,
        task: &mut Task,
        in_flight: &InFlightRequest,
    ) -> Result<String, RequestError> {
        let (mut told, mut missed) = (0, 0);
        loop {
            if let Some((number, message)) = task.news(told) {
                let message = Some(message.to_owned());
                in_flight.host.say(ToolProgress::Progress { done: f64::from(number), total: None, message });
                told = number;
            }
            self.while_in_flight(in_flight, sleep_until(task.due())).await?;
            let poll = GetTaskRequest::new(GetTaskParams::new(task.id()));
            let polled = match self.round(ClientRequest::GetTaskRequest(poll), in_flight).await {
                Ok(polled) => polled,
                Err(error) => {
                    missed += 1;
                    if !may_pass(&error) || missed == MAX_MISSED {
                        return Err(lost(error));
                    }
                    task.postpone(Instant::now());
                    continue;
                }
            };
            missed = 0;
            match task.observe(&polled, Instant::now()).map_err(RequestError::TaskLost)? {
                Status::Working => {}
                Status::NeedsInput(questions) if questions.is_empty() => {}
                Status::NeedsInput(questions) => {
                    let answering = self.answers_to(&questions, in_flight);
                    let answers = self.while_in_flight(in_flight, answering).await??;
                    self.answer_task(task.id(), answers, in_flight).await?;
                    task.postpone(Instant::now());
                }
                Status::Completed(result) => return Ok(result),
                Status::Failed(error) => return Err(RequestError::Failed(ServiceError::McpError(error))),
                Status::Cancelled(why) if why.is_empty() => {
                    return Err(RequestError::TaskLost("the server cancelled it".to_owned()));
                }
                Status::Cancelled(why) => {
                    return Err(RequestError::TaskLost(format!("the server cancelled it: {why}")));
                }
            }
        }
    }

    async fn answer_task(
        &self,
        id: &str,
        answers: BTreeMap<String, Value>,
        in_flight: &InFlightRequest,
    ) -> Result<(), RequestError> {
        let update = UpdateTaskRequest::new(UpdateTaskParams::new(id, answers));
        match self.round(ClientRequest::UpdateTaskRequest(update), in_flight).await {
            Ok(_) => Ok(()),
            Err(error) => Err(lost(error)),
        }
    }
}

/// Returns whether the next poll may have an answer.
fn may_pass(error: &RequestError) -> bool {
    match error {
        RequestError::Unsent | RequestError::Failed(ServiceError::TransportSend(_)) => true,
        RequestError::Failed(ServiceError::McpError(error)) => {
            !matches!(error.code, ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND)
        }
        _ => false,
    }
}

/// Returns why a call has no result whose task cannot be polled or answered. The call itself was sent, so it must not be
/// repeated whatever became of the poll.
fn lost(error: RequestError) -> RequestError {
    let unreachable = || "it could not be polled".to_owned();
    RequestError::TaskLost(match error {
        RequestError::Failed(ServiceError::McpError(error)) => {
            let text = sanitize::clean(&error.message, sanitize::MAX_ERROR);
            format!("refused to report it with error {}: {text}", error.code.0)
        }
        RequestError::Failed(ServiceError::TransportSend(error)) => match http::delivery_error(&error) {
            Some(fault) => format!("{} ({})", unreachable(), Failure::from(fault)),
            None => unreachable(),
        },
        RequestError::Unsent => unreachable(),
        error => return error,
    })
}

/// Cancels the task at the server when the future that waits for it is dropped.
struct RunningTask<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<String>,
}

impl RunningTask<'_> {
    async fn cancel(mut self) {
        if let Some(id) = self.id.take() {
            cancel(self.peer, id).await;
        }
    }
}

impl Drop for RunningTask<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move { cancel(&peer, id).await });
    }
}

async fn cancel(peer: &Peer<RoleClient>, id: String) {
    let request = ClientRequest::CancelTaskRequest(CancelTaskRequest::new(CancelTaskParams::new(id)));
    let cancelling = async {
        peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?.await_response().await
    };
    let _ = timeout(CANCEL_TIMEOUT, cancelling).await;
}
