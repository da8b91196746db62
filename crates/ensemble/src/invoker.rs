//! The interface for tool authors: a struct with one method. The pipeline does everything around it: schema, permission,
//! timeout, size limit, panics.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Content};
use converse_config::Judgement;
use converse_text::trace_context::TraceContext;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::call_client::{CallClient, ClientRefusal, ServerLog, SharedClient, clean_texts};
use crate::rules::CallRules;
use crate::{CostMeter, PathPolicy, PathResolver, PausableClock};

/// A tool. Its arguments fit its schema, with defaults filled in.
pub trait Invocable: Send + Sync {
    /// Returns how the paths in its arguments are resolved, for a tool that opens files.
    fn path_resolver(&self) -> Option<Arc<dyn PathResolver>> {
        None
    }

    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>>;
}

/// The context of one invocation.
#[derive(Debug, Clone)]
pub struct Context {
    /// `ensemble.invoker`.
    pub invoker: String,
    /// Cancelled when the run is cancelled. A tool that ignores it is abandoned after a grace period.
    pub cancel: CancellationToken,
    /// When the pipeline gives up on the tool, by the clock of [`Context::clock`].
    pub deadline: Instant,
    /// Paused while the tool waits for an answer of a person.
    pub clock: PausableClock,
    /// Costs of the invocation in addition to the declared price of the tool.
    pub cost: CostMeter,
    pub host: Host,
    /// Decides about the files that the tool opens.
    pub paths: PathPolicy,
}

impl Context {
    /// Does the work, unless the run is cancelled before.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, InvokeError>>,
    ) -> Result<T, InvokeError> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.cancel.cancelled() => {
                Err(InvokeError::Interrupted("it was stopped before it was answered".to_owned()))
            }
        }
    }
}

/// A message from a running tool to the host.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolProgress {
    Progress {
        done: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    Log {
        message: String,
    },
    /// A line that a program has written, shown to people while it runs. The model gets only the answer.
    Output {
        line: String,
    },
}

impl ToolProgress {
    fn text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Progress { message, .. } => message.as_mut(),
            Self::Log { message } => Some(message),
            Self::Output { line } => Some(line),
        }
    }
}

/// The connection of a tool to its host. Messages are dropped without a listener, or if too many wait: a tool never
/// blocks on them.
#[derive(Debug, Clone, Default)]
pub struct Host {
    words: Option<(usize, mpsc::Sender<(usize, ToolProgress)>)>,
    client: Option<SharedClient>,
    caller: usize,
    verbatim: bool,
    clean: Option<Clean>,
    rules: Option<CallRules>,
    trace: Option<TraceContext>,
}

/// Removes secrets from a line.
#[derive(Clone)]
struct Clean(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl fmt::Debug for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clean")
    }
}

impl Host {
    /// `index` says which of several invocations sends the message.
    pub fn new(index: usize, words: mpsc::Sender<(usize, ToolProgress)>) -> Self {
        Self { words: Some((index, words)), ..Self::default() }
    }

    /// Passes everything on to the client that made the call.
    pub fn of_client(client: Arc<dyn CallClient>) -> Self {
        Self { client: Some(SharedClient(client)), ..Self::default() }
    }

    /// Returns the client that made the call, if it speaks MCP itself.
    pub fn client(&self) -> Option<&Arc<dyn CallClient>> {
        self.client.as_ref().map(|SharedClient(client)| client)
    }

    /// Returns which of several conversations makes the call; see [`Roster::for_caller`](crate::Roster::for_caller()).
    pub fn caller(&self) -> usize {
        self.caller
    }

    #[must_use]
    pub fn called_by(self, caller: usize) -> Self {
        Self { caller, ..self }
    }

    /// Asks for answers exactly as their server wrote them, in addition to the converted answers.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self { verbatim: true, ..self }
    }

    pub fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// Sets the place of the call in a trace, for what the tool calls in turn.
    #[must_use]
    pub fn traced(self, trace: Option<TraceContext>) -> Self {
        Self { trace, ..self }
    }

    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// Applies `clean` to each message.
    #[must_use]
    pub fn cleaned(self, clean: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { clean: Some(Clean(Arc::new(clean))), ..self }
    }

    /// Sets the rules of the run, for calls that learn more of what they do while they run.
    #[must_use]
    pub(crate) fn judging(self, rules: CallRules) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// Judges the call as if it had been made with another value of an argument: where a redirect leads, what a name
    /// stands for. Returns `None` if no rule decides.
    pub(crate) fn judged_by_rule(&self, argument: &str, value: Value) -> Option<Judgement> {
        Some(self.rules.as_ref()?.with(argument, value)).filter(|judgement| judgement.by_rule)
    }

    /// Returns whether anybody listens.
    pub fn is_heard(&self) -> bool {
        self.words.is_some() || self.client().is_some_and(|client| client.wants_reports())
    }

    pub fn say(&self, mut word: ToolProgress) {
        if !self.is_heard() {
            return;
        }
        if let (Some(Clean(clean)), Some(text)) = (&self.clean, word.text_mut()) {
            *text = clean(text);
        }
        match (&self.words, self.client()) {
            // A full channel drops the word: progress is not worth waiting for.
            (Some((index, words)), _) => drop(words.try_send((*index, word))),
            (None, Some(client)) => client.report(word),
            (None, None) => {}
        }
    }

    /// Hands a result of type `input_required` on to the client of the call, which answers it by repeating the call.
    pub fn hand_on(&self, mut round: Value) {
        if let Some(Clean(clean)) = &self.clean {
            clean_texts(&mut round, clean.as_ref());
        }
        self.client().into_iter().for_each(|client| client.hand_on(round.clone()));
    }

    /// Passes a request of a server on to the client of the call.
    ///
    /// # Errors
    ///
    /// The client refuses, or there is none.
    pub async fn ask(&self, method: &str, mut params: Value) -> Result<Value, ClientRefusal> {
        if let Some(Clean(clean)) = &self.clean {
            clean_texts(&mut params, clean.as_ref());
        }
        match self.client() {
            Some(client) => client.ask(method, params).await,
            None => Err(ClientRefusal { code: -32601, message: "there is no client to ask".to_owned() }),
        }
    }

    /// Passes a log message of a server on to the client of the call. Without one, `text` is said, if there is any.
    pub fn log(&self, mut log: ServerLog, text: Option<String>) {
        let Some(client) = self.client().filter(|client| client.wants_reports()) else {
            return text.into_iter().for_each(|message| self.say(ToolProgress::Log { message }));
        };
        if let Some(Clean(clean)) = &self.clean {
            log.clean(clean.as_ref());
        }
        client.log(log);
    }
}

/// The answer of a tool. `is_error` is set if the tool itself says that it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub content: Vec<Content>,
    pub is_error: bool,
    /// Whether this is the answer of an earlier call: nothing has run for this one.
    pub kept: bool,
    /// How long the answer may be reused, if the tool itself says so.
    pub fresh_for: Option<Duration>,
    /// The result as the MCP server wrote it, for a server that passes it on. Only if
    /// [`Host::is_verbatim`](Host::is_verbatim()) asks for it.
    pub verbatim: Option<Arc<str>>,
}

impl Answer {
    pub fn new(content: Vec<Content>, is_error: bool) -> Self {
        Self { content, is_error, kept: false, fresh_for: None, verbatim: None }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)], false)
    }

    /// Makes the answer of a failure, in words for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)], true)
    }

    pub fn structured(value: serde_json::Value) -> Self {
        Self::new(vec![Content::Structured { value }], false)
    }
}

/// Why a tool gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The arguments fit the schema but are not usable (an unknown time zone).
    #[error("{0}")]
    Invalid(String),
    /// Something that the tool needs cannot be reached. `sent` says whether anything was sent: if not, a retry is safe.
    #[error("{message}")]
    Unreachable { message: String, sent: bool },
    /// This process has no file descriptor left for a process, a socket or a file of the tool; nothing has run.
    #[error("{0}")]
    NoDescriptors(String),
    #[error("{0}")]
    Failed(String),
    /// The tool had started and its effect is unknown. Retried only if the tool is idempotent.
    #[error("{0}")]
    Interrupted(String),
    /// The required sandbox is not available here; nothing has run.
    #[error("{0}")]
    Unsandboxed(String),
    /// The tool is not as it was accepted; nothing was sent.
    #[error("{0}")]
    HeldBack(String),
    /// A time limit of the tool itself has passed (the pipeline has another one).
    #[error("{0}")]
    Timeout(String),
    /// The error of an earlier call or of another conversation's call: nothing has run for this one.
    #[error(transparent)]
    Kept(Box<InvokeError>),
}
