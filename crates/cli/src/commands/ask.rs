//! `converse ask`: one turn, from the prompt to the exit code.

use std::sync::Arc;
use std::time::Instant;

use converse_canister::{Canister, Supervisor, Transcript, User};
use converse_engine::{Conversation, Ending, Engine, Limit, Ports, Sink, converse};
use converse_ensemble::Roster;
use converse_provider::{AuthScheme, Prompt, processor};
use converse_session::{Session, Store, new_id};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::adapters::approver::TerminalApprover;
use crate::adapters::journal::{JournalSink, Kept};
use crate::adapters::signals::{self, Caught};
use crate::args::{Ask, Format};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, Kind};
use crate::manners::Manners;
use crate::render::json::JsonRenderer;
use crate::render::jsonl::{EnsembleRecord, JsonlRenderer, Record};
use crate::render::output::write_stdout;
use crate::render::text::TextRenderer;
use crate::render::{End, Renderer};
use crate::settings::{Files, Settings};
use crate::wiring::{self, Connected};
use crate::world::World;
use crate::{runtime, stdin};

/// Runs it and says how it ended; the exit code is the last word.
pub(crate) fn run(args: &Ask, manners: &Manners, world: &World) -> u8 {
    let output = Output::new(args.output, manners, world);
    let mut session = None;
    let ended = Run { args, manners, world, output: &output }.run(&mut session);
    let failure = ended.err().map(|failure| failure.redacted(|text| manners.redact(text)));
    manners.progress.hush();
    let end = End {
        exit: failure.as_ref().map_or(0, |failure| failure.kind.exit_code()),
        reason: failure.as_ref().map_or("answered", |failure| failure.code),
        failure: failure.as_ref(),
        session: session.as_deref(),
    };
    let last_word = if args.dry_run && failure.is_none() { Ok(()) } else { output.renderer().finish(end) };
    // What went wrong first is what is told; only then that it could not be told.
    let failure = failure.or_else(|| last_word.err().map(Failure::from));
    crate::report(failure.as_ref())
}

/// What stdout carries.
enum Output {
    Text(TextRenderer),
    Json(JsonRenderer),
    Jsonl(JsonlRenderer),
}

impl Output {
    fn new(format: Format, manners: &Manners, world: &World) -> Self {
        match format {
            Format::Text => Self::Text(TextRenderer::new(Arc::clone(&manners.progress), world.stdout_tty)),
            Format::Json => Self::Json(JsonRenderer::default()),
            Format::Jsonl => Self::Jsonl(JsonlRenderer::default()),
        }
    }

    fn renderer(&self) -> &dyn Renderer {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json,
            Self::Jsonl(jsonl) => jsonl,
        }
    }

    fn sink(&self) -> &dyn Sink {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json,
            Self::Jsonl(jsonl) => jsonl,
        }
    }

    /// Words of a reply that breaks off can be taken back, or were never shown.
    fn can_take_back(&self, world: &World) -> bool {
        match self {
            Self::Text(_) => world.stdout_tty,
            Self::Json(_) | Self::Jsonl(_) => true,
        }
    }
}

struct Run<'a> {
    args: &'a Ask,
    manners: &'a Manners,
    world: &'a World,
    output: &'a Output,
}

/// Where the conversation is kept, if it is.
struct Keeping {
    transcript: Transcript,
    session: Option<Session>,
}

impl Run<'_> {
    fn run(&self, session_id: &mut Option<String>) -> Result<(), Failure> {
        let (files, warnings) = Files::read(self.world).checked()?;
        self.manners.warn_all(warnings);
        let began = Instant::now();
        let deadline = self.args.deadline.map(|seconds| began + std::time::Duration::from_secs_f64(seconds));
        let prompt = stdin::prompt(&self.args.prompt, self.world.stdin, deadline)?;
        if let Some(remark) = prompt.remark.filter(|_| self.manners.verbose > 0) {
            self.manners.warn(&format!("note: {remark}"));
        }
        let continued = self.continued()?;
        let session_model = continued.as_ref().and_then(|session| session.metadata.model.clone());
        let settings = Settings::resolve(self.args, &files, session_model.as_deref(), self.world)?;
        if self.args.dry_run {
            return runtime()?.block_on(self.dry_run(&settings, continued, prompt.text));
        }
        let kept = self.keep(&settings, continued)?;
        *session_id = kept.session.as_ref().map(|session| session.id.to_string());
        runtime()?.block_on(self.turn(&settings, kept, prompt.text, began))
    }

    /// The session that `-c` or `--session` names, open and repaired.
    fn continued(&self) -> Result<Option<Session>, Failure> {
        if !self.args.continue_last && self.args.session.is_none() {
            return Ok(None);
        }
        let store = self
            .store()
            .ok_or_else(|| Failure::usage("no-such-session", "without a home there are no sessions"))?;
        let id = match &self.args.session {
            Some(text) => store.resolve(text)?,
            None => store.latest()?,
        };
        let session = store.open(id, self.world.now())?;
        for repair in &session.loaded.repairs {
            self.manners.warn(&format!("session {id}: {repair}"));
        }
        Ok(Some(session))
    }

    fn store(&self) -> Option<Store> {
        self.world.data_dir().map(|dir| Store::new(dir.join("sessions")))
    }

    /// A new session, or none: a run that cannot be kept is still answered, and says so.
    fn keep(&self, settings: &Settings, continued: Option<Session>) -> Result<Keeping, Failure> {
        if let Some(mut session) = continued {
            let transcript = std::mem::take(&mut session.loaded.transcript);
            return Ok(Keeping { transcript, session: Some(session) });
        }
        let session = if settings.ephemeral { None } else { self.create() };
        Ok(Keeping { transcript: Transcript::new(), session })
    }

    fn create(&self) -> Option<Session> {
        let Some(store) = self.store() else {
            self.manners.warn("warning: no home directory: this session is not kept");
            return None;
        };
        let now = self.world.now();
        let mut random = [0; 10];
        random.copy_from_slice(World::random_bytes().get(..10).unwrap_or(&[0; 10]));
        let created =
            store.create(new_id(now, &random), concat!("converse ", env!("CARGO_PKG_VERSION")), now);
        created
            .inspect_err(|error| self.manners.warn(&format!("warning: this session is not kept: {error}")))
            .ok()
    }

    async fn turn(
        &self,
        settings: &Settings,
        kept: Keeping,
        prompt: String,
        began: Instant,
    ) -> Result<(), Failure> {
        let cancel = CancellationToken::new();
        let caught = signals::listen(cancel.clone())
            .map_err(|error| Failure::new(Kind::Internal, "signals", error.to_string()))?;
        let contents = Kept(kept.session.as_ref().map(|session| session.contents.clone()));
        let session_id = kept.session.as_ref().map(|session| session.id.to_string());
        let journal = kept.session.map(|session| JournalSink::new(session, jiff::Timestamp::now));
        let Connected { roster, errors } = self.connect(settings, &contents).await?;
        self.introduce(settings, session_id.as_deref(), &roster, &errors)?;
        if let Some(journal) = &journal {
            journal.note_model(&settings.model.id);
        }
        let mut sinks: Vec<&dyn Sink> = Vec::new();
        sinks.extend(journal.as_ref().map(|journal| journal as &dyn Sink));
        sinks.extend([self.output.sink(), self.manners.progress.as_ref() as &dyn Sink]);
        let approver = TerminalApprover::new(self.manners.can_ask, Arc::clone(&self.manners.progress));
        let wire = wiring::wire(&settings.model, settings.connect_timeout);
        let ports = Ports { wire: wire.as_ref(), approver: &approver, sinks: &sinks, jitter: &World::dice };
        let engine = self.engine(settings, &roster, &contents, began);
        let mut conversation = Conversation::resume(kept.transcript, settings.limits);
        for canister in opening(conversation.transcript(), settings.system.as_deref(), prompt) {
            ports.tell(&canister)?;
            conversation
                .say(canister)
                .map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
        }
        let ended = converse(&mut conversation, &engine, ports, &cancel).await;
        roster.disconnect().await;
        outcome(ended?, &caught)
    }

    fn engine<'e>(
        &self,
        settings: &Settings,
        roster: &'e Roster,
        blobs: &'e Kept,
        began: Instant,
    ) -> Engine<'e> {
        Engine {
            endpoint: settings.model.endpoint.clone(),
            processor: processor(settings.model.endpoint.dialect),
            model: settings.model.name.clone(),
            controls: settings.controls.clone(),
            roster,
            blobs,
            timeouts: settings.timeouts,
            retry: settings.retry,
            can_take_back: self.output.can_take_back(self.world),
            deadline: settings.limits.deadline.map(|limit| tokio::time::Instant::from_std(began + limit)),
        }
    }

    async fn connect(&self, settings: &Settings, contents: &Kept) -> Result<Connected, Failure> {
        let catalogue = Catalogue::find(self.world, &self.args.tools.ensembles);
        let chosen = catalogue.select(settings.ensembles.as_deref())?;
        self.manners.warn_all(catalogue.pictures());
        let artefacts = Arc::new(contents.clone());
        let connected = wiring::connect(&chosen, settings.rules.clone(), artefacts, self.world).await?;
        self.manners.warn_all(connected.errors.iter().map(|error| format!("warning: {error}")));
        Ok(connected)
    }

    /// The first record of JSONL; for people, one line when nobody chose the understudy.
    fn introduce(
        &self,
        settings: &Settings,
        session: Option<&str>,
        roster: &Roster,
        errors: &[String],
    ) -> Result<(), Failure> {
        if settings.model.is_understudy() {
            self.manners.warn("note: the understudy answers: a keyword router, not a language model; set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY …) or use -m");
        }
        let Output::Jsonl(jsonl) = self.output else { return Ok(()) };
        let offer = roster.offer();
        let mut ensembles: Vec<EnsembleRecord<'_>> = Vec::new();
        for tool in offer.tools() {
            let name = tool.qualified.split('.').next().unwrap_or_default();
            match ensembles.last_mut() {
                Some(last) if last.name == name => last.tools += 1,
                _ => ensembles.push(EnsembleRecord { name, tools: 1 }),
            }
        }
        Ok(jsonl.write(Record::SessionStarted { session, model: &settings.model.id, ensembles, errors })?)
    }

    /// The request that would be sent, as one JSON object, without the key.
    async fn dry_run(
        &self,
        settings: &Settings,
        continued: Option<Session>,
        prompt: String,
    ) -> Result<(), Failure> {
        let contents = Kept(continued.as_ref().map(|session| session.contents.clone()));
        let Connected { roster, .. } = self.connect(settings, &contents).await?;
        let transcript = continued.map(|session| session.loaded.transcript).unwrap_or_default();
        let mut conversation = Conversation::resume(transcript, settings.limits);
        for canister in opening(conversation.transcript(), settings.system.as_deref(), prompt) {
            conversation
                .say(canister)
                .map_err(|error| Failure::new(Kind::Internal, "internal", error.to_string()))?;
        }
        let offer = roster.offer();
        let asked = Prompt {
            model: &settings.model.name,
            view: conversation.transcript().as_slice(),
            tools: &offer.declarations,
            controls: &settings.controls,
            blobs: &contents,
        };
        let endpoint = &settings.model.endpoint;
        let request = processor(endpoint.dialect)
            .nativize(&asked, endpoint)
            .map_err(|error| Failure::new(Kind::ProviderNonsense, "cannot-translate", error.to_string()))?;
        let text = format!("{:#}\n", shown(&request, endpoint.auth));
        Ok(write_stdout(&self.manners.redact(&text))?)
    }
}

/// The system text, if it is new to the conversation, and the user's words.
fn opening(transcript: &Transcript, system: Option<&str>, prompt: String) -> Vec<Canister> {
    let last = transcript.as_slice().iter().rev().find_map(|canister| match canister {
        Canister::Supervisor(supervisor) => Some(supervisor.text.as_str()),
        _ => None,
    });
    let supervisor =
        system.filter(|text| Some(*text) != last).map(|text| Supervisor { text: text.to_owned() });
    supervisor.map(Canister::Supervisor).into_iter().chain([Canister::User(User::text(prompt))]).collect()
}

fn shown(request: &http::Request<bytes::Bytes>, auth: AuthScheme) -> Value {
    let value = |value: &http::HeaderValue| Value::from(value.to_str().unwrap_or("[binary]"));
    let mut headers: Map<String, Value> =
        request.headers().iter().map(|(name, held)| (name.to_string(), value(held))).collect();
    let key_header = match auth {
        AuthScheme::None => None,
        AuthScheme::Bearer => Some("authorization"),
        AuthScheme::Header(name) => Some(name),
    };
    headers.extend(key_header.map(|name| (name.to_owned(), Value::from("[redacted]"))));
    json!({
        "method": request.method().as_str(),
        "url": request.uri().to_string(),
        "headers": headers,
        "body": serde_json::from_slice::<Value>(request.body()).unwrap_or_default(),
    })
}

/// An ending is an answer, or a failure with the exit code that the contract gives it.
fn outcome(ending: Ending, caught: &Caught) -> Result<(), Failure> {
    let limit = |message: String| {
        Failure::new(Kind::Limit, "limit", message).hint("the turn is kept; `--continue` goes on")
    };
    Err(match ending {
        Ending::Finished { unapproved: 0 } => return Ok(()),
        Ending::Finished { unapproved } => {
            let message = format!("{unapproved} invocation(s) needed an approval that nobody could give");
            Failure::new(Kind::Unapproved, "unapproved", message)
                .hint("`--allow 'ensemble.invoker'` approves for a run")
        }
        Ending::Truncated => limit("the answer was cut at the model's output limit".to_owned()),
        Ending::Limit(Limit::Iterations(most)) => {
            limit(format!("the limit of {most} model calls is reached"))
        }
        Ending::Limit(Limit::Invocations(most)) => {
            limit(format!("the limit of {most} invocations is reached"))
        }
        Ending::Limit(Limit::Deadline) => limit("the deadline has passed".to_owned()),
        Ending::Stopped(id) => {
            let message = format!("invocation {id} failed, and its descriptor says on_failure = \"stop\"");
            Failure::new(Kind::Limit, "stopped", message)
        }
        Ending::RefusedByModel { reason } => {
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            Failure::new(
                Kind::ProviderNonsense,
                "model-refused",
                format!("the model declined to answer{reason}"),
            )
        }
        Ending::Cancelled => {
            Failure::new(Kind::Signal(caught.number().unwrap_or(2)), "interrupted", "interrupted")
                .hint("what is known so far is kept; `--continue` goes on")
        }
    })
}
