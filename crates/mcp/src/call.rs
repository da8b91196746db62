//! One call of one tool: sent once, bounded by its limits, and always answered.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::{Arguments, InvokerName};
use converse_config::{ArgumentsSchema, Policy};
use converse_ensemble::{Answer, Context, Invocable, InvokeError};
use converse_process::NO_DESCRIPTORS;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorData};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::Instant;

use crate::accepted::Accepted;
use crate::http::{self, DeliveryError};
use crate::in_flight::InFlightRequest;
use crate::link::Link;
use crate::rounds::{Reply, RequestError};
use crate::server::Server;
use crate::{accepted, content, sanitize};

/// Upper limit of a call, regardless of its policy.
const MAX_TOTAL: Duration = Duration::from_secs(600);

/// A tool of a server.
pub(crate) struct McpTool {
    pub(crate) server: Arc<Server>,
    pub(crate) name: InvokerName,
    pub(crate) policy: Policy,
    /// The tool must match it when it is called, if there is a lockfile.
    pub(crate) accepted: Accepted,
    /// The output schema, and its compiled form, set at the first result.
    pub(crate) output: Option<Arc<Value>>,
    pub(crate) compiled_output: OnceLock<Option<ArgumentsSchema>>,
}

impl Invocable for McpTool {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>> {
        Box::pin(self.call(context, arguments))
    }
}

impl McpTool {
    async fn call(&self, context: Context, arguments: &Arguments) -> Result<Answer, InvokeError> {
        match self.attempt(&context, arguments, Attempt::First).await {
            // The call did not reach the server. A restarted server has lost our session or will be back soon, so try
            // once more on a new connection.
            Err(FailedAttempt { is_retryable: true, .. }) => {
                self.attempt(&context, arguments, Attempt::Last).boxed().await.map_err(|failed| failed.error)
            }
            attempted => attempted.map_err(|failed| failed.error),
        }
    }

    async fn attempt(
        &self,
        context: &Context,
        arguments: &Arguments,
        which: Attempt,
    ) -> Result<Answer, FailedAttempt> {
        let begun = Instant::now();
        let deadline = Instant::from_std(context.deadline).min(context.clock.now() + MAX_TOTAL);
        let link = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(cancelled().into()),
            link = self.ready(&context.invoker, deadline) => link?,
        };
        let params =
            CallToolRequestParams::new(self.name.to_string()).with_arguments(arguments.object.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let in_flight = InFlightRequest::for_call(context, self.policy.idle_timeout, deadline);
        match link.request_rounds(request, &in_flight).await {
            Ok(Reply::HandedOn) => {
                self.server.answered();
                let answer = Answer::text("the server asks its client for input before it answers");
                // It is not worth keeping for equal calls.
                Ok(Answer { fresh_for: Some(Duration::ZERO), ..answer })
            }
            Ok(Reply::Result(text)) => {
                self.server.answered();
                let answer = self.parse_answer(&text)?;
                let verbatim = context.host.is_verbatim().then(|| text.into());
                Ok(Answer { verbatim, ..answer })
            }
            Err(RequestError::Unsent) => Err(unsent(&link).boxed().await.into()),
            Err(RequestError::Cancelled) => Err(cancelled().into()),
            Err(RequestError::TimedOut(limit)) => {
                self.server.late(&link);
                let text = format!(
                    "no answer within {} s; the server was asked to cancel the call",
                    limit.as_secs_f64()
                );
                Err(InvokeError::Timeout(text).into())
            }
            Err(RequestError::InputRefused(why)) => {
                self.server.answered();
                Err(InvokeError::Failed(link.redacted(why)).into())
            }
            Err(RequestError::TaskLost(why)) => {
                self.server.answered();
                let text =
                    format!("the server began a task instead of answering, and {why}: outcome unknown");
                Err(InvokeError::Interrupted(link.redacted(text)).into())
            }
            Err(RequestError::Failed(error)) => {
                let is_new = which == Attempt::Last || link.begun >= begun;
                Err(self.failed(&link, error, is_new).boxed().await)
            }
        }
    }

    /// Returns a connection on which the tool matches its accepted definition.
    async fn ready(&self, name: &str, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        let link = self.server.link(deadline).await?;
        accepted::verify(&link, &self.name, &self.accepted, name).await?;
        Ok(link)
    }

    fn parse_answer(&self, text: &str) -> Result<Answer, InvokeError> {
        let artefacts = self.server.surroundings.artefacts.as_ref();
        content::answer(text, artefacts, |structured| self.schema_mismatch(structured))
    }

    fn schema_mismatch(&self, structured: &Value) -> Option<String> {
        let schema = self.output.as_ref()?;
        let compiled = self.compiled_output.get_or_init(|| ArgumentsSchema::compile(schema).ok());
        let compiled = compiled.as_ref()?;
        let faults = match structured.as_object() {
            Some(object) => compiled.check(object).err()?,
            None => Vec::new(),
        };
        let fault = faults.first().map(|fault| format!(": {} {}", fault.pointer, fault.message));
        let fault = sanitize::clean(&fault.unwrap_or_default(), 300);
        Some(format!("[the result does not match the tool's output schema{fault}]"))
    }

    /// `is_new`: the connection was opened for this call.
    async fn failed(&self, link: &Arc<Link>, error: ServiceError, is_new: bool) -> FailedAttempt {
        match error {
            ServiceError::McpError(error) => refused(link, &error).into(),
            ServiceError::TransportSend(error) => match http::delivery_error(&error) {
                Some(fault) => {
                    self.server.retire(link);
                    let is_retryable = match &fault {
                        DeliveryError::NotSent(_) => true,
                        // A session that has just started cannot be lost already: the claim is not believed.
                        DeliveryError::Gone(_) => !is_new,
                        _ => false,
                    };
                    FailedAttempt { error: undelivered(link, fault), is_retryable }
                }
                None => unsent(link).await.into(),
            },
            _ => {
                let fate = link.redacted(link.exit_report().await);
                InvokeError::Interrupted(format!("interrupted, outcome unknown: {fate}")).into()
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    Last,
}

/// An attempt that produced no answer.
struct FailedAttempt {
    error: InvokeError,
    /// The tool did not run, and another connection may help.
    is_retryable: bool,
}

impl From<InvokeError> for FailedAttempt {
    fn from(error: InvokeError) -> Self {
        Self { error, is_retryable: false }
    }
}

fn cancelled() -> InvokeError {
    InvokeError::Failed("cancelled before it had answered".to_owned())
}

async fn unsent(link: &Link) -> InvokeError {
    let message = format!("not sent: {}", link.redacted(link.exit_report().await));
    InvokeError::Unreachable { message, sent: false }
}

fn refused(link: &Link, error: &ErrorData) -> InvokeError {
    let text = link.redacted(sanitize::clean(&error.message, sanitize::MAX_ERROR));
    if http::is_lost(error) {
        return InvokeError::Interrupted(format!("interrupted, outcome unknown: {text}"));
    }
    let text = if text.is_empty() { "no message".to_owned() } else { text };
    InvokeError::Failed(format!("the server answered with error {}: {text}", error.code.0))
}

fn undelivered(link: &Link, fault: DeliveryError) -> InvokeError {
    match fault {
        DeliveryError::NoDescriptors => InvokeError::NoDescriptors(format!("not sent: {NO_DESCRIPTORS}")),
        DeliveryError::NotSent(text) | DeliveryError::Unsendable(text) => {
            InvokeError::Unreachable { message: link.redacted(format!("not sent: {text}")), sent: false }
        }
        // The tool may have run, so the call must not be sent again.
        DeliveryError::Gone(cause) => {
            let cause = if cause.is_empty() { cause } else { format!(": {cause}") };
            let text =
                "interrupted, outcome unknown: the server does not know the session that it has just started";
            InvokeError::Interrupted(link.redacted(format!("{text}{cause}")))
        }
        // A proxy gave up waiting or lost the server.
        DeliveryError::Busy { status: status @ (502 | 504), after } => {
            let status_text = DeliveryError::busy(status, after);
            InvokeError::Interrupted(format!(
                "interrupted, outcome unknown: the server answered {status_text}"
            ))
        }
        // 429 means that the tool did not run. For 503 that is only a convention.
        DeliveryError::Busy { status, after } => InvokeError::Unreachable {
            message: format!("the server is busy: {}", DeliveryError::busy(status, after)),
            sent: status != 429,
        },
        DeliveryError::Unauthorized(status) => InvokeError::Failed(format!(
            "the server requires authorization (HTTP {status}): put a token into `headers` or set `auth = \"oauth\"`"
        )),
        DeliveryError::Denied(words) => InvokeError::Failed(link.redacted(words)),
        DeliveryError::Refused(text) => {
            InvokeError::Failed(link.redacted(format!("the call was refused: {text}")))
        }
        DeliveryError::Lost(text) => {
            InvokeError::Interrupted(link.redacted(format!("interrupted, outcome unknown: {text}")))
        }
    }
}
