//! Turns over `/api`: begun, followed, cancelled, and continued after their questions are answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use converse_canister::{Canister, Content, Cost, Digest, User};
use converse_host::Effort;
use converse_host::approvals::Memory;
use converse_host::failure::Failure;
use converse_host::interrupt::Interrupt;
use converse_host::settings::Settings;
use converse_host::turn::sessions;
use converse_host::world::World;
use converse_session::storage::Replicas;
use converse_session::{Uuid, new_id};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Caller;
use super::answers::Wanted;
use super::approver::LaterApprover;
use super::channel::{RunningTurn, SharedChannel, free};
use super::comparisons::Comparison;
use super::failure::ApiFailure;
use super::narrator::last_event;
use super::run_observer::RunObserver;
use super::waiting::{Answer, Choice};
use crate::front::agents::Agent;
use crate::front::body::{EventBody, EventSender, event_channel, event_stream};
use crate::front::turns::{Place, Start, TurnJob};
use crate::front::{Front, json_reply};
use crate::http_server::Reply;

/// `RunAgentInput` of AG-UI 1.0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunAgentInput {
    #[serde(default)]
    thread_id: Option<String>,
    #[serde(default)]
    run_id: Option<String>,
    #[serde(default, rename = "parentRunId")]
    _parent_run_id: Option<String>,
    /// Sent by `@ag-ui/client` 1.0.0 (read on 2026-11-23). All its versions of the run input are read alike.
    #[serde(default, rename = "protocolVersion")]
    _protocol_version: Option<String>,
    #[serde(default)]
    messages: Vec<Value>,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    context: Vec<Value>,
    /// The session is the state.
    #[serde(default, rename = "state")]
    _state: Value,
    #[serde(default)]
    forwarded_props: Option<Props>,
    #[serde(default)]
    resume: Vec<Resume>,
}

/// What else a turn is run with.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Props {
    pub(super) model: Option<String>,
    pub(super) preset: Option<String>,
    pub(super) ensembles: Option<Vec<String>>,
    pub(super) effort: Option<String>,
    /// In US dollars.
    pub(super) max_cost: Option<f64>,
    pub(super) system: Option<String>,
    /// Messages to keep: what follows is taken back first.
    pub(super) at: Option<usize>,
    #[serde(default)]
    pub(super) attachments: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    interrupt_id: String,
    status: String,
    #[serde(default)]
    payload: Option<Answer>,
}

/// Bytes of the name of a run. A message to other servers carries it.
const MAX_RUN_ID: usize = 1024;

/// Parts of a message, and the bytes that they refer to.
type Attached = (Vec<Content>, Vec<Arc<[u8]>>);

/// A turn that is about to begin.
pub(super) struct NewTurn {
    pub(super) session: Uuid,
    pub(super) is_new: bool,
    pub(super) run: String,
    pub(super) question: Option<Vec<Content>>,
    pub(super) attachments: Vec<Arc<[u8]>>,
    pub(super) props: Props,
    pub(super) comparison: Option<Arc<Comparison>>,
    pub(super) place: Place,
}

/// The client that begins a turn.
pub(super) enum Client {
    Nobody,
    /// It gets the events.
    Stream(EventSender),
    /// It waits until the turn is saved.
    Waits(oneshot::Sender<Result<(), Failure>>),
}

impl Front {
    /// `POST /api/runs`.
    pub(super) async fn post_run(
        self: &Arc<Self>,
        caller: &Caller,
        body: &Bytes,
        streams: bool,
    ) -> Result<Reply, ApiFailure> {
        let (front, caller, body) = (Arc::clone(self), caller.clone(), body.clone());
        let begin = move || front.begin_run(&caller, &body, streams);
        let (session, run, begun) = self.session_work.run(begin).await??;
        let saved = match begun {
            Begun::Stream(body) => return Ok(event_stream(body)),
            Begun::Saving(saved) => saved,
        };
        // What is accepted is not lost: the session has it.
        saved.await.map_err(|_| ApiFailure::crashed())??;
        Ok(json_reply(StatusCode::ACCEPTED, &json!({ "session": session.to_string(), "run": run })))
    }

    fn begin_run(
        self: &Arc<Self>,
        caller: &Caller,
        body: &[u8],
        streams: bool,
    ) -> Result<(Uuid, String, Begun), ApiFailure> {
        let input: RunAgentInput =
            serde_json::from_slice(body).map_err(|error| ApiFailure::bad_request(error.to_string()))?;
        let RunAgentInput { thread_id, run_id, messages, tools, context, forwarded_props, resume, .. } =
            input;
        if !tools.is_empty() {
            let message = "tools of the client are not supported here; use /v1/chat/completions";
            return Err(ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "client-tools", message));
        }
        if !context.is_empty() {
            let message = "`context` is not supported; write it into the message";
            return Err(ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "client-context", message));
        }
        let (session, is_new) = self.session_of(caller, thread_id.as_deref())?;
        let run = run_id.unwrap_or_else(|| format!("run-{}", World::now().as_microsecond()));
        if run.len() > MAX_RUN_ID || run.chars().any(char::is_control) {
            let expected = format!("`runId`: expected at most {MAX_RUN_ID} bytes without control characters");
            return Err(ApiFailure::bad_request(expected));
        }
        let mut props = forwarded_props.unwrap_or_default();
        let answers = resume.iter().map(answer).collect::<Result<BTreeMap<_, _>, _>>()?;
        let files = caller.waiting()?;
        let place = self.api_place()?;
        let (client, begun) = if streams {
            let (sender, body) = event_channel(self.api_stream(caller)?);
            (Client::Stream(sender), Begun::Stream(body))
        } else {
            let (sender, saved) = oneshot::channel();
            (Client::Waits(sender), Begun::Saving(saved))
        };
        let mut attachments = Vec::new();
        let mut comparison = None;
        let question = if answers.is_empty() {
            let contents = sessions::required(&caller.world)?.contents(session);
            let is_kept = |digest: &Digest| matches!(contents.get(digest), Ok(Some(_)));
            let mut content = question(&messages, session, &is_kept)?;
            let (parts, bytes) = self.attached(caller, &props.attachments)?;
            content.extend(parts);
            attachments = bytes;
            Some(content)
        } else {
            let waiting = caller.waiting_in(session)?;
            comparison = self.comparison_of(caller, waiting.as_ref());
            props = waiting.and_then(|waiting| waiting.props).unwrap_or(props);
            self.answered(caller, &files, session, &answers, Wanted::All)?;
            None
        };
        let run_id = run.clone();
        let turn = NewTurn { session, is_new, run: run_id, question, attachments, props, comparison, place };
        self.begin_turn(caller, turn, client)?;
        Ok((session, run, begun))
    }

    /// Returns the session of a thread, and whether it must be created.
    fn session_of(&self, caller: &Caller, thread: Option<&str>) -> Result<(Uuid, bool), ApiFailure> {
        let Some(thread) = thread.filter(|thread| !thread.is_empty()) else {
            return Ok((new_id(World::now(), &World::random_bytes()), true));
        };
        let id: Uuid = thread.parse().map_err(|_| ApiFailure::bad_request("`threadId` is not a UUID"))?;
        let store = sessions::required(&caller.world)?;
        Ok((id, store.metadata(id).is_err()))
    }

    /// Takes uploaded files: parts of a message, and their bytes.
    pub(super) fn attached(&self, caller: &Caller, ids: &[String]) -> Result<Attached, ApiFailure> {
        let take = |id: &String| self.uploads.take(&caller.principal, id).ok_or_else(ApiFailure::not_found);
        let (parts, bytes): (_, Vec<_>) =
            ids.iter().map(take).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        Ok((parts, bytes.into_iter().flatten().collect()))
    }

    pub(super) fn api_place(&self) -> Result<Place, ApiFailure> {
        self.place().map_err(|error| match error.status {
            503 => ApiFailure::stopping(),
            _ => ApiFailure::too_many("too-many-turns", error.message),
        })
    }

    /// Returns the settings of a turn and its connections.
    pub(super) fn checked(&self, props: &Props) -> Result<(Settings, Arc<Agent>), ApiFailure> {
        let effort = props.effort.as_deref().map(effort).transpose()?;
        let max_cost = props.max_cost.map(max_cost).transpose()?;
        let named = props.preset.as_deref().or(props.model.as_deref());
        let (mut settings, configured) = self.agents.settings(named, |options| {
            options.effort = effort.or(options.effort);
            options.max_cost = max_cost.or(options.max_cost);
            options.show_reasoning = true;
            if let Some(ensembles) = &props.ensembles {
                options.ensemble.clone_from(ensembles);
                options.no_tools = ensembles.is_empty();
            }
        })?;
        // Never an option: those are the user's, and may name files (`@FILE`).
        settings.system = props.system.clone().or(settings.system);
        let agent = self.agents.agent(&settings, &configured)?;
        Ok((settings, agent))
    }

    pub(super) fn begin_turn(
        self: &Arc<Self>,
        caller: &Caller,
        turn: NewTurn,
        client: Client,
    ) -> Result<(), ApiFailure> {
        let NewTurn { session, is_new, run, question, attachments, mut props, comparison, place } = turn;
        let files = caller.waiting()?;
        props.model = props.model.or_else(|| used_model(caller, session));
        let (settings, agent) = self.checked(&props)?;
        let at = props.at.take();
        props.attachments.clear();
        let store = comparison.as_ref().map(|_| sessions::required(&caller.world)).transpose()?;
        let interrupt = Interrupt::default();
        let channel = self.channels.of(&caller.principal, session);
        let followed = CancellationToken::new();
        let claim = self.claim_turn(caller, session, &run)?;
        let stage = free(&channel, claim.is_some()).ok_or_else(ApiFailure::busy)?;
        let not_read = |error| ApiFailure::not_read(&error);
        let questions = files.of_turn(session).map_err(not_read)?;
        let answers = match &question {
            Some(_) => BTreeMap::new(),
            // What waited may have been answered twice, or be gone.
            None => {
                let answered = questions.found().map_err(not_read)?.filter(|waiting| waiting.open() == 0);
                answered.ok_or_else(ApiFailure::busy)?.answers
            }
        };
        {
            let mut channel = channel.lock();
            // A turn that began or ended meanwhile may have asked something.
            if channel.turn.is_some() || channel.stage() != stage {
                return Err(ApiFailure::busy());
            }
            let followed = followed.clone();
            let (run, interrupt) = (run.clone(), interrupt.clone());
            channel.begin(RunningTurn { run, interrupt, began: None, followed });
        }
        if let Some(claim) = claim {
            claim.keep();
        }
        let (own, saved) = match client {
            Client::Nobody => (None, None),
            Client::Stream(own) => (Some(own), None),
            Client::Waits(saved) => (None, Some(saved)),
        };
        // Not before the session is free: the rules of a running turn would be replaced. Nothing fails from here on.
        let mut roster = self.roster_of(caller, session, &agent.roster);
        if let (Some(comparison), Some(store)) = (&comparison, &store) {
            roster = comparison.roster(session, &roster, store);
        }
        let memory = Memory::new(roster.rules(), &self.redactor, &caller.world);
        let approver = LaterApprover::new(session, questions.clone(), memory, props).answered(answers);
        let approver = approver.comparing(comparison.clone());
        let left = self.ends_turns(left(Arc::clone(&channel), own.clone(), followed));
        let observer = RunObserver {
            front: Arc::clone(self),
            caller: caller.clone(),
            session,
            run,
            channel,
            shared: comparison.as_ref().map(|comparison| (comparison.runs.clone(), roster.caller())),
            comparison,
            own,
            // The answers of a turn that continues are saved already.
            continues: question.is_none(),
            questions: questions.clone(),
            saved,
            narrator: None,
            asked: Arc::clone(&approver.asked),
            decided: false,
        };
        if question.is_some() && self.replicas.is_none() {
            // Another question instead of an answer: what waited is refused.
            questions.remove();
        }
        self.tell_session(caller, session, true);
        self.announce_change(caller, session);
        let start = if is_new { Start::New(session) } else { Start::Session { id: session, rewind: at } };
        let durable = observer.saved.is_some();
        self.turns.begin(TurnJob {
            settings,
            roster,
            wires: agent.wires.clone(),
            world: Arc::clone(&caller.world),
            start,
            durable,
            said: question.into_iter().map(|content| Canister::User(User { content })).collect(),
            attachments,
            contents: None,
            approver: Arc::new(approver),
            observer: Box::new(observer),
            interrupt,
            left,
            place,
        });
        Ok(())
    }

    /// Takes the turn of a session among all servers. `None`: there are no others.
    fn claim_turn(&self, caller: &Caller, session: Uuid, run: &str) -> Result<Option<TurnClaim>, ApiFailure> {
        let Some(replicas) = &self.replicas else { return Ok(None) };
        let begun = replicas.begin(caller.owner(), session, run);
        if !begun.map_err(|error| ApiFailure::no_database(&error))? {
            return Err(ApiFailure::busy());
        }
        Ok(Some(TurnClaim { replicas: Some(Arc::clone(replicas)), session, run: run.to_owned() }))
    }

    pub(super) fn tell_session(&self, caller: &Caller, session: Uuid, running: bool) {
        let waiting = caller
            .waiting()
            .ok()
            .and_then(|files| files.read_if_possible(session))
            .map_or(0, |one| one.open());
        let id = session.to_string();
        let event = json!({ "type": "session", "id": id, "running": running, "waiting": waiting });
        self.channels.tell(&caller.principal, &event);
    }

    /// `POST /api/sessions/{id}/cancel`.
    pub(super) async fn cancel_run(&self, caller: &Caller, session: Uuid) -> Result<Reply, ApiFailure> {
        if !self.channels.cancel(&caller.principal, session, None) {
            let replicas = self.replicas.clone().ok_or_else(ApiFailure::not_found)?;
            let owner = caller.owner().to_owned();
            let cancelled = self.session_work.run(move || replicas.cancel(&owner, session)).await?;
            if !cancelled.map_err(|error| ApiFailure::no_database(&error))? {
                return Err(ApiFailure::not_found());
            }
        }
        Ok(json_reply(StatusCode::ACCEPTED, &json!({ "session": session.to_string() })))
    }
}

/// How a turn was begun.
enum Begun {
    Stream(EventBody),
    Saving(oneshot::Receiver<Result<(), Failure>>),
}

/// The turn of a session, taken among all servers. It is given back if it does not begin.
struct TurnClaim {
    /// `None` when it has begun.
    replicas: Option<Arc<dyn Replicas>>,
    session: Uuid,
    run: String,
}

impl TurnClaim {
    fn keep(mut self) {
        self.replicas = None;
    }
}

impl Drop for TurnClaim {
    fn drop(&mut self) {
        if let Some(replicas) = &self.replicas {
            let last = last_event(&self.session.to_string(), &self.run, &Ok(()), &[]);
            // If this fails, the next heartbeat ends it.
            let _ = replicas.end(self.session, &last.to_string());
        }
    }
}

/// Resolves when the client that began a turn, and all that follow its session, have left. A client that began it without
/// a stream has not left: it may follow later.
async fn left(channel: SharedChannel, own: Option<EventSender>, followed: CancellationToken) {
    match own {
        Some(own) => own.closed().await,
        None => followed.cancelled().await,
    }
    loop {
        let reader = channel.lock().reader().cloned();
        let Some(reader) = reader else { return };
        reader.closed().await;
    }
}

pub(super) fn used_model(caller: &Caller, session: Uuid) -> Option<String> {
    let metadata = sessions::store(&caller.world)?.metadata(session).ok()?;
    metadata.used_model().map(str::to_owned)
}

fn effort(word: &str) -> Result<Effort, ApiFailure> {
    let wrong = "`effort` is none, minimal, low, medium, high, xhigh or max";
    Effort::named(word).ok_or_else(|| ApiFailure::bad_request(wrong))
}

fn max_cost(dollars: f64) -> Result<Cost, ApiFailure> {
    let is_amount = dollars.is_finite() && dollars > 0.0;
    let wrong = || ApiFailure::bad_request("`max_cost` is an amount of US dollars above 0");
    is_amount.then(|| Cost::of_dollars(dollars)).ok_or_else(wrong)
}

fn answer(resume: &Resume) -> Result<(String, Answer), ApiFailure> {
    let denied = || Answer { decision: Choice::Deny, pattern: None, comment: None, arguments: None };
    let answer = match (resume.status.as_str(), &resume.payload) {
        ("cancelled", _) => denied(),
        ("resolved", Some(answer)) => answer.clone(),
        _ => {
            return Err(ApiFailure::bad_request(
                "`resume` needs a status `resolved` with a payload, or `cancelled`",
            ));
        }
    };
    Ok((resume.interrupt_id.clone(), answer))
}

/// Returns the content of the last message of the user: the session has the others.
fn question(
    messages: &[Value],
    session: Uuid,
    is_kept: &impl Fn(&Digest) -> bool,
) -> Result<Vec<Content>, ApiFailure> {
    let last = messages.iter().rev().find(|message| message["role"] == "user");
    let content = match last.map(|message| &message["content"]) {
        Some(Value::String(text)) => vec![Content::text(text.clone())],
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| part_of(part, session, is_kept)).collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    let is_empty = |content: &Content| content.as_text().is_some_and(|text| text.trim().is_empty());
    if content.iter().all(is_empty) {
        return Err(ApiFailure::bad_request("a message of the user is missing"));
    }
    Ok(content)
}

/// Returns a part of a message. A link may only lead to the content of this session, which a question that is asked again
/// refers to.
fn part_of(part: &Value, session: Uuid, is_kept: &impl Fn(&Digest) -> bool) -> Result<Content, ApiFailure> {
    if let Some(text) = part["text"].as_str() {
        return Ok(Content::text(text));
    }
    let source = &part["source"];
    let wrong = || {
        let message = "a part is a text, or names the content of this session; send files to /api/uploads";
        ApiFailure::new(StatusCode::UNPROCESSABLE_ENTITY, "foreign-content", message)
    };
    let own = format!("/api/sessions/{session}/content/");
    let digest = source["value"].as_str().and_then(|url| url.strip_prefix(&own)).ok_or_else(wrong)?;
    let digest = Digest::try_from(digest.to_owned()).map_err(|_| wrong())?;
    if !is_kept(&digest) {
        return Err(wrong());
    }
    let mime = source["mimeType"].as_str().ok_or_else(wrong)?.to_owned();
    let name = part["metadata"]["name"].as_str().map(str::to_owned);
    Ok(Content::Blob { mime, digest, name, seal: None })
}
