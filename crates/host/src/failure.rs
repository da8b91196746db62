//! [`Failure`]: errors of all crates mapped to a few kinds. The kind alone decides the exit code. The error code and
//! hints are made here, because they refer to the command line.

use std::path::Path;
use std::time::Duration;

use converse_engine::{AttemptError, EngineError, ExchangeError, SinkError, WireError, WireErrorKind};
use converse_provider::{Refusal, RefusalClass};
use converse_session::SessionError;
use converse_text::suggest::nearest;
use serde_json::{Value, json};

use converse_text::safe;

/// The kind of a failure; see the exit codes in `docs/reference/exit-codes.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Internal,
    Usage,
    Configuration,
    ProviderRefused,
    ProviderUnreachable,
    ProviderNonsense,
    Limit,
    Unapproved,
    Output,
    Ensemble,
    /// Stdout has no reader any more; nothing is printed.
    Closed,
    /// The run was ended by the signal with this number.
    Signal(u8),
}

/// A failure with its message, code and hints.
#[derive(Debug, Clone)]
pub struct Failure {
    pub kind: Kind,
    /// Stable code in kebab-case.
    pub code: &'static str,
    pub message: String,
    pub hints: Vec<String>,
    /// Details for machines: `model`, `status`, `attempts`, `request_id`, `retry_after_s` …
    pub facts: Vec<(&'static str, Value)>,
    /// Whether the work before the failure can be resumed.
    pub resumable: bool,
    /// Whether the model was told what went wrong in the turn, and has answered.
    pub answered: bool,
}

impl Failure {
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code,
            message: message.into(),
            hints: Vec::new(),
            facts: Vec::new(),
            resumable: false,
            answered: false,
        }
    }

    /// A tool that needed a file descriptor, and none was left. `what` says which.
    pub fn no_descriptors(what: String) -> Self {
        Self::new(Kind::Output, "no-descriptors", format!("{what}: converse has run out of file descriptors"))
            .hint("`ulimit -n 1024`")
    }

    /// Says that the model was told what went wrong in the turn, and has answered.
    pub fn of_answered_turn(self) -> Self {
        Self { answered: true, ..self }
    }

    pub fn usage(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, code, message)
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds "did you mean" if a known name is similar, or else a place to look.
    pub fn did_you_mean<'n>(
        self,
        asked: &str,
        names: impl Iterator<Item = &'n str>,
        otherwise: &str,
    ) -> Self {
        match nearest(asked, names) {
            Some(near) => self.hint(format!("did you mean `{near}`?")),
            None => self.hint(otherwise),
        }
    }

    pub fn resumable(self) -> Self {
        Self { resumable: true, ..self }
    }

    fn fact(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Adds the model as `provider/model`, if the failure is reported apart from its model.
    pub fn of_model(self, id: &str) -> Self {
        self.fact("model", id)
    }

    /// Adds the provider's id of the request, which its support asks for.
    fn request(mut self, id: &str) -> Self {
        self.message.push_str(&format!(" (request {id})"));
        self.fact("request_id", id)
    }

    /// Redacts all known secrets.
    pub fn redacted(self, redact: impl Fn(&str) -> String) -> Self {
        let hints = self.hints.iter().map(|hint| redact(hint)).collect();
        Self { message: redact(&self.message), hints, ..self }
    }

    /// Formats `error[code]: …` with its hints, safe for a terminal.
    pub fn lines(&self) -> String {
        let mut text = format!("error[{}]: {}\n", self.code, safe(&self.message).replace('\n', "\n  "));
        for hint in &self.hints {
            text.push_str(&format!("  hint: {}\n", safe(hint)));
        }
        text
    }

    pub fn json(&self) -> Value {
        let mut object = json!({ "code": self.code, "message": self.message, "hints": self.hints });
        if let Some(object) = object.as_object_mut() {
            object.extend(self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        }
        object
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Exchange(error) => exchange(*error),
            EngineError::Sink(error) => error.into(),
            EngineError::Released(released) => Self::new(Kind::Limit, "released", released.to_string()),
            EngineError::Transcript(error) => Self::new(Kind::Internal, "internal", error.to_string()),
        }
    }
}

impl From<SinkError> for Failure {
    fn from(error: SinkError) -> Self {
        match error {
            SinkError::Closed => Self::new(Kind::Closed, "output-closed", "the output is closed"),
            SinkError::Output(reason) => {
                Self::new(Kind::Output, "output-failed", format!("stdout could not be written: {reason}"))
            }
            SinkError::Save(reason) => {
                Self::new(Kind::Output, "save-failed", format!("the session could not be saved: {reason}"))
                    .hint("every call that ran was saved before; to run without a session: `--ephemeral`")
            }
            SinkError::Audit(reason) => {
                Self::new(Kind::Output, "audit-failed", format!("the audit log could not be written: {reason}"))
                    .hint("every call that ran was recorded before")
                    .hint("`converse audit verify` checks the log; `[audit] enabled = false` in your own settings turns it off")
            }
        }
    }
}

/// For a run that can continue without this session.
impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        Self::of_session(error).or_anew()
    }
}

impl Failure {
    /// For a run that should resume a session. Not for sessions chosen during a run.
    pub fn or_anew(self) -> Self {
        match self.kind {
            Kind::Usage => self,
            _ => self.hint("to start a new session, leave out `-c` and `--session`"),
        }
    }

    /// Describes what is wrong with a session and how to fix it.
    pub fn of_session(error: SessionError) -> Self {
        let failure = Self::new(Kind::Output, "session", error.to_string());
        let unknown = |failure| Self { kind: Kind::Usage, code: "no-such-session", ..failure };
        match error {
            SessionError::NotFound(asked) if asked == "latest" => {
                Self::usage("no-such-session", "there is no session yet")
            }
            SessionError::NotFound(_) => unknown(failure).hint(
                "`converse sessions list` shows the sessions; give an id, the beginning of an id, or a name",
            ),
            SessionError::NoneOfProject { .. } => unknown(failure)
                .hint("`-c --all` continues the last session of all projects")
                .hint("`converse sessions list --all` lists the sessions of all projects"),
            SessionError::Ambiguous { .. } => unknown(failure),
            SessionError::Uncuttable { .. } => Self { kind: Kind::Usage, code: "no-such-message", ..failure }
                .hint("`converse sessions show` shows the numbers"),
            SessionError::InUse { session, .. } => failure
                .hint("wait until the other run ends; nothing was changed")
                .hint(format!("to continue in a copy: `converse sessions fork {session}`")),
            SessionError::Corrupt { path, .. } => {
                let id = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
                failure.hint(format!(
                    "`converse sessions check --repair {id}` makes a new session of the readable part and keeps this one"
                ))
            }
            _ => failure,
        }
    }
}

fn exchange(error: ExchangeError) -> Failure {
    let ExchangeError { cause, route, routes_before, attempts, waited, asked_to_wait, kept, request_id } =
        error;
    let mut failure = match cause {
        AttemptError::Sink(error) => return error.into(),
        AttemptError::Translate(error) => {
            Failure::new(Kind::ProviderNonsense, "cannot-translate", error.to_string())
        }
        AttemptError::Decode(error) => {
            Failure::new(Kind::ProviderNonsense, "bad-response", error.to_string())
        }
        AttemptError::Refusal(refusal) => refused(&refusal),
        AttemptError::Wire(error) => unsent(error),
        cause @ AttemptError::Timeout { .. } => {
            Failure::new(Kind::ProviderUnreachable, "silent", cause.to_string())
        }
        cause @ AttemptError::CutShort => {
            Failure::new(Kind::ProviderUnreachable, "cut-short", cause.to_string())
        }
        cause @ AttemptError::Empty => Failure::new(Kind::ProviderNonsense, "empty-reply", cause.to_string())
            .hint("another model may answer: `--fallback PROVIDER/MODEL`"),
    };
    // The body of a refusal may name the request id.
    if let Some(id) = request_id.filter(|_| !failure.facts.iter().any(|(name, _)| *name == "request_id")) {
        failure = failure.request(&id);
    }
    if attempts > 1 {
        failure.message =
            format!("{}; {attempts} attempts, {} s of waiting", failure.message, seconds(waited));
    }
    if let Some(asked) = asked_to_wait {
        failure.message = format!("{}; the provider asks to retry after {}", failure.message, long(asked));
        failure = failure.fact("retry_after_s", asked.as_secs_f64());
    }
    if routes_before > 0 {
        failure.message = format!("{route}, the last fallback: {}", failure.message);
    }
    if kept {
        failure.code = "cut-short";
        failure.hints = Vec::new();
        failure.resumable = true;
    }
    failure.fact("attempts", attempts)
}

fn unsent(error: WireError) -> Failure {
    let (kind, code) = match error.kind {
        WireErrorKind::Request => (Kind::Usage, "bad-request-target"),
        WireErrorKind::Tls => (Kind::ProviderUnreachable, "tls"),
        WireErrorKind::NoDescriptors => {
            return Failure::no_descriptors("the provider could not be contacted".to_owned());
        }
        WireErrorKind::Connection => (Kind::ProviderUnreachable, "unreachable"),
        WireErrorKind::NoSuchHost => (Kind::ProviderUnreachable, "no-such-host"),
        WireErrorKind::Broken => (Kind::ProviderUnreachable, "connection-broken"),
    };
    let failure = Failure::new(kind, code, error.message);
    match error.kind {
        WireErrorKind::Tls => failure.hint("converse never connects without a trusted certificate"),
        WireErrorKind::Connection | WireErrorKind::NoSuchHost => {
            failure.hint("check the network and the base URL, which `converse models list` shows")
        }
        WireErrorKind::Request | WireErrorKind::Broken | WireErrorKind::NoDescriptors => failure,
    }
}

fn refused(refusal: &Refusal) -> Failure {
    let (kind, code) = match refusal.class {
        RefusalClass::Auth => (Kind::ProviderRefused, "auth"),
        RefusalClass::Quota => (Kind::ProviderRefused, "quota"),
        RefusalClass::RateLimit => (Kind::ProviderUnreachable, "rate-limit"),
        RefusalClass::Overload => (Kind::ProviderUnreachable, "overloaded"),
        RefusalClass::ContextTooLong => (Kind::ProviderNonsense, "context-too-long"),
        RefusalClass::BadRequest => (Kind::ProviderNonsense, "rejected"),
        RefusalClass::Nonsense if refusal.status >= 500 => (Kind::ProviderUnreachable, "bad-gateway"),
        RefusalClass::Nonsense => (Kind::ProviderNonsense, "bad-response"),
    };
    let status = refusal.status;
    let mut failure =
        Failure::new(kind, code, format!("the provider answered {status}: {}", refusal.message));
    if let Some(id) = &refusal.request_id {
        failure = failure.request(id);
    }
    let hint = match (refusal.class, status) {
        // Ollama: "… does not support tools"; OpenRouter: "No endpoints found that support tool use".
        (RefusalClass::BadRequest, _) if refusal.message.contains("support tool") => Some(
            "use a model with tool calls, run without tools (`--no-tools`), or set `tools = \"prompted\"` in `[providers.NAME]`",
        ),
        (RefusalClass::Auth, _) => Some("check the key; `converse models list` shows its variable"),
        (RefusalClass::Quota, _) => Some("retrying does not help; check the billing page of the provider"),
        (RefusalClass::ContextTooLong, _) => Some(
            "use a model with a larger window, start a new session, or offer fewer tools (-e, --no-tools, `[context] lazy_tools`)",
        ),
        (_, 413) => Some("the request is too large; use fewer or smaller tool results and attachments"),
        _ if refusal.is_unknown_model() => Some("check the name of the model and the base URL"),
        _ => None,
    };
    if let Some(hint) = hint {
        failure = failure.hint(hint);
    }
    if refusal.class == RefusalClass::ContextTooLong {
        failure = failure.hint(
            "is the last question too long by itself: once another one follows, the model is shown its beginning and end",
        );
    }
    failure.fact("status", status)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

fn long(duration: Duration) -> String {
    match duration.as_secs() {
        s if s >= 7200 => format!("{} h", s / 3600),
        s if s >= 120 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}
