//! [`RunningTask`]: a call that becomes a task when the server behind the gateway begins one.

use std::sync::{Arc, OnceLock};

use converse_ensemble::ClientRefusal;
use parking_lot::Mutex;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, DetailedTask, GetTaskParams, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Moment, Tasks, input_request};
use crate::calling_client::is_modern;
use crate::gateway::Gateway;
use crate::principal::Principal;

/// Bytes of random ids.
const ID: usize = 16;

/// A call of a client that can follow a task. An extension of the request.
pub(crate) struct RunningTask {
    gateway: Gateway,
    principal: Principal,
    cancel: CancellationToken,
    id: OnceLock<String>,
    began: Notify,
    /// Whether the end of the call is in the table.
    ended: Mutex<bool>,
}

impl RunningTask {
    fn new(gateway: &Gateway, principal: Principal, cancel: CancellationToken) -> Arc<Self> {
        let (id, began, ended) = Default::default();
        Arc::new(Self { gateway: gateway.clone(), principal, cancel, id, began, ended })
    }

    /// Returns the task of a request, if its client can follow one.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<Arc<Self>> {
        context.extensions.get::<Arc<Self>>().cloned()
    }

    /// The server has begun a task: from now on the client polls, if there is room for the task.
    pub(crate) fn begin(&self) {
        let Some(id) = random_id() else { return };
        if !self.has_begun()
            && self.tasks().begin(id.clone(), &self.principal, self.cancel.clone(), Moment::now()).is_some()
        {
            let _ = self.id.set(id);
            self.began.notify_one();
        }
    }

    pub(crate) fn has_begun(&self) -> bool {
        self.id.get().is_some()
    }

    /// Shows a message of the server as the status of the task.
    pub(crate) fn tell(&self, message: String) {
        if let Some(id) = self.id.get() {
            self.tasks().tell(id, message, Moment::now());
        }
    }

    /// Puts a request of the server to the client, which finds it at its next poll.
    pub(crate) async fn ask(&self, method: &str, params: &Value) -> Result<Value, ClientRefusal> {
        let refusal = |message: &str| ClientRefusal { code: -32603, message: message.to_owned() };
        let request = input_request(method, params)
            .ok_or_else(|| refusal("the request of the server could not be read"))?;
        let id = self.id.get().map(String::as_str).unwrap_or_default();
        let asked = self.tasks().ask(id, request, Moment::now());
        let (key, answer) = asked.ok_or_else(|| refusal("the task is over"))?;
        let _open = OpenQuestion { tasks: self.tasks(), id, key };
        answer.await.map_err(|_| refusal("the client did not answer"))
    }

    fn tasks(&self) -> &Tasks {
        &self.gateway.shared.tasks
    }

    fn end(&self, answer: &Result<CallToolResponse, ErrorData>) {
        if let Some(id) = self.id.get()
            && !std::mem::replace(&mut *self.ended.lock(), true)
        {
            self.tasks().end(id, answer, Moment::now());
        }
    }
}

impl Drop for RunningTask {
    /// A call that ended without an answer must not leave a task that works for ever.
    fn drop(&mut self) {
        self.end(&Err(interrupted()));
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct OpenQuestion<'a> {
    tasks: &'a Tasks,
    id: &'a str,
    key: String,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.tasks.withdraw(self.id, &self.key);
    }
}

impl Gateway {
    /// Runs a call that may become a task. The call then goes on after its request was answered.
    pub(crate) async fn call_as_task(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let cancel = CancellationToken::new();
        let task = RunningTask::new(self, Principal::of(&context), cancel.clone());
        let given_up = context.ct.clone();
        let (gateway, own, mut context) = (self.clone(), Arc::clone(&task), context);
        context.ct = cancel.clone();
        context.extensions.insert(Arc::clone(&task));
        // Cancels the call if its client leaves before there is a task.
        let waiting = cancel.clone().drop_guard();
        let mut running = tokio::spawn(async move {
            let answer = gateway.traced_call(request, context).await;
            own.end(&answer);
            answer
        });
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut running => break answer,
                () = task.began.notified() => {
                    let created = task.id.get().and_then(|id| self.shared.tasks.created(id));
                    if let Some(created) = created {
                        waiting.disarm();
                        return Ok(created.into());
                    }
                }
                () = given_up.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        if let Some(id) = task.id.get() {
            self.shared.tasks.forget(id);
        }
        answer.unwrap_or_else(|_| Err(interrupted()))
    }

    pub(crate) fn has_tasks(&self) -> bool {
        self.shared.tasks.is_any_running()
    }

    pub(crate) fn task_state(
        &self,
        request: &GetTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<DetailedTask, ErrorData> {
        let principal = Principal::of(context);
        let polled = self.shared.tasks.state(&request.task_id, &principal, Moment::now());
        let polled = polled.ok_or_else(no_such_task)?;
        // The call has paid for its end: the limits of a day must not keep it from its client.
        if polled.is_repeated {
            self.repeated(&principal)?;
        }
        Ok(polled.into_task())
    }

    pub(crate) fn answer_task(
        &self,
        request: UpdateTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let UpdateTaskParams { task_id, input_responses, .. } = request;
        let tasks = &self.shared.tasks;
        let answered = tasks.answer(&task_id, &Principal::of(context), input_responses, Moment::now());
        answered.ok_or_else(no_such_task)
    }

    pub(crate) fn stop_task(
        &self,
        request: &CancelTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let stopped = self.shared.tasks.cancel(&request.task_id, &Principal::of(context), Moment::now());
        stopped.ok_or_else(no_such_task)
    }
}

/// Returns whether the client of a call declares that it can follow a task.
pub(crate) fn can_follow(context: &RequestContext<RoleServer>) -> bool {
    is_modern(context) && context.client_capabilities().is_some_and(|can| can.supports_tasks())
}

fn no_such_task() -> ErrorData {
    ErrorData::invalid_params("there is no such task: its result waits for five minutes", None)
}

fn interrupted() -> ErrorData {
    ErrorData::internal_error("the call was interrupted, its outcome is unknown", None)
}

/// Returns an id that nobody can guess; `None` without a source of randomness.
fn random_id() -> Option<String> {
    let mut bytes = [0; ID];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
