//! The port for tool authors: a struct, one method. Everything around it (schema, permission, timeout, bound, panic)
//! is the pipeline's work, not theirs.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_canister::{Arguments, Content};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{CostMeter, PausableClock};

/// Something that can be invoked. It is given arguments that fit its schema, defaults filled in.
pub trait Invocable: Send + Sync {
    fn invoke<'a>(
        &'a self,
        context: Context,
        arguments: &'a Arguments,
    ) -> BoxFuture<'a, Result<Answer, InvokeError>>;
}

/// What surrounds one invocation.
#[derive(Debug, Clone)]
pub struct Context {
    /// `ensemble.invoker`.
    pub invoker: String,
    /// Set when the run is cancelled; a tool that does not look is abandoned after the grace.
    pub cancel: CancellationToken,
    /// When the pipeline will give up on it, by the clock of [`Context::clock`].
    pub deadline: Instant,
    /// Stands still while a person is asked something for it.
    pub clock: PausableClock,
    /// What it costs beside its own price.
    pub cost: CostMeter,
    pub host: Host,
}

/// What a tool may say to its host while it runs.
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
    /// A line that a program has written by now: for people to see while it runs, and for nobody else. Its answer is
    /// what it says to the model.
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

/// The way to the host. Words are dropped when nobody listens or too many wait: a tool never blocks on talking.
#[derive(Debug, Clone, Default)]
pub struct Host {
    words: Option<(usize, mpsc::Sender<(usize, ToolProgress)>)>,
    caller: usize,
    verbatim: bool,
    clean: Option<Clean>,
}

/// Takes out of a line what nobody shall see.
#[derive(Clone)]
struct Clean(Arc<dyn Fn(&str) -> String + Send + Sync>);

impl fmt::Debug for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clean")
    }
}

impl Host {
    /// `index` tells the listener which of several invocations speaks.
    pub fn new(index: usize, words: mpsc::Sender<(usize, ToolProgress)>) -> Self {
        Self { words: Some((index, words)), ..Self::default() }
    }

    /// Which of several conversations that share the tools calls; see [`Roster::for_caller`](crate::Roster::for_caller()).
    pub fn caller(&self) -> usize {
        self.caller
    }

    #[must_use]
    pub fn called_by(self, caller: usize) -> Self {
        Self { caller, ..self }
    }

    /// Answers shall bring what their server wrote, word for word, beside what was made of it.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self { verbatim: true, ..self }
    }

    pub fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// What is said passes `clean` on its way.
    #[must_use]
    pub fn cleaned(self, clean: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self { clean: Some(Clean(Arc::new(clean))), ..self }
    }

    /// Does anybody listen?
    pub fn is_heard(&self) -> bool {
        self.words.is_some()
    }

    pub fn say(&self, mut word: ToolProgress) {
        if let Some((index, words)) = &self.words {
            if let (Some(Clean(clean)), Some(text)) = (&self.clean, word.text_mut()) {
                *text = clean(text);
            }
            // A full channel drops the word: progress is not worth waiting for.
            let _ = words.try_send((*index, word));
        }
    }
}

/// What came of it. `is_error` is the tool's own verdict: it ran and says that it failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub content: Vec<Content>,
    pub is_error: bool,
    /// Of an earlier call: nothing has run for this one.
    pub kept: bool,
    /// How long it may be given again, if the tool itself says so.
    pub fresh_for: Option<Duration>,
    /// The result of an MCP server as it wrote it, for a gateway that hands it on; only where
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

    /// A failure in words for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self::new(vec![Content::text(text)], true)
    }

    pub fn structured(value: serde_json::Value) -> Self {
        Self::new(vec![Content::Structured { value }], false)
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// The arguments fit the schema and are still not usable (an unknown time zone).
    #[error("{0}")]
    Invalid(String),
    /// What it needs cannot be reached. `sent` tells whether anything had been sent: if not, a retry is safe.
    #[error("{message}")]
    Unreachable { message: String, sent: bool },
    #[error("{0}")]
    Failed(String),
    /// It was begun, and nobody knows what came of it: never tried again, idempotent or not sent apart.
    #[error("{0}")]
    Interrupted(String),
    /// The sandbox that it must run in cannot be had here; nothing has run.
    #[error("{0}")]
    Unsandboxed(String),
    /// It is not what was accepted; nothing was sent.
    #[error("{0}")]
    HeldBack(String),
    /// A time limit of its own passed (the pipeline has another).
    #[error("{0}")]
    Timeout(String),
    /// Of an earlier call, or of another's: nothing has run for this one.
    #[error(transparent)]
    Kept(Box<InvokeError>),
}
