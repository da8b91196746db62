//! One call of one tool: sent once, waited for within its limits, and answered whatever happens.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use converse_canister::{Arguments, InvokerName};
use converse_config::{ArgumentsSchema, Policy};
use converse_ensemble::{Answer, Context, Invocable, InvokeError};
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ErrorData};
use rmcp::service::ServiceError;
use serde_json::Value;
use tokio::time::Instant;

use crate::errands::Errand;
use crate::http::{self, Fault};
use crate::link::Link;
use crate::rounds::Lost;
use crate::server::Server;
use crate::steady::Accepted;
use crate::{content, steady, words};

/// Nothing runs longer, whatever its policy says.
const MAX_TOTAL: Duration = Duration::from_secs(600);

/// A tool of a server.
pub(crate) struct McpTool {
    pub(crate) server: Arc<Server>,
    pub(crate) name: InvokerName,
    pub(crate) policy: Policy,
    /// What it must still be when it is called, if it was accepted as that.
    pub(crate) accepted: Option<Accepted>,
    /// What its structured content promises to be, and the same compiled at the first result.
    pub(crate) output: Option<Arc<Value>>,
    pub(crate) promise: OnceLock<Option<ArgumentsSchema>>,
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
        match self.attempt(&context, arguments, Try::First).await {
            // It has not got there, and a restarted server has forgotten us or will be back: once more, by a new connection.
            Err(Missed { is_again: true, .. }) => {
                self.attempt(&context, arguments, Try::Last).await.map_err(|missed| missed.error)
            }
            attempted => attempted.map_err(|missed| missed.error),
        }
    }

    async fn attempt(&self, context: &Context, arguments: &Arguments, which: Try) -> Result<Answer, Missed> {
        let begun = Instant::now();
        let deadline = Instant::from_std(context.deadline).min(context.patience.now() + MAX_TOTAL);
        let link = tokio::select! {
            biased;
            () = context.cancel.cancelled() => return Err(cancelled().into()),
            link = self.ready(&context.invoker, deadline) => link?,
        };
        let params =
            CallToolRequestParams::new(self.name.to_string()).with_arguments(arguments.object.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let errand = Errand::of(context, self.policy.idle_timeout, deadline);
        match link.request_rounds(request, &errand).await {
            Ok(text) => {
                self.server.answered(&link);
                let answer = self.understood(&text)?;
                let verbatim = context.host.is_verbatim().then(|| text.into());
                Ok(Answer { verbatim, ..answer })
            }
            Err(Lost::Unsent) => Err(unsent(&link).await.into()),
            Err(Lost::Cancelled) => Err(cancelled().into()),
            Err(Lost::Late(limit)) => {
                self.server.late(&link);
                let text = format!("no answer within {} s; it was told to stop", limit.as_secs_f64());
                Err(InvokeError::Timeout(text).into())
            }
            Err(Lost::Unanswered(why)) => {
                self.server.answered(&link);
                Err(InvokeError::Failed(link.discreet(why)).into())
            }
            Err(Lost::Failed(error)) => {
                let is_new = which == Try::Last || link.begun >= begun;
                Err(self.failed(&link, error, is_new).await)
            }
        }
    }

    /// A connection on which the tool is what it has to be.
    async fn ready(&self, name: &str, deadline: Instant) -> Result<Arc<Link>, InvokeError> {
        let link = self.server.link(deadline).await?;
        if let Some(accepted) = &self.accepted {
            steady::make_sure(&link, &self.name, accepted, name).await?;
        }
        Ok(link)
    }

    fn understood(&self, text: &str) -> Result<Answer, InvokeError> {
        let artefacts = self.server.surroundings.artefacts.as_ref();
        content::answer(text, artefacts, |structured| self.broken_promise(structured))
    }

    fn broken_promise(&self, structured: &Value) -> Option<String> {
        let schema = self.output.as_ref()?;
        let compiled = self.promise.get_or_init(|| ArgumentsSchema::compile(schema).ok());
        let compiled = compiled.as_ref()?;
        let faults = match structured.as_object() {
            Some(object) => compiled.check(object).err()?,
            None => Vec::new(),
        };
        let fault = faults.first().map(|fault| format!(": {} {}", fault.pointer, fault.message));
        let fault = words::cleaned(&fault.unwrap_or_default(), 300);
        Some(format!("[the result does not fit the tool's own output schema{fault}]"))
    }

    /// `is_new`: the connection was opened for this call.
    async fn failed(&self, link: &Arc<Link>, error: ServiceError, is_new: bool) -> Missed {
        match error {
            ServiceError::McpError(error) => refused(link, &error).into(),
            ServiceError::TransportSend(error) => match http::fault(&error) {
                Some(fault) => {
                    self.server.retire(link);
                    let is_again = match &fault {
                        Fault::NotSent(_) => true,
                        // Nobody forgets at once what was begun a moment ago: it is not to be believed.
                        Fault::Gone(_) => !is_new,
                        _ => false,
                    };
                    Missed { error: undelivered(link, fault), is_again }
                }
                None => unsent(link).await.into(),
            },
            _ => {
                let fate = link.discreet(link.obituary().await);
                InvokeError::Interrupted(format!("interrupted, outcome unknown: {fate}")).into()
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Try {
    First,
    Last,
}

/// An attempt without an answer.
struct Missed {
    error: InvokeError,
    /// Nothing of it was run, and another connection may help.
    is_again: bool,
}

impl From<InvokeError> for Missed {
    fn from(error: InvokeError) -> Self {
        Self { error, is_again: false }
    }
}

fn cancelled() -> InvokeError {
    InvokeError::Failed("cancelled before it had answered".to_owned())
}

async fn unsent(link: &Link) -> InvokeError {
    let message = format!("not sent: {}", link.discreet(link.obituary().await));
    InvokeError::Unreachable { message, sent: false }
}

fn refused(link: &Link, error: &ErrorData) -> InvokeError {
    let text = link.discreet(words::cleaned(&error.message, words::ERROR));
    if http::is_lost(error) {
        return InvokeError::Interrupted(format!("interrupted, outcome unknown: {text}"));
    }
    let text = if text.is_empty() { "without a word".to_owned() } else { text };
    InvokeError::Failed(format!("the server answered with error {}: {text}", error.code.0))
}

fn undelivered(link: &Link, fault: Fault) -> InvokeError {
    match fault {
        Fault::NotSent(text) | Fault::Unsendable(text) => {
            InvokeError::Unreachable { message: link.discreet(format!("not sent: {text}")), sent: false }
        }
        // Whether it was run is anybody's guess, so nobody is to send it once more.
        Fault::Gone(said) => {
            let said = if said.is_empty() { said } else { format!(": {said}") };
            let text =
                "interrupted, outcome unknown: the server does not know the session that it has just begun";
            InvokeError::Interrupted(link.discreet(format!("{text}{said}")))
        }
        // Whoever stands between gave up waiting, or lost the server over it.
        Fault::Busy { status: status @ (502 | 504), after } => {
            let said = Fault::busy(status, after);
            InvokeError::Interrupted(format!("interrupted, outcome unknown: {said}"))
        }
        // 429 says that it was not run. That 503 does is a custom only.
        Fault::Busy { status, after } => InvokeError::Unreachable {
            message: format!("the server takes no calls now: {}", Fault::busy(status, after)),
            sent: status != 429,
        },
        Fault::Unauthorized(status) => InvokeError::Failed(format!(
            "the server asks for authorization ({status}): put a token in `headers`, or say `auth = \"oauth\"`"
        )),
        Fault::Denied(words) => InvokeError::Failed(link.discreet(words)),
        Fault::Refused(text) => InvokeError::Failed(link.discreet(format!("the server refused it: {text}"))),
        Fault::Lost(text) => {
            InvokeError::Interrupted(link.discreet(format!("interrupted, outcome unknown: {text}")))
        }
    }
}
